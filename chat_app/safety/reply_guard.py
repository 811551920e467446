"""The guard that reads every sentence of a reply before a person does."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class GuardContext:
    """What a reply answers."""

    message: str
    earlier: tuple[str, ...]
    """The person's earlier messages, newest last."""
    persona_name: str


@dataclass(frozen=True, slots=True)
class Caught:
    """A sentence that may not be shown."""

    kind: str
    by: str
    reason: str


class ReplyGuard(Protocol):
    """Interim."""

    def read(self, context: GuardContext, sentence: str, before: str = "") -> Caught | None:
        """Return what is wrong with a sentence, or None."""

    def fixed_sentence(self, kind: str, context: GuardContext, persona_id: str) -> str:
        """Return the fixed text that stands in place of caught drafts."""
