"""The founding study's protocol, to the letter: a hundred replies, a frozen BERT's [CLS], a linear head, 50 epochs.

What the study leaves open is said where it is set: the batches (`linear_probe.py`), and on what its error was measured.
Here it is measured on replies to other messages than the hundred's, or, where a file holds hardly more than the
hundred, on five folds of them. Five seeds: each draws its own hundred and sets the first weights and the batches.
"""

import os
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from heard.scorer.encoder import WINDOW, Encoder
from heard.scorer.encoder_files import read_config
from heard.scorer.errors import ScorerError
from heard.scorer.head_file import HeadFile
from heard.scorer.hub import encoder_name
from heard.scorer.records import COMPONENTS, HIGHEST, LOWEST
from heard.scorer.tables import Line, markdown
from heard.scorer.training.data import FOLDS, Table
from heard.scorer.training.features import OnProgress, compute
from heard.scorer.training.linear_probe import Linear, ProbeRecipe, fit_linear
from heard.scorer.training.network import Floats, Rows, folds, one_thread
from heard.scorer.training.study_sample import ROWS, Source, draw, others
from heard.scorer.training.train_head import write_head

SEEDS = 5
FEWEST_OTHERS = 20
"""Replies to other messages that are enough to measure the error on."""
STUDY_MSE = 0.3525
"""Overall, as the study states it, on its own labels."""


@dataclass(frozen=True, slots=True)
class Split:
    """What one seed trains on and measures on."""

    seed: int
    sample: Rows
    tests: list[tuple[Rows, Rows]]
    """Rows to train on and rows to measure on. One pair where there are other replies, five folds where not."""

    @property
    def in_folds(self) -> bool:
        """Whether it is measured within the hundred, by heads that are trained for that alone."""
        return len(self.tests) > 1


@dataclass(frozen=True, slots=True)
class Outcome:
    """Errors of one seed: MSE of each component, three numbers."""

    held_out: Floats
    mean: Floats
    """Of predicting the training rows' mean for the same held-out replies."""
    own: Floats
    """On the hundred that the head was trained on."""


@one_thread()
def follow(
    table: Table,
    source: Source,
    encoder_folder: Path,
    out: Path,
    cache: Path,
    seed: int,
    on_progress: OnProgress,
    command: str,
) -> str:
    """Train by the protocol, write the head of the first seed to `out` with its card, and give the errors in words.

    The states are kept in the folder `cache`: a run that was broken off goes on where it was. Raises ScorerError if
    the encoder is no BERT, or too few messages are there to measure on.
    """
    splits = split(table, seed)
    layers: list[float] = [int(read_config(encoder_folder)["num_hidden_layers"])]
    encoder = Encoder.load(encoder_folder, layers, threads=os.cpu_count() or 1)
    states = compute(
        encoder,
        table.texts,
        layers,
        cache,
        lambda done, of: on_progress("reading the replies", done, of),
        first_only=True,
    ).states.astype(np.float32)
    ratings = LOWEST + (HIGHEST - LOWEST) * table.targets
    epochs = _Epochs(on_progress, ProbeRecipe().epochs * sum(1 + one.in_folds * len(one.tests) for one in splits))
    runs = [_run(states, ratings, one, epochs) for one in splits]
    file = HeadFile(
        f"The founding study's head, trained on {ROWS} replies of {source.title}",
        encoder_name(encoder_folder, encoder.sha256),
        encoder.sha256,
        "",
        layers,
        list(COMPONENTS),
        [f"{source.title}: {ROWS} of {len(table.texts)} replies, drawn by seed {seed}{_in_words(source.averaged)}"],
        command,
        pooling="cls",
    )
    head = runs[0][0]
    write_head(out, file, {"weight": head.weight, "bias": head.bias})
    figures = report(table, splits, [outcome for _, outcome in runs], source.averaged)
    (out / "CARD.md").write_text(card(file, source, figures), encoding="utf-8")
    return figures


def split(table: Table, seed: int) -> list[Split]:
    """The hundred of each of SEEDS seeds from `seed` on, and what its error is measured on: alike for all of them."""
    seeds = range(seed, seed + SEEDS)
    samples = [draw(table, one) for one in seeds]
    rests = [others(table, sample) for sample in samples]
    if min(map(len, rests)) >= FEWEST_OTHERS:
        return [Split(one, sample, [(sample, rest)]) for one, sample, rest in zip(seeds, samples, rests, strict=True)]
    return [Split(one, sample, _in_folds(table, sample, one)) for one, sample in zip(seeds, samples, strict=True)]


