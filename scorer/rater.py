"""What rates a reply: heard's own scorer, or another rater where it stands."""

from collections.abc import Sequence
from typing import Protocol

from heard.scorer.records import EmpathyScore


class Rater(Protocol):
    """Rates replies: `heard.scorer.score.Scorer`, a classifier (`scorer/classifier.py`), or a judge of the chat's.

    Blocking and thread-safe. Every score is labelled with the rater's name, also one of a text that cannot be rated.
    """

    def score(self, seeker: str, reply: str, earlier: Sequence[str] = ()) -> EmpathyScore:
        """Rate `reply` on 1..3, or say why it cannot be rated. Never raises on any strings.

        `seeker` is what was answered; it may be empty. `earlier` is what the same person wrote before, the newest last.
        """
        ...

    def score_many(self, pairs: Sequence[tuple[str, str]]) -> list[EmpathyScore]:
        """`score` for each (seeker, reply), in order."""
        ...
