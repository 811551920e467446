"""The input of one answer: the same for a turn of the chat, a ballot, a study and a comparison."""

from collections.abc import Sequence
from dataclasses import dataclass

from heard.chat_app.models.records import ModelSpec
from heard.prompts.records import Persona, Policy, Strategy

History = Sequence[tuple[str, str]]
"""Earlier (message, reply) pairs, oldest first."""


@dataclass(frozen=True, slots=True)
class AnswerRequest:
    """Everything that decides one answer."""

    persona: Persona
    strategy: Strategy
    model: ModelSpec
    history: History
    text: str
    """The message to answer."""
    policy: Policy
    """Decides when a draft is rewritten."""
    summary: str | None = None
    """Summary of the turns between the first one of `history` and the others; None where there is none."""
    guard: bool = True
    """Whether the guard reads the drafts."""
    examples: bool = True
    """Whether the persona's examples go before the message."""
    scored: bool = True
    """Whether its drafts are scored."""
    may_fall_back: bool = False
    """Whether the model's fallback may answer in its place. Never set where answers are compared: the answer would be
    judged under the wrong model's name."""

    @property
    def earlier(self) -> list[str]:
        """The person's earlier messages, newest last. The scorer reads them, because a reply may refer to them."""
        return [message for message, _ in self.history]
