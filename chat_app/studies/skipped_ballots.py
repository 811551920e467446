"""Skipped ballots: the next message came before a vote.

The conversation continues from the first votable answer, as for every skip.
"""

import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from heard.chat_app.conversation.services import Services
from heard.chat_app.studies.ballot_view import ballot_props, entry_id
from heard.chat_app.studies.continuation import reply_from_vote
from heard.chat_app.studies.study_file import StudyFile, study_of
from heard.db.errors import StoreGone
from heard.db.records import ReplyRecord
from heard.db.study_records import AnswerRecord, BallotRecord, Choice, VoteRecord


async def skip_open_ballots(
    services: Services, participant_id: str, conversation_id: str, width_class: str = "desktop"
) -> dict[str, Mapping[str, Any]]:
    """Store a skip for each open ballot of a conversation. Returns their new props by the id of the page's entry.

    `width_class` is one of WIDTHS. Raises StoreError.
    """
    props: dict[str, Mapping[str, Any]] = {}
    for ballot, vote in await services.studies.ballots_of_conversation(conversation_id):
        is_open = vote is None and ballot.closed_reason is None and any(slot.votable for slot in ballot.slots)
        if not is_open or ballot.participant_id != participant_id or ballot.message_id is None:
            continue
        answers = await services.studies.answers_of(ballot.id)
        skip = _skip_vote(ballot, answers, width_class)
        receipt = await services.studies.vote(skip, reply_from_vote)
        reply = (await services.store.replies(conversation_id)).get(ballot.message_id)
        study = await study_of_ballot(services, ballot)
        props[entry_id(ballot.message_id)] = ballot_props(receipt.ballot, answers, study, receipt.vote, reply)
    return props


def default_reply(ballot: BallotRecord, answers: Sequence[AnswerRecord]) -> ReplyRecord | None:
    """Return the reply from which the conversation continues without a vote."""
    return reply_from_vote(ballot, _skip_vote(ballot, answers, "desktop"), list(answers))


async def study_of_ballot(services: Services, ballot: BallotRecord) -> StudyFile:
    """Return the study that a ballot belongs to. Raises StoreError."""
    record = await services.studies.study(ballot.study_id)
    if record is None:
        raise StoreGone("There is no such study here any more.")
    return study_of(record)


def _skip_vote(ballot: BallotRecord, answers: Sequence[AnswerRecord], width_class: str) -> VoteRecord:
    now = datetime.now(UTC)
    # The ballot was complete on the page when its slowest answer had ended.
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
