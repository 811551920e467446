"""The head at run time: token states in, facets and components out, in numpy.

Every facet has its own query that decides which tokens count (attention pooling, as Lin et al. 2017, eq. 5, with one
hop a facet), so that one warm sentence is not diluted by five plain ones. With token states x (tokens x states):

    h = gelu(x P_m + p_m)                    tokens x width
    a_f = softmax over tokens of h q_mf      tokens
    z_f = v_mf . (a_f h)
    facet_f = mean over m and k of sigmoid(z_f + b_mfk)   0..1
    component_c = 1 + 2 clip(M_c . facets + m_c, 0, 1) k   1..3, with k = 1 unless the facet "harm" is high (`harmless`)

What it says of everyday talk beside them is in `scorer/everyday.py`.

Facets are ordinal: labels have the levels 0, 1 and 2 of a scale, sigmoid(z_f + b_fk) is the chance that the level is at
least k (k = 1, 2), and one z_f for both keeps the two in order (Cao et al. 2020, "CORAL"). Their mean is the expected
level on 0..1. The m are members of a small ensemble, trained from different beginnings and averaged.

A head with `pooling = "cls"` in its head.toml is the founding study's instead: one linear layer on the last layer's
[CLS]. With s the state of [CLS], the first of a reply's token states:

    component_c = clip(W_c . s + b_c, 1, 3)

Of a reply longer than the encoder's window it reads the [CLS] of the first window alone.
"""

from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors

from heard.scorer.encoder_files import file_sha256
from heard.scorer.errors import ScorerError
from heard.scorer.everyday import FAULTS, NEEDED, harmless, perceived
from heard.scorer.head_file import HeadFile, read_head_file
from heard.scorer.records import COMPONENTS, HIGHEST, LOWEST
from heard.scorer.relevance import FILE, Relevance

Array = np.ndarray[Any, np.dtype[np.float32]]

CONFIDENCE = 0.9
"""Share of the ratings held out that lie within an interval."""
THRESHOLDS = 2
"""Steps between the three levels of a facet."""


