"""People who come to a live study by a link: enrolled at its door, at home in the chat, and back for the code."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from heard.chat_app.studies.study_file import StudyFile, definition_of, parse_study
from heard.db.store import Store
from heard.db.study_records import Choice, StudyRecord
from tests.db.conftest import Make
from tests.db.studying import Studying
from tests.journeys.web import HERE, Web, built, store

__all__ = ["store"]  # a fixture
CODE = "CAME-BACK-7"
ARMS = [{"name": name, "persona": "listener", "model": "echo"} for name in ("left", "right")]
STUDY = parse_study(
    {"id": "talk", "kind": "live", "arms": ARMS, "allow": ["anna"], "items_per_person": 2, "completion_code": CODE}
    | {"conditions": [{"name": "warm", "quota": 1}]},
    "the test's study",
)


async def save(store: Store, study: StudyFile) -> Studying:
    studying = Studying(store, Make())
    definition, digest = definition_of(study)
    await studying.studies.save_study(StudyRecord(study.id, study.kind, definition, digest, datetime.now(UTC)))
    return studying


@pytest.fixture
async def web(tmp_path: Path, store: Store) -> AsyncIterator[Web]:
    made = built(tmp_path, store, live_study=STUDY)
    async with made.client:
        yield made


async def judge(web: Web, studying: Studying, choice: Choice = Choice.RANKED) -> None:
    """One message of the visitor, answered and voted on as in the chat."""
    _, message = await studying.asked(web.participant)
    ballot, answers = await studying.live(web.participant, message)
    await studying.studies.finish_ballot(ballot.id, [studying.came(answer) for answer in answers])
    await studying.studies.vote(studying.cast(ballot, 1 if choice is Choice.RANKED else None, None, choice=choice))


async def test_from_the_link_to_the_chat_to_the_code(web: Web, store: Store) -> None:
    studying = await save(store, STUDY)
    link = "/survey?study=talk&PROLIFIC_PID=anna"
    assert (await web.client.get((await web.client.get(link)).headers["location"])).status_code == 303  # to the notice
    await web.answer(research="yes")
    page = (await web.client.get("/survey/talk?pid=anna")).text
    assert "When you have judged 2 messages" in page
    assert (await web.client.post("/survey/talk", data={"pid": "anna"}, headers=HERE)).status_code == 303
    place = await studying.studies.enrolment("talk", web.participant)
    assert place is not None
    assert (place.external_id, place.condition) == ("anna", "warm")
    for number, choice in enumerate((Choice.RANKED, Choice.SKIPPED, Choice.SAME)):
        assert (await web.client.get("/survey/talk")).headers["location"] == "/survey/talk/chat"
        page = (await web.client.get("/survey/talk/chat")).text
        assert f"{min(number, 1)} of 2" in page  # a skip is no judgement
        assert CODE not in page
        assert (await web.client.get("/survey/talk/end")).headers["location"] == "/survey/talk/chat"
        await judge(web, studying, choice)
        # What a survey's pages show is not to be had of a conversation.
        assert (await web.client.get(f"/survey/talk/{number + 1}/answers")).status_code == 303
    await studying.asked(web.participant)  # a message that waits does not keep anybody from the end
    assert (await web.client.get("/survey/talk/chat")).headers["location"] == "/survey/talk/end"
    await web.client.post("/survey/talk/end", data={"closing": "It listened."}, headers=HERE)
    assert CODE in (await web.client.get("/survey/talk/end")).text
    place = await studying.studies.enrolment("talk", web.participant)
    assert place is not None
    assert (place.closing, place.completed_at is not None) == ("It listened.", True)


@pytest.mark.parametrize("voted", [False, True])
async def test_a_conversation_stays_where_it_was_held(web: Web, store: Store, voted: bool) -> None:
    studying = await save(store, STUDY)
    await web.answer(research="yes")
    await web.client.post("/survey/talk", data={"pid": "anna"}, headers=HERE)
    first = web.participant
    if voted:
        await judge(web, studying)
    else:
        await studying.live(first, (await studying.asked(first))[1])
    web.client.cookies.clear()
    if voted:
        assert (await web.client.get("/survey/talk?pid=anna")).status_code == 403
        await studying.studies.release("talk", "anna", datetime.now(UTC))
    await web.answer(research="yes")
    assert (await web.client.post("/survey/talk", data={"pid": "anna"}, headers=HERE)).status_code == 303
    there, here = [await studying.studies.enrolment("talk", person) for person in (first, web.participant)]
    assert there is not None
    assert here is not None
    assert (there.external_id, here.external_id, here.condition) == (None, "anna", "warm")
    assert len(await studying.studies.ballots_of_person("talk", first)) == 1
    assert await studying.studies.ballots_of_person("talk", web.participant) == []
    assert (await web.client.get("/survey/talk")).headers["location"] == "/survey/talk/chat"


@pytest.mark.parametrize("link", ["/survey/talk?pid=ben", "/survey/talk"])
async def test_others_are_kept_out(web: Web, store: Store, link: str) -> None:
    await save(store, STUDY)
    await web.answer(research="yes")
    assert (await web.client.get(link)).status_code == 403


async def test_a_live_study_that_is_not_on_has_no_door(tmp_path: Path, store: Store) -> None:
    await save(store, STUDY)
    off = built(tmp_path, store)
    async with off.client:
        await off.answer(research="yes")
        assert (await off.client.get("/survey/talk?pid=anna")).status_code == 404
