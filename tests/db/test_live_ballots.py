"""A ballot of a conversation, whose answers come one by one: on a real SQLite and a real PostgreSQL the same."""

from dataclasses import replace

import pytest

from heard.db.ballots import CLOSED
from heard.db.records import DraftRecord, Outcome, PastTurn, ReplyRecord
from heard.db.study_records import AnswerStatus, BallotRecord, Choice
from heard.db.voting import NOT_WHOLE
from tests.db.ballot_steps import open_live, refused, rows
from tests.db.ballot_steps import s as s
from tests.db.ballot_steps import url as url
from tests.db.studying import Studying


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
        await s.studies.vote(s.cast(ballot, 1, None), lambda *_: replace(first, message_id="elsewhere"))
    await s.studies.vote(s.cast(ballot, 1, None), lambda *_: first)
    await s.studies.vote(s.cast(ballot, 2, None), lambda *_: second)
    assert ballot.conversation_id
    (message,) = await s.store.messages(ballot.conversation_id)
    assert message.outcome is Outcome.ANSWERED
    assert await s.store.replies(ballot.conversation_id) == {message.id: first}
    assert await s.store.history(ballot.conversation_id) == [PastTurn(message.text, "the left one")]
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


async def test_a_closed_ballot_can_only_be_skipped(s: Studying) -> None:
    closed, answers = await open_live(s)
    came = [s.came(answers[0]), s.came(answers[1], AnswerStatus.FAILED, error="It did not answer.")]
    finished = await s.studies.finish_ballot(closed.id, came)
    assert finished.closed_reason == CLOSED
    for cast in (s.cast(closed, 1, None), s.cast(closed, None, None), s.cast(closed, None, None, choice=Choice.NONE)):
        await refused(s, cast, CLOSED)
    await s.studies.vote(s.cast(closed, None, None, choice=Choice.SKIPPED))
    assert await rows(s, "SELECT unvotable FROM vote") == [("2",)]
