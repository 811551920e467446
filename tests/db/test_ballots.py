"""What a ballot allows: on a real SQLite and a real PostgreSQL the same."""

import asyncio
import math
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text

from db.ballots import CLOSED, ERASED, NO_CHAT, NO_CONSENT, NO_SUCH_TIME, NOT_THERE, NOT_WHOLE, NOT_YOURS
from db.engine import create_engine
from db.errors import StoreBusy, StoreError, StoreGone, VoteRefused
from db.records import DraftRecord, HistoryItem, Outcome, ReplyRecord
from db.store import Store
from db.study_records import AnswerRecord, AnswerStatus, BallotRecord, Choice, Progress, StudyKind
from db.study_store import StudyStore
from tests.db.conftest import LOCK_SECONDS, Make
from tests.db.processes import holding
from tests.db.studying import Studying


@pytest.fixture
def url(each_url: str) -> str:
    return each_url


@pytest.fixture
async def s(store: Store, make: Make) -> Studying:
    return Studying(store, make, reveal=False)  # else a vote is final


async def rows(s: Studying, query: str) -> list[tuple[object, ...]]:
    async with s.store.engine.connect() as connection:
        return [tuple(row) for row in await connection.execute(text(query))]


async def count(s: Studying, table: str) -> int:
    return int(str((await rows(s, f"SELECT count(*) FROM {table}"))[0][0]))  # noqa: S608 - names of tables


async def first_ballot(
    s: Studying, *broken: str, sources: tuple[str, ...] = ("human", "north", "south")
) -> BallotRecord:
    """The first ballot of a new person who allows research, of a new survey."""
    await s.survey(sources=sources)
    return (await s.enrolled(await s.agree(), *broken, sources=sources))[0]


async def open_live(s: Studying, *sources: str) -> tuple[BallotRecord, list[AnswerRecord]]:
    """A live ballot whose answers have not come, of a new person who allows no research."""
    await s.studies.save_study(s.study("talk", StudyKind.LIVE))
    _, message = await s.asked(await s.agree(research=False))
    return await s.live(await owner(s, message.conversation_id), message, sources=sources or ("left", "right"))


async def owner(s: Studying, conversation_id: str) -> str:
    found = await s.store.conversation_owner(conversation_id)
    assert found
    return found


# --- one vote -------------------------------------------------------------------------------------------------------


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


# --- whose ----------------------------------------------------------------------------------------------------------


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


async def test_no_vote_of_an_erased_person(s: Studying) -> None:
    ballot = await first_ballot(s)
    await s.store.erase_participant(ballot.participant_id)
    with pytest.raises(StoreGone) as caught:
        await s.studies.vote(s.cast(ballot))
    assert str(caught.value) == ERASED
    other = await s.agree()
    with pytest.raises(StoreGone) as caught:
        await s.studies.vote(replace(s.cast(ballot), participant_id=other))
    assert str(caught.value) == NOT_THERE
    assert await count(s, "vote") == 0


async def test_votes_and_erasure_at_once_leave_nothing_and_never_lock_up(s: Studying) -> None:
    await s.survey()
    for _ in range(6):
        ballot = (await s.enrolled(await s.agree()))[0]
        casts = [s.cast(ballot, reason=str(number)) for number in range(5)]
        erasing = s.store.erase_participant(ballot.participant_id)
        results = await asyncio.gather(*(s.studies.vote(cast) for cast in casts), erasing, return_exceptions=True)
        assert all(not isinstance(result, BaseException) or isinstance(result, StoreGone) for result in results)
        assert isinstance(results[-1], dict)
    assert [await count(s, table) for table in ("vote", "vote_change", "slot", "ballot", "enrolment")] == [0] * 5


# --- what -----------------------------------------------------------------------------------------------------------

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


async def test_a_closed_ballot_can_only_be_skipped(s: Studying) -> None:
    closed, answers = await open_live(s)
    came = [s.came(answers[0]), s.came(answers[1], AnswerStatus.FAILED, error="It did not answer.")]
    finished = await s.studies.finish_ballot(closed.id, came)
    assert finished.closed_reason == CLOSED
    for cast in (s.cast(closed, 1, None), s.cast(closed, None, None), s.cast(closed, None, None, choice=Choice.NONE)):
        await refused(s, cast, CLOSED)
    await s.studies.vote(s.cast(closed, None, None, choice=Choice.SKIPPED))
    assert await rows(s, "SELECT unvotable FROM vote") == [("2",)]


