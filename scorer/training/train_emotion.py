"""Train the classifier of `scorer/emotion.py`, and measure it on messages that it has not seen."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save as save_tensors

from heard.scorer.emotion import EMOTIONS, UNSURE, pooled
from heard.scorer.encoder import Encoder
from heard.scorer.encoder_files import file_sha256
from heard.scorer.errors import ScorerError
from heard.scorer.linear_file import Floats
from heard.scorer.tables import Line, markdown, spread
from heard.scorer.toml_file import write_toml
from heard.scorer.training.data import MESSAGES
from heard.scorer.training.features import OnProgress
from heard.scorer.training.logistic import logistic
from heard.scorer.training.train_head import default_layers

FOLDS, SEEDS = 5, 5
LEAST = FOLDS
"""Messages of each emotion, so that every fold has one."""
STRENGTH = 0.003
"""Of the classifier's fit to its messages (scikit-learn's C); .003 to .1 came out alike on the folds."""
Labels = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, slots=True)
class Messages:
    """Labelled messages; row i of each belongs to the same."""

    texts: list[str]
    labels: Labels
    """Place in EMOTIONS."""
    parts: list[str]
    """Which set a message is from; "" where the file does not say."""


def read_messages(path: Path = MESSAGES) -> Messages:
    """A CSV with the columns emotion and message and, if you like, part. Raises ScorerError, with the line."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ScorerError(f"{path} cannot be read as a CSV in UTF-8. Check the path and the file.") from error
    for number, row in enumerate(rows, 2):
        if not (row.get("message") or "").strip() or row.get("emotion") not in EMOTIONS:
            raise ScorerError(
                f"{path}, line {number}: each row needs a message and an emotion of {', '.join(EMOTIONS)}. Mend it."
            )
    labels = np.array([EMOTIONS.index(row["emotion"]) for row in rows], dtype=np.int64)
    few = [name for at, name in enumerate(EMOTIONS) if (labels == at).sum() < LEAST]
    if few:
        raise ScorerError(f"{path} has fewer than {LEAST} messages of {', '.join(few)}. Label more of them.")
    return Messages([row["message"] for row in rows], labels, [row.get("part") or "" for row in rows])


def train_emotion_reader(data: Path | None, encoder_folder: Path, out: Path, on_progress: OnProgress) -> str:
    """Train on the messages of `data` (default: the project's own) and write the classifier to `out`; its figures, as
    Markdown."""
    messages = read_messages(data or MESSAGES)
    layers = default_layers(encoder_folder)
    encoder = Encoder.load(encoder_folder, layers)
    states = []
    for done, text in enumerate(messages.texts, 1):
        states.append(pooled(encoder, text))
        on_progress("reading the messages", done, len(messages.texts))
    features = np.stack(states)
    figures = _figures(features, messages, on_progress)
    weights, bias = _fit(features, messages.labels)
    out.mkdir(parents=True, exist_ok=True)
    path = out / "weights.safetensors"
    path.write_bytes(save_tensors({"weights": weights, "bias": bias}))
    title = "The default reading of heard" if data is None else f"A reading trained on {data.name}"
    values = {
        "title": title,
        "encoder_sha256": encoder.sha256,
        "weights_sha256": file_sha256(path),
        "layers": layers,
        "emotions": list(EMOTIONS),
    }
    write_toml(out / "reading.toml", values)
    return figures


def _fit(features: Floats, labels: Labels) -> tuple[Floats, Floats]:
    """Weights and bias of a multinomial logistic regression, every emotion counting alike."""
    found = logistic(features, labels, STRENGTH, balanced=True)
    # In rows: a safetensors file takes an array's bytes as they lie.
    return np.ascontiguousarray(found[:, :-1]), np.ascontiguousarray(found[:, -1])


def _figures(features: Floats, messages: Messages, on_progress: OnProgress) -> str:
    """Accuracy and macro F1 over SEEDS cuts into FOLDS, beside always saying the commonest emotion."""
    from sklearn.metrics import f1_score
    from sklearn.model_selection import StratifiedKFold

    labels = messages.labels
    right, macro, by_emotion, sure, sure_right = [], [], [], [], []
    by_part: dict[str, list[float]] = {part: [] for part in dict.fromkeys(messages.parts)}
    for seed in range(SEEDS):
        shares = np.zeros((len(labels), len(EMOTIONS)))
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(features, labels)
        for fold, (train, test) in enumerate(folds):
            weights, bias = _fit(features[train], labels[train])
            logits = features[test] @ weights.T + bias
            shares[test] = np.exp(logits - logits.max(axis=1, keepdims=True))
            shares[test] /= shares[test].sum(axis=1, keepdims=True)
            on_progress("measuring on five folds, five times", seed * FOLDS + fold + 1, SEEDS * FOLDS)
        said, hit = shares.argmax(axis=1), shares.argmax(axis=1) == labels
        certain = shares.max(axis=1) >= UNSURE
        right.append(hit.mean())
        macro.append(f1_score(labels, said, average="macro"))
        by_emotion.append([hit[labels == at].mean() for at in range(len(EMOTIONS))])
        sure.append(certain.mean())
        sure_right.append(hit[certain].mean())
        for part, values in by_part.items():
            values.append(hit[[name == part for name in messages.parts]].mean())

    def line(name: str, values: Sequence[float], constant: str = "") -> Line:
        return Line(name, {"classifier": spread(values), "always the commonest": constant})

    lines = [
        line(f"right, of {len(labels)} messages", right, f"{np.bincount(labels).max() / len(labels):.3f}"),
        line("macro F1", macro, f"{_macro_of_one(labels):.3f}"),
        *(
            line(f"right, {name} ({(labels == at).sum()})", [row[at] for row in by_emotion])
            for at, name in enumerate(EMOTIONS)
        ),
    ]
    if len(by_part) > 1:
        lines += [line(f'right, part "{name}" ({messages.parts.count(name)})', row) for name, row in by_part.items()]
    lines += [line(f"share with a probability of {UNSURE} or more", sure), line("right, of those", sure_right)]
    return markdown(lines)


def _macro_of_one(labels: Labels) -> float:
    """Macro F1 of always saying the commonest emotion."""
    share = float(np.bincount(labels).max() / len(labels))
    return 2 * share / (1 + share) / len(EMOTIONS)
