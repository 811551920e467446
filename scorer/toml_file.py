"""The TOML files beside stored weights, each a dataclass: checked by pydantic when read, every fault named."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from heard.scorer.errors import ScorerError
from heard.toml_values import TomlFault, read_values
from heard.validation import faults_of

T = TypeVar("T")

NO_OTHERS = ConfigDict(extra="forbid", allow_inf_nan=False)
"""For a dataclass's `__pydantic_config__`: no key beside its own."""


def read_toml(path: Path, kind: type[T], missing: str) -> T:
    """The file as `kind`, a dataclass. Raises ScorerError with every faulty key; `missing` where there is no file."""
    try:
        values = read_values(path)
    except TomlFault as error:
        raise ScorerError(missing if isinstance(error.__cause__, OSError) else str(error)) from error
    schema = TypeAdapter(kind)
    try:
        return schema.validate_python(values)
    except ValidationError as error:
        faults = faults_of(error, schema.json_schema())
        raise ScorerError(f"{path}: {' '.join(fault.sentence for fault in faults)}") from error


def write_toml(path: Path, values: Mapping[str, Any]) -> None:
    """Write texts, numbers and lists of them, a key a line."""
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in values.items()]  # JSON's are TOML's
    path.write_text("".join(lines), encoding="utf-8")
