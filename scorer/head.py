"""The head at run time: token states in, facets and components out, in numpy.

Every facet has its own query that decides which tokens count (attention pooling, as Lin et al. 2017, eq. 5, with one
hop a facet), so that one warm sentence is not diluted by five plain ones. With token states x (tokens x states):

    h = gelu(x P_m + p_m)                    tokens x width
    a_f = softmax over tokens of h q_mf      tokens
    z_f = v_mf . (a_f h)
    facet_f = mean over m and k of sigmoid(z_f + b_mfk)   0..1
    component_c = 1 + 2 clip(M_c . facets + m_c, 0, 1) k   1..3, with k = 1 unless the facet "harm" is high (`harmless`)

Facets are ordinal: labels have the levels 0, 1 and 2 of a scale, sigmoid(z_f + b_fk) is the chance that the level is at
least k (k = 1, 2), and one z_f for both keeps the two in order (Cao et al. 2020, "CORAL"). Their mean is the expected
level on 0..1. The m are members of a small ensemble, trained from different beginnings and averaged.

A head may pool otherwise (`pooling` in head.toml): "cls" is `heard.scorer.cls_head`.
"""

import difflib
import tomllib
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors

from heard.scorer.answering import FILE, Answering
from heard.scorer.errors import ScorerError
from heard.scorer.files import file_sha256
from heard.scorer.records import COMPONENTS, HIGHEST, LOWEST

Array = np.ndarray[Any, np.dtype[np.float32]]

CONFIDENCE = 0.9
"""Share of the ratings held out that lie within an interval."""
HARM_BEGINS, HARM_WHOLE = 0.5, 0.9
"""Of the facet "harm", 0..1: from where it takes from every component, and where nothing is left."""
THRESHOLDS = 2
"""Steps between the three levels of a facet."""
POOLINGS = ("attention", "cls")
"""How a head gets from all tokens to one vector: by attention (this file), or by [CLS] alone."""


@dataclass(frozen=True, slots=True)
class HeadFile:
    """What `head.toml` says. Every key without a default is needed and none else is allowed."""

    title: str
    """One line for people."""
    encoder: str
    """The encoder it was trained on: the embedded one, a Hub name with its commit, or "folder:" and a name."""
    encoder_sha256: str
    """Of that encoder's model.safetensors, 64 hex digits."""
    weights_sha256: str
    """Of weights.safetensors beside this file, 64 hex digits."""
    layers: list[float]
    """Encoder layers whose states it reads, side by side: 0 is the embeddings, 2 the output of the second block, 1.5
    its middle (`heard.scorer.export.build_graph`)."""
    facets: list[str]
    """Name of each facet, in the order of the weights."""
    trained_on: list[str]
    """Label sources, with the rows of each."""
    command: str
    """The command that makes it again."""
    pooling: str = "attention"
    """One of POOLINGS."""
    half_widths: list[float] = field(default_factory=list)
    """Of the interval round each component and round Empathy, on 1..3: CONFIDENCE of the ratings held out lie within
    it (`scorer/training/intervals.py`). Four numbers, or none for a head without intervals."""
    answering_sha256: str = ""
    """Of answering.safetensors beside this file (`scorer/answering.py`), 64 hex digits; "" for a head that does not
    judge whether a reply answers its message."""


class Head:
    """A trained head. Immutable, so threads may share it."""

    def __init__(
        self, file: HeadFile, name: str, tensors: dict[str, Array], answering: Answering | None = None
    ) -> None:
        self.file = file
        self.answering = answering
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
            from heard.scorer.cls_head import ClsHead  # here, because it is a Head itself

            return ClsHead.checked(path, file, tensors)
        _check_shapes(path, tensors, len(file.facets))
        answering = None
        if file.answering_sha256:
            answering = Answering.load(folder / FILE, file.answering_sha256)
        return cls(file, folder.resolve().name, tensors, answering)

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
        `projected` is h, tokens x columns, where the encoder has it already (`Encoder.look`)."""
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
        share = np.clip(facets @ self._tensors["mixing"].T + self._tensors["mixing_bias"], 0, 1)
        if "harm" in self.file.facets:
            share = share * harmless(facets[..., self.file.facets.index("harm")])[..., None]
        result: Array = LOWEST + (HIGHEST - LOWEST) * share
        return result


def harmless(harm: Array) -> Array:
    """What a reply keeps of its components' heights, 0..1: all up to HARM_BEGINS, nothing from HARM_WHOLE on.

    A factor and no term of the sum, because kind words beside it do not make up for blame or mockery.
    """
    result: Array = 1 - np.clip((harm - HARM_BEGINS) / (HARM_WHOLE - HARM_BEGINS), 0, 1)
    return result


def read_head_file(path: Path) -> HeadFile:
    """Parse a head.toml. Raises ScorerError for a missing, unknown or mistyped key."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ScorerError(
            f"There is no head in {path.parent}. Give a folder that `heard train` has written."
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ScorerError(f"{path} is not valid TOML: {error}. Mend that line.") from error
    known = {item.name: str(item.type) for item in fields(HeadFile)}
    optional = {item.name for item in fields(HeadFile) if (item.default, item.default_factory) != (MISSING, MISSING)}
    for key in values:
        if key not in known:
            nearest = difflib.get_close_matches(key, list(known), n=1)
            raise ScorerError(f'{path}: unknown key "{key}".' + (f" Did you mean {nearest[0]}?" if nearest else ""))
    for key, kind in known.items():
        if key in optional and key not in values:
            continue
        if key not in values:
            raise ScorerError(f'{path}: the key "{key}" is missing.')
        if not _is_of(values[key], kind):
            raise ScorerError(f'{path}: "{key}" must be {_KINDS[kind]}.')
    file = HeadFile(**values)
    if file.pooling not in POOLINGS:
        raise ScorerError(f'{path}: "pooling" is "{file.pooling}", but it must be {" or ".join(POOLINGS)}.')
    if not file.layers:
        raise ScorerError(f'{path}: "layers" must name one layer at least.')
    if len(file.half_widths) not in (0, len(COMPONENTS) + 1):
        raise ScorerError(f'{path}: "half_widths" must hold {len(COMPONENTS) + 1} numbers, or none.')
    return file


_KINDS = {
    str(str): "text",
    str(list[str]): "a list of texts",
    str(list[float]): "a list of numbers",
}


def _is_of(value: object, kind: str) -> bool:
    if kind == str(str):
        return isinstance(value, str)
    if kind == str(list[float]):
        return isinstance(value, list) and all(type(item) in (int, float) for item in value)
    return isinstance(value, list) and bool(value) and all(type(item) is str for item in value)


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
