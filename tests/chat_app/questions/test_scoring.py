"""Answers as they are stored, and scores against cases that were worked out by hand."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from heard.chat_app.questions.answering import AnswerProblem, read_answer
from heard.chat_app.questions.question_file import SCALES, parse_question_file
from heard.chat_app.questions.scoring import Scored, scores_of

OPTIONS = [{"value": "a", "label": "A"}, {"value": "b", "label": "B"}, {"value": "c", "label": "C"}]
RANGE = {"min": 1, "max": 5}


def one(**values: Any) -> Any:
    """A file of one item, and the item."""
    item = {"id": "q", "text": "?", "required": values.get("kind") == "attention", **values}
    file = parse_question_file({"id": "f", "title": "T", "range": RANGE, "pages": [{"items": [item]}]}, "f")
    return file, file.items[0]


@pytest.mark.parametrize(
    ("item", "given", "stored"),
    [
        ({"kind": "single", "options": OPTIONS}, ["b"], "b"),
        ({"kind": "single", "options": OPTIONS}, [""], None),
        ({"kind": "single", "options": OPTIONS}, ["d"], AnswerProblem),
        ({"kind": "single", "options": OPTIONS}, ["a", "b"], AnswerProblem),
        ({"kind": "multiple", "options": OPTIONS}, ["c", "a", "c"], "a;c"),
        ({"kind": "multiple", "options": OPTIONS, "required": True}, [], AnswerProblem),
        ({"kind": "likert"}, ["5"], "5"),
        ({"kind": "likert"}, ["6"], AnswerProblem),
        ({"kind": "likert"}, ["1.5"], AnswerProblem),
        ({"kind": "attention", "correct": "2"}, ["3"], "3"),
        ({"kind": "slider"}, ["4.0"], "4"),
        ({"kind": "slider", "step": 0.5}, ["2,5"], "2.5"),
        ({"kind": "slider"}, ["0"], AnswerProblem),
        ({"kind": "number", "min": 18}, ["17"], AnswerProblem),
        ({"kind": "number", "min": 18}, ["1e400"], AnswerProblem),
        ({"kind": "number"}, ["nan"], AnswerProblem),
        ({"kind": "number"}, ["18.5"], AnswerProblem),
        ({"kind": "number", "step": 0.1}, ["0.3"], "0.3"),
        ({"kind": "number"}, [" 40 "], "40"),
        ({"kind": "text", "longest": 5}, ["words!"], AnswerProblem),
        ({"kind": "text"}, [" two\nlines "], "two\nlines"),
    ],
)
def test_an_answer_is_stored_in_one_form_or_refused(item: dict[str, Any], given: list[str], stored: Any) -> None:
    file, asked = one(**item)
    if stored is AnswerProblem:
        with pytest.raises(AnswerProblem):
            read_answer(file, asked, given)
    else:
        assert read_answer(file, asked, given) == stored


def scale(combine: str, missing: float) -> Any:
    items = [{"id": f"i{n}", "kind": "likert", "text": "?"} for n in range(1, 6)]
    score = {
        "name": "s", "items": [item["id"] for item in items], "combine": combine, "reversed": ["i5"],
        "missing": missing,
    }  # fmt: skip
    values = {"id": "f", "title": "T", "range": RANGE, "pages": [{"items": items}], "scores": [score]}
    return parse_question_file(values, "f")


@pytest.mark.parametrize(
    ("combine", "missing", "answers", "value"),
    [
        ("mean", 0.2, "54321", 3.8),  # 5 4 3 2 and 6 - 1
        ("sum", 0.2, "54321", 19),
        ("mean", 0.2, "5432-", 3.5),
        ("sum", 0.2, "5432-", 17.5),  # 14 of four items, times 5 / 4
        ("mean", 0.19, "5432-", None),
        ("mean", 0.2, "543--", None),
        ("mean", 0.9, "-----", None),
        ("sum", 0, "11115", 5),
    ],
)
def test_a_score_is_what_the_hand_says(combine: str, missing: float, answers: str, value: float | None) -> None:
    given = {f"i{n}": None if sign == "-" else sign for n, sign in enumerate(answers, 1)}
    (scored,) = scores_of(scale(combine, missing), given)
    there = sum(sign != "-" for sign in answers)
    assert scored == Scored("s", pytest.approx(value) if value is not None else None, there, 5)


@pytest.mark.parametrize(
    ("name", "answer", "values"),
    [
        # Everybody at the highest point: 4 for each item as it stands, 0 for each reversed one.
        ("iri", "4", {"perspective-taking": 20, "fantasy": 20, "empathic-concern": 16, "personal-distress": 20}),
        ("bes", "5", {"cognitive": 33, "affective": 35, "total": 68}),
        ("pets", "70", {"emotional-responsiveness": 70, "understanding-and-trust": 70, "total": 70}),
    ],
)
def test_the_scales_are_scored_by_their_keys(name: str, answer: str, values: dict[str, float]) -> None:
    file = parse_question_file(tomllib.loads((Path(SCALES) / f"{name}.toml").read_text(encoding="utf-8")), name)
    scored = scores_of(file, {item.id: answer for item in file.items})
    assert {score.name: score.value for score in scored} == values
