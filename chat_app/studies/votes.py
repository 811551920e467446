"""Store a vote, and return what its page may know: the sources only after the vote, and only if the study reveals them.

The rules of a vote are in `db/voting.py`, next to the rows; here the store's refusals become an HTTP status and a
sentence.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from heard.chat_app.common.fair_queue import QueueFull
from heard.chat_app.common.refusals import RefusedCall
from heard.chat_app.conversation.services import Services
from heard.chat_app.safety import crisis_check
from heard.chat_app.safety.bounded_text import bounded_text
from heard.chat_app.studies.continuation import reply_from_vote
from heard.db.errors import StoreError, StoreGone, VoteRefused
from heard.db.study_records import AnswerRecord, Choice, VoteRecord, letter_of
from heard.scorer.records import READINGS
from heard.sentences import said, sentence

LONGEST_REASON = 5_000
"""Most characters of the free text."""
STORED = sentence("Your vote is stored.")
BUSY = sentence(
    "Too many votes came at once, so this one was not taken. Your choice is still on the page: send it again."
)
BROKEN = sentence("The vote could not be read. Reload the page and choose again.")


async def cast_vote(services: Services, vote: VoteRecord) -> dict[str, Any]:
    """Store a vote and return the response for its page.

    For a live ballot the reply from which the conversation continues is stored in the same transaction.

    The response is {"status": "stored", "changes", "reveal", "sentence"}; `reveal` is None if nothing is revealed. A
    reason that reads like a crisis is not stored, and the response then has `crisis`, the language for the hand-off.
    Raises RefusedCall with a sentence: 409 for a vote that its ballot does not allow, 410 if the ballot or the person
    has been erased, 503 if the database cannot store it now.
    """
    reason = bounded_text(vote.reason or "", LONGEST_REASON)
    try:
        verdict = await services.reading.run(vote.participant_id, partial(crisis_check.check, reason))
    except QueueFull:
        raise RefusedCall(503, BUSY) from None
    if verdict.crisis:
        vote = replace(vote, reason=None)
    try:
        receipt = await services.studies.vote(vote, reply_from_vote)
    except VoteRefused as error:
        raise RefusedCall(409, said(error)) from None
    except StoreGone as error:
        raise RefusedCall(410, said(error)) from None
    except StoreError as error:
        kept = sentence("{fault} Your choice is still on the page.", fault=said(error))
        raise RefusedCall(503, kept) from None
    reveal = None if receipt.revealed is None else revealed_sources(receipt.revealed)
    response = {"status": "stored", "changes": receipt.changes, "reveal": reveal, "sentence": STORED}
    return response | {"crisis": verdict.language or "en"} if verdict.crisis else response


@dataclass(frozen=True, slots=True)
class Marks:
    """A stored vote as its page shows it: the value of its choice, letters instead of positions, None for no mark."""

    choice: str | None = None
    most: str | None = None
    least: str | None = None
    reason: str | None = None

    @classmethod
    def of(cls, vote: VoteRecord | None) -> "Marks":
        """Return the marks of a vote; all None without one."""
        if vote is None:
            return cls()
        return cls(vote.choice.value, letter_of(vote.most), letter_of(vote.least), vote.reason)

    def of_answer(self, letter: str) -> str:
        """Return "most" or "least" if the answer with this letter was marked so; "" if not."""
        if self.choice != Choice.RANKED.value:
            return ""
        return "most" if letter == self.most else "least" if letter == self.least else ""


def revealed_sources(answers: Sequence[AnswerRecord]) -> list[dict[str, Any]]:
    """Return who wrote what, from a ballot's answers in order of position. Only for people who are `is_informed`."""
    return [_revealed_source(position, answer) for position, answer in enumerate(answers, 1)]


def _revealed_source(position: int, answer: AnswerRecord) -> dict[str, Any]:
    """Return what is revealed about one answer after a vote; `seconds` is the time it took to generate."""
    score = answer.score
    scored = score is not None and score.empathy is not None
    return {
        "letter": letter_of(position),
        "source": answer.source,
        "model": answer.model,
        "persona": answer.persona,
        "strategy": answer.strategy,
        "scores": {name: getattr(score, name) for name in READINGS} if scored else None,
        "seconds": answer.total_seconds,
        "improved": answer.improved,
    }
