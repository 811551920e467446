"""Nothing paid for is lost, and nothing tried out counts: the archive, later changes, previews and pilots."""

import asyncio
from dataclasses import replace

import pytest

from heard.chat_app.studies.generation import store_study, updated_items
from heard.chat_app.studies.study_file import StudyFile, parse_study
from heard.chat_app.studies.study_items import item_id, pending_answers
from heard.db.errors import StudyRefused
from heard.db.research_export import export_reader
from heard.db.study_changes import MAY_CHANGE
from heard.db.study_counts import study_counts
from heard.db.study_records import AnswerStatus, ItemRecord, Phase
from heard.db.study_store import StudyStore
from heard.db.vote_reads import read_votes
from tests.commands import heard as command
from tests.journeys.survey_steps import agree, begin, get, rows, words
from tests.journeys.survey_steps import studies as studies
from tests.journeys.surveying import make
from tests.journeys.web import HERE, Web
from tests.journeys.web import store as store
from tests.journeys.web import web as web

ARMS = [{"name": name, "persona": "listener", "model": "echo"} for name in ("one", "two")]


def survey(**values: object) -> StudyFile:
    return parse_study({"id": "paid", "kind": "survey", "seed": "s", "arms": ARMS, **values}, "here")


def items_of(study: StudyFile, *messages: str) -> list[ItemRecord]:
    return [
        ItemRecord(item_id(study, text), study.id, number, text, None, tuple(pending_answers(study, text)))
        for number, text in enumerate(messages, 1)
    ]


async def write(studies: StudyStore) -> None:
    """Write every answer that is missing."""
    for item in await studies.items("paid"):
        for answer in item.answers:
            if answer.status is AnswerStatus.PENDING:
                said = f"{answer.source}, {answer.model}: {item.message}"
                await studies.save_answer(replace(answer, text=said, status=AnswerStatus.COMPLETE))


async def texts(studies: StudyStore) -> dict[tuple[str, str], str]:
    return {(i.message, a.source): a.text for i in await studies.items("paid") for a in i.answers}


async def test_what_an_import_no_longer_names_comes_back(web: Web, studies: StudyStore) -> None:
    study = survey()
    assert (await store_study(studies, study, items_of(study, "a", "b"))).sentences() == []
    await write(studies)
    whole = await texts(studies)
    less = await store_study(studies, study, items_of(study, "b"))
    assert less.sentences() == [
        "2 answers that this import does not name went into the archive. Name their items and arms again as before, "
        "and they come back."
    ]
    assert await texts(studies) == {key: text for key, text in whole.items() if key[0] == "b"}
    counts = await study_counts(studies.engine, "paid")
    assert (counts.items, counts.archived) == (1, 2)
    # An arm with another model, a policy, or without the guard writes anew; the old answers wait.
    for changed in ({"arms": [{**ARMS[0], "model": "other"}, ARMS[1]]}, {"guard": False}, {"auto_improve": "on"}):
        other = survey(**changed)
        await store_study(studies, other, updated_items(other, await studies.items("paid")))
        assert (await texts(studies))["b", "one"] == ""
        back = await store_study(studies, study, updated_items(study, await studies.items("paid")))
        assert "came back from the archive" in back.sentences()[0]
    again = await store_study(studies, study, items_of(study, "a", "b"))
    assert again.sentences() == ["2 answers came back from the archive."]
    assert await texts(studies) == whole
    assert (await study_counts(studies.engine, "paid")).archived == 0


