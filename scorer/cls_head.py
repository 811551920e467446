"""The founding study's head at run time: one linear layer on the last layer's [CLS], in numpy.

With s the state of [CLS], the first of a reply's token states:

    component_c = clip(W_c . s + b_c, 1, 3)

Of a reply longer than the encoder's window it reads the [CLS] of the first window alone.
"""

from pathlib import Path

import numpy as np

from heard.scorer.errors import ScorerError
from heard.scorer.head import Array, Head, HeadFile
from heard.scorer.records import COMPONENTS, HIGHEST, LOWEST


class ClsHead(Head):
    """A linear head on [CLS]. Its facets are the three components themselves, on 0..1."""

    @classmethod
    def checked(cls, path: Path, file: HeadFile, tensors: dict[str, Array]) -> "ClsHead":
        """The head of these `tensors`, read from `path`. Raises ScorerError where they are of another kind of head."""
        if set(tensors) != {"weight", "bias"}:
            raise ScorerError(f"{path} does not hold the tensors of a [CLS] head. Train again.")
        if file.facets != list(COMPONENTS):
            raise ScorerError(f"{path.parent / 'head.toml'}: the facets of a [CLS] head are {', '.join(COMPONENTS)}.")
        weight, bias = tensors["weight"].shape, tensors["bias"].shape
        if len(weight) != 2 or weight[0] != len(COMPONENTS) or bias != (len(COMPONENTS),):
            raise ScorerError(f"{path}: weight has shape {weight} and bias {bias}, not 3 x states and 3. Train again.")
        return cls(file, path.parent.resolve().name, tensors)

    @property
    def width(self) -> int:
        """Numbers in the state of [CLS] that it reads."""
        return int(self._tensors["weight"].shape[1])

    def projection(self, states: int) -> None:
        """None: there is nothing to work out beforehand. Raises ScorerError as `check_width`."""
        self.check_width(states)

    def facets(self, states: Array, projected: Array | None = None) -> Array:
        """The components of one text on 0..1, not yet clipped. `states` is tokens x width, [CLS] first."""
        result: Array = (self._tensors["weight"] @ states[0] + self._tensors["bias"] - LOWEST) / (HIGHEST - LOWEST)
        return result

    def contributions(self, states: Array, projected: Array | None = None) -> Array:
        """None: this head looks at [CLS] alone and cannot say which words that came from."""
        return np.zeros((len(states), len(COMPONENTS)), np.float32)

    def components(self, facets: Array) -> Array:
        """The same on 1..3, clipped: three numbers, or rows x 3."""
        result: Array = LOWEST + (HIGHEST - LOWEST) * np.clip(facets, 0, 1)
        return result
