"""The founding study's protocol: what is drawn, what it trains, what it measures on, and its command, end to end."""

import csv
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from heard.scorer.encoder import Encoder
from heard.scorer.errors import ScorerError
from heard.scorer.head_file import read_head_file
from heard.scorer.records import COMPONENTS
from heard.scorer.score import Scorer
from heard.scorer.training.data import project_set, tabulate
from heard.scorer.training.example import Example
from heard.scorer.training.labels import read_labels
from heard.scorer.training.linear_probe import ProbeRecipe, fit_linear
from heard.scorer.training.network import one_thread
from heard.scorer.training.study_protocol import FEWEST_OTHERS, SEEDS, split
from heard.scorer.training.study_sample import ROWS, draw, epitome_table, others, source_of_labels, team_table
from tests import commands
from tests.commands import Done

EXAMPLES = list(project_set())


def write_labels(path: Path, examples: Sequence[Example], blank: int = 0) -> Path:
    """Ratings in a team's format; the first `blank` rows lack their last rating."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["seeker", "reply", *COMPONENTS])
        for number, example in enumerate(examples):
            ratings = [f"{1 + 2 * example.labels[name]:g}" for name in COMPONENTS]
            writer.writerow([example.seeker, example.reply, *ratings[:2], "" if number < blank else ratings[2]])
    return path


@pytest.fixture
def heard(tmp_path: Path) -> Callable[..., Done]:
    """The command, with a cache of its own."""

    def run(*arguments: str) -> Done:
        cache = ["--cache", str(tmp_path / "states")] if arguments[0] == "train" else []
        return commands.heard(*arguments, *cache)

    return run


def test_a_draw_is_a_hundred_whole_messages_but_the_last() -> None:
    table = tabulate(EXAMPLES, COMPONENTS)
    for seed in range(20):
        drawn = draw(table, seed)
        assert len(np.unique(drawn)) == ROWS
        assert np.array_equal(drawn, draw(table, seed))
        counts = {group: int((table.groups == group).sum()) for group in table.groups[drawn]}
        cut = [group for group, count in counts.items() if count > (table.groups[drawn] == group).sum()]
        assert len(cut) <= 1
        assert not set(table.groups[drawn]) & set(table.groups[others(table, drawn)])
    assert not np.array_equal(draw(table, 0), draw(table, 1))


@pytest.mark.parametrize("raters", [2, 3])
def test_of_several_raters_a_hundred_replies_are_drawn_and_not_rows(tmp_path: Path, raters: int) -> None:
    path = tmp_path / "labels.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["seeker", "reply", "rater", *COMPONENTS])
        for rater in range(raters):  # the last one leaves a cell empty
            for number, example in enumerate(EXAMPLES[:120]):
                own = ["" if rater == raters - 1 and not number else 1 + rater, 2, 1 + number % 3]
                writer.writerow([example.seeker, example.reply, f"rater {rater}", *own])
    table = team_table(path)
    assert len(table.texts) == len({(one.seeker, one.reply) for one in table.examples}) == 120
    mean = (raters - 1) / 2  # of the ratings 1, 2 and perhaps 3, on 0 to 2
    assert table.targets[1] == pytest.approx([mean / 2, 0.5, 0.5])
    assert table.targets[0] == pytest.approx([(mean - 0.5) / 2, 0.5, 0])
    for one in split(table, 0):
        assert len({(table.examples[row].seeker, table.examples[row].reply) for row in one.sample}) == ROWS
        for train, test in one.tests:
            assert not {table.texts[row] for row in train} & {table.texts[row] for row in test}
    rated = read_labels(path).examples
    assert f"({120 * raters} rows are of 120 replies)" in source_of_labels(path, rated).averaged
    assert not source_of_labels(path, rated[:120]).averaged


def test_the_error_is_measured_on_other_messages() -> None:
    table = tabulate(EXAMPLES, COMPONENTS)
    splits = split(table, 3)
    assert [one.seed for one in splits] == [3, 4, 5, 6, 7]
    for one in splits:
        ((train, test),) = one.tests
        assert np.array_equal(train, one.sample)
        assert len(test) >= FEWEST_OTHERS
        assert not set(table.groups[train]) & set(table.groups[test])


def test_of_a_bare_hundred_it_is_measured_in_folds() -> None:
    table = tabulate(EXAMPLES[:ROWS], COMPONENTS)
    for one in split(table, 0):
        assert one.in_folds
        assert sorted(np.concatenate([test for _, test in one.tests])) == list(range(ROWS))
        for train, test in one.tests:
            assert len(train) + len(test) == ROWS
            assert not set(table.groups[train]) & set(table.groups[test])


def test_messages_too_few_to_measure_on_are_refused() -> None:
    few = [replace(example, group="one" if at < 110 else f"g{at}") for at, example in enumerate(EXAMPLES[:114])]
    table = tabulate(few, COMPONENTS)
    with pytest.raises(ScorerError, match="Rate replies to more messages"):
        split(table, 0)  # a draw that comes to the great message early has few others


def test_the_layer_is_the_least_squares_line_in_the_long_run() -> None:
    """With steps enough, AdamW on squared error ends where linear regression does."""
    generator = np.random.default_rng(0)
    states = generator.normal(size=(64, 2)).astype(np.float32)
    ratings = (2 + states @ np.array([[0.2, 0.0, -0.1], [0.1, -0.2, 0.0]])).astype(np.float32)
    with one_thread():
        layer = fit_linear(states, ratings, 0, ProbeRecipe(epochs=600, rate=1e-2))
    assert layer.weight == pytest.approx(np.array([[0.2, 0.1], [0.0, -0.2], [-0.1, 0.0]]), abs=0.02)
    assert layer.bias == pytest.approx([2, 2, 2], abs=0.02)
    assert layer.rate(np.array([[99, 99]], np.float32))[0] == pytest.approx([3, 1, 1])


def test_every_epoch_is_told_and_the_seed_decides() -> None:
    generator = np.random.default_rng(0)
    states, ratings = generator.normal(size=(20, 4)), generator.uniform(1, 3, (20, 3))
    told: list[int] = []
    with one_thread():
        first, again, other = (fit_linear(states, ratings, seed, step=lambda: told.append(1)) for seed in (0, 0, 1))
    assert len(told) == 3 * 50
    assert np.array_equal(first.weight, again.weight)
    assert not np.array_equal(first.weight, other.weight)


@pytest.mark.slow
def test_the_command_writes_a_head_that_rates_as_it_was_trained(
    encoder_folder: Path, tmp_path: Path, heard: Callable[..., Done]
) -> None:
    labels, out = write_labels(tmp_path / "labels.csv", EXAMPLES[:180], blank=7), tmp_path / "study"
    arguments = ["train", "--protocol", "paper", "--data", str(labels), "--seed", "7", "--out"]
    done = heard(*arguments, str(out))
    assert done.status == 0, done.stderr
    assert "Seeds 7 to 11: each draws 100 of 173 replies, message by message. Held" in done.stdout
    assert "0.3525" in done.stdout
    table = [line.split("|")[1:-1] for line in done.stdout.splitlines() if line.startswith("| ")]
    assert [cell.strip() for cell in table[0]] == ["", *COMPONENTS, "overall"]
    errors, means, skills, _ = ([float(cell.split("±")[0]) for cell in row[1:]] for row in table[1:5])
    assert errors[3] == pytest.approx(np.mean(errors[:3]), abs=2e-3)
    assert means[3] == pytest.approx(np.mean(means[:3]), abs=2e-3)
    for error, mean, skill in zip(errors, means, skills, strict=True):
        assert skill == pytest.approx(1 - error / mean, abs=0.05)  # a mean of ratios is nearly the ratio of the means

    file = read_head_file(out / "head.toml")
    assert file.pooling == "cls"
    assert file.layers == [6]
    assert file.command == "heard train --protocol paper --data labels.csv --seed 7 --out DIR"
    card = (out / "CARD.md").read_text()
    for needed in ("50 epochs", "0.0002", "by seed 7", "To be written by you", *done.stdout.splitlines()[:6]):
        assert needed in card

    rows, encoder = team_table(labels), Encoder.load(encoder_folder, [6])
    drawn = draw(rows, 7)
    states = np.array([encoder.states(encoder.ids(text))[0] for text in rows.texts])
    with one_thread():
        trained = fit_linear(states[drawn].astype(np.float16), 1 + 2 * rows.targets[drawn], 7)
    assert load_file(out / "weights.safetensors")["weight"] == pytest.approx(trained.weight, abs=1e-6)
    scorer = Scorer.load(out, encoder_folder)
    for row in (0, 50, 172):
        score = scorer.score("", rows.examples[row].reply)
        found = [score.cognitive, score.emotional, score.behavioral]
        assert found == pytest.approx(trained.rate(states[[row]])[0], abs=1e-3)

    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "states").iterdir()}
    again = heard(*arguments, str(tmp_path / "again"))
    assert again.stdout.splitlines()[:-1] == done.stdout.splitlines()[:-1]
    assert (tmp_path / "again" / "weights.safetensors").read_bytes() == (out / "weights.safetensors").read_bytes()
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "states").iterdir()} == kept
    scored = heard("score", "That must hurt.", "--head", str(out))
    assert "Empathy" in scored.stdout, scored.stderr


@pytest.mark.slow
def test_epitome_levels_are_ratings_and_a_bare_hundred_is_enough(
    encoder_folder: Path, tmp_path: Path, heard: Callable[..., Done]
) -> None:
    mechanisms = {"interpretations": "cognitive", "emotional-reactions": "emotional", "explorations": "behavioral"}
    for name, component in mechanisms.items():
        path = tmp_path / "data" / "epitome" / f"{name}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["sp_id", "rp_id", "seeker_post", "response_post", "level", "rationales"])
            for number, example in enumerate(EXAMPLES[: ROWS + (name != "explorations")]):  # one lacks its third level
                level = round(2 * example.labels[component])
                writer.writerow([f"s{number}", f"r{number}", example.seeker, example.reply, level, ""])
    table = epitome_table(tmp_path)
    assert table.targets.shape == (ROWS, 3)
    expected = [round(2 * EXAMPLES[0].labels[name]) / 2 for name in COMPONENTS]
    assert table.targets[0] == pytest.approx(expected)
    out = tmp_path / "study"
    done = heard("train", "--protocol", "paper", "--shared", str(tmp_path), "--out", str(out))
    assert done.status == 0, done.stderr
    assert "5 folds of the hundred" in done.stdout
    card = (out / "CARD.md").read_text()
    assert "research only" in card
    assert "heard train --protocol paper --shared DIR --seed 0 --out DIR" in card


HEADER = ",".join(["seeker", "reply", *COMPONENTS])


@pytest.mark.parametrize(
    ("text", "more", "said"),
    [
        (None, (), "has 99 replies rated on all of cognitive, emotional, behavioral"),
        (HEADER.replace(",emotional", "") + "\n", (), "no column emotional"),
        (HEADER + "\n" + "".join(f"m,That is hard {n}.,1,2,3\n" for n in range(120)), (), "at least 5 are needed"),
        (HEADER + "\n" + "m,That sounds hard.,1,2,3\n" * 120, (), "has 1 reply rated on all of"),
        (HEADER + "\nm,That sounds hard.,1,2,9\n", (), "line 2: behavioral"),
        ("enough", ("--encoder", "./nowhere"), "no such folder"),
        ("enough", ("--seed", "-1"), "--seed"),
        ("enough", ("--protocol", "papr"), "papr"),
    ],
)
def test_bad_input_is_one_sentence_and_status_2(
    tmp_path: Path,
    heard: Callable[..., Done],
    encoder_folder: Path,
    text: str | None,
    more: tuple[str, ...],
    said: str,
) -> None:
    labels = write_labels(tmp_path / "labels.csv", EXAMPLES[:102], blank=3 if text is None else 0)
    if text not in (None, "enough"):
        labels.write_text(text)
    done = heard("train", "--protocol", "paper", "--data", str(labels), "--out", str(tmp_path / "out"), *more)
    assert done.status == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_sources_and_seeds_that_do_not_fit_are_refused(tmp_path: Path, heard: Callable[..., Done]) -> None:
    for arguments, said in (
        (["--shared", str(tmp_path), "--protocol", "paper"], "cannot be read"),
        (["--protocol", "paper"], "--data labels.csv"),
        (["--data", "labels.csv", "--seed", "1"], "--protocol paper"),
    ):
        done = heard("train", "--out", str(tmp_path / "out"), *arguments)
        assert done.status == 2
        assert said in done.stderr
        assert "Traceback" not in done.stderr


def test_there_are_five_seeds() -> None:
    """As the README says."""
    assert SEEDS == 5