async def refused(s: Studying, cast: object, sentence: str, *, votes: int = 0) -> None:
    """The vote is refused with a sentence that has `sentence` in it, and nothing is written."""
    with pytest.raises(VoteRefused) as caught:
        await s.studies.vote(cast)  # type: ignore[arg-type]
    assert sentence in str(caught.value)
    assert str(caught.value).endswith(".")
    assert (await count(s, "vote"), await count(s, "vote_change")) == (votes, 0)


# --- live -----------------------------------------------------------------------------------------------------------


def carrying_on(s: Studying, ballot: BallotRecord, words: str) -> ReplyRecord:
    assert ballot.message_id
    draft: DraftRecord = s.make.draft(words)
    return ReplyRecord(s.make.id(), ballot.message_id, "kind", "plain", (draft,), s.make.now)


async def test_a_live_ballot_is_judged_when_it_is_whole(s: Studying) -> None:
    ballot, answers = await open_live(s, "left", "middle", "right")
    for cast in (s.cast(ballot, None, None), s.cast(ballot, None, None, choice=Choice.SKIPPED), s.cast(ballot)):
        await refused(s, cast, NOT_WHOLE)
    # One after the other, as they come: a ballot on the way is not closed.
    for number, answer in enumerate(answers, 1):
        done = await s.studies.finish_ballot(ballot.id, [s.came(answer)])
        assert done.closed_reason is None
        assert [slot.votable for slot in done.slots] == [place <= number for place in (1, 2, 3)]
    assert (await s.studies.answers_of(ballot.id))[1].text == f"{s.mark}, they say."
    await s.studies.vote(s.cast(done, 3, 1))
    # What comes after the vote changes nothing about what was judged.
    late = await s.studies.finish_ballot(ballot.id, [s.came(answers[0], AnswerStatus.STOPPED)])
    assert late == done


async def test_a_reply_carries_the_conversation_on_once(s: Studying) -> None:
    ballot, answers = await open_live(s)
    ballot = await s.studies.finish_ballot(ballot.id, [s.came(answer) for answer in answers])
    first, second = carrying_on(s, ballot, "the left one"), carrying_on(s, ballot, "the right one")
    with pytest.raises(ValueError, match="another message"):
        await s.studies.vote(s.cast(ballot, 1, None), replace(first, message_id="elsewhere"))
    await s.studies.vote(s.cast(ballot, 1, None), first)
    await s.studies.vote(s.cast(ballot, 2, None), second)
    assert ballot.conversation_id
    (message,) = await s.store.messages(ballot.conversation_id)
    assert message.outcome is Outcome.ANSWERED
    assert await s.store.replies(ballot.conversation_id) == {message.id: first}
    assert await s.store.history(ballot.conversation_id) == [HistoryItem(message.text, "the left one")]
    assert (
        await s.studies.ballot_of_message(message.id)
        == (await s.studies.ballots_of_conversation(message.conversation_id))[0]
    )


async def test_answers_of_others_are_not_finished_here(s: Studying) -> None:
    ballot, answers = await open_live(s)
    other, others = await open_live(s)
    with pytest.raises(ValueError, match="not on this ballot"):
        await s.studies.finish_ballot(ballot.id, [s.came(answers[0]), s.came(others[0])])
    assert {answer.status for answer in await s.studies.answers_of(other.id)} == {AnswerStatus.PENDING}
    assert {answer.status for answer in await s.studies.answers_of(ballot.id)} == {AnswerStatus.PENDING}


