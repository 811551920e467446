"""Train the head of `scorer/danger_head.py`, and measure it on lines that it has not seen."""

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.numpy import save as save_tensors
from torch import nn

from heard.scorer.danger_head import DangerHeadFile, inputs
from heard.scorer.danger_lines import FIRST_DANGER, LABELS, DangerLine
from heard.scorer.encoder import Encoder
from heard.scorer.encoder_files import file_sha256
from heard.scorer.errors import ScorerError
from heard.scorer.linear_file import Floats
from heard.scorer.tables import Line, markdown
from heard.scorer.toml_file import write_toml
from heard.scorer.training.features import OnProgress
from heard.scorer.training.network import one_thread
from heard.scorer.training.train_head import default_layers

FOLDS = 5
NETWORKS = 3
"""Whose outputs are averaged: one alone depends on its seed."""
HIDDEN = 64
EPOCHS, BATCH, RATE, DECAY = 12, 128, 2e-3, 0.01
"""Passes over the lines, lines a step, and AdamW's learning rate and weight decay; chosen by hand on folds, in a few
tries."""
INPUT_DROPOUT, HIDDEN_DROPOUT = 0.2, 0.4
FALSE_ALARMS = {"crisis": 0.03, "crisis_alert": 0.06, "check_in": 0.08, "recovery": 0.01, "danger": 0.003}
"""By what is decided: the most of the hard harmless lines, held out, that its threshold lets through; many share all
but a word with a crisis. A hand-off too many costs a moment and one too few may cost a life, so more is let through
once a conversation has had one ("crisis_alert")."""
OF_ORDINARY = {"crisis": 0.002, "crisis_alert": 0.005, "check_in": 0.01, "recovery": 0.002, "danger": 0.0005}
"""The same of ordinary messages, which are nearly all that a chat gets."""

TAKEN_BACK = 0.005
"""Share of crises and check-ins that may be taken for a danger long past."""
CRISIS = LABELS.index("crisis")

Numbers = np.ndarray[Any, np.dtype[np.int64]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True, slots=True)
class Sample:
    """What is learnt from: a row a line, then the same lines as people type who leave marks out."""

    features: Floats
    labels: Numbers
    """Places in LABELS."""
    folds: Numbers
    lines: int
    """How many rows are the lines as they stand."""


def train_danger(
    lines: Sequence[DangerLine],
    ordinary: Sequence[DangerLine],
    encoder_folder: Path,
    out: Path,
    title: str,
    on_progress: OnProgress,
    found_by_rules: Callable[[str], bool],
) -> str:
    """Train on the lines and write the head to `out`; its figures on lines that it had not seen, as Markdown.

    `ordinary` are harmless messages more, of ordinary talks, with what was said before. `found_by_rules` says which
    texts the rules hand off already: thresholds are set on the others. Raises ScorerError.
    """
    layers = default_layers(encoder_folder)
    encoder = Encoder.load(encoder_folder, layers)
    sample = sample_of(encoder, [*lines, *ordinary], on_progress)
    held_out = held_out_odds(sample, on_progress)
    by_rules = np.array([found_by_rules(line.text) for line in lines], dtype=np.bool_)
    harmless = np.array([line.label == "none" for line in lines], dtype=np.bool_)
    grave = np.array([line.label in ("crisis", "check_in") for line in lines], dtype=np.bool_)
    odds = held_out[: len(lines)]
    least = thresholds(odds[harmless & ~by_rules], held_out[len(lines) :], odds[grave])
    networks = fit(sample, np.ones(len(sample.labels), dtype=np.bool_))
    _write(out, networks, encoder, layers, title, least)
    met = by_rules | (odds[:, CRISIS] >= least["crisis"])
    return "\n\n".join(
        [
            "## On five folds",
            markdown(_by_label(lines, odds, least, by_rules)),
            "## Left out whole: crises that are handed off",
            markdown(_left_out(sample, lines, met, by_rules, least["crisis"], on_progress)),
        ]
    )


