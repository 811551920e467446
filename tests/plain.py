"""The encoder as transformers computes it: what the product's own graph is held against."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModel


class PlainBert:
    """A BERT of transformers, and its hidden states by layer, halves among them, counted as by
    `heard.scorer.onnx_export.build_graph`."""

    def __init__(self, folder: Path) -> None:
        self._model = AutoModel.from_pretrained(folder, add_pooling_layer=False).eval()
        self._middles: list[torch.Tensor] = []
        for block in self._model.encoder.layer:
            block.attention.register_forward_hook(lambda _, __, found: self._middles.append(found[0]))

    def states(self, ids: Sequence[int], layers: Sequence[float]) -> np.ndarray:
        """Of these tokens, [CLS] and [SEP] among them: tokens x (len(layers) * width)."""
        self._middles.clear()
        with torch.inference_mode():
            whole = self._model(torch.tensor([list(ids)]), output_hidden_states=True).hidden_states
        halves = [whole[int(layer)] if layer % 1 == 0 else self._middles[int(layer)] for layer in layers]
        found: np.ndarray = torch.cat([states[0] for states in halves], dim=1).numpy()
        return found
