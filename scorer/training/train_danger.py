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
FALSE_ALARMS = {"crisis": 0.05, "crisis_alert": 0.08, "check_in": 0.08, "recovery": 0.002, "danger": 0.003}
"""By what is decided: the most of the hard harmless lines, held out, that its threshold lets through; many share all
but a word with a crisis. A hand-off too many costs a moment and one too few may cost a life, so more is let through
once a conversation has had one ("crisis_alert")."""
FALSE_ALARMS_TOGETHER = {"crisis": 0.02, "check_in": 0.05}
"""The same of messages that are read with what was said before them, a second chance for each to be taken for more."""
OF_ORDINARY = {"crisis": 0.003, "crisis_alert": 0.006, "check_in": 0.01, "recovery": 0.0005, "danger": 0.0005}
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
    told: Flags
    """Whether something was said before the line."""


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
    alone, together = held_out_odds(sample, on_progress)
    by_rules = np.array([found_by_rules(line.text) for line in lines], dtype=np.bool_)
    harmless = np.array([line.label == "none" for line in lines], dtype=np.bool_)
    grave = np.array([line.label in ("crisis", "check_in") for line in lines], dtype=np.bool_)
    own, told = slice(len(lines)), sample.told[: sample.lines]
    hard = np.concatenate([harmless & ~by_rules, np.zeros(len(ordinary), dtype=np.bool_)])
    easy = np.arange(sample.lines) >= len(lines)
    least = thresholds(alone[hard], alone[easy], alone[own][grave])
    least |= after_others(together[hard & told], together[easy & told], least)
    networks = fit(sample, np.ones(len(sample.labels), dtype=np.bool_))
    _write(out, networks, encoder, layers, title, least)
    met = by_rules | handed_off(alone[own], together[own], told[own], least)
    return "\n\n".join(
        [
            "## On five folds",
            markdown(_by_label(lines, met, asked(alone[own], together[own], told[own], least), by_rules)),
            "## Left out whole: crises that are handed off",
            markdown(_left_out(sample, lines, met, by_rules, least, on_progress)),
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


def handed_off(alone: Floats, together: Floats, told: Flags, least: dict[str, float]) -> Flags:
    """Which messages the head hands off, for whatever danger; `told` says which have others before them."""
    columns = [CRISIS, *range(FIRST_DANGER + 1, len(LABELS))]
    found = (alone[:, columns] >= np.array([least[LABELS[at]] for at in columns])).any(axis=1)
    result: Flags = found | (told & (together[:, CRISIS] >= least["crisis_before"]))
    return result


def asked(alone: Floats, together: Floats, told: Flags, least: dict[str, float]) -> Flags:
    """Which messages the head would ask about, or hand off for suicide."""
    result: Flags = (worry(alone) >= least["check_in"]) | (told & (worry(together) >= least["check_in_before"]))
    return result


def _by_label(lines: Sequence[DangerLine], met: Flags, questions: Flags, by_rules: Flags) -> list[Line]:
    """Shares of each label's lines that the rules hand off, that both do, and that are met at all."""
    rows = []
    for label in LABELS:
        of = np.array([line.label == label for line in lines], dtype=np.bool_)
        cells = {
            "rules": _share(by_rules[of]),
            "both": _share(met[of]),
            "both, or asked": _share((met | questions)[of]),
        }
        rows.append(Line(f"{label}, {int(of.sum())} lines", cells))
    return rows


def _left_out(
    sample: Sample,
    lines: Sequence[DangerLine],
    met: Flags,
    by_rules: Flags,
    least: dict[str, float],
    on_progress: OnProgress,
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
        found = handed_off(*both_odds(fit(sample, ~own, networks=1), sample, chosen), sample.told[chosen], least)
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


def after_others(harmless: Floats, ordinary: Floats, alone: dict[str, float]) -> dict[str, float]:
    """The same of messages that are read together with those before them, and never lower than `alone`, those of the
    messages by themselves. For other dangers each is read by itself."""
    of_hard, of_ordinary = _quantiles(harmless, FALSE_ALARMS_TOGETHER), _quantiles(ordinary, OF_ORDINARY)
    return {
        f"{name}_before": max(found[name] for found in (alone, of_hard, of_ordinary) if found)
        for name in FALSE_ALARMS_TOGETHER
    }


def _quantiles(odds: Floats, shares: dict[str, float]) -> dict[str, float]:
    """By what is decided: the log-odds that so large a share of these lines reaches; nothing of no lines."""
    if not len(odds):
        return {}
    columns = {
        "crisis": odds[:, CRISIS],
        "crisis_alert": odds[:, CRISIS],
        "check_in": worry(odds),
        "recovery": odds[:, LABELS.index("recovery")],
    }
    found = {name: (column, shares[name]) for name, column in columns.items() if name in shares}
    if "danger" in shares:
        found |= {LABELS[at]: (odds[:, at], shares["danger"]) for at in range(FIRST_DANGER + 1, len(LABELS))}
    return {name: float(np.quantile(column, 1 - share)) for name, (column, share) in found.items()}


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
    told = np.array([bool(line.before) for line in lines], dtype=np.bool_)
    return Sample(np.stack(rows), np.tile(labels, 2), np.tile(folds, 2), len(lines), np.tile(told, 2))


def without_marks(text: str) -> str:
    """The text in small letters without punctuation."""
    return re.sub(r"\s+", " ", re.sub(r"[^\w\s]", "", text.lower())).strip() or text


def _fold(group: str) -> int:
    return int.from_bytes(hashlib.sha256(group.encode()).digest()[:4]) % FOLDS


def held_out_odds(sample: Sample, on_progress: OnProgress) -> tuple[Floats, Floats]:
    """Log-odds of the lines as they stand, by networks that were trained on the other folds: see `both_odds`."""
    alone = np.zeros((sample.lines, len(LABELS)), dtype=np.float32)
    together = alone.copy()
    for fold in range(FOLDS):
        rows = np.flatnonzero(sample.folds[: sample.lines] == fold)
        alone[rows], together[rows] = both_odds(fit(sample, sample.folds != fold), sample, rows)
        on_progress("measuring on five folds", fold + 1, FOLDS)
    return alone, together


def both_odds(networks: dict[str, Floats], sample: Sample, rows: Numbers) -> tuple[Floats, Floats]:
    """Log-odds of each message by itself, and together with what was said before it."""
    together = sample.features[rows]
    alone = together.copy()
    alone[:, alone.shape[1] // 2 :] = 0
    return odds_of(networks, alone), odds_of(networks, together)


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
