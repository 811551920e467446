"""From a vote on a live ballot to the reply that carries the conversation on."""

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime

from heard.chat_app.conversation.drafts import draft_from_json
from heard.db.records import ReplyRecord
from heard.db.study_records import AnswerRecord, BallotRecord, Choice, SlotRecord, VoteRecord


def carried_on(ballot: BallotRecord, vote: VoteRecord, answers: Sequence[AnswerRecord]) -> ReplyRecord | None:
    """The reply to the ballot's message: the answer marked as most empathetic, with all its drafts.

    Where none is marked (about the same, none of these, skipped) it is the first that may be voted for: the order is
    balanced, so that this favours nobody. None for a survey's ballot, and where there is no such answer.
    """
    slot = _chosen(ballot, vote)
    answer = next((one for one in answers if slot is not None and one.id == slot.answer_id), None)
    if ballot.message_id is None or answer is None or not answer.drafts:
        return None
    return ReplyRecord(
        id=str(uuid.uuid4()),
        message_id=ballot.message_id,
        persona=answer.persona or answer.source,
        strategy=answer.strategy or "",
        drafts=tuple(draft_from_json(values) for values in answer.drafts),
        created_at=datetime.now(UTC),
        policy=answer.policy,
    )


def _chosen(ballot: BallotRecord, vote: VoteRecord) -> SlotRecord | None:
    choosable = [slot for slot in ballot.slots if slot.votable]
    if vote.choice is Choice.RANKED:
        return next((slot for slot in choosable if slot.position == vote.most), None)
    return choosable[0] if choosable else None
