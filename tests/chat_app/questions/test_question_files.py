"""Files of questions: what is taken, what is refused and how, and the scales that come with heard."""

import copy
import tomllib
from pathlib import Path
from typing import Any

import pytest

from heard.chat_app.questions.branching import ConditionError, parse_condition
from heard.chat_app.questions.question_file import (
    SCALES,
    QuestionFileError,
    parse_question_file,
    question_values,
    read_question_file,
)
from heard.chat_app.questions.question_set import visible_items
from heard.chat_app.studies.study_file import StudyFileError, definition_of, parse_study, read_study_file

EXAMPLE = Path(__file__).parents[3] / "docs" / "example-study"
VALUES: dict[str, Any] = tomllib.loads((EXAMPLE / "about-you.toml").read_text(encoding="utf-8"))


def changed(page: int, place: int, **values: Any) -> dict[str, Any]:
    """The example with one item changed."""
    new = copy.deepcopy(VALUES)
    new["pages"][page]["items"][place] |= values
    return new


@pytest.mark.parametrize(
    ("text", "answers", "holds"),
    [
        ("a = x", {"a": "x"}, True),
        ("a = x", {"a": "y;x"}, True),
        ("a != x", {"a": "y"}, True),
        ("a != x", {"a": "y;x"}, False),
        ("a != x", {}, False),
        ("a != x", {"a": None}, False),
        ("a in [x, 'y']", {"a": "x"}, None),
        ('a in [x, "two words"]', {"a": "two words"}, True),
        ("a >= 18", {"a": "18"}, True),
        ("a < 18", {"a": "18.0"}, False),
        ("a = 18", {"a": "18.0"}, True),
        ("f.a = x or b > 2 and b < 4", {"f.a": "y", "b": "3"}, True),
        ("a = x and b = x or c = x", {"a": "x", "b": "y", "c": "x"}, True),
        ("a = x and b = x or c = x", {"a": "x", "b": "y", "c": "y"}, False),
        ("a", {}, None),
        ("a = ", {}, None),
        ("a in x", {}, None),
        ("a in [x", {}, None),
        ("a > warm", {}, None),
        ("a = x, b = y", {}, None),
        ("__import__('os')", {}, None),
        ("", {}, None),
    ],
)
def test_a_condition_says_what_it_says_or_is_refused(text: str, answers: dict[str, str], holds: bool | None) -> None:
    if holds is None:
        with pytest.raises(ConditionError):
            parse_condition(text)
    else:
        assert parse_condition(text).holds(answers) is holds


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (changed(0, 1, kind="singel"), 'item "helps": kind must be single, multiple, likert, slider, number, text or'),
        (changed(0, 1, kidn="single"), 'item "helps": unknown key "kidn". Did you mean kind?'),
        (changed(0, 1, options=[]), 'item "helps" needs at least two options.'),
        (changed(0, 0, screen_out="helps = no"), 'item "age" has a screen_out on other items than itself'),
        (changed(0, 0, screen_out="age > old"), 'item "age" has a screen_out that compares "age" by > with "old"'),
        (changed(0, 1, show_if="age > 3"), 'item "helps" has a show_if on "age", which stands on the same page.'),
        (changed(1, 0, show_if="helsp = no"), 'item "where" has a show_if on "helsp", which is on no earlier page'),
        (changed(1, 0, show_if="helps = pay"), 'compares "helps" with "pay", which nobody can choose. There are: paid'),
        (changed(1, 0, show_if="helps > 3"), 'item "where" compares "helps" by >, and its answers are no numbers.'),
        (changed(1, 3, correct="9"), 'item "reading" has correct = "9", which nobody can choose.'),
        (changed(1, 1, id="age"), 'item "age" is there twice'),
        (changed(1, 5, text=""), 'item "words" has no text.'),
        (VALUES | {"place": "between"}, "needs after_ballot or every"),
        (VALUES | {"scores": [{"name": "x", "items": ["easyy"]}]}, 'score "x" names "easyy". Did you mean easy?'),
        (VALUES | {"scores": [{"name": "x", "items": ["helps"]}]}, "whose answers are no numbers with bounds"),
    ],
)
def test_a_fault_is_told_with_the_file_and_the_item(values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(QuestionFileError) as fault:
        parse_question_file(values, "about.toml")
    assert str(fault.value).startswith("about.toml: ")
    assert sentence in str(fault.value)


def test_a_study_keeps_its_questions_word_for_word() -> None:
    study = read_study_file(EXAMPLE / "with-questions.toml")
    assert [file.id for file in study.questions] == ["about-you", "chat-empathy"]
    definition, digest = definition_of(study)
    again = parse_study(definition, "stored")
    assert again == study
    assert definition_of(again)[1] == digest
    assert [option.value for option in again.questions[0].pages[0].items[1].options] == ["paid", "unpaid", "no"]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("pets.toml", "10 items have no wording (e1 is the first)"),
        (
            "pest.toml",
            "there is no pest.toml beside the study's file, and none comes with heard. Did you mean pets.toml",
        ),
        ("../about-you.toml", "there is no ../about-you.toml"),
    ],
)
def test_what_cannot_be_asked_is_refused_at_the_import(tmp_path: Path, name: str, sentence: str) -> None:
    path = tmp_path / "study.toml"
    path.write_text(f'id = "s"\nkind = "survey"\nsources = ["a", "b"]\nquestions = ["{name}"]\n', encoding="utf-8")
    with pytest.raises(StudyFileError) as fault:
        read_study_file(path)
    assert sentence in str(fault.value)