async def test_texts_quota_code_and_links_change_after_the_first_ballot(web: Web, studies: StudyStore) -> None:
    study = survey(arms=[], sources=["human", "x"], conditions=[{"name": "c", "quota": 1}])
    item = items_of(survey(), "a")[0]
    item = replace(
        item,
        answers=tuple(
            replace(answer, source=source, text=source, status=AnswerStatus.COMPLETE, persona=None, model=None)
            for answer, source in zip(item.answers, ("human", "x"), strict=True)
        ),
    )
    await store_study(studies, study, [item])
    await web.answer(research="yes", next="/survey/paid")
    assert (await begin(web, name="paid")).status_code == 303
    later = {
        "title": "T", "introduction": "I", "texts": "words", "purpose": "P", "contact": "C", "ethics_approval": "E",
        "quota": 9, "allow": ["A1"], "require_id": True, "id_parameters": ["rid"], "completion_code": "X",
        "completion_url": "https://a.org", "conditions": [{"name": "c", "quota": 5}],
    }  # fmt: skip
    assert later.keys() == {*MAY_CHANGE, "conditions"}
    changed = parse_study(study.model_dump(mode="json") | later, "here")
    await store_study(studies, changed, [item])
    known = await studies.study("paid")
    assert known
    assert (known.definition["quota"], known.definition["completion_code"]) == (9, "X")
    wrong = parse_study(changed.model_dump(mode="json") | {"items_per_person": 3, "reveal": True}, "here")
    with pytest.raises(StudyRefused, match=r"What differs: items_per_person, reveal\. What may still change: title"):
        await store_study(studies, wrong, [item])
    assert (await studies.study("paid")) == known


async def test_votes_of_a_preview_and_a_pilot_never_count(web: Web, studies: StudyStore) -> None:
    await make(studies, quota=1, conditions=[{"name": "c", "quota": 1}])
    folder = web.settings.data_dir

    async def run(*arguments: str) -> tuple[int, str]:
        done = await asyncio.to_thread(command, "study", *arguments, HEARD_DATA_DIR=str(folder))
        return done.status, done.stdout + done.stderr

    for phase in ("preview", "pilot"):
        status, told = await run(phase, "blind")
        name = f"blind--{phase}"
        assert (status, told.split("/")[-1].strip()) == (0, name)
        web.client.cookies.clear()
        await agree(web, name=name)
        assert ("This is a preview" in words(await get(web, f"/survey/{name}"))) == (phase == "preview")
        await begin(web, name=name)
        for ballot, _ in await studies.ballots_of_person(name, web.participant):
            cast = {"ballot": ballot.id, "choice": "same", "seconds": 1, "width": "phone", "request": ballot.id}
            assert (await web.client.post("/vote", json=cast, headers=HERE)).status_code == 200
    assert rows(web, "SELECT count(*) FROM vote") == [(6,)]
    # The study itself has seen nobody, so it may change and is not full.
    main = await study_counts(studies.engine, "blind")
    assert (main.ballots, main.votes, main.people) == (0, 0, {})
    assert [record.id for record in await studies.studies()] == ["blind"]
    for name, votes in (("blind", 0), ("blind--preview", 0), ("blind--pilot", 3)):
        assert sum((await read_votes(studies.engine, name)).counts.everybody.values()) == votes
    async with export_reader(studies.engine, None) as reader:
        assert [total for total in await reader.totals()] == []
        assert await reader.study_ids() == ["blind", "blind--pilot"]
    for name, status in (("blind--pilot", 0), ("blind--preview", 2)):
        done = await asyncio.to_thread(command, "results", name, HEARD_DATA_DIR=str(folder))
        assert done.status == status, done.stderr
    web.client.cookies.clear()
    await agree(web)
    assert (await begin(web)).headers["location"] == "/survey/blind"
    assert (await get(web, "/survey/blind")).headers["location"] == "/survey/blind/1"

    status, told = await run("pilot", "blind")
    assert (status, "heard study reset --pilot blind" in told) == (2, True)
    status, told = await run("reset", "blind", "--pilot")
    assert (status, "--yes to take away 1 people and 3 votes" in told) == (2, True)
    assert (await run("reset", "blind"))[0] == 2
    status, told = await run("reset", "blind", "--pilot", "--yes")
    assert (status, "1 people, 3 votes" in told) == (0, True)
    assert (await run("pilot", "blind"))[0] == 0
    assert (await run("preview", "blind"))[0] == 0
    assert rows(web, "SELECT count(*) FROM vote") == [(0,)]
    assert len(await studies.ballots_of_person("blind", web.participant)) == 3
    copied = await studies.study("blind--pilot")
    assert copied
    assert (copied.phase, copied.copy_of) == (Phase.PILOT, "blind")
