"""The TOML files beside stored weights, each a dataclass: checked by pydantic when read, every fault named."""

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from heard.scorer.errors import ScorerError

T = TypeVar("T")

NO_OTHERS = ConfigDict(extra="forbid", allow_inf_nan=False)
"""For a dataclass's `__pydantic_config__`: no key beside its own."""
_MUST = {
    "string_type": "be text",
    "float_type": "be a number",
    "list_type": "be a list",
    "too_short": "not be empty",
}
"""pydantic's kinds of faults, as the end of a sentence; other kinds have its own words."""


def read_toml(path: Path, kind: type[T], missing: str) -> T:
    """The file as `kind`, a dataclass. Raises ScorerError with every faulty key; `missing` where there is no file."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ScorerError(missing) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ScorerError(f"{path} is not valid TOML: {error}. Mend that line.") from error
    try:
        return TypeAdapter(kind).validate_python(values)
    except ValidationError as error:
        known = [item.name for item in fields(kind)]  # type: ignore[arg-type]  # there is no type of all dataclasses
        faults = [_fault(one["type"], one["loc"], one["msg"], known) for one in error.errors(include_url=False)]
        raise ScorerError(f"{path}: {' '.join(faults)}") from error


def write_toml(path: Path, values: Mapping[str, Any]) -> None:
    """Write texts, numbers and lists of them, a key a line."""
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in values.items()]  # JSON's are TOML's
    path.write_text("".join(lines), encoding="utf-8")


def _fault(kind: str, place: Sequence[int | str], message: str, known: Sequence[str]) -> str:
    key = place[0]
    if kind == "missing":
        return f'The key "{key}" is missing.'
    if kind == "unexpected_keyword_argument":
        nearest = get_close_matches(str(key), known, n=1)
        return f'There is no key "{key}". ' + (f"Did you mean {nearest[0]}?" if nearest else "Remove it.")
    where = f'"{key}"' + (f", item {int(place[1]) + 1}," if len(place) > 1 else "")
    own = message.removeprefix("Value error, ").replace("Input should ", "must ")
    return f"{where} {'must ' + _MUST[kind] if kind in _MUST else own}."
