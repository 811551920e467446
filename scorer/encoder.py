"""The frozen encoder at run time: text to token states, by tokenizers and ONNX Runtime."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from onnxruntime import GraphOptimizationLevel, InferenceSession, OrtValue, SessionOptions
from tokenizers import Tokenizer

from heard.scorer.encoder_files import FETCH, PROJECTION, file_sha256, graph_path, read_config
from heard.scorer.errors import ScorerError

WINDOW = 256
"""Tokens (with the two special ones) that the encoder sees at once. The embedded encoder was trained on no longer
texts."""

States = np.ndarray[Any, np.dtype[np.float32]]
"""Token states, float32, tokens x (layers * width)."""
Session: TypeAlias = InferenceSession
Tensors = Mapping[str, OrtValue]
"""By name."""


def open_graph(
    folder: Path,
    sha256: str,
    layers: Sequence[float],
    after: float | None = None,
    projection: Tensors | None = None,
    *,
    threads: int = 1,
) -> Session:
    """The graph of `heard.scorer.onnx_export.build_graph` for the BERT in `folder`, made at the first call.

    Whoever gives the two tensors of a `projection` must keep them as long as the session: it does not copy them.
    Raises ScorerError if the weights or the graph cannot be read.
    """
    columns = projection[PROJECTION[0]].shape()[1] if projection else 0
    path = graph_path(folder, sha256, layers, after, columns)
    model: Path | bytes = path
    if not path.exists():
        from heard.scorer.onnx_export import ensure_graph  # needed only this once

        model = ensure_graph(folder, sha256, layers, after, columns)
    options = SessionOptions()
    for name, tensor in (projection or {}).items():
        options.add_initializer(name, tensor)
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Threads wait for each other spinning while a text is read, which is quicker, and sleep as soon as it is read:
    # between two scores a spinning thread would take the core from the chat model.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    # The graph is made of the operators wanted; the higher levels would fuse sum and norm again.
    options.graph_optimization_level = GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.enable_cpu_mem_arena = False  # the arena keeps the longest text's memory for good
    options.log_severity_level = 3
    try:
        return InferenceSession(
            str(model) if isinstance(model, Path) else model, options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # the library raises its own plain Exception types for a damaged file
        raise ScorerError(
            f"The encoder in {folder} cannot be opened. Remove {path.name} there and try again."
        ) from error


@dataclass(frozen=True, slots=True)
class Tokens:
    """A text cut into tokens, without special ones."""

    ids: list[int]
    offsets: list[tuple[int, int]]
    """First character and one past the last, in the text."""


class Encoder:
    """A frozen BERT that gives the hidden states of chosen layers. Threads may share one."""

    def __init__(
        self,
        session: Session,
        tokenizer: Tokenizer,
        window: int,
        width: int,
        sha256: str,
        projection: Tensors | None = None,
    ) -> None:
        self._session = session
        self._projection = projection  # the session reads them in place
        self._outputs = ["states", "hidden"] if projection else ["states"]
        self._tokenizer = tokenizer
        self._content = window - 2
        self._cls, self._sep = (tokenizer.token_to_id(token) for token in ("[CLS]", "[SEP]"))
        self.width = width
        """Numbers in the state of one token, all chosen layers together."""
        self.sha256 = sha256
        """Of the weights file, 64 hex digits."""

    @classmethod
    def load(
        cls,
        folder: Path,
        layers: Sequence[float],
        *,
        threads: int = 1,
        sha256: str | None = None,
        projection: Callable[[int], tuple[States, States] | None] | None = None,
    ) -> "Encoder":
        """Open the BERT in `folder` (model.safetensors, config.json, tokenizer.json).

        `layers` are the layers wanted, halves among them, as `heard.scorer.onnx_export.build_graph` counts.
        `projection` (`Head.projection`) gives what `encode` adds for states of so many numbers. Makes the ONNX graph at
        the first call. Raises ScorerError if the folder is no BERT, lacks a layer, or if its weights differ from the
        `sha256` that is asked for.
        """
        found = file_sha256(folder / "model.safetensors")
        if sha256 is not None and found != sha256:
            raise ScorerError(
                f"The encoder in {folder} is not the one asked for: its sha256 begins {found[:12]}, not {sha256[:12]}. "
                "Fetch that encoder again, or train a head for this one with `heard train`."
            )
        config = read_config(folder)
        depth = int(config["num_hidden_layers"])
        if not layers or not all(0 <= layer <= depth and layer % 0.5 == 0 for layer in layers):
            raise ScorerError(
                f"Layers {list(layers)} were asked for, but the encoder in {folder} has layers 0 to {depth}, in halves."
            )
        if not (folder / "tokenizer.json").is_file():
            raise ScorerError(f"The encoder in {folder} has no tokenizer.json. {FETCH}")
        width = len(layers) * int(config["hidden_size"])
        tensors = _tensors(projection(width) if projection else None)
        session = open_graph(folder, found, layers, projection=tensors, threads=threads)
        try:
            tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        except Exception as error:  # the library raises its own plain Exception for a damaged file
            raise ScorerError(f"{folder / 'tokenizer.json'} cannot be read. {FETCH}") from error
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return cls(session, tokenizer, min(WINDOW, int(config["max_position_embeddings"])), width, found, tensors)

    def ids(self, text: str) -> list[int]:
        """The text's token ids, without special tokens, uncut."""
        return list(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def tokens(self, text: str) -> "Tokens":
        """The same with the place of each token in the text."""
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        return Tokens(list(encoding.ids), list(encoding.offsets))

    def rows(self, count: int) -> list[int]:
        """Rows of `states` that belong to the tokens of a text of `count` tokens; the others are [CLS] and [SEP]."""
        size = self._window_size(count)
        return [at + 1 + 2 * (at // size) for at in range(count)]

    def states(self, ids: Sequence[int]) -> States:
        """States of all tokens of one text, (tokens + special tokens) x (layers * width).

        A text longer than a window is read in equal windows side by side; each has its own [CLS] and [SEP].
        """
        return self.encode(ids)[0]

    def encode(self, ids: Sequence[int]) -> list[States]:
        """`states`, and what a head's projection makes of them, gelu(states P + p), tokens x columns, if there is one.

        In the graph, the projection is of the same threads as the encoder; in numpy it took a tenth of a score.
        """
        size = self._window_size(len(ids))
        windows = [self._window(ids[at : at + size]) for at in range(0, max(1, len(ids)), size)]
        return windows[0] if len(windows) == 1 else [np.concatenate(parts) for parts in zip(*windows, strict=True)]

    def states_of_many(self, texts: Sequence[Sequence[int]]) -> States:
        """`states` of texts of one length that fit a window, texts x (tokens + 2) x (layers * width): read together,
        which takes a third of the time."""
        tokens = np.array([[self._cls, *ids, self._sep] for ids in texts], dtype=np.int32)
        states: States = self._session.run(["states"], {"input_ids": tokens})[0]
        return states

    def fits_window(self, count: int) -> bool:
        """Whether a text of `count` tokens is read at once."""
        return count <= self._content

    def windows(self, count: int) -> list[slice]:
        """The rows of `states` that were read together, for a text of `count` tokens."""
        size = self._window_size(count)
        return [
            slice(at + 2 * (at // size), min(at + size, count) + 2 * (at // size) + 2)
            for at in range(0, max(1, count), size)
        ]

    def _window_size(self, count: int) -> int:
        windows = max(1, -(-count // self._content))
        return max(1, -(-count // windows))

    def _window(self, ids: Sequence[int]) -> list[States]:
        tokens = np.array([[self._cls, *ids, self._sep]], dtype=np.int32)
        return [output[0] for output in self._session.run(self._outputs, {"input_ids": tokens})]


def _tensors(projection: tuple[States, States] | None) -> Tensors | None:
    """A head's P and p, under the graph's names."""
    if projection is None:
        return None
    arrays = map(np.ascontiguousarray, projection)
    return dict(zip(PROJECTION, map(OrtValue.ortvalue_from_numpy, arrays), strict=True))
