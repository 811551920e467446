"""What a model thought during one call, kept as a hidden step: for researchers, and for no page, prompt or score."""

import time
from dataclasses import dataclass, field

from heard.chat_app.common.text import clean_unicode, has_visible
from heard.chat_app.models.records import Rethought, StreamItem, Thinking
from heard.db.records import StepRecord

THINKING_STEP = "thinking"
"""Name of the step of a reply; that of a hidden call is "thinking of" and the call's name."""


@dataclass(slots=True)
class ThinkingNotes:
    """Collects the thinking of one call."""

    began: float = field(default_factory=time.perf_counter)
    pieces: list[str] = field(default_factory=list)
    first: float | None = None

    def note(self, item: StreamItem) -> None:
        """Take an item of the model's stream; one that is no thinking changes nothing."""
        if isinstance(item, Thinking | Rethought):
            self.first = self.first if self.first is not None else time.perf_counter() - self.began
            self.pieces.append(item.text)

    def step(self, *, model: str, prompt_sha256: str, max_tokens: int, of: str | None = None) -> StepRecord | None:
        """Return the thinking as a step of the call `of`, None for the reply; None if there was none.

        It is a part of a call, so that its time and its tokens are that call's, and here 0 and unknown.
        """
        text = clean_unicode("".join(self.pieces)).strip()
        if not has_visible(text):
            return None
        return StepRecord(
            name=THINKING_STEP if of is None else f"{THINKING_STEP} of {of}",
            text=text,
            prompt_sha256=prompt_sha256,
            model=model,
            max_tokens=max_tokens,
            first_token_seconds=self.first,
            total_seconds=0.0,
            prompt_tokens=None,
            completion_tokens=None,
        )
