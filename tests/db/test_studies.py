"""Studies and who takes part in them: on a real SQLite and a real PostgreSQL the same."""

import asyncio
from dataclasses import replace

import pytest
from sqlalchemy import text

from heard.db.errors import StoreDenied, StoreDuplicate, StoreError, StoreGone, StudyRefused
from heard.db.quota_counts import Drawn
from heard.db.store import Store
from heard.db.studies import BEGUN, LONGEST_SOURCE, Counts
from heard.db.study_records import AnswerStatus, BallotRecord, EnrolmentRecord, ItemRecord, Progress, StudyKind
from tests.db.conftest import Make
from tests.db.studying import Studying


@pytest.fixture
def url(each_url: str) -> str:
    return each_url


@pytest.fixture
async def s(store: Store, make: Make) -> Studying:
    return Studying(store, make)


def wanted(s: Studying, person: str, external: str | None = None, study: str = "blind") -> EnrolmentRecord:
    return EnrolmentRecord(study, person, external, None, 2**31 - 1, s.make.now)


def nothing(_: object, __: object) -> list[BallotRecord]:
    return []


def quotas(**most: int):  # type: ignore[no-untyped-def]
    """Choose the emptiest condition that has room."""

    def choose(counts: Counts) -> str:
        room = [name for name, quota in most.items() if counts.get(name, 0) < quota]
        if not room:
            raise StudyRefused("This study has all the people it needs. Thank you for your interest.")
        return min(room, key=lambda name: counts.get(name, 0))

    return choose


# --- the study and its items ----------------------------------------------------------------------------------------


async def test_a_study_comes_back_as_it_was_written(s: Studying) -> None:
    study, items = s.study(reveal=False), s.items(number=3)
    await s.studies.save_study(study, items)
    await s.studies.save_study(study, items)
    assert await s.studies.study("blind") == study
    assert await s.studies.studies() == [study]
    assert await s.studies.items("blind") == items
    assert await s.studies.items("blind", answers=False) == [replace(item, answers=()) for item in items]
    assert await s.studies.item("blind/2") == items[1]
    assert await s.studies.study("other") is None
    assert await s.studies.item("other/1") is None


def pending(item: ItemRecord, source: str, **fields: object) -> ItemRecord:
    """The item with one answer that is still to be written."""
    to_come = {"status": AnswerStatus.PENDING, "text": "", "score": None, **fields}
    return replace(
        item,
        answers=tuple(replace(a, **to_come) if a.source == source else a for a in item.answers),  # type: ignore[arg-type]
    )


async def test_generated_answers_outlive_a_second_import(s: Studying) -> None:
    first, second = s.items()
    await s.studies.save_study(s.study(), [pending(first, "north"), pending(second, "north")])
    for item in (first, second):
        await s.studies.save_answer(item.answers[1])
    # The second item's message has changed, so that what was written does not answer it.
    again = [pending(first, "north"), replace(pending(second, "north"), message="Something else")]
    await s.studies.save_study(s.study(title="better"), again)
    stored = await s.studies.items("blind")
    assert stored == [first, again[1]]
    # Nor does an answer of another model stand for the one that is wanted now.
    await s.studies.save_study(s.study(), [pending(first, "north", model="another"), again[1]])
    assert (await s.studies.items("blind"))[0].answers[1].status is AnswerStatus.PENDING


async def test_nothing_changes_once_ballots_are_drawn(s: Studying) -> None:
    items = await s.survey()
    await s.enrolled(await s.agree())
    await s.studies.save_study(s.study(), items)
    await s.studies.save_study(s.study(), [pending(items[0], "north"), items[1]])
    first, second = items
    for study, changed in (
        (s.study(ask_reason=False), items),
        (s.study(), [first]),
        (s.study(), []),
        (s.study(), [first, replace(second, message="Another")]),
        (s.study(), [first, replace(second, attention="human")]),
        (s.study(), [first, replace(second, answers=second.answers[:2])]),
        (s.study(), [first, replace(second, answers=(replace(second.answers[0], text="Ha."), *second.answers[1:]))]),
    ):
        with pytest.raises(StudyRefused) as caught:
            await s.studies.save_study(study, changed)
        assert str(caught.value).startswith(BEGUN)
        assert f"What differs: {'ask_reason' if changed is items else 'the items or their answers'}." in str(
            caught.value
        )
    with pytest.raises(StudyRefused):
        await s.studies.save_answer(replace(first.answers[0], text="Ha."))
    assert await s.studies.items("blind") == items


