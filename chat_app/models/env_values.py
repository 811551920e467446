"""Values of models.toml that stand in an environment variable, as keys do: "env:NAME"."""

import os
from collections.abc import Iterator, Mapping
from typing import Any

from heard.chat_app.models.records import FailureKind, ModelFailure, ModelSpec

PREFIX = "env:"


def resolved(values: Mapping[str, Any], spec: ModelSpec) -> dict[str, Any]:
    """Return the values with those of the environment in their places. Raises ModelFailure if a variable is not set."""
    return {name: _resolved(value, spec) for name, value in values.items()}


def _resolved(value: Any, spec: ModelSpec) -> Any:
    if isinstance(value, Mapping):
        return resolved(value, spec)
    if isinstance(value, list):
        return [_resolved(item, spec) for item in value]
    if not isinstance(value, str) or not value.startswith(PREFIX):
        return value
    found = os.environ.get(name := value.removeprefix(PREFIX), "").strip()
    if not found:
        raise ModelFailure(
            FailureKind.BAD_KEY,
            f'"{spec.label}" needs a value in the environment variable {name}. Set it and start heard again, or choose '
            "another model.",
        )
    return found


def variables_in(value: Any) -> Iterator[str]:
    """Yield the name of every variable that a value of the file, or a table of values, refers to."""
    if isinstance(value, str) and value.startswith(PREFIX):
        yield value.removeprefix(PREFIX)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from variables_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from variables_in(item)


def variables_of(spec: ModelSpec) -> list[str]:
    """Return the variables that the tables of an entry refer to."""
    tables = (spec.headers, spec.default_query, spec.extra_body, spec.arguments)
    return [name for table in tables for name in variables_in(table)]


def secrets_of(spec: ModelSpec) -> list[str]:
    """Return what this entry's variables hold now, its key included."""
    names = [*variables_of(spec), *([spec.key_env] if spec.key_env else [])]
    found = (os.environ.get(name, "").strip() for name in names)
    return [value for value in found if value]
