"""What a ballot allows: on a real SQLite and a real PostgreSQL the same."""

import asyncio
import math
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text

from heard.db.engine import create_engine
from heard.db.errors import StoreBusy, StoreError, StoreGone, VoteRefused
from heard.db.study_records import Choice, Progress
from heard.db.study_store import StudyStore
from heard.db.voting import NO_CHAT, NO_CONSENT, NO_SUCH_TIME, NOT_YOURS
from tests.db.ballot_steps import count, first_ballot, refused, rows
from tests.db.ballot_steps import s as s
from tests.db.ballot_steps import url as url
from tests.db.conftest import LOCK_SECONDS
from tests.db.processes import holding
from tests.db.studying import Studying


async def test_a_vote_is_stored_with_what_it_judged(s: Studying) -> None:
    ballot = await first_ballot(s, "south")
    cast = s.cast(ballot, 2, None)
    receipt = await s.studies.vote(cast)
    assert (receipt.vote, receipt.changes, receipt.ballot) == (cast, 0, ballot)
    assert await s.studies.ballot(ballot.id) == (ballot, cast)
    assert await rows(s, "SELECT sources, unvotable, leaks, changes FROM vote") == [
        ('["human", "north", "south"]', "3", "", 0)
    ]
    assert await s.studies.progress("blind", ballot.participant_id) == Progress(1, 2)


async def test_the_leaks_of_the_answers_stand_on_the_vote(s: Studying) -> None:
    items = s.items()
    leaky = tuple(replace(a, leak=["maker"] if a.source != "north" else []) for a in items[0].answers)
    await s.studies.save_study(s.study(), [replace(items[0], answers=leaky), items[1]])
    ballot = (await s.enrolled(await s.agree()))[0]
    await s.studies.vote(s.cast(ballot))
    assert await rows(s, "SELECT leaks FROM vote") == [("1,3",)]


async def test_the_same_click_twenty_times_at_once_is_one_vote(s: Studying) -> None:
    ballot = await first_ballot(s)
    cast = s.cast(ballot)
    receipts = await asyncio.gather(*(s.studies.vote(cast) for _ in range(20)))
    assert {(receipt.vote, receipt.changes) for receipt in receipts} == {(cast, 0)}
    assert (await count(s, "vote"), await count(s, "vote_change")) == (1, 0)


async def test_the_same_choice_under_another_click_is_no_change(s: Studying) -> None:
    ballot = await first_ballot(s)
    cast = s.cast(ballot, reason="why\x00 \ud800")
    stored = (await s.studies.vote(cast)).vote
    again = await s.studies.vote(replace(cast, request_id=s.make.id(), seconds=99.0))
    assert (again.vote, again.changes) == (stored, 0)
    assert (await count(s, "vote"), await count(s, "vote_change")) == (1, 0)


async def test_twenty_different_votes_at_once_are_one_row_with_its_history(s: Studying) -> None:
    ballot = await first_ballot(s)
    casts = [s.cast(ballot, reason=f"reason {number}") for number in range(20)]
    receipts = await asyncio.gather(*(s.studies.vote(cast) for cast in casts))
    assert sorted(receipt.changes for receipt in receipts) == list(range(20))
    kept = await rows(s, "SELECT number, reason FROM vote_change ORDER BY number")
    (last,) = await rows(s, "SELECT changes, reason FROM vote")
    assert [number for number, _ in kept] == list(range(1, 20))
    assert last[0] == 19
    assert {reason for _, reason in kept} | {last[1]} == {cast.reason for cast in casts}


async def test_a_changed_vote_keeps_what_it_was(s: Studying) -> None:
    ballot = await first_ballot(s)
    first, second, third = s.cast(ballot, 1, 2), s.cast(ballot, 3, 1, reason=None), s.cast(ballot, None, None)
    for number, cast in enumerate((first, second, third)):
        assert (await s.studies.vote(cast)).changes == number
    # The first click, sent again by a slow network, must not bring the first choice back.
    late = await s.studies.vote(first)
    assert (late.vote, late.changes) == (third, 2)
    assert await rows(s, "SELECT number, choice, most, least, reason, request_id FROM vote_change ORDER BY number") == [
        (1, "ranked", 1, 2, first.reason, first.request_id),
        (2, "ranked", 3, 1, None, second.request_id),
    ]
    assert await rows(s, "SELECT choice, most, least, request_id FROM vote") == [("same", None, None, third.request_id)]


async def test_anothers_ballot_is_refused(s: Studying) -> None:
    ballot = await first_ballot(s)
    other = await s.agree()
    await refused(s, replace(s.cast(ballot), participant_id=other), NOT_YOURS)
    await s.studies.vote(s.cast(ballot))
    await s.enrolled(other)
    await refused(s, replace(s.cast(ballot, 2, 1), participant_id=other), NOT_YOURS, votes=1)