def _in_folds(table: Table, sample: Rows, seed: int) -> list[tuple[Rows, Rows]]:
    groups = list(table.groups[sample])
    if len(set(groups)) < FOLDS:
        raise ScorerError(
            f"The {ROWS} replies drawn answer {len(set(groups))} different message(s), and too few answer others, so "
            "the error cannot be measured on other messages. Rate replies to more messages."
        )
    return [(np.setdiff1d(sample, sample[part]), sample[part]) for part in folds(groups, FOLDS, seed)]


def _run(states: Floats, ratings: Floats, one: Split, epochs: "_Epochs") -> tuple[Linear, Outcome]:
    whole = fit_linear(states[one.sample], ratings[one.sample], one.seed, step=epochs.step)
    errors, constants = [], []
    for train, test in one.tests:
        layer = fit_linear(states[train], ratings[train], one.seed, step=epochs.step) if one.in_folds else whole
        errors.append((layer.rate(states[test]) - ratings[test]) ** 2)
        constants.append((ratings[train].mean(0) - ratings[test]) ** 2)
    own = (whole.rate(states[one.sample]) - ratings[one.sample]) ** 2
    return whole, Outcome(np.concatenate(errors).mean(0), np.concatenate(constants).mean(0), own.mean(0))


def report(table: Table, splits: Sequence[Split], outcomes: Sequence[Outcome], averaged: str = "") -> str:
    """What was measured on, the errors over the seeds as a Markdown table, and how to read them. `averaged` is that of
    the `Source`."""
    held_out, means, own = (
        np.array([[*errors, errors.mean()] for errors in found])
        for found in ([o.held_out for o in outcomes], [o.mean for o in outcomes], [o.own for o in outcomes])
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        skill = np.where(means > 0, 1 - held_out / means, np.nan)  # rated alike throughout: nothing to be skilled at
    columns = (*COMPONENTS, "overall")
    rows = {
        "MSE of the study's head, held out": held_out,
        "MSE of predicting the mean, held out": means,
        "skill (1 - the first / the second)": skill,
        "MSE of the study's head on the replies it was trained on": own,
    }
    lines = [
        Line(name, {column: _spread(values[:, at]) for at, column in enumerate(columns)})
        for name, values in rows.items()
    ]
    stated = {**dict.fromkeys(COMPONENTS, ""), "overall": str(STUDY_MSE)}
    lines.append(Line("MSE that the study states, on other labels", stated))
    first, last = splits[0].seed, splits[-1].seed
    if not splits[0].in_folds:
        sizes = [len(one.tests[0][1]) for one in splits]
        where = f"the {' to '.join(map(str, sorted({min(sizes), max(sizes)})))} replies to other messages"
    else:
        where = f"{FOLDS} folds of the hundred, grouped by message, each fold by a head trained on the others"
    drawn = f"Seeds {first} to {last}: each draws {ROWS} of {len(table.texts)} replies, message by message."
    if averaged:
        drawn += f" A label is {averaged}."
    reading = (
        f"On the scale 1 to 3; mean ± standard deviation over the {len(splits)} seeds; overall is the mean of three. "
        f"The study's {STUDY_MSE} is on its own labels, by one rater, and it does not say whether on replies held out: "
        "compare skill, not MSE."
    )
    return f"{drawn} Held out: {where}.\n\n{markdown(lines)}\n\n{reading}"


def card(file: HeadFile, source: Source, figures: str) -> str:
    """The card of a head by the protocol."""
    recipe = ProbeRecipe()
    opening = (
        "Made to repeat the founding study's scorer, not to be the best one: the default head's card has what a head "
        f"that reads all tokens gains over it. {source.terms}"
    )
    return f"""# {file.title}

{textwrap.fill(opening, 120)}

- Encoder, frozen: {file.encoder} (sha256 {file.encoder_sha256}), layer {file.layers[0]:g}, its last.
- Head: one linear layer from [CLS] to cognitive, emotional and behavioral, kept within 1 to 3.
- Training: {ROWS} replies, {recipe.epochs} epochs, AdamW, learning rate {recipe.rate:g}, mean squared error, batches of
  {recipe.batch} (the study does not state its own). The first of the seeds below drew the replies and made the weights.
- It reads the reply alone, without the message. A reply of more than {WINDOW - 2} tokens is cut into equal parts, of
  which it reads the first.

Trained on {"; ".join(file.trained_on)}. Made again by `{file.command}`.

## Figures

{figures}
"""


class _Epochs:
    """Counts the epochs of all runs together, for the progress bar."""

    def __init__(self, on_progress: OnProgress, of: int) -> None:
        self._on_progress, self._of, self._done = on_progress, of, 0

    def step(self) -> None:
        self._done += 1
        self._on_progress(f"training with {SEEDS} seeds", self._done, self._of)


def _in_words(averaged: str) -> str:
    return f"; a label is {averaged}" if averaged else ""


def _spread(values: Floats) -> str:
    return f"{values.mean():.3f} ± {values.std():.3f}" if np.isfinite(values).all() else "none"
