"""CONTRIBUTING.md, CHANGELOG.md, docs/architecture.md and docs/decisions stay true."""

import importlib.util
import re
from pathlib import Path

import pytest

from heard.chat_app.models.providers import PROVIDERS
from tests.bench.modules import diagram

ROOT = Path(__file__).parents[1]
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("*.md"))
PAGES = [ROOT / name for name in ("CONTRIBUTING.md", "CHANGELOG.md", "LICENSE-WEIGHTS.md", "docs/architecture.md")]
ROOMS = ("chat_app", "scorer", "prompts", "db", "tests", "docs", "src")


def text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


@pytest.mark.parametrize("page", [*PAGES, *DECISIONS], ids=lambda page: page.name)
def test_every_file_that_is_named_exists(page: Path) -> None:
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", text(page)) if "//" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []
    named = re.findall(rf"(?<![\w/.])((?:{'|'.join(ROOMS)})/[\w./*-]*)", re.sub(r"\]\([^)]+\)", "]", text(page)))
    names = {name.rstrip(".") for name in named} - {"scorer/heads/mine"}
    assert [name for name in sorted(names) if not any(ROOT.glob(name.rstrip("/")))] == []


def test_every_make_target_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", text(ROOT / "Makefile"), re.MULTILINE))
    named = {name for page in PAGES for name in re.findall(r"(?:`|^ {4})make ([a-z-]+)", text(page), re.MULTILINE)}
    assert {"quick", "test", "test-lowest", "bench"} <= named
    assert named <= targets


def test_the_diagram_is_that_of_the_table() -> None:
    page = text(ROOT / "docs" / "architecture.md")
    drawn = page.split("```mermaid\n")[1].split("\n```")[0]
    assert sorted(drawn.splitlines()) == sorted(diagram().splitlines()), "python -m tests.bench modules prints it"


def test_a_decision_has_its_four_parts_and_its_number() -> None:
    for number, page in enumerate(DECISIONS, 1):
        assert page.name.startswith(f"{number:04}-")
        assert text(page).startswith(f"# {number}. ")
        parts = re.findall(r"^## (.+)$", text(page), re.MULTILINE)
        assert parts == ["Context", "Decision", "What follows", "Look at it again when"], page.name
        assert len(text(page).splitlines()) <= 40, page.name


def test_every_name_in_the_table_of_changes_is_there() -> None:
    names = re.findall(r"^\| `[\w.]+` \| `([\w.]+)` \|$", text(ROOT / "CHANGELOG.md"), re.MULTILINE)
    assert len(names) == 6
    for name in names:
        module, _, thing = name.rpartition(".")
        spec = importlib.util.find_spec(module)  # not imported: Chainlit is, once in a process, as the page needs it
        assert spec is not None, name
        assert spec.origin, name
        defined = rf"^(?:def|class) {thing}\b|^__all__ = .*\"{thing}\""
        assert re.search(defined, text(Path(spec.origin)), re.MULTILINE), name


def test_the_number_of_providers_is_told() -> None:
    words = {8: "eight", 9: "nine", 10: "ten"}
    assert f"models of {words[len(PROVIDERS)]} providers" in " ".join(text(ROOT / "CHANGELOG.md").split())
