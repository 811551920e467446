"""What a GGUF file says of itself: its special tokens, its context, and the memory that a token of context takes.

Read here and not by the gguf package, which makes a numpy array of each of a vocabulary's 300,000 strings: 2 s and more
for what takes a tenth of one. The format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

import mmap
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from heard.errors import UserError

MAGIC = b"GGUF"
VERSIONS = (2, 3)
NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
"""struct's letters by GGUF's types of values."""
STRING, ARRAY = 8, 9
CONTROL = 3
"""Type of a token that a chat template sets and no text holds."""
MOST_KEYS, MOST_ITEMS, LONGEST_STRING = 10_000, 2_000_000, 10_000_000
"""More than any model has; a file that claims more is damaged."""
KEPT = ("tokenizer.ggml.tokens", "tokenizer.ggml.token_type", "attention.head_count_kv")
"""Arrays that are read; others (merges, scores) are stepped over."""


class GgufError(UserError):
    """A file that is no GGUF, or is cut short; `str()` says so and the next step. It names no folder."""


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """What is used of the metadata."""

    name: str
    """general.name; empty if there is none."""
    special_tokens: tuple[str, ...]
    """Tokens that only a chat template may set, such as "<|im_end|>"."""
    has_template: bool
    """Whether the file has a chat template of its own."""
    context_tokens: int
    """Context that the model was trained on; 0 if it is not said."""
    kv_bytes: int
    """Memory of one token of context with keys and values of 16 bits; 0 if it cannot be told."""


def read_header(path: Path) -> GgufHeader:
    """Read the metadata of a file: about 0.1 s. Raises GgufError, and OSError if it cannot be opened."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            if data[:4] != MAGIC:
                raise GgufError(f"{path.name} is not a GGUF file. Name one that a model's page offers as GGUF.")
            return _header(_Reader(data).metadata())
    except (struct.error, UnicodeDecodeError, IndexError, _DamagedError) as error:
        raise GgufError(f"{path.name} is cut short or damaged. Fetch it again.") from error
    except ValueError as error:  # mmap of an empty file
        raise GgufError(f"{path.name} is empty. Fetch it again.") from error


class _DamagedError(Exception):
    """A length that cannot be."""


class _Reader:
    """Walks through the metadata."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data, self._at = data, 4

    def metadata(self) -> dict[str, object]:
        version = self._number("I")
        if version not in VERSIONS:
            raise _DamagedError(version)
        self._number("Q")  # tensors
        return dict(self._pair() for _ in range(self._bounded(self._number("Q"), MOST_KEYS)))

    def _pair(self) -> tuple[str, object]:
        key = self._string()
        return key, self._value(self._number("I"), key.endswith(KEPT))

    def _value(self, kind: int, kept: bool) -> object:
        if kind == STRING:
            return self._string()
        if kind == ARRAY:
            return self._array(kept)
        if kind not in NUMBERS:
            raise _DamagedError(kind)
        return self._number(NUMBERS[kind])

    def _array(self, kept: bool) -> object:
        kind = self._number("I")
        length = self._bounded(self._number("Q"), MOST_ITEMS)
        if kind in NUMBERS:
            begin, shape = self._at, f"<{length}{NUMBERS[kind]}"
            self._step(struct.calcsize(shape))
            return struct.unpack_from(shape, self._data, begin) if kept else None
        if kind != STRING:
            raise _DamagedError(kind)
        if kept:
            return [self._string() for _ in range(length)]
        for _ in range(length):
            self._step(self._bounded(self._number("Q"), LONGEST_STRING))
        return None

    def _string(self) -> str:
        length = self._bounded(self._number("Q"), LONGEST_STRING)
        begin = self._at
        self._step(length)
        return self._data[begin : begin + length].decode("utf-8", errors="replace")

    def _number(self, letter: str) -> int:
        (value,) = struct.unpack_from(f"<{letter}", self._data, self._at)
        self._at += struct.calcsize(f"<{letter}")
        return value  # type: ignore[no-any-return]  # a float or a bool too, which only `_value` passes on

    def _step(self, length: int) -> None:
        self._at += length
        if self._at > len(self._data):
            raise _DamagedError(length)

    @staticmethod
    def _bounded(number: int, most: int) -> int:
        if number > most:
            raise _DamagedError(number)
        return number


def _header(values: Mapping[str, object]) -> GgufHeader:
    tokens, kinds = values.get("tokenizer.ggml.tokens"), values.get("tokenizer.ggml.token_type")
    special: tuple[str, ...] = ()
    if isinstance(tokens, list) and isinstance(kinds, tuple):
        special = tuple(text for text, kind in zip(tokens, kinds, strict=False) if kind == CONTROL and len(text) > 2)
    kind = str(values.get("general.architecture", ""))
    return GgufHeader(
        name=str(values.get("general.name", "")),
        special_tokens=special,
        has_template="tokenizer.chat_template" in values,
        context_tokens=_whole(values.get(f"{kind}.context_length")),
        kv_bytes=_kv_bytes(values, kind),
    )


def _kv_bytes(values: Mapping[str, object], kind: str) -> int:
    """Return layers x heads of key and value x their lengths x 2 bytes; all layers count as full attention."""
    layers, heads = _whole(values.get(f"{kind}.block_count")), _whole(values.get(f"{kind}.attention.head_count"))
    shared = values.get(f"{kind}.attention.head_count_kv", heads)
    length = _whole(values.get(f"{kind}.embedding_length")) // heads if heads else 0
    key = _whole(values.get(f"{kind}.attention.key_length")) or length
    value = _whole(values.get(f"{kind}.attention.value_length")) or length
    pairs = sum(shared) if isinstance(shared, tuple) else layers * _whole(shared)
    return pairs * (key + value) * 2


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0
