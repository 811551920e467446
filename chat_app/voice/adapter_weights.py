"""The weights of an adapter as llama.cpp reads them, cut down to what counts most.

Each pair of low-rank matrices is replaced by the nearest one of lower rank (Eckart & Young 1936), and the bytes go to
the parts that change the model most.
"""

from collections.abc import Mapping
from pathlib import Path

import torch
from gguf import GGMLQuantizationType, GGUFWriter
from gguf.quants import quantize

MOST_BYTES = 1_450_000
"""Of a file: what a repository carries without a second thought."""
_Q8 = 34 / 32
"""Bytes of a number in the inner matrices, which are stored in blocks of 32; the outer ones take 2."""

Pairs = Mapping[str, tuple[torch.Tensor, torch.Tensor]]
"""By llama.cpp's name of a matrix: rank x inputs, and outputs x rank, whose product is added as it is."""


def write_weights(path: Path, architecture: str, pairs: Pairs) -> None:
    """Write the pairs' strongest parts to a GGUF file."""
    writer = GGUFWriter(path, architecture)
    writer.add_string("general.type", "adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", 1.0)
    for name, (inner, outer) in strongest(pairs).items():
        writer.add_tensor(
            f"{name}.lora_a", quantize(inner.numpy(), GGMLQuantizationType.Q8_0), raw_dtype=GGMLQuantizationType.Q8_0
        )
        # llama.cpp divides by the rank.
        writer.add_tensor(f"{name}.lora_b", (outer * len(inner)).to(torch.float16).numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def strongest(pairs: Pairs, most_bytes: int = MOST_BYTES) -> Pairs:
    """The pairs with the singular vectors that change most for their bytes, as many as `most_bytes` hold."""
    parts = {name: _singular(inner.float(), outer.float()) for name, (inner, outer) in pairs.items()}
    worth = [
        (float(strength**2) / _bytes(inner, outer), name, place)
        for name, (inner, strengths, outer) in parts.items()
        for place, strength in enumerate(strengths)
    ]
    ranks, left = dict.fromkeys(pairs, 0), float(most_bytes)
    for _, name, _ in sorted(worth, reverse=True):
        cost = _bytes(parts[name][0], parts[name][2])
        if cost <= left:
            ranks[name], left = ranks[name] + 1, left - cost
    return {
        name: (inner[:rank].contiguous(), (outer[:, :rank] * strengths[:rank]).contiguous())
        for name, (inner, strengths, outer) in parts.items()
        if (rank := ranks[name])
    }


def _singular(inner: torch.Tensor, outer: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The singular vectors and values of outer @ inner, by way of the small middle."""
    left, small_left = torch.linalg.qr(outer)
    right, small_right = torch.linalg.qr(inner.T)
    u, strengths, v = torch.linalg.svd(small_left @ small_right.T)
    return (right @ v.T).T, strengths, left @ u


def _bytes(inner: torch.Tensor, outer: torch.Tensor) -> float:
    """What one more of rank takes."""
    return float(_Q8 * inner.shape[1] + 2.0 * outer.shape[0])
