"""From a vote on a live ballot to the reply from which the conversation continues."""

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime

from heard.chat_app.conversation.drafts import draft_from_json
from heard.db.records import ReplyRecord
from heard.db.study_records import AnswerRecord, BallotRecord, Choice, SlotRecord, VoteRecord


def reply_from_vote(ballot: BallotRecord, vote: VoteRecord, answers: Sequence[AnswerRecord]) -> ReplyRecord | None:
    """Return the answer marked as most empathetic as the reply to the ballot's message, with all its drafts.

    If none is marked (about the same, none of these, skipped) it is the first votable one: the order is balanced, so
    this favours no source. Returns None for a survey's ballot, or if there is no such answer.
    """
    slot = _chosen_slot(ballot, vote)
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


def _chosen_slot(ballot: BallotRecord, vote: VoteRecord) -> SlotRecord | None:
    choosable = [slot for slot in ballot.slots if slot.votable]
    if vote.choice is Choice.RANKED:
        return next((slot for slot in choosable if slot.position == vote.most), None)
    return choosable[0] if choosable else None
