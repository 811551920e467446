"""Our few lines that write ONNX's format, against the onnx package."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from heard.scorer import onnx_file
from heard.scorer.onnx_export import MICROSOFT, build_graph


def test_a_file_is_the_same_to_the_byte() -> None:
    weights = np.arange(600, dtype=np.float32).reshape(2, 300)
    ours = onnx_file.model(
        [
            onnx_file.node("MatMul", ["below", "weights"], ["product"]),
            onnx_file.node("Odd", ["product", ""], ["states", "more"], MICROSOFT, num_heads=12, epsilon=1e-12),
        ],
        [onnx_file.tensor("weights", weights.T.copy().T)],
        [onnx_file.tensor_type("below", onnx_file.FLOAT, ["batch", "tokens", 2])],
        [onnx_file.tensor_type("states", onnx_file.FLOAT, ["batch", 300]), onnx_file.tensor_type("i", 6, [])],
        [("", 17), (MICROSOFT, 1)],
    )
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["below", "weights"], ["product"], domain=""),
            helper.make_node("Odd", ["product", ""], ["states", "more"], domain=MICROSOFT, num_heads=12, epsilon=1e-12),
        ],
        "bert",
        [helper.make_tensor_value_info("below", TensorProto.FLOAT, ["batch", "tokens", 2])],
        [
            helper.make_tensor_value_info("states", TensorProto.FLOAT, ["batch", 300]),
            helper.make_tensor_value_info("i", TensorProto.INT32, []),
        ],
        [numpy_helper.from_array(weights, "weights")],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)]
    theirs = helper.make_model(graph, opset_imports=opsets, ir_version=9, producer_name="heard")
    assert ours == theirs.SerializeToString()


@pytest.mark.parametrize(("layers", "more"), [([1], {}), ([0, 0.5, 1], {"projected": 5}), ([1], {"after": 0.5})])
def test_the_graph_of_an_encoder_is_sound(encoder_folder: Path, layers: list[float], more: dict[str, Any]) -> None:
    model = onnx.load_from_string(build_graph(encoder_folder, layers, **more))
    onnx.checker.check_model(model)
    assert [output.name for output in model.graph.output] == ["states", *(["hidden"] if "projected" in more else [])]
    assert model.SerializeToString() == build_graph(encoder_folder, layers, **more)
