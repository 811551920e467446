"""The reader of danger: what a message means, for what no rule says.

A few small networks on a frozen encoder's states: the mean over the tokens of the message, and over those of what the
person wrote just before it ("see you on the other side" means one thing after a boarding call). A long message is read
in overlapping stretches too, because one sentence in the middle of a long one is what matters and a mean drowns it.
How often it is right is in `scorer/dangers/default/CARD.md`; `chat_app/safety/assessment.py` asks it after the rules.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import AfterValidator, Field, StrictFloat
from safetensors import SafetensorError
from safetensors.numpy import load_file

from heard.scorer.danger_lines import FIRST_DANGER, LABELS
from heard.scorer.encoder import Encoder
from heard.scorer.encoder_files import file_sha256
from heard.scorer.errors import ScorerError
from heard.scorer.linear_file import Floats
from heard.scorer.toml_file import NO_OTHERS, read_toml

DEFAULT = Path(__file__).parent / "dangers" / "default"
MOST_TOKENS = 254
"""What is read of a message: one window of the encoder. Of a longer one the beginning and the end, half of each."""
MOST_CHARACTERS = 4_000
"""What of a message is cut into tokens: no 254 tokens of a language are longer."""
MOST_BEFORE = 120
"""Tokens of the earlier messages, their end."""
STRETCH = 40
"""Tokens of one stretch, about thirty words."""
STRETCH_COST = 0.6
"""Of a stretch's log-odds: of many, one is always somewhat grave. Of 1,200 public posts 79.3% of those by people
in danger were handed off with it and 81.2% without, of the others 20.7% and 21.1%."""
RECOVERY = LABELS.index("recovery")
THRESHOLDS = {"recovery", "check_in", "check_in_before", "crisis", "crisis_alert", "crisis_before"} | {
    *LABELS[FIRST_DANGER + 1 :]
}
"""What is decided by log-odds: `_alert` after a hand-off, `_before` together with the messages before."""
_LEAST = 1e-30
"""Instead of a share of nothing, whose logarithm there is not."""
AGAIN = "Make it again with `heard train-danger`."


def _these(labels: list[str]) -> list[str]:
    if tuple(labels) != LABELS:
        raise ValueError(f"must be {', '.join(LABELS)}, in this order")
    return labels


def _all_of_them(thresholds: dict[str, float]) -> dict[str, float]:
    if set(thresholds) != THRESHOLDS:
        raise ValueError(f"must be {', '.join(sorted(THRESHOLDS))}, and no others. {AGAIN}")
    return thresholds


@dataclass(frozen=True, slots=True)
class DangerToml:
    """What `danger.toml` says of a head."""

    __pydantic_config__ = NO_OTHERS

    title: str
    """One line for people."""
    encoder_sha256: str
    """Of the encoder's model.safetensors, 64 hex digits."""
    weights_sha256: str
    """Of weights.safetensors beside this file, 64 hex digits."""
    layers: Annotated[list[StrictFloat], Field(min_length=1)]
    labels: Annotated[list[str], AfterValidator(_these)]
    """In the order of the outputs."""
    thresholds: Annotated[dict[str, StrictFloat], AfterValidator(_all_of_them)]
    """By what is decided (`chat_app/safety/assessment.py`): log-odds from which it is so."""


@dataclass(frozen=True, slots=True)
class DangerHeadFile:
    """The head as it is stored: `danger.toml` and `weights.safetensors` of one folder."""

    encoder_sha256: str
    layers: tuple[float, ...]
    sha256: str
    """Of the weights, 64 hex digits."""
    thresholds: dict[str, float]
    inner: Floats
    """Networks x inputs x hidden units."""
    inner_bias: Floats
    """Networks x hidden units."""
    outer: Floats
    """Networks x hidden units x labels."""
    outer_bias: Floats
    """Networks x labels."""

    @classmethod
    def load(cls, folder: Path = DEFAULT) -> "DangerHeadFile":
        """Raises ScorerError for a folder without a head, or with a damaged one."""
        about = read_toml(folder / "danger.toml", DangerToml, f"There is no danger.toml in {folder}. {AGAIN}")
        path = folder / "weights.safetensors"
        if file_sha256(path, AGAIN) != about.weights_sha256:
            raise ScorerError(f"{path} does not belong to the danger.toml beside it. {AGAIN}")
        try:
            tensors = load_file(path)
            weights = [tensors[name].astype(np.float32) for name in ("inner", "inner_bias", "outer", "outer_bias")]
        except (SafetensorError, KeyError) as error:
            raise ScorerError(f"{path} cannot be read. {AGAIN}") from error
        inner, inner_bias, outer, outer_bias = weights
        shapes = (inner.shape[:1] + inner.shape[2:], outer.shape[:2], outer.shape[:1] + outer.shape[2:])
        if inner.ndim != 3 or shapes != (inner_bias.shape,) * 2 + (outer_bias.shape,):
            raise ScorerError(f"{path} has weights of another shape. {AGAIN}")
        if outer_bias.shape[1] != len(LABELS):
            raise ScorerError(f"{path} has weights of another shape. {AGAIN}")
        return cls(
            about.encoder_sha256, tuple(about.layers), about.weights_sha256, about.thresholds,
            inner, inner_bias, outer, outer_bias,
        )  # fmt: skip

    def log_odds(self, inputs: Floats) -> Floats:
        """Of each label, by the mean of the networks (`log_odds`); rows of inputs x labels."""
        hidden = gelu(np.einsum("nd,kdh->knh", inputs, self.inner) + self.inner_bias[:, None])
        logits = (np.einsum("knh,khl->knl", hidden, self.outer) + self.outer_bias[:, None]).mean(axis=0)
        return log_odds(logits)


