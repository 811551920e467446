"""What is kept of an adapter when it is cut down."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("gguf")

from heard.chat_app.voice.adapter_weights import strongest  # noqa: E402 - after the libraries that it needs


def test_a_llama_s_queries_and_keys_are_written_in_the_order_that_transformers_undoes() -> None:
    from transformers.modeling_gguf_pytorch_utils import LlamaTensorProcessor

    from heard.chat_app.voice.train_adapter import as_llama_cpp

    outer = torch.randn(4 * 8, 3)
    undo = LlamaTensorProcessor()._reverse_permute_weights
    assert (undo(as_llama_cpp(outer, "self_attn.q_proj", 4, 2).numpy(), 4, 4) == outer.numpy()).all()
    keys = outer[:16]
    assert (undo(as_llama_cpp(keys, "self_attn.k_proj", 4, 2).numpy(), 4, 2) == keys.numpy()).all()
    assert as_llama_cpp(outer, "mlp.up_proj", 4, 2) is outer


def test_nothing_is_lost_where_there_is_room_and_the_strongest_is_kept_where_not() -> None:
    torch.manual_seed(0)
    pairs = {"strong": (torch.randn(4, 64), torch.randn(32, 4) * 9), "weak": (torch.randn(4, 64), torch.randn(32, 4))}
    whole = strongest(pairs, 10_000)
    for name, (inner, outer) in pairs.items():
        assert torch.allclose(whole[name][1] @ whole[name][0], outer @ inner, atol=1e-3)
    (name,) = kept = strongest(pairs, 64 * 34 // 32 + 2 * 32)
    assert name == "strong"
    best = torch.linalg.svdvals(pairs[name][1] @ pairs[name][0])[0]
    assert torch.linalg.matrix_norm(kept[name][1] @ kept[name][0]) == pytest.approx(float(best), rel=1e-4)
