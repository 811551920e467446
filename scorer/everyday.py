"""What a head that was taught everyday talk says beside the rubric: how empathic people would call a reply, and faults.

The facet "perceived" follows people's ratings of ordinary conversations. Alone it rewards pity, sermons, stacked words
of empathy and refusals, of which those have none, so that it is a term beside gates. With p, w and c the facets
"perceived", "warmth" (a smaller voice: the ratings of the project's own everyday replies) and "cold", and h what "harm"
leaves (`heard.scorer.head.harmless`):

    perceived = 1 + 2 clip((a + b (p + WARMTH w) - 1) / 2, 0, 1) (1 - clip((c - c_0) / (c_1 - c_0), 0, 1)) h

The facets "refusal", "incoherent" and "insult" each have a threshold from which the fault is noted. What is incoherent
has no score. All numbers were fitted on replies outside the training folds (`scorer/training/fit_perceived.py`).
"""

from typing import Any

import numpy as np

from heard.scorer.records import HIGHEST, LOWEST

Floats = np.ndarray[Any, np.dtype[Any]]

FAULTS = ("refusal", "incoherent", "insult")
"""Facets of faults, in the order of their thresholds."""
WARMTH = 0.1
"""What the facet "warmth" counts for beside "perceived": .3 of its spread. Chosen on folds: more of it tells good own
replies from bad ones better (.1 of the spread .61 of pairs, .3 .70, .5 .81, before the gates), and people's ratings are
followed less (rho .40, .39, .38)."""


def called(perceived: Floats, warmth: Floats) -> Floats:
    """The two facets as one."""
    result: Floats = perceived + WARMTH * warmth
    return result


def spared(cold: Floats, begins: float, whole: float) -> Floats:
    """What a reply keeps of how empathic it is called, 0..1: all up to `begins`, nothing from `whole` on."""
    result: Floats = 1 - np.clip((cold - begins) / max(1e-6, whole - begins), 0, 1)
    return result


def on_scale(called: Floats, kept: Floats, line: tuple[float, float]) -> Floats:
    """The number on 1..3 from the facets, what the gates leave of it, 0..1, and the line of `head.toml`, (a, b)."""
    height = np.clip(line[0] + line[1] * called, LOWEST, HIGHEST) - LOWEST
    result: Floats = LOWEST + height * kept
    return result
