"""What is kept of an adapter when it is cut down."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("gguf")

from heard.chat_app.voice.adapter_weights import strongest  # noqa: E402 - after the libraries that it needs


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
