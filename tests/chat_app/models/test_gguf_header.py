"""The metadata of GGUF files: of the real small model, of made ones, and of damaged ones."""

import struct
from pathlib import Path

import pytest

from heard.chat_app.models.downloads import Weights
from heard.chat_app.models.embedded_models import SMOLLM2
from heard.chat_app.models.gguf_header import GgufError, read_header


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


def pair(key: str, kind: int, value: bytes) -> bytes:
    return text(key) + struct.pack("<I", kind) + value


def array(kind: int, *values: bytes) -> bytes:
    return struct.pack("<IQ", kind, len(values)) + b"".join(values)


def gguf(*pairs: bytes, version: int = 3, number: int | None = None) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, 0, len(pairs) if number is None else number) + b"".join(pairs)


NUMBER = struct.Struct("<I")
WHOLE = gguf(
    pair("general.architecture", 8, text("gemma9")),
    pair("general.name", 8, text("Made")),
    pair("gemma9.context_length", 4, NUMBER.pack(8192)),
    pair("gemma9.block_count", 4, NUMBER.pack(10)),
    pair("gemma9.attention.head_count", 4, NUMBER.pack(8)),
    pair("gemma9.attention.head_count_kv", 4, NUMBER.pack(4)),
    pair("gemma9.attention.key_length", 4, NUMBER.pack(256)),
    pair("gemma9.attention.value_length", 4, NUMBER.pack(128)),
    pair("gemma9.some_flag", 7, b"\x01"),
    pair("tokenizer.ggml.scores", 9, array(6, struct.pack("<f", 0.5))),
    pair("tokenizer.ggml.merges", 9, array(8, text("a b"), text("c d"))),
    pair("tokenizer.ggml.tokens", 9, array(8, *map(text, ("hello", "<start_of_turn>", "é", "<eos>", "<>")))),
    pair("tokenizer.ggml.token_type", 9, array(5, *(struct.pack("<i", kind) for kind in (1, 3, 1, 3, 3)))),
    pair("tokenizer.chat_template", 8, text("{{ messages }}")),
)


def test_the_small_models_file(weights: Weights) -> None:
    header = read_header(weights.chat_model)
    assert {"<|im_start|>", "<|im_end|>", "<|endoftext|>"} <= set(header.special_tokens)
    assert "the" not in header.special_tokens
    assert header.has_template
    assert header.context_tokens == 8192
    assert header.kv_bytes == SMOLLM2.kv_bytes


def test_a_made_file(tmp_path: Path) -> None:
    path = tmp_path / "made.gguf"
    path.write_bytes(WHOLE)
    header = read_header(path)
    assert (header.name, header.context_tokens) == ("Made", 8192)
    assert header.special_tokens == ("<start_of_turn>", "<eos>")
    assert header.kv_bytes == 10 * 4 * (256 + 128) * 2


def test_a_file_that_says_little(tmp_path: Path) -> None:
    path = tmp_path / "made.gguf"
    path.write_bytes(gguf())
    header = read_header(path)
    assert (header.special_tokens, header.has_template, header.context_tokens, header.kv_bytes) == ((), False, 0, 0)


def test_a_file_that_is_cut_anywhere_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cut.gguf"
    for length in range(len(WHOLE)):
        path.write_bytes(WHOLE[:length])
        with pytest.raises(GgufError, match=r"cut\.gguf is (empty|not a GGUF file|cut short or damaged)"):
            read_header(path)


@pytest.mark.parametrize(
    "content",
    [
        gguf(version=1),
        gguf(version=99),
        gguf(number=2**60),
        gguf(pair("k", 99, b"")),
        gguf(pair("k", 9, struct.pack("<IQ", 8, 2**50))),
        gguf(pair("k", 9, struct.pack("<IQ", 9, 1))),
        gguf(struct.pack("<Q", 2**63) + b"key"),
    ],
)
def test_lengths_that_cannot_be_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bad.gguf"
    path.write_bytes(content)
    with pytest.raises(GgufError, match=r"bad\.gguf is cut short or damaged\. Fetch it again"):
        read_header(path)
