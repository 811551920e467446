"""A small reading of a person's message: its emotion, and the part of it that carries that emotion.

A linear classifier on a frozen encoder's states. It is the "small empathy model" that the hybrid strategy puts into a
prompt; how often it is right is in `scorer/readings/default/CARD.md`, and it is far from always.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import AfterValidator, Field, StrictFloat

from heard.scorer.encoder import Encoder
from heard.scorer.errors import ScorerError
from heard.scorer.linear_file import Floats, load_linear
from heard.scorer.text import read
from heard.scorer.toml_file import NO_OTHERS

DEFAULT = Path(__file__).parent / "readings" / "default"
EMOTIONS = ("anger", "anxiety", "depression", "sadness", "shame", "joy", "neutral")
"""Kinds of ESConv's emotions (Liu et al. 2021), those of which people write most; joy, which models miss; and none."""
UNSURE = 0.4
"""Probability under which an emotion is only a guess; the card has how often each kind is right."""
UNCLEAR = "unclear"
MOST_CHARACTERS = 2_000
"""What is read of a message."""
MOST_PARTS = 12
"""Parts that are tried as the cause: each costs one reading by the encoder."""
_ENDS = re.compile(
    r"(?<=[.!?…;])\s+|\n+|\s+(?=(?:because|but|since|so that|when|after|and then|and now)\b)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class EmotionReading:
    """What was read in one message."""

    emotion: str
    """One of EMOTIONS, or UNCLEAR for a text that cannot be read (not English, empty)."""
    probability: float
    """Of that emotion among EMOTIONS, 0..1; 0 for UNCLEAR."""
    cause: str
    """The part of the message, in its own words, that carries the emotion; the whole of a message of one part."""

    @property
    def named(self) -> str:
        """The emotion for a prompt, with its doubt."""
        if self.emotion == UNCLEAR:
            return UNCLEAR
        return self.emotion if self.probability >= UNSURE else f"{UNCLEAR}, perhaps {self.emotion}"


def _these(emotions: list[str]) -> list[str]:
    if tuple(emotions) != EMOTIONS:
        raise ValueError(f"must be {', '.join(EMOTIONS)}, in this order")
    return emotions


@dataclass(frozen=True, slots=True)
class EmotionToml:
    """What `reading.toml` says of a classifier."""

    __pydantic_config__ = NO_OTHERS

    title: str
    """One line for people."""
    encoder_sha256: str
    """Of the encoder's model.safetensors, 64 hex digits."""
    weights_sha256: str
    """Of weights.safetensors beside this file, 64 hex digits."""
    layers: Annotated[list[StrictFloat], Field(min_length=1)]
    emotions: Annotated[list[str], AfterValidator(_these)]
    """In the order of the weights."""


@dataclass(frozen=True, slots=True)
class EmotionFile:
    """The classifier as it is stored: `reading.toml` and `weights.safetensors` of one folder."""

    encoder_sha256: str
    layers: tuple[float, ...]
    """Of the encoder, whose states the classifier takes."""
    sha256: str
    """Of the weights, 64 hex digits."""
    weights: Floats
    """Emotions x width."""
    bias: Floats
    """Emotions."""

    @classmethod
    def load(cls, folder: Path) -> "EmotionFile":
        """Raises ScorerError for a folder without a classifier, or with a damaged one."""
        again = "Make it again with `heard train-reading`."
        about, weights, bias = load_linear(folder / "reading.toml", EmotionToml, len(EMOTIONS), again)
        return cls(about.encoder_sha256, tuple(about.layers), about.weights_sha256, weights, bias)


class EmotionReader:
    """Reads messages. Blocking: call it from a worker thread, and from one at a time."""

    def __init__(self, file: EmotionFile, encoder: Callable[[], Encoder]) -> None:
        """`encoder` gives the encoder of `file`, opened with its layers; asked for at the first message."""
        self.file = file
        self._open = encoder
        self._encoder: Encoder | None = None

    def read(self, message: str) -> EmotionReading:
        """The emotion of `message` and its cause. Never raises on a text. Raises ScorerError if the encoder cannot be
        opened or has another width than the classifier.

        The cause is found by occlusion: of the message's parts (sentences, and what begins with "because" and the
        like) the one without which the emotion's log-probability is lowest.
        """
        shown = message[:MOST_CHARACTERS].strip()
        if not read(shown).text:
            return EmotionReading(UNCLEAR, 0.0, shown)
        sizes = self._log_probabilities(shown)
        emotion = int(sizes.argmax())
        found = parts(shown)
        left = [self._log_probabilities(" ".join(found[:at] + found[at + 1 :]))[emotion] for at in range(len(found))]
        cause = found[int(np.argmin(left))] if len(found) > 1 else shown
        return EmotionReading(EMOTIONS[emotion], float(np.exp(sizes[emotion])), cause)

    def _log_probabilities(self, text: str) -> Floats:
        logits = self.file.weights @ pooled(self._opened(), text) + self.file.bias
        shifted = logits - logits.max()
        result: Floats = shifted - np.log(np.exp(shifted).sum())
        return result

    def _opened(self) -> Encoder:
        if self._encoder is None:
            opened = self._open()
            if opened.width != self.file.weights.shape[1]:
                raise ScorerError(
                    f"The encoder gives {opened.width} numbers a token, and the reading was trained on "
                    f"{self.file.weights.shape[1]}. Make it again with `heard train-reading`."
                )
            self._encoder = opened
        return self._encoder


def parts(message: str) -> list[str]:
    """The message cut into what may be a cause, at most MOST_PARTS; what is over stays with the last."""
    found = [part.strip() for part in _ENDS.split(message) if part.strip()]
    return [*found[: MOST_PARTS - 1], " ".join(found[MOST_PARTS - 1 :])] if len(found) > MOST_PARTS else found


def pooled(encoder: Encoder, text: str) -> Floats:
    """The mean of a text's token states, `encoder.width` numbers."""
    mean: Floats = encoder.states(encoder.tokens(text).ids).mean(axis=0, dtype=np.float32)
    return mean
