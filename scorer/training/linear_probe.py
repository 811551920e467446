"""The founding study's training: a linear layer on frozen [CLS] states, AdamW, mean squared error. Needs torch."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from heard.scorer.records import COMPONENTS, HIGHEST, LOWEST
from heard.scorer.training.network import Floats


@dataclass(frozen=True, slots=True)
class ProbeRecipe:
    """What the study states of its training, and what it leaves open."""

    epochs: int = 50
    rate: float = 2e-4
    """AdamW's learning rate, the same throughout; its weight decay is torch's own."""
    batch: int = 16
    """Replies. The study does not state it."""


@dataclass(frozen=True, slots=True)
class Linear:
    """A trained layer."""

    weight: Floats
    """3 x states."""
    bias: Floats

    def rate(self, states: Floats) -> Floats:
        """Ratings of many [CLS] states (rows x states), rows x 3 on 1..3."""
        result: Floats = np.clip(states @ self.weight.T + self.bias, LOWEST, HIGHEST)
        return result


def fit_linear(
    states: Floats,
    ratings: Floats,
    seed: int,
    recipe: ProbeRecipe | None = None,
    step: Callable[[], None] = lambda: None,
) -> Linear:
    """Train on `states` (rows x states) and `ratings` (rows x 3); the same seed gives the same layer.

    `step` is called after each epoch.
    """
    recipe = recipe or ProbeRecipe()
    torch.manual_seed(seed)
    layer = torch.nn.Linear(states.shape[1], len(COMPONENTS))
    optimiser = torch.optim.AdamW(layer.parameters(), lr=recipe.rate)
    x, y = torch.from_numpy(states.astype(np.float32)), torch.from_numpy(ratings.astype(np.float32))
    for _ in range(recipe.epochs):
        for batch in torch.split(torch.randperm(len(x)), recipe.batch):
            optimiser.zero_grad()
            torch.nn.functional.mse_loss(layer(x[batch]), y[batch]).backward()
            optimiser.step()
        step()
    return Linear(layer.weight.detach().numpy(), layer.bias.detach().numpy())


def probe_levels(train: Floats, levels: Floats, test: Floats, seed: int) -> Floats:
    """The study's scorer as a baseline: trained on [CLS] states and levels 0..2, its levels of `test`.

    On 0..2 and not 1..3, because the layer begins near zero: it is the easier task for it, by a hundredth of the MSE.
    """
    layer = fit_linear(train, levels, seed)
    result: Floats = np.clip(test @ layer.weight.T + layer.bias, 0, HIGHEST - LOWEST)
    return result
