"""docs/compare.md and docs/policies.md stay true."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from heard.chat_app.comparing.questions import read_questions
from heard.chat_app.conversation.formulaic import STACKED, stacked
from heard.prompts.records import Policy
from heard.scorer.training.data import project_set
from tests.commands import heard

DOCS = Path(__file__).parents[3] / "docs"
POLICIES = (DOCS / "policies.md").read_text(encoding="utf-8")
COMPARE = (DOCS / "compare.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", [POLICIES, COMPARE])
def test_every_command_and_option_on_a_page_exists(page: str) -> None:
    named = set(re.findall(r"^ {4}heard ([a-z-]+)", page, re.MULTILINE))
    assert named
    helps = "".join(heard(name, "--help").stdout for name in named)
    assert set(re.findall(r"--[a-z][a-z-]+", page)) <= set(re.findall(r"--[a-z-]+", helps))


@pytest.mark.parametrize("page", [POLICIES, COMPARE])
def test_every_link_and_file_on_a_page_is_there(page: str) -> None:
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", page) if "//" not in link]
    assert [link for link in links if not (DOCS / link).exists()] == []
    for name in re.findall(r"docs/[a-z-]+\.[a-z]+", page):
        assert (DOCS.parent / name).exists()


def test_the_table_of_policies_has_every_key() -> None:
    table = [line.split("|")[1] for line in POLICIES.splitlines() if line.startswith("| `")]
    named = {key for cell in table for key in re.findall(r"`([a-z_]+)`", cell)}
    assert named == {field.name for field in fields(Policy)} - {"id"}


def test_the_example_questions_are_sound() -> None:
    found = read_questions(DOCS / "example-questions.csv", 8000)
    assert (len(found.questions), found.faults, found.crises) == (12, [], 0)


def test_the_count_of_stacked_replies_is_the_one_on_the_page() -> None:
    replies = [example.reply for example in project_set()]
    stuffed = sum(stacked(reply) >= STACKED for reply in replies)
    assert f"Of the {len(replies)} rated replies of the\nproject set, {stuffed} have so many" in POLICIES