async def test_answers_are_written_where_they_belong(s: Studying) -> None:
    items = await s.survey()
    answer = items[0].answers[0]
    for stray in (replace(answer, id="none"), replace(answer, study_id="none"), replace(answer, item_id="blind/2")):
        with pytest.raises(StoreGone):
            await s.studies.save_answer(stray)
    assert await s.studies.items("blind") == items


async def test_the_same_source_twice_and_a_name_too_long(s: Studying) -> None:
    (item,) = s.items(number=1)
    twice = (item.answers[0], replace(item.answers[0], id="another"))
    with pytest.raises(StoreError):
        await s.studies.save_study(s.study(), [replace(item, answers=twice)])
    assert await s.studies.study("blind") is None
    names = [letter * (LONGEST_SOURCE + 1) for letter in "abcde"]
    with pytest.raises(StudyRefused, match="name of a source"):
        await s.studies.save_study(s.study(), s.items(number=1, sources=names))
    # The longest names there may be, of the longest characters, fit the index that every vote stands in.
    names = [letter * LONGEST_SOURCE for letter in "\U0001f600\U0001f601\U0001f602\U0001f603\U0001f604"]
    await s.survey(sources=names, number=1)
    (ballot,) = await s.enrolled(await s.agree(), sources=names, number=1)
    assert (await s.studies.vote(s.cast(ballot))).changes == 0


# --- enrolment ------------------------------------------------------------------------------------------------------


async def test_somebody_who_comes_back_goes_on(s: Studying) -> None:
    await s.survey()
    person = await s.agree()
    drawn = await s.enrolled(person)
    await s.studies.vote(s.cast(drawn[0]))
    again, new = await s.studies.enrol(wanted(s, person, "other"), lambda _: "other", nothing)
    assert (again, new) == (replace(wanted(s, person), seed=11), False)
    assert [ballot for ballot, _ in await s.studies.ballots_of_person("blind", person)] == drawn
    assert await s.studies.progress("blind", person) == Progress(1, 2)


async def test_one_person_twenty_times_at_once(s: Studying) -> None:
    (item, _) = await s.survey()
    person = await s.agree()
    results = await asyncio.gather(
        *(
            s.studies.enrol(
                replace(wanted(s, person, "p1"), seed=seed),
                quotas(calm=1),
                lambda enrolled, _: [s.ballot("blind", enrolled.participant_id, 1, item)],
            )
            for seed in range(20)
        )
    )
    assert [new for _, new in results].count(True) == 1
    assert len({enrolment for enrolment, _ in results}) == 1
    assert len(await s.studies.ballots_of_person("blind", person)) == 1


async def test_quotas_are_never_overfilled(s: Studying) -> None:
    await s.survey()
    people = [await s.agree() for _ in range(20)]
    enrolling = [
        s.studies.enrol(wanted(s, person), quotas(calm=4, warm=5), nothing) for person in people for _ in range(2)
    ]
    results = await asyncio.gather(*enrolling, return_exceptions=True)
    refused = [result for result in results if isinstance(result, StudyRefused)]
    enrolled = [result[0] for result in results if isinstance(result, tuple)]
    assert len(refused) + len(enrolled) == 40
    conditions = {record.participant_id: record.condition for record in enrolled}
    assert sorted(str(name) for name in conditions.values()) == ["calm"] * 4 + ["warm"] * 5


async def test_drawing_sees_everybodys_ballots(s: Studying) -> None:
    items = await s.survey()
    seen: list[int] = []

    def balanced(enrolled: EnrolmentRecord, so_far: Drawn) -> list[BallotRecord]:
        assert so_far.ballots.get(("blind/1", None), 0) == so_far.counting.get("blind/1", 0)
        seen.append(so_far.counting.get("blind/1", 0))
        return [s.ballot("blind", enrolled.participant_id, 1, items[0])]

    people = [await s.agree() for _ in range(12)]
    await asyncio.gather(*(s.studies.enrol(wanted(s, person), lambda _: None, balanced) for person in people))
    assert sorted(seen) == list(range(12))