async def test_no_vote_after_withdrawal(s: Studying) -> None:
    ballot = await first_ballot(s)
    await s.studies.vote(s.cast(ballot))
    await s.agree(ballot.participant_id, research=False)
    await refused(s, s.cast(ballot, 2, 1), NO_CONSENT, votes=1)
    with pytest.raises(VoteRefused, match="withdrawn"):
        await s.studies.complete("blind", ballot.participant_id, "words", s.make.now)
    await s.agree(ballot.participant_id, research=False, chat=False)
    await refused(s, s.cast(ballot, 2, 1), NO_CHAT, votes=1)
    await s.agree(ballot.participant_id)
    assert (await s.studies.vote(s.cast(ballot, 2, 1))).changes == 1


NO_SUCH = "There is no such answer here. Choose one of A, B, C."


FAULTS = {
    "slot Z": ({"most": 26}, NO_SUCH),
    "slot zero": ({"most": 0}, NO_SUCH),
    "least Z": ({"least": 4}, NO_SUCH),
    "the same twice": ({"most": 2, "least": 2}, "two different ones"),
    "no least": ({"least": None}, "least empathetic answer too"),
    "no most": ({"most": None, "least": 1, "choice": Choice.RANKED}, "most empathetic answer first"),
    "same, and one marked": ({"choice": Choice.SAME}, "marks no answer"),
    "skipped, and one marked": ({"choice": Choice.SKIPPED, "most": None}, "marks no answer"),
    "less than no time": ({"seconds": -0.1}, NO_SUCH_TIME),
    "no number": ({"seconds": math.nan}, NO_SUCH_TIME),
    "for ever": ({"seconds": math.inf}, NO_SUCH_TIME),
    "a billion seconds": ({"seconds": 1e9}, NO_SUCH_TIME),
}


async def test_votes_that_say_nothing_sensible(s: Studying) -> None:
    ballot = await first_ballot(s)
    for fields, sentence in FAULTS.values():
        await refused(s, replace(s.cast(ballot), **fields), sentence)
    with pytest.raises(StoreError):
        await s.studies.vote(s.cast(ballot, width_class="Firefox on a fridge"))
    assert await count(s, "vote") == 0


async def test_an_answer_that_did_not_come_cannot_be_chosen(s: Studying) -> None:
    ballot = await first_ballot(s, "human", sources=("human", "north", "south", "west"))
    await refused(s, s.cast(ballot, 1, 2), "Answer A cannot be chosen: It did not arrive.")
    await refused(s, s.cast(ballot, 2, 1), "Answer A cannot be chosen")
    await refused(s, s.cast(ballot, 2, None), "least empathetic answer too")
    await s.studies.vote(s.cast(ballot, 2, 3))


async def test_with_two_answers_there_is_no_least(s: Studying) -> None:
    ballot = await first_ballot(s, "south")
    await refused(s, s.cast(ballot, 1, 2), "With two answers only the most")
    await s.studies.vote(s.cast(ballot, 1, None))


async def test_the_end_comes_after_every_ballot(s: Studying) -> None:
    await s.survey()
    person = await s.agree()
    with pytest.raises(StoreGone):
        await s.studies.complete("blind", person, "words", s.make.now)
    first, second = await s.enrolled(person)
    await s.studies.vote(s.cast(first))
    with pytest.raises(VoteRefused, match="still something to judge"):
        await s.studies.complete("blind", person, "words", s.make.now)
    await s.studies.vote(s.cast(second, None, None, choice=Choice.SKIPPED))
    await s.studies.complete("blind", person, "words", s.make.now)
    await s.studies.complete("blind", person, None, s.make.now.replace(year=2030))
    enrolment = await s.studies.enrolment("blind", person)
    assert enrolment
    assert (enrolment.completed_at, enrolment.closing) == (s.make.now, "words")


async def test_a_locked_database_is_waited_for_and_then_named(s: Studying, path: Path) -> None:
    ballot = await first_ballot(s)
    impatient = create_engine(s.store.engine.url.render_as_string(hide_password=False), lock_seconds=LOCK_SECONDS)
    if impatient.dialect.name == "sqlite":
        with holding(path), pytest.raises(StoreBusy):
            await StudyStore(impatient).vote(s.cast(ballot))
    else:
        async with s.store.engine.begin() as other:
            await other.execute(text("LOCK TABLE vote IN ACCESS EXCLUSIVE MODE"))
            with pytest.raises(StoreBusy):
                await StudyStore(impatient).vote(s.cast(ballot))
    await impatient.dispose()
    assert await count(s, "vote") == 0
    await s.studies.vote(s.cast(ballot))
