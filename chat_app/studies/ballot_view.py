"""A ballot as the page gets it: plain values for `public/elements/HeardBallot.jsx`, which draws them.

Before the person's own vote these are letters, texts and whether each may be chosen, and nothing else that differs by
source. What a vote reveals is added here, and only for a ballot that has its vote.
"""

import uuid
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from heard.chat_app.common.markdown import safe_final_markdown
from heard.chat_app.studies.study_file import StudyFile
from heard.chat_app.studies.votes import Marks, revealed_sources
from heard.db.records import ReplyRecord
from heard.db.study_records import AnswerRecord, AnswerStatus, BallotRecord, Choice, VoteRecord, is_informed, letter_of

ELEMENT = "HeardBallot"
"""File name below `public/elements/`, without its ending."""
NOTHING_ARRIVED = "None of the answers arrived. Please send your message again."
ONE_ANSWER_ARRIVED = "The conversation goes on from the one answer that arrived."

_ENTRY_NAMESPACE = uuid.UUID("4f0f3a5e-7a55-4f43-9d0c-2a1f6b9c8e11")

Props = dict[str, Any]


def entry_id(message_id: str) -> str:
    """Return the id of the page's entry for a message's ballot, derived from the message's id alone."""
    return str(uuid.uuid5(_ENTRY_NAMESPACE, message_id))


def blind_props(ballot: BallotRecord, answers: Sequence[AnswerRecord], study: StudyFile) -> Props:
    """Return the props of a ballot without a vote; `answers` are in order of position.

    Keys: `ballot` (its id), `answers` (each `letter`, `text`, `votable`, `reason`), `least` (whether the least
    empathetic one is marked too), `askReason`, and `closed` (a sentence or None).
    """
    closed = ballot.closed_reason
    if closed and any(answer.status is AnswerStatus.COMPLETE for answer in answers):
        closed = f"{closed} {ONE_ANSWER_ARRIVED}"
    return {
        "ballot": ballot.id,
        "answers": [
            {
                "letter": letter_of(slot.position),
                "text": safe_final_markdown(answer.text) if answer.status is AnswerStatus.COMPLETE else "",
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
    *,
    finished: bool = False,
) -> Props:
    """Return the props of a ballot as its person may see it: `blind_props`, and after a vote `vote` and `reveal`.

    `finished` says whether the person has judged as many messages as the study requires.

    `reply` is the stored reply to the ballot's message, if any; the prop `stands` is then the letter of its answer.
    """
    props = blind_props(ballot, answers, study)
    stands = _kept_letter(ballot, answers, vote, reply)
    if stands is not None:
        props["stands"] = stands
    if vote is not None:
        props["vote"] = asdict(Marks.of(vote))
        props["reveal"] = revealed_sources(answers) if is_informed(study.reveal, finished, vote) else None
    return props


def _kept_letter(
    ballot: BallotRecord, answers: Sequence[AnswerRecord], vote: VoteRecord | None, reply: ReplyRecord | None
) -> str | None:
    """Return the letter of the answer that became the reply. It is taken from the stored reply, because a vote that is
    changed later does not change the reply from which the conversation continued."""
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