async def test_a_link_is_used_by_one_person(s: Studying) -> None:
    await s.survey()
    await s.survey(study="second")
    people = [await s.agree() for _ in range(8)]
    hard = "5000 'quotes\" ../../etc/passwd =HYPERLINK(1)" + "x" * 5000
    results = await asyncio.gather(
        *(s.studies.enrol(wanted(s, person, hard), lambda _: None, nothing) for person in people),
        return_exceptions=True,
    )
    # Nothing is voted, so each takes the place up from the one before, and one person remains.
    assert [result for result in results if not isinstance(result, tuple)] == []
    assert [new for _, new in results if new] == [True]
    places = [await s.studies.enrolment("blind", person) for person in people]
    assert [place.external_id for place in places if place] == [hard]
    # Another study knows the same person by the same id; walk-ins have none, and are many.
    for person in people[:2]:
        await s.studies.enrol(wanted(s, person, None, "second"), lambda _: None, nothing)
    await s.studies.enrol(wanted(s, people[2], hard, "second"), lambda _: None, nothing)


async def test_a_place_that_is_erased_is_free_again(s: Studying) -> None:
    await s.survey()
    person, other = await s.agree(), await s.agree()
    await s.studies.enrol(wanted(s, person, "p1"), quotas(calm=1), nothing)
    await s.store.erase_participant(person)
    with pytest.raises(StoreGone):
        await s.studies.enrol(wanted(s, person, "p1"), quotas(calm=1), nothing)
    enrolment, new = await s.studies.enrol(wanted(s, other, "p1"), quotas(calm=1), nothing)
    assert (enrolment.condition, new) == ("calm", True)


async def test_no_study_no_place(s: Studying) -> None:
    with pytest.raises(StoreGone, match="no such study"):
        await s.studies.enrol(wanted(s, await s.agree()), lambda _: None, nothing)


async def test_a_refused_place_leaves_nothing(s: Studying) -> None:
    (item, _) = await s.survey()
    person = await s.agree()

    def broken(enrolled: EnrolmentRecord, _: object) -> list[BallotRecord]:
        once = s.ballot("blind", enrolled.participant_id, 1, item)
        return [once, replace(once, id=s.make.id())]  # the same number twice

    with pytest.raises(StoreError):
        await s.studies.enrol(wanted(s, person), lambda _: None, broken)
    assert await s.studies.enrolment("blind", person) is None
    assert await s.studies.ballots_of_person("blind", person) == []


# --- live -----------------------------------------------------------------------------------------------------------


async def test_a_message_gets_one_ballot(s: Studying) -> None:
    await s.studies.save_study(s.study("talk", StudyKind.LIVE))
    person = await s.agree()
    conversation, message = await s.asked(person)
    results = await asyncio.gather(*(s.live(person, message) for _ in range(8)), return_exceptions=True)
    assert sum(isinstance(result, tuple) for result in results) == 1
    assert {type(result) for result in results} == {tuple, StoreDuplicate}
    assert len(await s.studies.ballots_of_conversation(conversation.id)) == 1
    async with s.store.engine.connect() as connection:
        assert (await connection.execute(text("SELECT count(*) FROM answer"))).scalar_one() == 2


async def test_live_ballots_are_numbered_by_person(s: Studying) -> None:
    await s.studies.save_study(s.study("talk", StudyKind.LIVE))
    people = [await s.agree(research=False) for _ in range(2)]
    messages = [(person, (await s.asked(person))[1]) for person in people for _ in range(4)]
    drawn = await asyncio.gather(*(s.live(person, message) for person, message in messages))
    for person in people:
        assert sorted(b.number for b, _ in drawn if b.participant_id == person) == [1, 2, 3, 4]


async def test_a_ballot_belongs_to_the_writer_of_its_message(s: Studying) -> None:
    person, other = await s.agree(), await s.agree()
    conversation, message = await s.asked(person)
    with pytest.raises(StoreGone, match="no such study"):
        await s.live(person, message)
    await s.studies.save_study(s.study("talk", StudyKind.LIVE))
    with pytest.raises(StoreDenied):
        await s.live(other, message)
    _, second = await s.asked(person)
    with pytest.raises(ValueError, match="another message"):
        await s.live(person, replace(second, conversation_id=conversation.id))
    with pytest.raises(StoreGone):
        await s.live(person, replace(message, id="none"))
    await s.store.erase_participant(person)
    with pytest.raises(StoreGone):
        await s.live(person, message)
    async with s.store.engine.connect() as connection:
        assert (await connection.execute(text("SELECT count(*) FROM answer"))).scalar_one() == 0