class DangerHead:
    """Reads messages. Blocking: call it from a worker thread; threads may share one."""

    def __init__(self, file: DangerHeadFile, encoder: Callable[[], Encoder]) -> None:
        """`encoder` gives the encoder of `file`, opened with its layers; asked for at the first message."""
        self.file = file
        self._open = encoder
        self._encoder: Encoder | None = None

    def log_odds(self, message: str, before: Sequence[str] = ()) -> tuple[dict[str, float], dict[str, float]]:
        """By label the log-odds of the likeliest stretch: of the message by itself, and with what was said before it.
        Both are the same where nothing was. Never raises on a text.

        Raises ScorerError if the encoder cannot be opened, or is another than the head was trained on.
        """
        if self._encoder is None:
            opened = self._open()
            if opened.sha256 != self.file.encoder_sha256 or 2 * opened.width != self.file.inner.shape[1]:
                raise ScorerError(
                    f"The reader of danger was trained on another encoder, or on other layers of it. {AGAIN}"
                )
            self._encoder = opened
        together = inputs(self._encoder, message, before)
        alone = together.copy()
        alone[:, self._encoder.width :] = 0
        return self._likeliest(alone), self._likeliest(together)

    def _likeliest(self, rows: Floats) -> dict[str, float]:
        found = self.file.log_odds(rows)
        found[1:] -= STRETCH_COST
        return dict(zip(LABELS, map(float, found.max(axis=0)), strict=True))


def inputs(encoder: Encoder, message: str, before: Sequence[str]) -> Floats:
    """What the networks take: a row for the whole message and for each of its stretches, each with what was before."""
    ids = _ends(encoder, message)
    states = encoder.states(ids)
    rows = np.array(encoder.rows(len(ids)), dtype=np.int64)
    means = [states.mean(axis=0)] + [states[rows[part]].mean(axis=0) for part in stretches(len(ids))]
    earlier = encoder.ids(_whole(" ".join(before)[-MOST_CHARACTERS:]))[-MOST_BEFORE:] if before else []
    told = encoder.states(earlier).mean(axis=0) if earlier else np.zeros(encoder.width, dtype=np.float32)
    return np.stack([np.concatenate([mean, told]) for mean in means]).astype(np.float32)


def stretches(count: int) -> list[slice]:
    """Of a text of so many tokens: overlapping stretches of about STRETCH; none of a short text."""
    if count <= 1.5 * STRETCH:
        return []
    halves = 2 * max(2, round(count / STRETCH))
    marks = np.linspace(0, count, halves + 1).astype(int)
    return [slice(int(marks[at]), int(marks[at + 2])) for at in range(halves - 1)]


def _ends(encoder: Encoder, message: str) -> list[int]:
    half, message = MOST_CHARACTERS // 2, _whole(message)
    if len(message) > MOST_CHARACTERS:
        ids = encoder.ids(message[:half])[: MOST_TOKENS // 2] + encoder.ids(message[-half:])[-(MOST_TOKENS // 2) :]
    else:
        ids = encoder.ids(message)
    if len(ids) > MOST_TOKENS:
        ids = ids[: MOST_TOKENS // 2] + ids[-(MOST_TOKENS // 2) :]
    return ids


def _whole(text: str) -> str:
    """The text with lone surrogates replaced: the tokenizer takes none."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def gelu(values: np.ndarray[Any, Any]) -> Floats:
    """The Gaussian error linear unit in its tanh form (Hendrycks & Gimpel 2016, section 2)."""
    result: Floats = 0.5 * values * (1 + np.tanh(0.7978845608 * (values + 0.044715 * values**3)))
    return result


def log_odds(logits: Floats) -> Floats:
    """Of each label over the last axis: against "none" and "recovery" together, that is against what needs nobody; of
    "recovery" against all others. So a message that is torn between two dangers is not less of a danger for it."""
    likely = logits - logits.max(axis=-1, keepdims=True)
    shares = np.exp(likely)
    calm = shares[..., : RECOVERY + 1].sum(axis=-1, keepdims=True)
    result: Floats = likely - np.log(np.maximum(calm, _LEAST))
    others = shares.sum(axis=-1) - shares[..., RECOVERY]
    result[..., RECOVERY] = likely[..., RECOVERY] - np.log(np.maximum(others, _LEAST))
    return result
