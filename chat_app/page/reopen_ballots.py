"""The ballots of a reopened conversation, drawn from our tables, voted on or not."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from heard.chat_app.conversation.services import Services
from heard.chat_app.page.wording import BALLOT, STOPPED_BALLOT
from heard.chat_app.studies.ballot_view import NOTHING_ARRIVED, ballot_props
from heard.chat_app.studies.skipped_ballots import study_of_ballot
from heard.db.records import MessageRecord, Outcome, ReplyRecord


@dataclass(frozen=True, slots=True)
class BallotEntry:
    """The entry of a ballot, in place of a reply."""

    text: str
    props: Mapping[str, Any] | None
    """Props of the ballot's element; None if only the text is shown."""


async def ballot_entries(
    services: Services,
    participant_id: str,
    conversation_id: str,
    messages: list[MessageRecord],
    replies: Mapping[str, ReplyRecord],
) -> dict[str, BallotEntry]:
    """Return the entry of each ballot by message id. Raises StoreError.

    Other people's ballots are left out, and those of messages whose turn is running or was interrupted.
    """
    outcomes = {message.id: message.outcome for message in messages}
    entries: dict[str, BallotEntry] = {}
    for ballot, vote in await services.studies.ballots_of_conversation(conversation_id):
        if ballot.participant_id != participant_id or ballot.message_id is None:
            continue
        match outcomes.get(ballot.message_id):
            case Outcome.ANSWERED:
                answers = await services.studies.answers_of(ballot.id)
                study = await study_of_ballot(services, ballot)
                finished = study.reveal and await services.studies.has_finished(study.id, participant_id)
                props = ballot_props(ballot, answers, study, vote, replies.get(ballot.message_id), finished=finished)
                entries[ballot.message_id] = BallotEntry(BALLOT, props)
            case Outcome.STOPPED:
                entries[ballot.message_id] = BallotEntry(STOPPED_BALLOT, None)
            case Outcome.BROKEN:
                entries[ballot.message_id] = BallotEntry(NOTHING_ARRIVED, None)
            case _:
                pass
    return entries
