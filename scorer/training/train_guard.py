"""Train the head of `scorer/guard_head.py`, and measure it on lines that it has not seen."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save as save_tensors

from heard.scorer.emotion import pooled
from heard.scorer.encoder import Encoder
from heard.scorer.encoder_files import file_sha256
from heard.scorer.errors import ScorerError
from heard.scorer.guard_head import HEAD_KINDS, MOST_CHARACTERS
from heard.scorer.guard_lines import GuardLine
from heard.scorer.linear_file import Floats
from heard.scorer.tables import Line, markdown
from heard.scorer.toml_file import write_toml
from heard.scorer.training.features import OnProgress
from heard.scorer.training.logistic import logistic
from heard.scorer.training.train_head import default_layers

FOLDS = 5
"""All lines of one message are in the same fold."""
FALSE_ALARMS = 0.0003
"""Share of good replies that each kind's threshold lets it catch, held out: one in 3,000."""
STRENGTH = 0.003
"""Of each kind's fit (scikit-learn's C); .001 to .01 came out alike on the folds."""
MESSAGE_SCALE = 0.6
"""How much less than the sentence its message is trusted. At 0 the recall of agreement with delusions fell from .6 to
.4; at 1 twice as many clean answers to the same messages were caught."""

Flags = np.ndarray[Any, np.dtype[np.bool_]]
Numbers = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, slots=True)
class GoodReply:
    """A reply that may be shown, sentence by sentence as the guard reads it."""

    message: str
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Margins (log-odds above the threshold; from 0 on it is caught) by classifiers that had not seen the text."""

    lines: Floats
    """Lines x kinds."""
    good: Floats
    """Good replies x kinds: the highest of their sentences."""
    thresholds: Floats
    """Of each kind, as log-odds."""
    left_out: Floats
    """Lines x kinds, where the classifiers had seen no caught line of the line's own kind."""

    def caught(self) -> Flags:
        """Of each line."""
        return _any(self.lines)


@dataclass(frozen=True, slots=True)
class _Sample:
    """What is learnt from: one row a line, then one a sentence of the good replies."""

    features: Floats
    labels: Flags
    """Rows x kinds."""
    folds: Numbers
    used: Flags
    """Rows that are learnt from: what is caught for its language alone teaches these kinds nothing."""
    reply_of: Numbers
    """Of each sentence of the good replies: the reply's number."""


def train_guard(
    lines: Sequence[GuardLine],
    good: Sequence[GoodReply],
    encoder_folder: Path,
    out: Path,
    title: str,
    on_progress: OnProgress,
) -> str:
    """Train on the lines and write the head to `out`; its figures as Markdown. Raises ScorerError."""
    layers = default_layers(encoder_folder)
    encoder = Encoder.load(encoder_folder, layers)
    sample = _sample(encoder, lines, good, on_progress)
    held_out = _held_out(sample, lines, good, on_progress)
    found = _fit(sample, sample.used)
    out.mkdir(parents=True, exist_ok=True)
    path = out / "weights.safetensors"
    tensors = {"weights": found[:, :-1], "bias": found[:, -1] - held_out.thresholds}
    path.write_bytes(save_tensors({name: np.ascontiguousarray(array) for name, array in tensors.items()}))
    values = {
        "title": title,
        "encoder_sha256": encoder.sha256,
        "weights_sha256": file_sha256(path),
        "layers": layers,
        "kinds": list(HEAD_KINDS),
    }
    write_toml(out / "guard.toml", values)
    return markdown(_figures(held_out, lines))


def held_out_margins(
    lines: Sequence[GuardLine], good: Sequence[GoodReply], encoder_folder: Path, on_progress: OnProgress
) -> HeldOut:
    """Each line and good reply by classifiers that were trained on the other folds. Raises ScorerError."""
    encoder = Encoder.load(encoder_folder, default_layers(encoder_folder))
    return _held_out(_sample(encoder, lines, good, on_progress), lines, good, on_progress)


