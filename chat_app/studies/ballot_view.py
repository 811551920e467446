"""What the page gets of a ballot: plain values for `public/elements/HeardBallot.jsx`, which draws them.

Before the person's own vote these are letters, texts and whether each may be chosen, and nothing that differs by
source. What a vote reveals is added here, from the tables, and only for a ballot that has its vote.
"""

import uuid
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from heard.chat_app.common.markdown import shown_text
from heard.chat_app.studies.study_file import StudyFile
from heard.chat_app.studies.votes import Marks, reveal_of
from heard.db.records import ReplyRecord
from heard.db.study_records import AnswerRecord, AnswerStatus, BallotRecord, Choice, VoteRecord, letter_of, told

ELEMENT = "HeardBallot"
"""File name below `public/elements/`, without its ending."""
NOTHING_ARRIVED = "None of the answers arrived. Please send your message again."
GOES_ON = "The conversation goes on from the one answer that arrived."

_ENTRIES = uuid.UUID("4f0f3a5e-7a55-4f43-9d0c-2a1f6b9c8e11")

Props = dict[str, Any]


def entry_id(message_id: str) -> str:
    """The id of the entry that holds a message's ballot: the same every time, and made of nothing but the message."""
    return str(uuid.uuid5(_ENTRIES, message_id))


def blind_props(ballot: BallotRecord, answers: Sequence[AnswerRecord], study: StudyFile) -> Props:
    """A ballot without a vote. `answers` are by position. Keys: `ballot`, `answers` (`letter`, `text`, `votable`,
    `reason`), `least` (whether a least empathetic one is marked too), `askReason`, `closed` (a sentence or None).
    """
    closed = ballot.closed_reason
    if closed and any(answer.status is AnswerStatus.COMPLETE for answer in answers):
        closed = f"{closed} {GOES_ON}"
    return {
        "ballot": ballot.id,
        "answers": [
            {
                "letter": letter_of(slot.position),
                "text": shown_text(answer.text) if answer.status is AnswerStatus.COMPLETE else "",
                "votable": slot.votable,
                "reason": slot.reason,
            }
            for slot, answer in zip(ballot.slots, answers, strict=True)
        ],
        "least": ballot.asks_least,
        "askReason": study.ask_reason,
        "closed": closed,
    }


def ballot_props(
    ballot: BallotRecord,
    answers: Sequence[AnswerRecord],
    study: StudyFile,
    vote: VoteRecord | None,
    reply: ReplyRecord | None,
) -> Props:
    """A ballot as its own person may see it now: `blind_props`, and after their vote `vote`, `stands` and `reveal`.

    `reply` is what carries the conversation on; `stands` is its letter.
    """
    props = blind_props(ballot, answers, study)
    stands = _standing(ballot, answers, vote, reply)
    if stands is not None:
        props["stands"] = stands
    if vote is not None:
        props["vote"] = asdict(Marks.of(vote))
        props["reveal"] = reveal_of(answers) if told(study.reveal, vote) else None
    return props


def _standing(
    ballot: BallotRecord, answers: Sequence[AnswerRecord], vote: VoteRecord | None, reply: ReplyRecord | None
) -> str | None:
    """The letter of the answer that stands. Asked of the stored reply, because a vote that was changed later does not
    change what the conversation has gone on from."""
    if reply is None:
        return None
    first = vote.most if vote is not None and vote.choice is Choice.RANKED else None
    order = sorted(ballot.slots, key=lambda slot: (slot.position != first, slot.position))
    drafts = {draft.id for draft in reply.drafts}
    by_id = {answer.id: answer for answer in answers}
    for slot in order:
        answer = by_id[slot.answer_id]
        if drafts & {str(draft.get("id")) for draft in answer.drafts}:
            return letter_of(slot.position)
    return None
