"""docs/prompts.md stays true: its fields, strategies, variables and commands are those that there are."""

import re
from dataclasses import fields
from pathlib import Path

from heard.prompts.library import PromptLibrary
from heard.prompts.persona_files import PersonaFile
from heard.prompts.records import MAX_STEPS, READING, Step
from heard.prompts.system_prompt import LEVELS, TRAITS
from tests.commands import heard

PAGE = (Path(__file__).parents[2] / "docs" / "prompts.md").read_text(encoding="utf-8")


def test_the_page_has_every_field_and_trait() -> None:
    table = PAGE.split("## A persona's file")[1].split("## A strategy's file")[0]
    rows = re.findall(r"^\| (`.+?) \|", table, re.MULTILINE)
    assert sorted(name for row in rows for name in re.findall(r"`(\w+)`", row)) == sorted(
        field.name for field in fields(PersonaFile)
    )
    assert all(f"`{name}`" in table for name in (*TRAITS, *LEVELS))


def test_the_page_has_every_shipped_strategy_with_its_number_of_calls() -> None:
    for strategy in PromptLibrary.load().strategies.values():
        short = strategy.id.replace("chain-of-empathy-", "-")
        assert f"`{strategy.id}`" in PAGE or f"`{short}`" in PAGE, strategy.id
    assert all(f"`{{{name}}}`" in PAGE for name in READING)
    assert f"(1 to 640; {Step('a', 'b').max_tokens} when left out)" in PAGE
    assert MAX_STEPS == 6
    assert "up to six hidden calls" in PAGE


def test_every_command_on_the_page_exists_and_its_links_lead_somewhere() -> None:
    named = set(re.findall(r"(?:`|^ {4})heard ((?:prompts |data |study )?[a-z-]+)", PAGE, re.MULTILINE))
    assert {"prompts check", "prompts show", "train-reading", "data person"} <= named
    for words in named:
        assert heard(*words.split(), "--help").status == 0, words
    assert all((Path(__file__).parents[2] / "docs" / link).exists() for link in re.findall(r"\]\(([^)#]+)\)", PAGE))
