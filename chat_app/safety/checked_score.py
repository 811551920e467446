"""Scores for callers other than the chat (HTTP, the filter, a LangChain chain); a crisis is never rated."""

from collections.abc import Sequence
from dataclasses import replace

from heard.chat_app.safety import crisis_check
from heard.chat_app.safety.assessment import assess
from heard.scorer.rater import Rater
from heard.scorer.records import EmpathyScore, ScoreStatus
from heard.scorer.relevance import LOOKED_BACK
from heard.scorer.score_json import HELP

CRISIS = (
    "This text is not scored, because it reads like a crisis. Please turn to people who can help, now: heard's page "
    f"{HELP} has numbers to call."
)


def checked_score(scorer: Rater, seeker: str, reply: str, earlier: Sequence[str] = ()) -> EmpathyScore:
    """Return `scorer.score(...)`, or the status CRISIS if a text that it would read has suicidal or self-harm meaning.

    Blocking, also in the check of a long text. Never raises on any strings.
    """
    return crisis_score(scorer) if is_crisis(seeker, reply, earlier) else scorer.score(seeker, reply, earlier)


def is_crisis(seeker: str, reply: str, earlier: Sequence[str] = ()) -> bool:
    """Return whether a text that the scorer would read has suicidal or self-harm meaning. Blocking."""
    told = (*earlier[-LOOKED_BACK + 1 :], seeker)
    return crisis_check.check(reply).crisis or any(assess(text).crisis for text in told)


def crisis_score(scorer: Rater) -> EmpathyScore:
    """Return what is given in place of a score of such a text."""
    return replace(scorer.score("", ""), status=ScoreStatus.CRISIS, reason=CRISIS)


class CheckedRater:
    """A rater that is asked through `checked_score` alone: for one that may send what it reads to a server."""

    def __init__(self, rater: Rater) -> None:
        self._rater = rater

    def score(self, seeker: str, reply: str, earlier: Sequence[str] = ()) -> EmpathyScore:
        """As `checked_score`."""
        return checked_score(self._rater, seeker, reply, earlier)

    def score_many(self, pairs: Sequence[tuple[str, str]]) -> list[EmpathyScore]:
        """`score` for each (seeker, reply), in order."""
        return [self.score(seeker, reply) for seeker, reply in pairs]
