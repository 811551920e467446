"""A vote on its way from a page to the store, and what the page is told: the sources only now, and only if it may be.

The rules of a vote are in `db/voting.py`, next to the rows; here the call is read and the store's refusals become
an HTTP status with their sentence.
"""

import asyncio
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from heard.chat_app.conversation.services import Services
from heard.chat_app.safety import crisis_check
from heard.chat_app.studies.continuation import carried_on
from heard.chat_app.web.score_calls import RefusedCall
from heard.chat_app.web.score_json import SCALES
from heard.db.errors import StoreError, StoreGone, VoteRefused
from heard.db.study_records import LETTERS, WIDTHS, AnswerRecord, Choice, VoteRecord, letter_of
from heard.db.voting import MOST_SECONDS, NO_SUCH_TIME

LONGEST_REASON = 5_000
"""Characters of the free text."""
KEYS = ("ballot", "choice", "most", "least", "reason", "seconds", "width", "request")
STORED = "Your vote is stored."
BROKEN = "The vote could not be read. Reload the page and choose again."


async def take_vote(services: Services, participant_id: str, payload: Mapping[str, Any]) -> dict[str, Any]:
    """Store a vote of a participant and give what the page is told.

    payload: `ballot` (id), `choice` ("ranked", "same", "none", "skipped"), `most` and `least` (a letter from A to E or
    None), `reason` (text or None), `seconds` (from the ballot's being whole to the click), `width` ("phone", "tablet",
    "desktop") and `request` (UUID of the click: sent again it changes nothing). For a live ballot the reply that
    carries the conversation on is stored in the same transaction.

    Gives {"status": "stored", "changes", "reveal", "sentence"}; `reveal` is None where the study reveals nothing. A
    reason that reads like a crisis is not stored, and then there is `crisis` too: the language for the hand-off.
    Raises RefusedCall with a sentence: 422 for what is no vote, 409 for one that its ballot does not allow, 410 when
    the ballot or the person has been erased, 503 when the database cannot take it now.
    """
    vote = read_vote(participant_id, payload)
    verdict = await asyncio.to_thread(crisis_check.check, vote.reason or "")  # a long text takes its time
    if verdict.crisis:
        vote = replace(vote, reason=None)
    try:
        receipt = await services.studies.vote(vote, carried_on)
    except VoteRefused as error:
        raise RefusedCall(409, str(error)) from None
    except StoreGone as error:
        raise RefusedCall(410, str(error)) from None
    except StoreError as error:
        raise RefusedCall(503, f"{error} Your choice is still on the page.") from None
    reveal = None if receipt.revealed is None else reveal_of(receipt.revealed)
    told = {"status": "stored", "changes": receipt.changes, "reveal": reveal, "sentence": STORED}
    return told | {"crisis": verdict.language or "en"} if verdict.crisis else told


def read_vote(participant_id: str, payload: Mapping[str, Any]) -> VoteRecord:
    """A vote as its page sends it. Raises RefusedCall (422); the sentence never has the caller's own words."""
    if not set(payload) <= set(KEYS) or not isinstance(payload.get("ballot"), str):
        raise RefusedCall(422, BROKEN)
    choice, width = payload.get("choice"), payload.get("width")
    if choice not in list(Choice) or width not in WIDTHS:
        raise RefusedCall(422, BROKEN)
    return VoteRecord(
        ballot_id=payload["ballot"],
        participant_id=participant_id,
        choice=Choice(choice),
        most=_position(payload.get("most")),
        least=_position(payload.get("least")),
        reason=_reason(payload.get("reason")),
        seconds=_seconds(payload.get("seconds")),
        width_class=width,
        request_id=_request(payload.get("request")),
        voted_at=datetime.now(UTC),
    )


def _position(letter: Any) -> int | None:
    if letter is None:
        return None
    if not isinstance(letter, str) or len(letter) != 1 or letter not in LETTERS:
        raise RefusedCall(422, f"There is no such answer. Choose one of {', '.join(LETTERS)} that is on the page.")
    return LETTERS.index(letter) + 1


def _reason(text: Any) -> str | None:
    if text is not None and not isinstance(text, str):
        raise RefusedCall(422, BROKEN)
    if text and len(text) > LONGEST_REASON:
        raise RefusedCall(
            422,
            f"The reason has {len(text):,} characters, and {LONGEST_REASON:,} are allowed. Shorten it and send the "
            "vote again; your choice is still on the page.",
        )
    return text if text and text.strip() else None


def _seconds(value: Any) -> float:
    # The comparison is false for NaN, and holds for whole numbers that are too large to become a float.
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST_SECONDS:
        raise RefusedCall(422, NO_SUCH_TIME)
    return float(value)


def _request(value: Any) -> str:
    try:
        return str(uuid.UUID(value))
    except (AttributeError, TypeError, ValueError):
        raise RefusedCall(422, BROKEN) from None


@dataclass(frozen=True, slots=True)
class Marks:
    """A stored vote in the terms of its page: the value of its choice, letters for positions, None for nothing."""

    choice: str | None = None
    most: str | None = None
    least: str | None = None
    reason: str | None = None

    @classmethod
    def of(cls, vote: VoteRecord | None) -> "Marks":
        """The marks of a vote; none without one."""
        if vote is None:
            return cls()
        return cls(vote.choice.value, letter_of(vote.most), letter_of(vote.least), vote.reason)


def reveal_of(answers: Sequence[AnswerRecord]) -> list[dict[str, Any]]:
    """Who wrote what, from a ballot's answers by position: for whom `told` allows it, and for nobody else."""
    return [_revealed(position, answer) for position, answer in enumerate(answers, 1)]


def _revealed(position: int, answer: AnswerRecord) -> dict[str, Any]:
    """What a person is told about one answer after their vote. `seconds` is how long it took to write."""
    score = answer.score
    scored = score is not None and score.empathy is not None
    return {
        "letter": letter_of(position),
        "source": answer.source,
        "model": answer.model,
        "persona": answer.persona,
        "strategy": answer.strategy,
        "scores": {name: getattr(score, name) for name in SCALES} if scored else None,
        "seconds": answer.total_seconds,
        "improved": answer.improved,
    }
