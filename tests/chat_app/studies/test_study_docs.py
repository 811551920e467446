"""docs/studies.md and the example study stay true."""

import json
import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from heard.chat_app.studies.study_file import Arm, Condition, StudyFile, read_study_file
from heard.chat_app.studies.study_items import read_items, read_questions
from tests.commands import heard

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "studies.md").read_text(encoding="utf-8")
EXAMPLE = DOCS / "example-study"


def rows_of(model: type[BaseModel]) -> str:
    """The table of a model's fields, as the page has it."""
    rows = []
    for name, field in model.model_fields.items():
        default = "required" if field.is_required() else f"`{json.dumps(field.default)}`"
        if field.default is None:
            default = "unset"
        if field.default == ():
            default = "`[]`"
        assert field.description, name
        rows.append(f"| `{name}` | {default} | {' '.join(field.description.split())} |")
    return "\n".join(rows)


@pytest.mark.parametrize("model", [StudyFile, Arm, Condition])
def test_the_page_has_every_key_of_the_file(model: type[BaseModel]) -> None:
    assert f"| key | default | meaning |\n|---|---|---|\n{rows_of(model)}\n" in PAGE


def test_every_command_on_the_page_exists() -> None:
    named = set(re.findall(r"(?:`|^ {4,8})heard ((?:study |models )?[a-z-]+)", PAGE, re.MULTILINE))
    assert {"study import", "study generate", "study status", "chat"} <= named
    for words in named:
        assert heard(*words.split(), "--help").status == 0, words


def test_every_link_on_the_page_leads_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", PAGE)
    assert links
    assert [link for link in links if not (DOCS / link).exists()] == []


def test_the_example_files_are_sound() -> None:
    survey, live = (read_study_file(EXAMPLE / name) for name in ("study.toml", "live.toml"))
    found = read_items(EXAMPLE / "items.csv", survey, {})
    assert [(len(item.answers), item.attention) for item in found.items] == [(3, None)] * 3 + [(3, "lighthouse")]
    assert found.skipped.sentences() == []
    assert [answer.leak for item in found.items for answer in item.answers if answer.leak] == []
    assert len(live.arms) == 2
    assert len(read_questions(EXAMPLE / "questions.csv", live).items) == 2
