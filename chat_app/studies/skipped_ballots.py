"""A ballot that was left behind: the next message came before a vote, so it counts as skipped.

The first answer that could have been chosen carries the conversation on, as for every skip.
"""

import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from heard.chat_app.conversation.services import Services
from heard.chat_app.studies.ballot_view import ballot_props, entry_id
from heard.chat_app.studies.continuation import carried_on
from heard.chat_app.studies.study_file import StudyFile, study_of
from heard.db.errors import StoreGone
from heard.db.records import ReplyRecord
from heard.db.study_records import AnswerRecord, BallotRecord, Choice, VoteRecord


async def pass_over(
    services: Services, participant_id: str, conversation_id: str, width_class: str = "desktop"
) -> dict[str, Mapping[str, Any]]:
    """Count a conversation's open ballots as skipped; their new props by the entry they stand under.

    `width_class` is one of WIDTHS. Raises StoreError.
    """
    folded: dict[str, Mapping[str, Any]] = {}
    for ballot, vote in await services.studies.ballots_of_conversation(conversation_id):
        open_now = vote is None and ballot.closed_reason is None and any(slot.votable for slot in ballot.slots)
        if not open_now or ballot.participant_id != participant_id or ballot.message_id is None:
            continue
        answers = await services.studies.answers_of(ballot.id)
        skip = _skip(ballot, answers, width_class)
        receipt = await services.studies.vote(skip, carried_on)
        reply = (await services.store.replies(conversation_id)).get(ballot.message_id)
        study = await study_of_ballot(services, ballot)
        folded[entry_id(ballot.message_id)] = ballot_props(receipt.ballot, answers, study, receipt.vote, reply)
    return folded


def reply_of(ballot: BallotRecord, answers: Sequence[AnswerRecord]) -> ReplyRecord | None:
    """The reply that carries the conversation on where nobody has voted."""
    return carried_on(ballot, _skip(ballot, answers, "desktop"), list(answers))


async def study_of_ballot(services: Services, ballot: BallotRecord) -> StudyFile:
    """The study that a ballot belongs to. Raises StoreError."""
    record = await services.studies.study(ballot.study_id)
    if record is None:
        raise StoreGone("There is no such study here any more.")
    return study_of(record)


def _skip(ballot: BallotRecord, answers: Sequence[AnswerRecord], width_class: str) -> VoteRecord:
    now = datetime.now(UTC)
    # The ballot was whole on the page when its slowest answer had ended.
    waited = max((answer.total_seconds or 0.0 for answer in answers), default=0.0)
    return VoteRecord(
        ballot_id=ballot.id,
        participant_id=ballot.participant_id,
        choice=Choice.SKIPPED,
        most=None,
        least=None,
        reason=None,
        seconds=max(0.0, (now - ballot.drawn_at).total_seconds() - waited),
        width_class=width_class,
        request_id=str(uuid.uuid4()),
        voted_at=now,
    )
