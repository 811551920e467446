"""The default head's making and measuring, on a small copy of the sources' formats; and its card against its files."""

import csv
import itertools
import json
import re
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from heard.scorer.errors import ScorerError
from heard.scorer.evaluation.evaluate import evaluate
from heard.scorer.everyday import FAULTS
from heard.scorer.head import Head
from heard.scorer.head_file import read_head_file
from heard.scorer.records import COMPONENTS
from heard.scorer.score import DEFAULT_HEAD, HEADS, Scorer
from heard.scorer.training.data import FACETS, annomi, epitome, esconv, project_set
from heard.scorer.training.example import Example
from heard.scorer.training.train_head import train_default_head

CARD = (HEADS / DEFAULT_HEAD / "CARD.md").read_text(encoding="utf-8")


def write(path: Path, rows: list[dict[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sources in the formats of the public ones, filled from the project's own set."""
    folder = tmp_path_factory.mktemp("shared")
    examples = list(project_set())[::5]
    for name, component in (
        ("emotional-reactions", "emotional"), ("interpretations", "cognitive"), ("explorations", "behavioral")
    ):  # fmt: skip
        rows: list[dict[str, object]] = [
            {"sp_id": f"s{i}", "rp_id": f"r{i}", "seeker_post": e.seeker, "response_post": e.reply,
             "level": round(2 * e.labels[component]), "rationales": ""}
            for i, e in enumerate(examples)
        ]  # fmt: skip
        write(folder / "data" / "epitome" / f"{name}.csv", rows)
    strategies = {
        "advice": "Providing Suggestions", "warm": "Affirmation and Reassurance", "selftalk": "Self-disclosure",
        "assistant": "Reflection of feelings", "parrot": "Restatement or Paraphrasing", "clinical": "Information",
        "question": "Questions", "reflection": "Reflection of feelings",
    }  # fmt: skip
    for name in ("dev", "test"):
        rows = [
            {"dialogue": f"{name}{e.group}", "turn": i, "seeker": e.seeker, "supporter": e.reply,
             "strategy": strategies.get(e.style, "Other")}
            for i, e in enumerate(examples)
        ]  # fmt: skip
        write(folder / "data" / "esconv" / f"{name}.csv", rows)
    rows = []
    for i, e in enumerate(examples):
        common = dict.fromkeys(("reflection_exists", "therapist_input_subtype", "question_exists"), "n/a")
        common["transcript_id"] = e.group
        rows.append({**common, "utterance_id": 2 * i, "interlocutor": "client", "utterance_text": e.seeker})
        advice = {"advice": "advice", "clinical": "information"}.get(e.style, "n/a")
        for reflects in (e.style in ("assistant", "reflection"), False):  # two annotators who disagree on it
            turn = {**common, "utterance_id": 2 * i + 1, "interlocutor": "therapist", "utterance_text": e.reply}
            asks = str(e.style == "question")
            turn |= {"reflection_exists": str(reflects), "therapist_input_subtype": advice, "question_exists": asks}
            rows.append(turn)
    write(folder / "data" / "annomi" / "annomi-full.csv", rows)
    write_talks(folder / "data" / "everyday" / "conversations.jsonl", examples)
    return folder


def write_talks(path: Path, examples: list[Example]) -> None:
    """Everyday conversations of two of the listener's turns, each rated by one of six raters: warm styles higher."""
    talks = [
        {"id": f"c{at}", "rater": f"r{at % 6}", "rating": min(5, 1 + at % 6 // 2 + 2 * (first.style == "warm")),
         "turns": [["seeker", first.seeker], ["listener", first.reply], ["seeker", "yes"], ["listener", second.reply]]}
        for at, (first, second) in enumerate(itertools.pairwise(examples))
    ]  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(talk) + "\n" for talk in talks), encoding="utf-8")


def test_the_sources_say_only_what_they_label(shared: Path) -> None:
    data = shared / "data"
    first = next(epitome(data / "epitome"))
    assert set(first.labels) == {"reaction", "interpretation", "exploration", *FAULTS}
    assert set(first.labels.values()) <= {0.0, 0.5, 1.0}
    informs = {example.reply for example in project_set() if example.style == "clinical"}
    for example in esconv(data / "esconv"):
        assert example.labels["reflection"] in (0.0, 1.0)
        assert ("advice" in example.labels) is (example.reply not in informs)
    therapist = list(annomi(data / "annomi"))
    assert len(therapist) == len(list(project_set())[::5])
    assert {example.labels["reflection"] for example in therapist} == {0.0, 0.5}
    assert all(example.seeker for example in therapist)
    assert any("advice" not in example.labels for example in therapist)


@pytest.mark.slow
def test_the_default_head_is_made_and_measured_from_the_sources(
    shared: Path, encoder_folder: Path, tmp_path: Path
) -> None:
    told: set[str] = set()
    cache = tmp_path / "cache"
    trained = train_default_head(shared, encoder_folder, tmp_path / "new", cache, lambda what, *_: told.add(what), "x")
    assert told == {"reading the replies", "training on five folds", "reading messages and their replies"}
    assert trained.held_out.shape == (len(trained.table.texts), 3)
    scorer = Scorer.load(tmp_path / "new", encoder_folder)
    better = scorer.score("", "I'm so sorry, that must hurt so much. What happened?").empathy
    worse = scorer.score("", "Stop complaining.").empathy
    assert better is not None
    assert worse is not None
    assert better > worse + 0.3
    tables = evaluate(shared, encoder_folder, cache, lambda *_: None)
    titles = re.findall(r"^### (.*)$", tables, re.MULTILINE)
    assert titles == re.findall(r"^### (.*)$", CARD, re.MULTILINE)
    for row in (
        "predict the mean",
        "length only",
        "a linear head on layer 3.5's [CLS]",
        "this head's facets",
        "this head's components",
    ):
        assert f"| {row} |" in tables
        assert f"| {row} |" in CARD
    assert "nan" not in tables.lower()


def test_missing_sources_are_named(tmp_path: Path, encoder_folder: Path) -> None:
    with pytest.raises(ScorerError, match=r"emotional-reactions\.csv cannot be read"):
        train_default_head(tmp_path, encoder_folder, tmp_path / "new", None, lambda *_: None, "x")


@pytest.mark.parametrize("component", COMPONENTS)
def test_the_card_gives_the_weights_that_the_head_has(component: str) -> None:
    tensors = load_file(HEADS / DEFAULT_HEAD / "weights.safetensors")
    row = COMPONENTS.index(component)
    line = re.search(
        rf"\*\*{component.capitalize()}\*\*[^=]*= ((?:[-+]?\s*\.\d+(?: \w+)?\s*)+)", " ".join(CARD.split())
    )
    assert line is not None
    stated = {
        name or "offset": float(sign + number)
        for sign, number, name in re.findall(
            r"([-+]?)\s*(\.\d+)(?: ([a-z_]+))?", line.group(1).replace("- ", "-").replace("+ ", "+")
        )
    }
    real = {
        facet: float(weight)
        for facet, weight in zip(FACETS, tensors["mixing"][row], strict=True)
        if abs(weight) >= 0.005
    }
    real["offset"] = float(tensors["mixing_bias"][row])
    assert stated.keys() == real.keys()
    for name, value in real.items():
        assert stated[name] == pytest.approx(value, abs=0.006), name


def test_the_card_counts_the_projects_own_set_rightly() -> None:
    examples = list(project_set())
    assert f"{len(examples)} replies to {len({example.group for example in examples})} messages" in CARD
    kept_out = [example for example in examples if example.test]
    assert f"{len(kept_out)} replies to {len({example.group for example in kept_out})} of them" in CARD
    assert not {e.group for e in kept_out} & {e.group for e in examples if not e.test}
    file = read_head_file(HEADS / DEFAULT_HEAD / "head.toml")
    assert f"project: {len(examples) - len(kept_out)} replies" in file.trained_on
    assert list(FACETS) == file.facets
    assert Head.load(HEADS / DEFAULT_HEAD).components(np.zeros(len(FACETS), np.float32)).min() >= 1