async def test_interrupted_at_start(s: Studying) -> None:
    none, _ = await open_live(s)
    enough, answers = await open_live(s, "left", "middle", "right")
    await s.studies.finish_ballot(enough.id, [s.came(answer) for answer in answers[:2]])
    whole, all_came = await open_live(s)
    await s.studies.finish_ballot(whole.id, [s.came(answer) for answer in all_came])
    items = s.items("blind")
    waiting = replace(items[0].answers[0], status=AnswerStatus.PENDING)
    await s.studies.save_study(s.study(), [replace(items[0], answers=(waiting, *items[0].answers[1:]))])
    assert await s.studies.mark_interrupted() == 3
    assert await s.studies.mark_interrupted() == 0
    seen = [(await s.studies.ballot(ballot.id)) for ballot in (none, enough, whole)]
    records = [found[0] for found in seen if found]
    assert [record.closed_reason for record in records] == [CLOSED, None, None]
    assert [[slot.votable for slot in record.slots] for record in records] == [
        [False, False], [True, True, False], [True, True],
    ]  # fmt: skip
    # An item's answer that `heard study generate` has still to write is not touched.
    (stored,) = await s.studies.items("blind")
    assert stored.answers[0].status is AnswerStatus.PENDING
    await s.studies.vote(s.cast(records[1], 1, None))


async def test_a_ballot_taken_for_lost_opens_when_its_answers_come_after_all(s: Studying) -> None:
    ballot, answers = await open_live(s)
    await s.studies.mark_interrupted()  # another process starts
    done = await s.studies.finish_ballot(ballot.id, [s.came(answer) for answer in answers])
    assert (done.closed_reason, [slot.votable for slot in done.slots]) == (None, [True, True])


async def test_finishing_and_erasing_at_once(s: Studying) -> None:
    for _ in range(6):
        ballot, answers = await open_live(s, "left", "middle", "right")
        results = await asyncio.gather(
            s.studies.finish_ballot(ballot.id, [s.came(answer) for answer in answers]),
            s.store.erase_participant(ballot.participant_id),
            return_exceptions=True,
        )
        assert isinstance(results[0], BallotRecord | StoreGone)
        assert isinstance(results[1], dict)
        with pytest.raises(StoreGone):
            await s.studies.finish_ballot(ballot.id, [])
    assert [await count(s, table) for table in ("ballot", "slot", "answer")] == [0, 0, 0]


# --- erasing --------------------------------------------------------------------------------------------------------


async def test_a_conversation_takes_its_ballots_and_no_others(s: Studying) -> None:
    gone, answers = await open_live(s)
    await s.studies.finish_ballot(gone.id, [s.came(answer) for answer in answers])
    _, message = await s.asked(gone.participant_id)
    stays, _ = await s.live(gone.participant_id, message)
    await s.survey()
    await s.agree(gone.participant_id)
    (judged, _) = await s.enrolled(gone.participant_id)
    for ballot, least in ((gone, None), (judged, 2)):
        for most in (1, 3 if least else 2):
            await s.studies.vote(s.cast(ballot, most, least))
    assert gone.conversation_id
    removed = await s.store.delete_conversation(gone.conversation_id)
    assert {name: removed[name] for name in ("ballot", "slot", "vote", "vote_change", "answer")} == {
        "ballot": 1, "slot": 2, "vote": 1, "vote_change": 1, "answer": 2,
    }  # fmt: skip
    assert await s.studies.ballot(gone.id) is None
    assert await s.studies.ballot(stays.id) is not None
    assert (await s.studies.progress("blind", gone.participant_id)).voted == 1
    assert (await count(s, "vote_change"), await count(s, "answer"), await count(s, "item")) == (1, 8, 2)


async def test_a_person_takes_their_ballots_and_no_others(s: Studying) -> None:
    mine = await first_ballot(s)
    theirs = (await s.enrolled(await s.agree()))[0]
    for ballot in (mine, theirs):
        await s.studies.vote(s.cast(ballot))
        await s.studies.vote(s.cast(ballot, 2, 1))
    removed = await s.store.erase_participant(mine.participant_id)
    assert (removed["ballot"], removed["vote"], removed["vote_change"], removed["answer"]) == (2, 1, 1, 0)
    assert await s.studies.enrolment("blind", mine.participant_id) is None
    found = await s.studies.ballot(theirs.id)
    assert found
    assert found[1]
    assert (await count(s, "vote"), await count(s, "vote_change"), await count(s, "answer")) == (1, 1, 6)


# --- the end, and a lock --------------------------------------------------------------------------------------------


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
