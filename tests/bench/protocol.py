"""The study's training with the encoder's states computed once, and with them computed again in each epoch.

Both in one run, on the same replies, with the same encoder on all cores and the same fifty epochs of the same head. The
second is measured for a few epochs and multiplied, every epoch being alike. Opening the encoder counts for neither.
"""

import os
import statistics
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from heard.scorer.encoder import Encoder
from heard.scorer.encoder_files import read_config
from heard.scorer.records import COMPONENTS
from heard.scorer.training.data import project_set, tabulate
from heard.scorer.training.features import compute
from heard.scorer.training.linear_probe import ProbeRecipe, fit_linear
from heard.scorer.training.network import one_thread
from heard.scorer.training.study_sample import ROWS
from tests.bench.table import Row, at_least, spread

ROUNDS = 7
EPOCHS_AGAIN = 3
"""Epochs that are measured with the states computed in each."""


@one_thread()
def protocol(folder: Path) -> list[Row]:
    """Of each round: time of the whole training without a cache / with it."""
    recipe = ProbeRecipe()
    few = replace(recipe, epochs=EPOCHS_AGAIN)
    table = tabulate(list(project_set())[:ROWS], COMPONENTS)
    layers = [int(read_config(folder)["num_hidden_layers"])]
    encoder = Encoder.load(folder, layers, threads=os.cpu_count() or 1)
    ratings = 1 + 2 * table.targets

    def read() -> np.ndarray:
        states = compute(encoder, table.texts, layers, None, lambda *_: None, first_only=True).states
        return states.astype(np.float32)

    read()  # the first call of a session is slower
    ratios, once, again = [], [], []
    for number in range(ROUNDS):
        began = time.perf_counter()
        fit_linear(read(), ratings, number, recipe)
        once.append(time.perf_counter() - began)
        states = read()
        began = time.perf_counter()
        fit_linear(states, ratings, number, few, step=read)  # after each epoch, instead of before it
        again.append((time.perf_counter() - began) * recipe.epochs / EPOCHS_AGAIN)
        ratios.append(again[-1] / once[-1])
    what = f"the study's training ({len(table.texts)} replies, {recipe.epochs} epochs)"
    return [
        at_least(f"{what}, states each epoch / kept", ratios, "x", 20),
        Row(f"{what}, states kept", statistics.median(once), "s", "none set", True, spread(once)),
    ]
