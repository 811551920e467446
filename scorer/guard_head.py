"""The guard's small classifier: which sentences of a reply may not be shown, for what no rule says.

Six logistic regressions, one a kind, on a frozen encoder's states: the mean over the sentence's tokens, and over those
of the message that it answers ("Yes, they are" is harmless to most messages). How often each is right is in
`scorer/guards/default/CARD.md`; `chat_app/safety/reply_guard.py` asks it after the rules.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import AfterValidator, Field, StrictFloat

from heard.scorer.emotion import pooled
from heard.scorer.encoder import Encoder
from heard.scorer.errors import ScorerError
from heard.scorer.linear_file import Floats, load_linear
from heard.scorer.toml_file import NO_OTHERS

DEFAULT = Path(__file__).parent / "guards" / "default"
HEAD_KINDS = ("human", "contact", "medical", "insult", "harm", "delusion")
"""What it knows of the guard's kinds; the others need no trained head."""
MOST_CHARACTERS = 1_000
"""What is read of a message, and of a sentence."""
_KEPT = 8
"""Messages whose means are kept: each sentence of each draft answers the same one."""
AGAIN = "Make it again with `heard train-guard`."


def _these(kinds: list[str]) -> list[str]:
    if tuple(kinds) != HEAD_KINDS:
        raise ValueError(f"must be {', '.join(HEAD_KINDS)}, in this order")
    return kinds


@dataclass(frozen=True, slots=True)
class GuardToml:
    """What `guard.toml` says of a classifier."""

    __pydantic_config__ = NO_OTHERS

    title: str
    """One line for people."""
    encoder_sha256: str
    """Of the encoder's model.safetensors, 64 hex digits."""
    weights_sha256: str
    """Of weights.safetensors beside this file, 64 hex digits."""
    layers: Annotated[list[StrictFloat], Field(min_length=1)]
    kinds: Annotated[list[str], AfterValidator(_these)]
    """In the order of the weights."""


@dataclass(frozen=True, slots=True)
class GuardHeadFile:
    """The classifier as it is stored: `guard.toml` and `weights.safetensors` of one folder."""

    encoder_sha256: str
    layers: tuple[float, ...]
    """Of the encoder, whose states the classifier takes."""
    sha256: str
    """Of the weights, 64 hex digits."""
    weights: Floats
    """Kinds x twice the encoder's width: of the sentence's mean, then of the message's."""
    bias: Floats
    """Kinds. The threshold is in it: from 0 on a sentence is caught."""

    @classmethod
    def load(cls, folder: Path = DEFAULT) -> "GuardHeadFile":
        """Raises ScorerError for a folder without a classifier, or with a damaged one."""
        about, weights, bias = load_linear(folder / "guard.toml", GuardToml, len(HEAD_KINDS), AGAIN)
        return cls(about.encoder_sha256, tuple(about.layers), about.weights_sha256, weights, bias)


class GuardHead:
    """Reads sentences. Blocking: call it from a worker thread, and from one at a time."""

    def __init__(self, file: GuardHeadFile, encoder: Callable[[], Encoder]) -> None:
        """`encoder` gives the encoder of `file`, opened with its layers; asked for at the first sentence."""
        self.file = file
        self._open = encoder
        self._encoder: Encoder | None = None
        self._of_message = lru_cache(maxsize=_KEPT)(self._pooled)

    def margins(self, message: str, sentence: str) -> dict[str, float]:
        """By kind: the log-odds above the kind's threshold; from 0 on the sentence is caught. Never raises on a text.

        Raises ScorerError if the encoder cannot be opened, or is another than the classifier was trained on.
        """
        means = self._pooled(sentence[:MOST_CHARACTERS]), self._of_message(message[:MOST_CHARACTERS])
        found = self.file.weights @ np.concatenate(means) + self.file.bias
        return dict(zip(HEAD_KINDS, map(float, found), strict=True))

    def _pooled(self, text: str) -> Floats:
        if self._encoder is None:
            opened = self._open()
            if opened.sha256 != self.file.encoder_sha256 or 2 * opened.width != self.file.weights.shape[1]:
                raise ScorerError(f"The guard's head was trained on another encoder, or on other layers of it. {AGAIN}")
            self._encoder = opened
        return pooled(self._encoder, text)
