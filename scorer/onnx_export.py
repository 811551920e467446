"""Write a frozen BERT as an ONNX graph, once, so that scoring needs neither torch nor transformers.

The graph is built from the weights directly: embeddings, then per layer self-attention and feed-forward, a half each,
either followed by the residual sum and layer norm (Devlin et al. 2019, Vaswani et al. 2017), with ONNX Runtime's own
fused operators (`com.microsoft`: EmbedLayerNormalization, Attention, BiasGelu, FastGelu) where they are quicker. Sum
and norm are not fused inside the layers: on a CPU two sums and a LayerNormalization take a third of the time of
SkipLayerNormalization. What lies above the highest layer needed is left out. A test holds the graph against
transformers' forward pass.
"""

import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import safe_open

from heard.scorer import onnx_file
from heard.scorer.encoder_files import PROJECTION, graph_path, old_graphs, read_config
from heard.scorer.errors import ScorerError

MICROSOFT = "com.microsoft"


def build_graph(folder: Path, layers: Sequence[float], after: float | None = None, projected: int = 0) -> bytes:
    """The serialised model: `input_ids` (int32, batch x tokens, all of one length: nothing is masked) to `states`.

    `states` is float32, batch x tokens x (len(layers) * width): the hidden states of `layers` side by side, where layer
    0 is the embeddings, layer N the output of the Nth block, and layer N - 0.5 its middle, after attention and before
    feed-forward, which is two thirds of a block's work. With `after`, the input is not the ids but `below`, the
    states (batch x tokens x width) of that layer, and the graph goes on from there. With `projected` there is a second
    output of so many columns, `hidden`: gelu(states P + p), where P and p stand for zeros until whoever opens the graph
    puts a head's own in their place. Raises ScorerError for a folder that holds no BERT.
    """
    graph = _Graph(folder)
    state = "below" if after is not None else graph.embedded()
    begins = after or 0
    outputs = {begins: state}
    for half in range(int(2 * begins) + 1, int(2 * max(layers)) + 1):
        state = graph.attention(half // 2 + 1, state) if half % 2 else graph.feed_forward(half // 2, state)
        outputs[half / 2] = state
    graph.node("Concat", [outputs[layer] for layer in layers], "states", axis=2)
    shape, width = ["batch", "tokens"], graph.width
    taken = onnx_file.tensor_type("input_ids", onnx_file.INT32, shape)
    if after is not None:
        taken = onnx_file.tensor_type("below", onnx_file.FLOAT, [*shape, width])
    given = [onnx_file.tensor_type("states", onnx_file.FLOAT, [*shape, len(layers) * width])]
    if projected:
        matrix = graph.constant(PROJECTION[0], np.zeros((len(layers) * width, projected), np.float32))
        bias = graph.constant(PROJECTION[1], np.zeros(projected, np.float32))
        graph.node("FastGelu", [graph.node("MatMul", ["states", matrix], "projected"), bias], "hidden", MICROSOFT)
        given.append(onnx_file.tensor_type("hidden", onnx_file.FLOAT, [*shape, projected]))
    return onnx_file.model(graph.nodes, graph.constants, [taken], given, [("", 17), (MICROSOFT, 1)])


class _Graph:
    """The nodes of a BERT, half a block at a time; every method gives the name of its output."""

    def __init__(self, folder: Path) -> None:
        config = read_config(folder)
        self.nodes: list[bytes] = []
        self.constants: list[bytes] = []
        self.width = int(config["hidden_size"])
        self._heads = int(config["num_attention_heads"])
        self._epsilon = float(config.get("layer_norm_eps", 1e-12))
        self._weights = _Weights(folder)

    def constant(self, name: str, array: np.ndarray[Any, Any]) -> str:
        self.constants.append(onnx_file.tensor(name, array))
        return name

    def node(self, operator: str, inputs: Sequence[str], output: str, domain: str = "", **attributes: Any) -> str:
        self.nodes.append(onnx_file.node(operator, inputs, [output], domain, **attributes))
        return output

    def embedded(self) -> str:
        # One segment only, so its embedding is added to the positions beforehand.
        segment = self._weights["embeddings.token_type_embeddings.weight"][0]
        positions = self._weights["embeddings.position_embeddings.weight"] + segment
        words = self.constant("words", self._weights["embeddings.word_embeddings.weight"])
        inputs = [
            "input_ids",
            "",
            words,
            self.constant("positions", positions),
            "",
            *self._norm("embeddings", "layer0"),
        ]
        both = ["layer0", "unmasked"]  # the operator cannot do without its second output, which nothing reads
        self.nodes.append(onnx_file.node("EmbedLayerNormalization", inputs, both, MICROSOFT, epsilon=self._epsilon))
        return both[0]

    def attention(self, layer: int, state: str) -> str:
        """The first half of a block."""
        block, here = f"encoder.layer.{layer - 1}.attention", f"layer{layer}"
        parts = [f"{block}.self.{name}" for name in ("query", "key", "value")]
        projection = np.concatenate([self._weights[f"{part}.weight"].T for part in parts], axis=1)
        shift = np.concatenate([self._weights[f"{part}.bias"] for part in parts])
        inputs = [state, self.constant(f"{here}.qkv", projection), self.constant(f"{here}.qkv_bias", shift)]
        attended = self.node("Attention", inputs, f"{here}.attended", MICROSOFT, num_heads=self._heads)
        mixed = self._product(attended, f"{block}.output.dense", f"{here}.mixed")
        return self._residual(mixed, state, f"{block}.output", f"{here}.middle")

    def feed_forward(self, layer: int, middle: str) -> str:
        """The second half."""
        block, here = f"encoder.layer.{layer - 1}", f"layer{layer}"
        raised = self._product(middle, f"{block}.intermediate.dense", f"{here}.raised")
        bias = self.constant(f"{here}.up_bias", self._weights[f"{block}.intermediate.dense.bias"])
        wide = self.node("BiasGelu", [raised, bias], f"{here}.wide", MICROSOFT)
        lowered = self._product(wide, f"{block}.output.dense", f"{here}.lowered")
        return self._residual(lowered, middle, f"{block}.output", here)

    def _product(self, state: str, layer: str, output: str) -> str:
        """A linear layer without its bias."""
        matrix = self.constant(f"{output}.weight", self._weights[f"{layer}.weight"].T)
        return self.node("MatMul", [state, matrix], output)

    def _residual(self, product: str, state: str, block: str, output: str) -> str:
        """The norm of the sum of a product, its bias, and the state that it was made from."""
        bias = self.constant(f"{output}.bias", self._weights[f"{block}.dense.bias"])
        shifted = self.node("Add", [product, bias], f"{output}.shifted")
        summed = self.node("Add", [shifted, state], f"{output}.summed")
        return self.node("LayerNormalization", [summed, *self._norm(block, output)], output, epsilon=self._epsilon)

    def _norm(self, block: str, output: str) -> list[str]:
        """A layer norm's gamma and beta."""
        kinds = (("gamma", "weight"), ("beta", "bias"))
        return [self.constant(f"{output}.{name}", self._weights[f"{block}.LayerNorm.{kind}"]) for name, kind in kinds]


def ensure_graph(
    folder: Path, sha256: str, layers: Sequence[float], after: float | None = None, projected: int = 0
) -> Path | bytes:
    """The graph's file beside the weights, made now if it is not there; its bytes where the folder cannot be
    written. Graphs of an earlier version are removed."""
    path = graph_path(folder, sha256, layers, after, projected)
    if path.exists():
        return path
    model = build_graph(folder, layers, after, projected)
    part = None
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=path.stem, suffix=".part", delete=False) as part:
            part.write(model)
        os.chmod(part.name, 0o644)
        os.replace(part.name, path)  # whole or not at all, also when two processes make it at once
    except OSError:  # read-only folder or full disk: scoring goes on, only the next start is slower
        if part is not None:
            Path(part.name).unlink(missing_ok=True)
        return model
    for old in old_graphs(folder):
        with suppress(OSError):  # some systems keep a file that another process has open
            old.unlink()
    return path


class _Weights:
    """Tensors of `model.safetensors` by their BertModel name, with or without the "bert." of a model that has a task
    head."""

    def __init__(self, folder: Path) -> None:
        try:
            self._file = safe_open(folder / "model.safetensors", framework="numpy")
        except Exception as error:  # safetensors has its own error type for a damaged file, besides OSError
            raise ScorerError(f"{folder / 'model.safetensors'} cannot be read. Fetch the encoder again.") from error
        self._names = set(self._file.keys())  # type: ignore[no-untyped-call]

    def __getitem__(self, name: str) -> np.ndarray[Any, Any]:
        # Old checkpoints write the layer norm's weight and bias as gamma and beta.
        old = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
        for candidate in (name, f"bert.{name}", old, f"bert.{old}"):
            if candidate in self._names:
                return np.asarray(self._file.get_tensor(candidate), np.float32)  # type: ignore[no-untyped-call]
        raise ScorerError(f"The encoder lacks the tensor {name}. Give a folder with a whole BERT model.")