def test_a_lab_adds_the_wording_beside_its_study(tmp_path: Path) -> None:
    worded = (SCALES / "pets.toml").read_text(encoding="utf-8").replace('text = ""', 'text = "Words of the lab."')
    (tmp_path / "pets.toml").write_text(worded, encoding="utf-8")
    assert len(read_question_file("pets.toml", tmp_path).items) == 10


@pytest.mark.parametrize(
    ("questions", "sentence"),
    [
        ([{"id": "again"}, {"id": "again"}], 'two files of questions with the id "again"'),
        ([{"id": "x", "place": "between", "every": 5}], "would never be asked"),
        ([{"id": "x", "show_if": "y.q = no"}, {"id": "y", "place": "after"}], "which no earlier file asks"),
        ([{"id": "y"}, {"id": "x", "place": "after", "show_if": "y.q = maybe"}], "which nobody can choose"),
    ],
)
def test_files_that_do_not_fit_together_are_refused(questions: list[dict[str, Any]], sentence: str) -> None:
    files = []
    for one in questions:
        options = [{"value": value, "label": value} for value in ("yes", "no")]
        item = {"id": "q", "kind": "single", "text": "?", "options": options, "show_if": one.pop("show_if", "")}
        files.append({"title": "T", "pages": [{"items": [item]}], **one})
    with pytest.raises(StudyFileError) as fault:
        parse_study(
            {"id": "s", "kind": "survey", "sources": ["a", "b"], "items_per_person": 5, "questions": files}, "study"
        )
    assert sentence in str(fault.value)


def test_the_scales_have_the_published_structure() -> None:
    """Numbers of items, subscales and reversed items, and the ranges that the sums can have."""
    told = {}
    for name in ("iri", "bes", "pets"):
        values = tomllib.loads((SCALES / f"{name}.toml").read_text(encoding="utf-8"))
        file = parse_question_file(values, name)
        assert file.wording_from
        assert file.source
        assert all(item.text == "" for item in file.items)
        scores = {score.name: (len(score.items), score.combine, len(score.reversed)) for score in file.scores}
        assert file.range
        told[name] = (len(file.items), (file.range.min, file.range.max), scores)
    assert told == {
        "iri": (28, (0, 4), {
            "perspective-taking": (7, "sum", 2), "fantasy": (7, "sum", 2), "empathic-concern": (7, "sum", 3),
            "personal-distress": (7, "sum", 2),
        }),
        "bes": (20, (1, 5), {"cognitive": (9, "sum", 3), "affective": (11, "sum", 5), "total": (20, "sum", 8)}),
        "pets": (10, (0, 100), {
            "emotional-responsiveness": (6, "mean", 0), "understanding-and-trust": (4, "mean", 0),
            "total": (10, "mean", 0),
        }),
    }  # fmt: skip
    for name in ("demographics.toml", "chat-empathy.toml"):
        file = read_question_file(name, Path("nowhere"))
        assert parse_question_file(question_values(file), name) == file


def test_branching_shows_what_hangs_on_an_answer() -> None:
    file = parse_question_file(VALUES, "about")
    items = file.pages[1].items
    assert next(item.id for item in visible_items(file, items, {"about-you.helps": "no"})) == "easy"
    assert next(item.id for item in visible_items(file, items, {"about-you.helps": "paid"})) == "where"