def _sample(
    encoder: Encoder, lines: Sequence[GuardLine], good: Sequence[GoodReply], on_progress: OnProgress
) -> _Sample:
    pairs = [(line.message, line.reply) for line in lines]
    pairs += [(reply.message, sentence) for reply in good for sentence in reply.sentences]
    texts = list(dict.fromkeys(text[:MOST_CHARACTERS] for pair in pairs for text in pair))
    means: dict[str, Floats] = {}
    for done, text in enumerate(texts, 1):
        means[text] = pooled(encoder, text)
        on_progress("reading the lines", done, len(texts))
    features = np.stack(
        [np.concatenate([means[reply[:MOST_CHARACTERS]], means[message[:MOST_CHARACTERS]]]) for message, reply in pairs]
    )
    labels = np.zeros((len(pairs), len(HEAD_KINDS)), dtype=np.bool_)
    for row, line in enumerate(lines):
        if line.caught and line.kind in HEAD_KINDS:
            labels[row, HEAD_KINDS.index(line.kind)] = True
    few = [kind for at, kind in enumerate(HEAD_KINDS) if labels[:, at].sum() < 2 * FOLDS]
    if few:
        raise ScorerError(f"There are fewer than {2 * FOLDS} caught lines of {', '.join(few)}. Write more of them.")
    used = np.ones(len(pairs), dtype=np.bool_)
    used[: len(lines)] = [not (line.caught and line.kind == "language") for line in lines]
    reply_of = np.array([number for number, reply in enumerate(good) for _ in reply.sentences], dtype=np.int64)
    return _Sample(features, labels, np.array([_fold(message) for message, _ in pairs]), used, reply_of)


def _fold(message: str) -> int:
    return int.from_bytes(hashlib.sha256(message.lower().encode()).digest()[:4]) % FOLDS


def _fit(sample: _Sample, rows: Flags, kinds: Sequence[str] = HEAD_KINDS) -> Floats:
    """Kinds x (weights, then the bias); of a kind that is not in `kinds`, what never catches."""
    width = sample.features.shape[1] // 2
    scale = np.concatenate([np.ones(width), np.full(width, MESSAGE_SCALE)])
    found = np.zeros((len(HEAD_KINDS), 2 * width + 1), dtype=np.float32)
    found[:, -1] = -np.inf
    for at, kind in enumerate(HEAD_KINDS):
        if kind in kinds:
            found[at] = logistic(sample.features[rows], sample.labels[rows, at], STRENGTH, scale=scale)
    return found


def _held_out(
    sample: _Sample, lines: Sequence[GuardLine], good: Sequence[GoodReply], on_progress: OnProgress
) -> HeldOut:
    odds = np.zeros(sample.labels.shape, dtype=np.float32)
    steps = FOLDS + len(HEAD_KINDS)
    for fold in range(FOLDS):
        found = _fit(sample, sample.used & (sample.folds != fold))
        rows = sample.folds == fold
        odds[rows] = _odds(sample.features[rows], found)
        on_progress("measuring on five folds, and with each kind left out", fold + 1, steps)
    count = len(lines)
    of_replies = np.full((len(good), len(HEAD_KINDS)), -np.inf, dtype=np.float32)
    np.maximum.at(of_replies, sample.reply_of, odds[count:])
    clean = odds[:count][[not line.caught for line in lines]]
    thresholds = np.quantile(of_replies if len(good) else clean, 1 - FALSE_ALARMS, axis=0).astype(np.float32)
    left_out = np.zeros((count, len(HEAD_KINDS)), dtype=np.float32)
    for at, kind in enumerate(HEAD_KINDS):
        own = np.zeros(len(odds), dtype=np.bool_)
        own[:count] = [line.caught and line.kind == kind for line in lines]
        found = _fit(sample, sample.used & ~own, [other for other in HEAD_KINDS if other != kind])
        left_out[own[:count]] = _odds(sample.features[own], found)
        on_progress("measuring on five folds, and with each kind left out", FOLDS + at + 1, steps)
    return HeldOut(odds[:count] - thresholds, of_replies - thresholds, thresholds, left_out - thresholds)


def _odds(features: Floats, found: Floats) -> Floats:
    return np.asarray(features @ found[:, :-1].T + found[:, -1], dtype=np.float32)


def _figures(held_out: HeldOut, lines: Sequence[GuardLine]) -> list[Line]:
    """Shares by kind, held out."""
    caught, others = held_out.caught(), _any(held_out.left_out)
    figures = []
    for name, kinds in (*((kind, {kind}) for kind in HEAD_KINDS), ("all of these", set(HEAD_KINDS))):
        bad = np.array([line.caught and line.kind in kinds for line in lines])
        clean = np.array([not line.caught and line.kind in kinds for line in lines])
        cells = {
            "caught lines, held out": _share(caught[bad]),
            "by the other kinds alone": _share(others[bad]) if len(kinds) == 1 else "",
            "clean lines": _share(caught[clean]),
        }
        figures.append(Line(name, cells))
    figures.append(
        Line(
            "good replies",
            {**dict.fromkeys(figures[0].cells, ""), "clean lines": _share(_any(held_out.good))},
        )
    )
    return figures


def _any(margins: Floats) -> Flags:
    """Whether any kind catches."""
    return np.asarray((margins >= 0).any(axis=1), dtype=np.bool_)


def _share(flags: Flags) -> str:
    return f"{flags.mean():.3f} of {len(flags)}" if len(flags) else ""
