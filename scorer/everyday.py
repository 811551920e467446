"""What a head that was taught everyday talk says beside the rubric: how empathic people would call a reply, and faults.

The facet "perceived" follows people's ratings of ordinary conversations. Alone it rewards pity, sermons, stacked words
of empathy and refusals, of which those have none, so that it is a term beside gates; and it takes every polished
sentence of counselling, of which people rated none, for the best of everyday talk, so that there the rubric speaks in
its place. With the facets p "perceived", w "warmth" (a smaller voice: the ratings of the project's own everyday
replies), c "cold" and g "counselling", C and E the heights 0..1 of the components Cognitive and Emotional, and h what
"harm" leaves (`harmless`):

    everyday = clip((a + b (p + WARMTH w) - 1) / 2, 0, 1)
    perceived = 1 + 2 ((1 - g^2) everyday + g^2 (C + 2 E) / 3) (1 - clip((c - c_0) / (c_1 - c_0), 0, 1)) h

The facets "refusal", "incoherent" and "insult" each have a threshold from which the fault is noted. What is incoherent
has no score. All numbers were fitted on replies outside the training folds (`scorer/training/fit_perceived.py`).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from heard.scorer.records import HIGHEST, LOWEST

Floats = np.ndarray[Any, np.dtype[Any]]

FAULTS = ("refusal", "incoherent", "insult")
"""Facets of faults, in the order of their thresholds."""
NEEDED = ("perceived", "warmth", "cold", "counselling", "harm")
"""Facets that the number is made of."""
WARMTH = 0.1
"""What the facet "warmth" counts for beside "perceived": a fifth of its spread. More of it would tell good own replies
from bad ones better, and follow people's ratings less."""
HARM_BEGINS, HARM_WHOLE = 0.5, 0.9
"""Of the facet "harm", 0..1: from where it takes from every number, and where nothing is left."""


def called(facets: Mapping[str, Floats]) -> Floats:
    """The facets "perceived" and "warmth" as one."""
    result: Floats = facets["perceived"] + WARMTH * facets["warmth"]
    return result


def spared(facet: Floats, begins: float, whole: float) -> Floats:
    """What a gate leaves of a number's height, 0..1: all up to `begins`, nothing from `whole` on.

    A factor and no term of a sum, because kind words beside blame or mockery do not make up for it.
    """
    result: Floats = 1 - np.clip((facet - begins) / max(1e-6, whole - begins), 0, 1)
    return result


def harmless(harm: Floats) -> Floats:
    """What the facet "harm" leaves of a reply's numbers, 0..1."""
    return spared(harm, HARM_BEGINS, HARM_WHOLE)


def perceived(facets: Mapping[str, Floats], mixed: Floats, line: Sequence[float], cold: Sequence[float]) -> Floats:
    """How empathic people would call replies of these facets (NEEDED), 1..3, by `line` (a, b) and `cold` (c_0, c_1).

    `mixed` are the three components' heights, ... x 3 on 0..1, before harm has taken from them.
    """
    everyday = np.clip((line[0] + line[1] * called(facets) - LOWEST) / (HIGHEST - LOWEST), 0, 1)
    counselling = (mixed[..., 0] + 2 * mixed[..., 1]) / 3
    share = facets["counselling"] ** 2
    height = ((1 - share) * everyday + share * counselling) * spared(facets["cold"], cold[0], cold[1])
    result: Floats = LOWEST + (HIGHEST - LOWEST) * height * harmless(facets["harm"])
    return result
