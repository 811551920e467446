"""Answers to questions round the ballots: kept and replaced, who may give them, and who is screened out."""

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import inspect

from heard.db.engine import upgrade
from heard.db.errors import StoreGone, StudyRefused, VoteRefused
from heard.db.records import ConsentRecord
from heard.db.store import Store
from heard.db.study_counts import study_counts
from heard.db.study_records import EnrolmentRecord, QuestionAnswerRecord
from tests.db.conftest import Make
from tests.db.studying import Studying
from tests.db.test_migrations import downgrade


@pytest.fixture
def url(each_url: str) -> str:
    return each_url


@pytest.fixture
async def s(store: Store, make: Make) -> Studying:
    return Studying(store, make)


def answer(s: Studying, value: str | None, item: str = "about.age", after: int = 0) -> QuestionAnswerRecord:
    return QuestionAnswerRecord(item, after, value, s.make.now)


async def stored(s: Studying, person: str) -> list[tuple[str, int, str | None]]:
    found = await s.studies.question_answers("blind", person)
    return [(one.item, one.after_ballots, one.value) for one in found]


async def test_an_answer_takes_the_place_of_the_one_before(s: Studying) -> None:
    await s.survey()
    person, other = await s.agree(), await s.agree()
    await s.enrolled(person)
    await s.enrolled(other)
    await s.studies.save_question_answers("blind", person, [answer(s, "30"), answer(s, None, "about.words")])
    await s.studies.save_question_answers("blind", other, [answer(s, "99")])
    await s.studies.save_question_answers("blind", person, [answer(s, "31"), answer(s, "5", after=2)])
    assert await stored(s, person) == [("about.age", 0, "31"), ("about.words", 0, None), ("about.age", 2, "5")]
    await s.studies.save_question_answers("blind", person, [], dropped=[("about.words", 0), ("never.there", 0)])
    assert await stored(s, person) == [("about.age", 0, "31"), ("about.age", 2, "5")]
    own = (await s.store.export_participant(person))["studies"][0]["question_answers"]
    assert [(row["item"], row["value"]) for row in own] == [("about.age", "31"), ("about.age", "5")]
    assert (await s.store.erase_participant(person))["question_answer"] == 2
    assert await stored(s, person) == []
    assert await stored(s, other) == [("about.age", 0, "99")]


async def test_nobody_answers_without_a_right_to(s: Studying) -> None:
    await s.survey()
    person = await s.agree()
    with pytest.raises(StoreGone):
        await s.studies.save_question_answers("blind", person, [answer(s, "30")])
    await s.enrolled(person)
    await s.store.save_consent(ConsentRecord(person, "1", True, False, s.make.now))
    with pytest.raises(VoteRefused):
        await s.studies.save_question_answers("blind", person, [answer(s, "30")])
    await s.agree(person)
    for ballot, _ in await s.studies.ballots_of_person("blind", person):
        await s.studies.vote(s.cast(ballot))
    await s.studies.complete("blind", person, None, s.make.now)
    with pytest.raises(VoteRefused):
        await s.studies.save_question_answers("blind", person, [answer(s, "30")])
    assert await stored(s, person) == []


async def test_who_is_screened_out_takes_no_place_and_no_ballots(s: Studying) -> None:
    await s.survey()
    person = await s.agree()
    first, _ = await s.enrolled(person)
    await s.studies.vote(s.cast(first))
    await s.studies.save_question_answers("blind", person, [answer(s, "17")], screened_out_at=s.make.now)
    assert [ballot.id for ballot, _ in await s.studies.ballots_of_person("blind", person)] == [first.id]
    with pytest.raises(VoteRefused):
        await s.studies.save_question_answers("blind", person, [answer(s, "18")])
    assert await stored(s, person) == [("about.age", 0, "17")]
    counts = await study_counts(s.studies.engine, "blind")
    assert (counts.people, counts.screened_out) == ({None: 1}, {None: 1})
    seen: list[object] = []
    new = EnrolmentRecord("blind", await s.agree(), None, None, 3, s.make.now)
    await s.studies.enrol(new, lambda people: seen.append(people), lambda *_: [])
    assert seen == [{}]


async def test_a_study_that_has_asked_stays_as_it_is(s: Studying) -> None:
    items = await s.survey()
    person = await s.agree()
    await s.studies.enrol(EnrolmentRecord("blind", person, None, None, 3, s.make.now), lambda _: None, lambda *_: [])
    await s.studies.save_study(replace(s.study(title="Other"), definition_sha256="e" * 64), items)
    await s.studies.save_question_answers("blind", person, [answer(s, "30")])
    with pytest.raises(StudyRefused):
        await s.studies.save_study(replace(s.study(ask_reason=False), definition_sha256="f" * 64), items)


async def test_answers_go_on_with_a_link_and_their_words_do_not(s: Studying) -> None:
    await s.survey()
    before, after = await s.agree(), await s.agree()
    await s.studies.enrol(EnrolmentRecord("blind", before, "p1", None, 3, s.make.now), lambda _: None, lambda *_: [])
    await s.studies.save_question_answers("blind", before, [answer(s, "secret words")])
    later = s.make.now + timedelta(seconds=5)
    await s.studies.enrol(EnrolmentRecord("blind", after, "p1", None, 4, later), lambda _: None, lambda *_: [])
    assert await stored(s, before) == []
    assert await stored(s, after) == [("about.age", 0, "secret words")]
    (own,) = (await s.store.export_participant(after))["studies"]
    assert [row["value"] for row in own["question_answers"]] == [None]


async def test_the_tables_come_and_go(s: Studying, url: str) -> None:
    await s.survey()
    person = await s.agree()
    await s.enrolled(person)
    await downgrade(s.studies.engine, "0020-1")
    async with s.studies.engine.connect() as connection:
        names = await connection.run_sync(lambda sync: inspect(sync).get_table_names())
        columns = await connection.run_sync(lambda sync: inspect(sync).get_columns("enrolment"))
    assert "question_answer" not in names
    assert "screened_out_at" not in [column["name"] for column in columns]
    await upgrade(url)
    enrolment = await s.studies.enrolment("blind", person)
    assert enrolment is not None
    assert enrolment.screened_out_at is None
    await s.studies.save_question_answers("blind", person, [answer(s, "30")])