class Head:
    """A trained head. Immutable, so threads may share it."""

    def __init__(
        self, file: HeadFile, name: str, tensors: dict[str, Array], relevance: Relevance | None = None
    ) -> None:
        self.file = file
        self.relevance = relevance
        """What marks replies that miss their message; None for a head without."""
        self.name = name
        """Name of its folder."""
        self._tensors = {key: np.asarray(value, dtype=np.float32) for key, value in tensors.items()}

    @classmethod
    def load(cls, folder: Path) -> "Head":
        """Read head.toml and weights.safetensors. Raises ScorerError naming file and fault."""
        file = read_head_file(folder / "head.toml")
        path = folder / "weights.safetensors"
        if file_sha256(path, "Restore it beside head.toml, or train again.") != file.weights_sha256:
            raise ScorerError(
                f"{path} is not the file that head.toml names (its sha256 differs). Restore it, or train again."
            )
        try:
            tensors = load_tensors(path.read_bytes())
        except SafetensorError as error:
            raise ScorerError(f"{path} is damaged. Restore it, or train again.") from error
        if file.pooling == "cls":
            return ClsHead.checked(path, file, tensors)
        _check_shapes(path, tensors, len(file.facets))
        relevance = None
        if file.answering_sha256:
            relevance = Relevance.load(folder / FILE, file.answering_sha256)
        return cls(file, folder.resolve().name, tensors, relevance)

    @property
    def width(self) -> int:
        """Numbers in the state of one token that it reads."""
        return int(self._tensors["projection"].shape[0])

    def check_width(self, states: int) -> None:
        """Raises ScorerError unless this head reads token states of `states` numbers, its encoder's layers' width."""
        own = self.width
        if own != states:
            raise ScorerError(
                f'The weights of the head "{self.name}" read token states of {own} numbers, but its encoder gives '
                f"{states} in layers {self.file.layers}. Its weights and head.toml are of two heads: train again."
            )

    def projection(self, states: int) -> tuple[Array, Array] | None:
        """P_m and p_m side by side, states x columns and columns, for an encoder of `states` numbers a token; None for
        a head without. Raises ScorerError as `check_width`."""
        self.check_width(states)
        return self._tensors["projection"], self._tensors["projection_bias"]

    def facets(self, states: Array, projected: Array | None = None) -> Array:
        """Facets of one text, each 0..1, in the order of `file.facets`. `states` is tokens x (layers * width);
        `projected` is h, tokens x columns, where the encoder has it already (`Encoder.encode`)."""
        hidden, focus = self._focused(states, projected)
        pooled = focus.swapaxes(1, 2) @ hidden
        logits = (pooled * self._tensors["values"]).sum(axis=2)[..., None] + self._tensors["biases"]
        result: Array = (1 / (1 + np.exp(-np.clip(logits, -30, 30)))).mean(axis=(0, 2))
        return result

    def _focused(self, states: Array, projected: Array | None) -> tuple[Array, Array]:
        """Projected states, members x tokens x width, and attention, members x tokens x facets."""
        t = self._tensors
        members, _, width = t["queries"].shape
        hidden = _gelu(states @ t["projection"] + t["projection_bias"]) if projected is None else projected
        hidden = hidden.reshape(-1, members, width).swapaxes(0, 1)
        focus = hidden @ t["queries"].swapaxes(1, 2)
        focus = np.exp(focus - focus.max(axis=1, keepdims=True))
        return hidden, focus / focus.sum(axis=1, keepdims=True)

    def contributions(self, states: Array, projected: Array | None = None) -> Array:
        """How far each token speaks for each component, tokens x 3: `terms` by the weight of the facets that raise the
        component.
        """
        result: Array = self.terms(states, projected) @ np.maximum(self._tensors["mixing"], 0).T
        return result

    def terms(self, states: Array, projected: Array | None = None) -> Array:
        """Each token's term of each facet's logit, a_f (h . v_f), averaged over members: tokens x facets, of either
        sign. `states` and `projected` as for `facets`.
        """
        hidden, focus = self._focused(states, projected)
        result: Array = (focus * (hidden @ self._tensors["values"].swapaxes(1, 2))).mean(axis=0)
        return result

    def components(self, facets: Array) -> Array:
        """Cognitive, Emotional and Behavioral on 1..3 from the facets, three numbers (or rows x 3 from rows x
        facets)."""
        share = self._mixed(facets)
        if "harm" in self.file.facets:
            share = share * harmless(facets[..., self.file.facets.index("harm")])[..., None]
        result: Array = LOWEST + (HIGHEST - LOWEST) * share
        return result

    def perceived(self, facets: Array) -> Array | None:
        """How empathic people would call a reply of these facets, 1..3 (a number, or one for each row); None from a
        head that was not taught it."""
        if not self.file.perceived:
            return None
        named = {name: facets[..., self.file.facets.index(name)] for name in NEEDED}
        return perceived(named, self._mixed(facets), self.file.perceived, self.file.cold)

    def _mixed(self, facets: Array) -> Array:
        """The components' heights, 0..1, before harm."""
        result: Array = np.clip(facets @ self._tensors["mixing"].T + self._tensors["mixing_bias"], 0, 1)
        return result

    def faults(self, facets: Array) -> tuple[str, ...]:
        """Which of FAULTS a reply of these facets has."""
        found = zip(FAULTS, self.file.faults, strict=False)
        return tuple(name for name, least in found if facets[self.file.facets.index(name)] >= least)


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


def _check_shapes(path: Path, tensors: dict[str, Array], facets: int) -> None:
    wanted = {"projection", "projection_bias", "queries", "values", "biases", "mixing", "mixing_bias"}
    if set(tensors) != wanted:
        raise ScorerError(f"{path} does not hold the tensors of a head. Train again.")
    if tensors["projection"].ndim != 2:
        raise ScorerError(f"{path}: projection must have two dimensions. Train again.")
    for name, tensor in tensors.items():
        if tensor.dtype.kind != "f" or not np.isfinite(tensor).all():
            raise ScorerError(f"{path}: {name} holds something else than finite numbers. Train again.")
    if tensors["queries"].ndim != 3:
        raise ScorerError(f"{path}: queries must have three dimensions. Train again.")
    members, _, width = tensors["queries"].shape
    shapes = {
        "projection": (tensors["projection"].shape[0], members * width),
        "projection_bias": (members * width,),
        "queries": (members, facets, width),
        "values": (members, facets, width),
        "biases": (members, facets, THRESHOLDS),
        "mixing": (len(COMPONENTS), facets),
        "mixing_bias": (len(COMPONENTS),),
    }
    for name, shape in shapes.items():
        if tensors[name].shape != shape:
            raise ScorerError(f"{path}: {name} has shape {tensors[name].shape}, not {shape}. Train again.")


def _gelu(x: Array) -> Array:
    # The tanh form (Hendrycks & Gimpel 2016), in training as well: numpy has no erf.
    result: Array = 0.5 * x * (1 + np.tanh(np.float32(0.7978845608) * (x + np.float32(0.044715) * x * x * x)))
    return result
