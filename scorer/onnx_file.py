"""ONNX's file format, as much of it as the graph of an encoder needs.

A file is a message of protocol buffers; the numbers are those of the fields in onnx.proto, which never change. The onnx
package would take 30 MB of every installation for this. A test holds what is written here against it.
"""

import struct
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

FLOAT, INT32 = 1, 6
"""Kinds of numbers in a tensor."""

Value = int | float | str | bytes
"""Of a field; bytes are a message within the message, or raw data."""


def tensor(name: str, array: np.ndarray[Any, Any]) -> bytes:
    """A constant, as float32."""
    dims = [(1, int(size)) for size in array.shape]
    return _message(*dims, (2, FLOAT), (8, name), (9, np.ascontiguousarray(array, "<f4").tobytes()))


def node(
    operator: str, inputs: Sequence[str], outputs: Sequence[str], domain: str = "", **attributes: int | float
) -> bytes:
    """One step of a graph."""
    given = [_message((1, key), (2, v) if isinstance(v, float) else (3, v), (20, 1 if isinstance(v, float) else 2))
             for key, v in sorted(attributes.items())]  # fmt: skip
    return _message(*_all(1, inputs), *_all(2, outputs), (4, operator), *_all(5, given), (7, domain))


def tensor_type(name: str, kind: int, shape: Sequence[int | str]) -> bytes:
    """What goes into a graph or comes out of it; a name in the shape stands for any number."""
    dims = [_message((2, size) if isinstance(size, str) else (1, size)) for size in shape]
    return _message((1, name), (2, _message((1, _message((1, kind), (2, _message(*_all(1, dims))))))))


def model(
    nodes: Sequence[bytes],
    constants: Sequence[bytes],
    inputs: Sequence[bytes],
    outputs: Sequence[bytes],
    operators: Sequence[tuple[str, int]],
) -> bytes:
    """The whole file. `operators` are the sets used, each with its version."""
    graph = _message(*_all(1, nodes), (2, "bert"), *_all(5, constants), *_all(11, inputs), *_all(12, outputs))
    sets = [_message((1, domain), (2, version)) for domain, version in operators]
    return _message((1, 9), (2, "heard"), (7, graph), *_all(8, sets))


def _all(number: int, values: Iterable[Value]) -> list[tuple[int, Value]]:
    return [(number, value) for value in values]


def _message(*fields: tuple[int, Value]) -> bytes:
    parts: list[bytes] = []
    for number, value in fields:
        if isinstance(value, float):
            parts += [_varint(number << 3 | 5), struct.pack("<f", value)]
        elif isinstance(value, int):
            parts += [_varint(number << 3), _varint(value)]
        else:
            content = value.encode() if isinstance(value, str) else value
            parts += [_varint(number << 3 | 2), _varint(len(content)), content]
    return b"".join(parts)


def _varint(number: int) -> bytes:
    """Seven bits a byte, the lowest first; the top bit says that more follow."""
    digits = bytearray()
    while number > 127:
        digits.append(number & 127 | 128)
        number >>= 7
    return bytes([*digits, number])
