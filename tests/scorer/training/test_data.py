"""The project's own set, folds and the mixing; measures against cases worked by hand."""

import numpy as np
import pytest

from heard.scorer.evaluation.metrics import auc, mse, ranks, spearman
from heard.scorer.everyday import FAULTS
from heard.scorer.records import COMPONENTS
from heard.scorer.training.data import FACETS, PROJECT_SET, project_set, tabulate
from heard.scorer.training.example import STYLE_FACETS
from heard.scorer.training.mixing import SIGNS, fit_mixing
from heard.scorer.training.network import folds


def test_the_projects_own_set_is_whole() -> None:
    examples = list(project_set())
    assert len(examples) > 300
    assert len({example.reply for example in examples}) == len(examples)
    assert len(tabulate(examples).texts) >= len(examples) - 3
    for example in examples:
        assert {*COMPONENTS, "harm", *STYLE_FACETS} <= set(example.labels)
        assert set(example.labels) <= {*COMPONENTS, "harm", *STYLE_FACETS, "cold", "counselling", *FAULTS}
        assert all(0 <= value <= 1 and value * 8 == int(value * 8) for value in example.labels.values())


def test_the_projects_own_set_shares_no_reply_with_the_public_sources() -> None:
    shared = PROJECT_SET.resolve().parents[2] / "shared" / "data"
    if not shared.is_dir():
        pytest.skip("../shared is not here, so the sources cannot be compared")
    own = {" ".join(example.reply.lower().split()) for example in project_set()}
    for path in sorted(shared.rglob("*.csv")):
        text = " ".join(path.read_text(encoding="utf-8-sig").lower().split())
        assert not [reply for reply in own if len(reply) > 30 and reply in text], path


def test_groups_never_part() -> None:
    groups = [f"g{i % 17}" for i in range(100)]
    parts = folds(groups, 5)
    assert sorted(np.concatenate(parts)) == list(range(100))
    owners = [{groups[row] for row in part} for part in parts]
    assert not any(a & b for i, a in enumerate(owners) for b in owners[i + 1 :])


def test_measures_by_hand() -> None:
    assert ranks(np.array([3.0, 1.0, 3.0])).tolist() == [2.5, 1, 2.5]
    assert mse(np.array([1.0, 2.0]), np.array([1.0, 4.0])) == 2
    assert spearman(np.array([1.0, 2.0, 9.0]), np.array([0.1, 0.2, 0.3])) == pytest.approx(1)
    assert spearman(np.array([1.0, 1.0]), np.array([1.0, 2.0])) == 0
    assert auc(np.array([0.9, 0.5, 0.5, 0.1]), np.array([1, 1, 0, 0])) == pytest.approx(0.875)
    assert np.isnan(auc(np.array([0.5]), np.array([1])))


def test_the_mixing_finds_known_weights_and_keeps_the_signs() -> None:
    table = tabulate(list(project_set()))
    facets = np.random.default_rng(0).random((len(table.texts), len(FACETS))).astype(np.float32)
    at = FACETS.index
    table.targets[:, at("behavioral")] = 0.1 + 0.6 * facets[:, at("advice")] + 0.2 * facets[:, at("exploration")]
    table.targets[:, at("cognitive")] = 0.3 + 0.5 * facets[:, at("harm")]  # against the sign that harm may have
    mixing, offset = fit_mixing(facets, table, np.arange(len(facets)))
    assert mixing[2, at("advice")] == pytest.approx(0.6, abs=0.02)
    assert mixing[2, at("exploration")] == pytest.approx(0.2, abs=0.02)
    assert offset[2] == pytest.approx(0.1, abs=0.02)
    assert mixing[0, at("harm")] == 0
    for row, component in zip(mixing, COMPONENTS, strict=True):
        for facet, weight in zip(FACETS, row, strict=True):
            assert weight * SIGNS[component].get(facet, 0) >= 0
            assert facet in SIGNS[component] or weight == 0