def _write(
    out: Path,
    networks: dict[str, Floats],
    encoder: Encoder,
    layers: Sequence[float],
    title: str,
    least: dict[str, float],
) -> None:
    out.mkdir(parents=True, exist_ok=True)
    path = out / "weights.safetensors"
    stored = {**networks, "inner": networks["inner"].astype(np.float16)}
    path.write_bytes(save_tensors({name: np.ascontiguousarray(value) for name, value in stored.items()}))
    values = {
        "title": title,
        "encoder_sha256": encoder.sha256,
        "weights_sha256": file_sha256(path),
        "layers": list(layers),
        "labels": list(LABELS),
    }
    write_toml(out / "danger.toml", values)
    table = [f"{name} = {value:.3f}\n" for name, value in least.items()]
    with (out / "danger.toml").open("a", encoding="utf-8") as file:
        file.write("\n[thresholds]\n" + "".join(table))


def _by_label(lines: Sequence[DangerLine], odds: Floats, least: dict[str, float], by_rules: Flags) -> list[Line]:
    """Shares of each label's lines that rules, head, and both hand off as a crisis; for a danger, as that danger."""
    rows = []
    for at, label in enumerate(LABELS):
        of = np.array([line.label == label for line in lines], dtype=np.bool_)
        head = odds[:, at] >= least[label] if at > CRISIS else odds[:, CRISIS] >= least["crisis"]
        asked = worry(odds) >= least["check_in"]
        cells = {
            "rules": _share(by_rules[of]),
            "head": _share(head[of]),
            "both": _share((head | by_rules)[of]),
            "both, or asked": _share((head | by_rules | asked)[of]),
        }
        rows.append(Line(f"{label}, {int(of.sum())} lines", cells))
    return rows


def _left_out(
    sample: Sample, lines: Sequence[DangerLine], met: Flags, by_rules: Flags, least: float, on_progress: OnProgress
) -> list[Line]:
    """Recall on the crises of a writer, register or kind by networks that were trained without all of its lines."""
    crises = np.array([line.label == "crisis" for line in lines], dtype=np.bool_)
    of: dict[str, Callable[[DangerLine], str]] = {
        "writer": lambda line: line.writer,
        "register": lambda line: line.register,
        "kind": lambda line: line.kind,
    }
    wanted = [
        (name, value)
        for name, key in of.items()
        for value in sorted({key(line) for line, crisis in zip(lines, crises, strict=True) if crisis})
    ]
    rows, shares = [], dict[str, list[float]]()
    for done, (name, value) in enumerate(wanted, 1):
        own = np.zeros(len(sample.labels), dtype=np.bool_)
        mask = np.array([of[name](line) == value for line in lines], dtype=np.bool_)
        own[: len(lines)] = mask
        own[sample.lines : sample.lines + len(lines)] = mask
        chosen = np.flatnonzero(mask & crises)
        found = odds_of(fit(sample, ~own, networks=1), sample.features[chosen])[:, CRISIS] >= least
        both = found | by_rules[chosen]
        shares.setdefault(name, []).append(float(both.mean()))
        rows.append(Line(f"{name} {value}", {"both": _share(both), "seen in training": _share(met[chosen])}))
        on_progress("measuring with a kind left out", done, len(wanted))
    return [
        Line(f"mean over {name}s", {"both": f"{np.mean(s):.3f}", "seen in training": ""}) for name, s in shares.items()
    ] + rows


def _share(flags: Flags) -> str:
    return f"{flags.mean():.3f}" if len(flags) else ""


def thresholds(harmless: Floats, ordinary: Floats, grave: Floats) -> dict[str, float]:
    """By what is decided: the log-odds from which it is, the higher of what hard harmless lines and ordinary messages
    ask for, and, for what takes an alarm back, grave ones."""
    of_hard, of_ordinary = _quantiles(harmless, FALSE_ALARMS), _quantiles(ordinary, OF_ORDINARY)
    found = {name: max(value, of_ordinary.get(name, value)) for name, value in of_hard.items()}
    taken_back = float(np.quantile(grave[:, LABELS.index("recovery")], 1 - TAKEN_BACK))
    return {**found, "recovery": max(found["recovery"], taken_back)}


def _quantiles(odds: Floats, shares: dict[str, float]) -> dict[str, float]:
    """By what is decided: the log-odds that so large a share of these lines reaches; nothing of no lines."""
    if not len(odds):
        return {}
    columns = {
        "crisis": (odds[:, CRISIS], shares["crisis"]),
        "crisis_alert": (odds[:, CRISIS], shares["crisis_alert"]),
        "check_in": (worry(odds), shares["check_in"]),
        "recovery": (odds[:, LABELS.index("recovery")], shares["recovery"]),
    }
    for at in range(FIRST_DANGER + 1, len(LABELS)):
        columns[LABELS[at]] = (odds[:, at], shares["danger"])
    return {name: float(np.quantile(column, 1 - share)) for name, (column, share) in columns.items()}


