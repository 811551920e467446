"""A share by the mixed model of statsmodels, for comparison: marks of 0 and 1 with crossed random effects of people and
of items, by restricted maximum likelihood, whose constant is the share of the population.

The logit model with the same effects (`BinomialBayesMixedGLM`) is no alternative: its posterior mode sets both
variances to 0, and its variational one leaves out that they and the constant hang together.
"""

import warnings
from typing import Any

import numpy as np
from statsmodels.regression.mixed_linear_model import MixedLM, VCSpec

from tests.bench.simulated import Population, Setting, draw, generator_of

Floats = np.ndarray[Any, np.dtype[Any]]


def mixed_model_covers(setting: Setting, truth: Population, seed: int) -> float:
    """Whether (1.0 or 0.0) the model's interval of the first source's share of most holds the truth."""
    drawn = draw(setting, generator_of(setting, seed))
    marked = np.array([one.most is not None and one.sources[one.most - 1] == "s0" for one in drawn.cells], dtype=float)
    low, high = mixed_model_interval(marked[drawn.cell], drawn.person, drawn.item)
    return float(low <= truth.most[0] <= high)


def mixed_model_interval(marks: Floats, person: Floats, item: Floats) -> tuple[float, float]:
    """Return the interval of 95% (normal) of the mean of `marks`, each with its person and item, numbered from 0."""
    designs = [np.eye(int(group.max()) + 1)[group] for group in (person, item)]
    names = [
        [f"{kind}{number}" for number in range(design.shape[1])] for kind, design in zip("pi", designs, strict=True)
    ]
    effects = VCSpec(["person", "item"], [[one] for one in names], [[one] for one in designs])
    one_group = np.zeros(
        len(marks), dtype=int
    )  # the effects cross, so that no smaller group is independent of the rest
    model = MixedLM(marks, np.ones((len(marks), 1)), one_group, exog_vc=effects, exog_re=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a variance is near 0
        low, high = model.fit(reml=True).conf_int()[0]
    return float(low), float(high)
