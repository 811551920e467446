"""What one answer is made from, whoever wants it: a turn of the chat, a ballot, a study or a comparison."""

from collections.abc import Sequence
from dataclasses import dataclass

from heard.chat_app.models.records import ModelSpec
from heard.prompts.records import Persona, Policy, Strategy

History = Sequence[tuple[str, str]]
"""Earlier (message, reply) pairs, oldest first."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What one answer is made from."""

    persona: Persona
    strategy: Strategy
    model: ModelSpec
    history: History
    text: str
    """The message to answer."""
    policy: Policy
    """When a draft is written again."""
    summary: str | None = None
    """Of what was told between the first turn of the history and the others."""
    may_fall_back: bool = False
    """Whether the model's fallback may answer in its place. Never where answers are compared: it would be judged under
    the wrong name."""

    @property
    def earlier(self) -> list[str]:
        """What the person wrote before `text`, the newest last: a reply may come back to it."""
        return [message for message, _ in self.history]
