"""A team's CSV: what is taken, and faults named by line. Measures against cases worked by hand."""

from pathlib import Path

import numpy as np
import pytest

from scorer.data import FACETS, PROJECT_SET, labels_csv, project_set, tabulate, training_labels
from scorer.errors import ScorerError
from scorer.measures import auc, mse, ranks, spearman
from scorer.mixing import SIGNS, fit_mixing
from scorer.records import COMPONENTS
from scorer.train import folds

HEADER = "seeker,reply,cognitive,emotional,behavioral\n"


def write(folder: Path, text: str) -> Path:
    path = folder / "labels.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_ratings_are_read_and_blank_means_not_rated(tmp_path: Path) -> None:
    path = write(tmp_path, "\ufeff" + HEADER + 'I lost my job,"I\'m so sorry, that is hard.",2.5,3,\n,Call them.,,,3\n')
    first, second = labels_csv(path)
    assert first.labels == {"cognitive": 0.75, "emotional": 1.0}
    assert second.labels == {"behavioral": 1.0}
    table = tabulate([first, second], COMPONENTS)
    assert np.isnan(table.targets).sum() == 3


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (HEADER, "no rows"),
        ("seeker,reply,cognitive,emotional\n", "line 1: no column behavioral"),
        ("seeker,reply,cognitive,emotional,behavioral,mood\n", "line 1: unknown column mood"),
        (HEADER + "a,That is hard.,1,2,3\nb,That is sad.,1,4,3\n", 'line 3: emotional is "4"'),
        (HEADER + "a,That is hard.,nan,2,3\n", 'line 2: cognitive is "nan"'),
        (HEADER + "a,That is hard.,high,2,3\n", 'line 2: cognitive is "high"'),
        (HEADER + "a,That is hard.,1,2\n", "line 2: this line has not as many cells"),
        (HEADER + "a,That is hard.,1,2,3,4\n", "line 2: this line has not as many cells"),
        (HEADER + "a,That is hard.,,,\n", "line 2: no rating"),
        (HEADER + "a,,1,2,3\n", "line 2: this reply cannot be scored. There is no text"),
        (HEADER + "a,lo siento mucho,1,2,3\n", "line 2: this reply cannot be scored. Only English"),
        (HEADER + 'a,"open quote,1,2,3\n', "after line 1: no CSV"),
        ("", "is empty. Its first line must be seeker,reply"),
        (HEADER.replace(",", ";") + "a;That is hard.;1;2;3\n", "parted by semicolons"),
        (HEADER.replace(",", "\t") + "a\tThat is hard.\t1\t2\t3\n", "parted by tabs"),
    ],
)
def test_a_fault_is_named_with_its_line(tmp_path: Path, text: str, match: str) -> None:
    with pytest.raises(ScorerError, match=match):
        labels_csv(write(tmp_path, text))


def test_blank_rows_are_passed_over_and_doubles_stay_in_one_group(tmp_path: Path) -> None:
    rows = "a,That is hard.,1,2,3\na,That is hard.,2,2,3\n\n,,,,\n , ,,,\n"
    first, second = labels_csv(write(tmp_path, HEADER + rows))
    assert first.group == second.group
    assert (first.labels["cognitive"], second.labels["cognitive"]) == (0.0, 0.5)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("".join(f"{n % 4},That is hard.,1,2,3\n" for n in range(40)), "4 different message"),
        ("".join(f"{n},That is hard.,1,2,\n" for n in range(40)), "no rating in the column behavioral"),
    ],
)
def test_labels_that_are_too_few_to_train_on_are_refused(tmp_path: Path, text: str, match: str) -> None:
    path = write(tmp_path, HEADER + text)
    assert len(labels_csv(path)) == 40
    with pytest.raises(ScorerError, match=match):
        training_labels(path)


def test_a_file_that_is_not_text_is_told_plainly(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ScorerError, match="UTF-8"):
        labels_csv(path)
    with pytest.raises(ScorerError, match="cannot be read"):
        labels_csv(tmp_path / "nowhere.csv")


def test_the_projects_own_set_is_whole() -> None:
    examples = list(project_set())
    assert len(examples) > 300
    assert len({example.reply for example in examples}) == len(examples)
    assert len(tabulate(examples).texts) >= len(examples) - 3
    for example in examples:
        assert set(example.labels) == {*COMPONENTS, "harm"}
        assert all(0 <= value <= 1 and value * 4 == int(value * 4) for value in example.labels.values())


def test_the_projects_own_set_shares_no_reply_with_the_public_sources() -> None:
    shared = PROJECT_SET.parents[2] / "shared" / "data"
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
