"""A person's own export of their part in studies: all of it, and nothing by which it could unblind them."""

import json
from dataclasses import replace
from typing import Any

import pytest

from heard.db.records import ReplyRecord
from heard.db.store import Store
from heard.db.study_records import Choice, StudyKind
from tests.db.conftest import Make
from tests.db.studying import Studying

HIDDEN = ("order_seed", "order_row", "attention", "condition")


@pytest.fixture
def url(each_url: str) -> str:
    return each_url


@pytest.fixture
async def s(store: Store, make: Make) -> Studying:
    return Studying(store, make, reveal=True)


async def exported(s: Studying, person: str) -> dict[str, Any]:
    """As it reaches the person: through JSON."""
    return dict(json.loads(json.dumps(await s.store.export_participant(person))))


async def test_what_a_person_judged_is_there_with_its_history(s: Studying) -> None:
    await s.survey()
    person, other = await s.agree(), await s.agree()
    first, second = await s.enrolled(person)
    for somebody in (await s.enrolled(other))[:1]:
        await s.studies.vote(s.cast(somebody, reason="another's words"))
    await s.studies.vote(s.cast(first, None, None, choice=Choice.SKIPPED, reason="at first"))
    await s.studies.vote(s.cast(first, 3, 1, reason="then"))
    # One ballot waits still: nothing is told of either.
    early = (await exported(s, person))["studies"][0]["ballots"]
    assert [slot.keys() for ballot in early for slot in ballot["slots"]] == [
        {"position", "votable", "reason", "text"}
    ] * 6
    assert early[1]["vote"] is None
    await s.studies.vote(s.cast(second, None, None, choice=Choice.SKIPPED))
    stored = await exported(s, person)
    assert "another's words" not in json.dumps(stored)
    (study,) = stored["studies"]
    assert study["study"] == "blind"
    assert study["enrolment"]["participant_id"] == person
    assert "seed" not in study["enrolment"]
    judged, unjudged = study["ballots"]
    assert (judged["id"], judged["message"]) == (first.id, "It sounds hard 1")
    assert not {"order_seed", "order_row"} & judged.keys()
    assert [(slot["position"], slot["source"], slot["text"]) for slot in judged["slots"]] == [
        (number, source, "It sounds hard, says one of them.")
        for number, source in enumerate(("human", "north", "south"), 1)
    ]
    assert judged["slots"][1]["model"] == "model-of-north"
    assert (judged["slots"][1]["score_empathy"], judged["slots"][1]["score_perceived"]) == (2.0, 2.4)
    assert (judged["vote"]["most"], judged["vote"]["reason"], judged["vote"]["changes"]) == (3, "then", 1)
    assert [(row["number"], row["most"], row["reason"]) for row in judged["vote"]["before"]] == [(1, None, "at first")]
    # The second one was skipped: nothing is told of it.
    assert (unjudged["id"], unjudged["message"]) == (second.id, "It sounds hard 2")
    assert unjudged["vote"]["choice"] == "skipped"
    assert [slot.keys() for slot in unjudged["slots"]] == [{"position", "votable", "reason", "text"}] * 3
    assert not set(HIDDEN) & unjudged.keys()
    told = json.dumps(unjudged)
    assert not [word for word in ("human", "north", "south", "model-of") if word in told]


async def test_a_study_that_reveals_nothing_is_not_revealed_by_an_export(s: Studying) -> None:
    items = s.items()
    attentive = [replace(item, attention="north") for item in items]
    await s.studies.save_study(s.study(reveal=False), attentive)
    person = await s.agree()
    ballots = await s.enrolled(person)
    for ballot in ballots:
        await s.studies.vote(s.cast(ballot, reason="my words"))
    (study,) = (await exported(s, person))["studies"]
    assert [ballot["vote"]["reason"] for ballot in study["ballots"]] == ["my words"] * 2
    assert [ballot["vote"]["most"] for ballot in study["ballots"]] == [1, 1]
    told = json.dumps(study)
    assert not [word for word in ("human", "north", "south", "model-of", *HIDDEN, "leaks") if word in told]


@pytest.mark.parametrize("reveal", [True, False])
async def test_a_live_reply_tells_its_source_only_with_the_study(s: Studying, reveal: bool) -> None:
    await s.studies.save_study(s.study("talk", StudyKind.LIVE, reveal=reveal, items_per_person=1))
    person = await s.agree()
    _, message = await s.asked(person)
    ballot, answers = await s.live(person, message)
    await s.studies.finish_ballot(ballot.id, [s.came(answer) for answer in answers])
    other = await s.make.turn(s.store, s.make.conversation(person), "no ballot", "from the chat")

    def told(stored: dict[str, Any]) -> str:
        return json.dumps([stored["studies"], stored["conversations"]])

    before = told(await exported(s, person))
    assert not [word for word in ("left", "right", "model-of", "arm-of") if word in before]
    drafts = (
        s.make.draft("unshown words", kept=False, model="model-of-left"),
        s.make.draft("the words", number=2, guidance="emotional", model="model-of-left"),
    )
    carried = ReplyRecord(s.make.id(), message.id, "arm-of-left", "plain", drafts, s.make.now)
    await s.studies.vote(s.cast(ballot, 1, None), lambda *_: carried)
    stored = await exported(s, person)
    replies = {row["text"]: row["reply"] for c in stored["conversations"] for row in c["messages"]}
    assert replies["no ballot"]["drafts"][0]["model"] == other[1].kept.model
    reply = replies[message.text]
    assert reply["drafts"][-1]["text"] == "the words"
    found = [word for word in ("left", "right", "model-of-left", "arm-of-left", "unshown") if word in told(stored)]
    assert found == (["left", "right", "model-of-left", "arm-of-left", "unshown"] if reveal else [])
    assert (reply.get("persona"), len(reply["drafts"])) == (("arm-of-left", 2) if reveal else (None, 1))