def worry(odds: Floats) -> Floats:
    """The higher of a crisis's and a check-in's log-odds."""
    columns = [LABELS.index("crisis"), LABELS.index("check_in")]
    result: Floats = odds[..., columns].max(axis=-1)
    return result


def sample_of(encoder: Encoder, lines: Sequence[DangerLine], on_progress: OnProgress) -> Sample:
    """Read all lines, as they stand and without marks. Raises ScorerError where a label has too few lines."""
    few = [label for label in LABELS if sum(line.label == label for line in lines) < 2 * FOLDS]
    if few:
        raise ScorerError(f"There are fewer than {2 * FOLDS} lines of {', '.join(few)}. Write more of them.")
    rows = []
    for done, line in enumerate(lines, 1):
        rows.append(inputs(encoder, line.text, line.before)[0])
        on_progress("reading the lines", done, 2 * len(lines))
    for done, line in enumerate(lines, len(lines) + 1):
        rows.append(inputs(encoder, without_marks(line.text), line.before)[0])
        on_progress("reading the lines", done, 2 * len(lines))
    labels = np.array([LABELS.index(line.label) for line in lines], dtype=np.int64)
    folds = np.array([_fold(line.group) for line in lines], dtype=np.int64)
    return Sample(np.stack(rows), np.tile(labels, 2), np.tile(folds, 2), len(lines))


def without_marks(text: str) -> str:
    """The text in small letters without punctuation."""
    return re.sub(r"\s+", " ", re.sub(r"[^\w\s]", "", text.lower())).strip() or text


def _fold(group: str) -> int:
    return int.from_bytes(hashlib.sha256(group.encode()).digest()[:4]) % FOLDS


def held_out_odds(sample: Sample, on_progress: OnProgress) -> Floats:
    """Log-odds of the lines as they stand, by networks that were trained on the other folds."""
    found = np.zeros((sample.lines, len(LABELS)), dtype=np.float32)
    for fold in range(FOLDS):
        rows = np.flatnonzero(sample.folds[: sample.lines] == fold)
        found[rows] = odds_of(fit(sample, sample.folds != fold), sample.features[rows])
        on_progress("measuring on five folds", fold + 1, FOLDS)
    return found


def odds_of(networks: dict[str, Floats], features: Floats) -> Floats:
    """Log-odds by networks that `fit` returned."""
    file = DangerHeadFile("", (), "", {}, *(networks[name] for name in ("inner", "inner_bias", "outer", "outer_bias")))
    return file.log_odds(features)


def fit(sample: Sample, rows: Flags, networks: int = NETWORKS) -> dict[str, Floats]:
    """Networks trained on the rows, as the tensors of `weights.safetensors`."""
    features = sample.features[rows]
    mean, spread = features.mean(axis=0), features.std(axis=0) + 1e-6
    values = torch.from_numpy((features - mean) / spread)
    labels = torch.from_numpy(sample.labels[rows])
    made: list[dict[str, Floats]] = []
    with one_thread():
        for seed in range(networks):
            network = _trained(values, labels, seed)
            inner = network[1].weight.detach().numpy().T / spread[:, None]
            made.append(
                {
                    "inner": inner.astype(np.float16).astype(np.float32),  # as it is stored
                    "inner_bias": network[1].bias.detach().numpy() - mean @ inner,
                    "outer": network[4].weight.detach().numpy().T,
                    "outer_bias": network[4].bias.detach().numpy(),
                }
            )
    return {name: np.stack([one[name] for one in made]).astype(np.float32) for name in made[0]}


def _trained(values: torch.Tensor, labels: torch.Tensor, seed: int) -> nn.Sequential:
    torch.manual_seed(seed)
    network = nn.Sequential(
        nn.Dropout(INPUT_DROPOUT),
        nn.Linear(values.shape[1], HIDDEN),
        nn.GELU(approximate="tanh"),
        nn.Dropout(HIDDEN_DROPOUT),
        nn.Linear(HIDDEN, len(LABELS)),
    )
    optimizer = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=DECAY)
    loss_of = nn.CrossEntropyLoss()
    for _ in range(EPOCHS):
        order = torch.randperm(len(values))
        for at in range(0, len(order), BATCH):
            batch = order[at : at + BATCH]
            loss = loss_of(network(values[batch]), labels[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    network.eval()
    return network
