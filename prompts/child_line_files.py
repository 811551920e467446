"""Reads `safety/child_lines.yaml`: whom somebody under age can call or write to."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, with_config

from heard.prompts.fields import ImpliedName, NonEmpty
from heard.prompts.files import read_record
from heard.prompts.safety_files import FOLDER, Line, country_code, within_reach


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True, kw_only=True)
class ChildLines:
    """The lines of one country, or of several together."""

    code: ImpliedName = ""
    """ISO 3166-1 alpha-2; "" of those for several countries."""
    name: NonEmpty
    lines: Annotated[tuple[Annotated[Line, AfterValidator(within_reach)], ...], Field(min_length=1)]


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True)
class _ChildLinesFile:
    countries: Annotated[Mapping[Annotated[str, BeforeValidator(country_code)], ChildLines], Field(min_length=1)]
    elsewhere: ChildLines


def load_child_lines(path: Path = FOLDER / "child_lines.yaml") -> tuple[ChildLines, ...]:
    """Return the lines by country's name, and last those for several countries. Raises PromptFileError."""
    file = read_record(path, _ChildLinesFile)
    countries = [replace(lines, code=code) for code, lines in file.countries.items()]
    return (*sorted(countries, key=lambda lines: lines.name), file.elsewhere)
