"""Whom somebody under age can call or write to: the lines for children of `hotlines.yaml`, and those of
`safety/child_lines.yaml` for the countries that have none there."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, with_config

from heard.prompts.fields import NonEmpty
from heard.prompts.files import read_record
from heard.prompts.safety_files import FOLDER, Hotlines, Line, within_reach

CHILDREN = "minor"
"""What a line for children is marked with in `hotlines.yaml`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildLines:
    """The lines of one country, or of several together."""

    code: str
    """ISO 3166-1 alpha-2; "" of those for several countries."""
    name: str
    lines: tuple[Line, ...]


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True)
class _ChildLinesFile:
    name: NonEmpty
    lines: Annotated[tuple[Annotated[Line, AfterValidator(within_reach)], ...], Field(min_length=1)]


def load_child_lines(hotlines: Hotlines, path: Path = FOLDER / "child_lines.yaml") -> tuple[ChildLines, ...]:
    """Return the lines by country's name, and last those for several countries. Raises PromptFileError."""
    found = []
    for country in hotlines.countries:
        lines = tuple(line for line in country.lines if CHILDREN in line.dangers)
        if lines:
            found.append(ChildLines(code=country.code, name=country.name, lines=lines))
    elsewhere = read_record(path, _ChildLinesFile)
    return (*found, ChildLines(code="", name=elsewhere.name, lines=elsewhere.lines))
