"""A vote on its way to the store, and what its page is told: the sources only now, and only if it may be.

The rules of a vote are in `db/voting.py`, next to the rows; here the store's refusals become an HTTP status with their
sentence.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from heard.chat_app.common.refusals import RefusedCall
from heard.chat_app.conversation.services import Services
from heard.chat_app.safety import crisis_check
from heard.chat_app.studies.continuation import carried_on
from heard.db.errors import StoreError, StoreGone, VoteRefused
from heard.db.study_records import AnswerRecord, VoteRecord, letter_of
from heard.scorer.records import SCALES

LONGEST_REASON = 5_000
"""Characters of the free text."""
STORED = "Your vote is stored."
BROKEN = "The vote could not be read. Reload the page and choose again."


async def take_vote(services: Services, vote: VoteRecord) -> dict[str, Any]:
    """Store a vote and give what the page is told.

    For a live ballot the reply that carries the conversation on is stored in the same transaction.

    Gives {"status": "stored", "changes", "reveal", "sentence"}; `reveal` is None where the study reveals nothing. A
    reason that reads like a crisis is not stored, and then there is `crisis` too: the language for the hand-off.
    Raises RefusedCall with a sentence: 409 for a vote that its ballot does not allow, 410 when the ballot or the person
    has been erased, 503 when the database cannot take it now.
    """
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
