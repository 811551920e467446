"""Train a head on frozen token states. Torch lives here and in no file that scoring imports."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]
from torch import nn

from heard.scorer.head import THRESHOLDS
from heard.scorer.training.features import Features

Floats = np.ndarray[Any, np.dtype[np.float32]]
Rows = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a head is trained. The defaults were chosen on the folds of `heard evaluate`, by hand, in a few tries."""

    members: int = 3
    """Networks trained side by side, whose facets are averaged: one alone depends on its seed."""
    width: int = 88
    """Of the projected token states, in each member."""
    basis: int = 256
    """Principal directions of the states that training works in; folded into the projection at the end."""
    dropout: float = 0.3
    """On the projected states."""
    rate: float = 3e-3
    """Highest learning rate of the one cycle (Smith & Topin 2018)."""
    decay: float = 0.02
    """AdamW weight decay."""
    epochs: int = 6
    batch: int = 64
    """Replies."""


@contextmanager
def one_thread() -> Iterator[None]:
    """Torch and numpy on one thread within, whatever the machine has.

    A sum's last bits depend on the number of threads, and so do weights after thousands of steps: this makes them the
    same anywhere. It is faster as well (four times less work on two busy cores), the batches being small.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1, user_api="blas"):
            yield
    finally:
        torch.set_num_threads(before)


class Network(nn.Module):  # type: ignore[misc]  # torch is Any to the type checker
    """The trainable form of `scorer.head.Head`, without the mixing; see the equations there."""

    def __init__(self, states: int, facets: int, recipe: Recipe) -> None:
        super().__init__()
        shape = (recipe.members, facets, recipe.width)
        self.project = nn.Linear(states, recipe.members * recipe.width)
        self.queries = nn.Parameter(torch.randn(shape) / recipe.width**0.5)
        self.values = nn.Parameter(torch.randn(shape) / recipe.width**0.5)
        self.biases = nn.Parameter(torch.zeros(recipe.members, facets, THRESHOLDS))
        self.drop = nn.Dropout(recipe.dropout)

    def forward(self, states: torch.Tensor, owner: torch.Tensor, count: int) -> torch.Tensor:
        """Logits of the chance of each level or more, texts x members x facets x THRESHOLDS.

        `states` holds the tokens of all texts; `owner` the text of each token.
        """
        members, facets, width = self.queries.shape
        hidden = self.drop(nn.functional.gelu(self.project(states), approximate="tanh"))
        hidden = hidden.view(-1, members, width).transpose(0, 1)
        focus = (hidden @ self.queries.transpose(1, 2)).transpose(0, 1).flatten(1)
        place = owner[:, None].expand_as(focus)
        highest = torch.full((count, focus.shape[1]), -1e9).scatter_reduce(0, place, focus.detach(), "amax")
        focus = torch.exp(focus - highest[owner])
        # v . (a h) = a (h . v): pooling numbers, not vectors, is the same and cheaper.
        heights = (hidden @ self.values.transpose(1, 2)).transpose(0, 1).flatten(1)
        zeros = torch.zeros(count, focus.shape[1])
        total = zeros.index_add(0, owner, focus)
        pooled = (zeros.index_add(0, owner, focus * heights) / total).view(count, members, facets)
        return pooled[..., None] + self.biases


@dataclass(frozen=True, slots=True)
class Basis:
    """A rotation of the token states to their principal directions: x -> (x - mean) / spread @ turn."""

    mean: torch.Tensor
    spread: torch.Tensor
    turn: torch.Tensor

    @classmethod
    def fit(cls, states: np.ndarray[Any, Any], size: int) -> "Basis":
        """From every fifth token. `size` is cut to the number of states."""
        sample = torch.from_numpy(states[::5].astype(np.float32))
        mean, spread = sample.mean(0), sample.std(0).clamp(min=0.02)  # a few directions of the encoder never move
        sample = (sample - mean) / spread
        _, turn = torch.linalg.eigh(sample.T @ sample / len(sample))
        turn = turn[:, -min(size, turn.shape[1]) :].flip(1)
        scale = (sample[:20_000] @ turn).std()
        return cls(mean, spread, turn / scale)

    def apply(self, states: np.ndarray[Any, Any]) -> torch.Tensor:
        """Rotated states, float32, in slices to bound the memory."""
        slices = [torch.from_numpy(states[at : at + 50_000].astype(np.float32)) for at in range(0, len(states), 50_000)]
        return torch.cat([((part - self.mean) / self.spread) @ self.turn for part in slices])


@dataclass(frozen=True, slots=True)
class Prepared:
    """Features in the basis, ready for batches."""

    states: torch.Tensor
    starts: Rows
    basis: Basis


def prepare(features: Features, recipe: Recipe) -> Prepared:
    """Rotate the features once; every fold and seed shares the result (the basis sees no label)."""
    basis = Basis.fit(features.states, recipe.basis)
    return Prepared(basis.apply(features.states), features.starts, basis)


def fit(
    data: Prepared,
    targets: Floats,
    weights: Floats,
    rows: Rows,
    recipe: Recipe,
    seed: int,
    step: Callable[[], None] = lambda: None,
) -> Network:
    """Train on `rows`. `targets` is all rows x facets in 0..1 with NaN where not labelled; `weights` has the same
    shape.

    Squared error of the chances of each level on the labelled cells only (a masked multi-task loss): a label t of 0..1
    says that level k is reached with the chance of `reached`. The same seed gives the same network.
    """
    generator = np.random.default_rng(seed)
    torch.manual_seed(seed)
    network = Network(data.states.shape[1], targets.shape[1], recipe)
    known = ~np.isnan(targets)
    goals = reached(np.nan_to_num(targets))
    mean = np.where(known[rows, :, None], goals[rows], 0).sum(0) / np.maximum(known[rows].sum(0), 1)[:, None]
    with torch.no_grad():
        network.biases.copy_(torch.logit(torch.tensor(mean, dtype=torch.float32).clamp(0.03, 0.97)))
    optimiser = torch.optim.AdamW(network.parameters(), lr=recipe.rate, weight_decay=recipe.decay)
    per_epoch = -(-len(rows) // recipe.batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, recipe.rate, total_steps=recipe.epochs * per_epoch, pct_start=0.15
    )
    labels = torch.from_numpy(goals), torch.from_numpy(np.where(known, weights, 0).astype(np.float32))
    network.train()
    for _ in range(recipe.epochs):
        order = generator.permutation(rows)
        for at in range(0, len(order), recipe.batch):
            batch = order[at : at + recipe.batch]
            share = torch.sigmoid(network(*_gather(data, batch)))
            index = torch.from_numpy(batch)
            # A sum over members: each learns by itself, as if it were alone.
            error = ((share - labels[0][index][:, None]) ** 2).mean(3).sum(1)
            loss = (error * labels[1][index]).sum() / len(batch)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
        step()
    network.eval()
    return network


def reached(labels: Floats) -> Floats:
    """The chance of each level or more that a label stands for, ... x THRESHOLDS from labels of 0..1.

    0, 0.5 and 1 are the levels themselves (0 0, 1 0, 1 1); a label between two is either with a chance in proportion.
    """
    steps = np.arange(THRESHOLDS, dtype=np.float32)
    result: Floats = np.clip(labels[..., None] * THRESHOLDS - steps, 0, 1)
    return result


def predict(network: Network, data: Prepared, rows: Rows) -> Floats:
    """Facets of `rows`, each 0..1."""
    with torch.no_grad():
        parts = [torch.sigmoid(network(*_gather(data, batch))).mean((1, 3)) for batch in _slices(rows, 256)]
    result: Floats = torch.cat(parts).numpy()
    return result


def tensors(network: Network, basis: Basis) -> dict[str, Floats]:
    """The weights as `scorer.head.Head` wants them, with the basis folded into the projection."""
    turn = basis.turn @ network.project.weight.T
    projection = turn / basis.spread[:, None]
    bias = network.project.bias - (basis.mean / basis.spread) @ turn
    named = {
        "projection": projection,
        "projection_bias": bias,
        "queries": network.queries,
        "values": network.values,
        "biases": network.biases,
    }
    return {name: tensor.detach().numpy().astype(np.float32) for name, tensor in named.items()}


def folds(groups: Sequence[str], count: int, seed: int = 0) -> list[Rows]:
    """Test rows of `count` folds; a group is whole in one fold. Deterministic."""
    names = np.unique(np.asarray(groups))
    order = np.random.default_rng(seed).permutation(len(names))
    fold_of = dict(zip(names[order], np.arange(len(names)) % count, strict=True))
    place = np.array([fold_of[group] for group in groups])
    return [np.where(place == fold)[0] for fold in range(count)]


def _gather(data: Prepared, batch: Rows) -> tuple[torch.Tensor, torch.Tensor, int]:
    lengths = data.starts[batch + 1] - data.starts[batch]
    states = torch.cat([data.states[data.starts[row] : data.starts[row + 1]] for row in batch])
    return states, torch.from_numpy(np.repeat(np.arange(len(batch)), lengths)), len(batch)


def _slices(rows: Rows, size: int) -> Iterator[Rows]:
    for at in range(0, len(rows), size):
        yield rows[at : at + size]
