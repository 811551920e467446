"""docs/questions.md stays true."""

import json
from pathlib import Path

import pytest
from pydantic import BaseModel

from heard.chat_app.questions.question_file import SCALES, Item, Option, Page, QuestionFile, Range, Score
from heard.chat_app.studies.study_file import read_study_file
from heard.chat_app.studies.study_items import read_items

DOCS = Path(__file__).parents[3] / "docs"
EXAMPLE = DOCS / "example-study"
PAGE = (DOCS / "questions.md").read_text(encoding="utf-8")


def rows_of(model: type[BaseModel]) -> str:
    """The table of a model's fields, as the page has it."""
    rows = []
    for name, field in model.model_fields.items():
        default = "required" if field.is_required() else f"`{json.dumps(field.default, default=list)}`"
        if field.default is None:
            default = "unset"
        assert field.description, name
        rows.append(f"| `{name}` | {default} | {' '.join(field.description.split())} |")
    return "\n".join(rows)


@pytest.mark.parametrize("model", [QuestionFile, Page, Item, Option, Range, Score])
def test_the_page_has_every_key(model: type[BaseModel]) -> None:
    assert f"| key | default | meaning |\n|---|---|---|\n{rows_of(model)}\n" in PAGE


def test_the_page_has_every_scale() -> None:
    assert [path.name for path in SCALES.glob("*.toml") if f"| `{path.name}` |" not in PAGE] == []


def test_the_example_takes_the_example_s_items() -> None:
    study = read_study_file(EXAMPLE / "with-questions.toml")
    assert [len(item.answers) for item in read_items(EXAMPLE / "items.csv", study, {}).items] == [2, 2, 2, 3]
    kinds = {item.kind for file in study.questions for item in file.items}
    assert kinds == {"single", "multiple", "likert", "slider", "number", "text", "attention"}
