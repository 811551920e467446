"""What pydantic finds wrong with a file, as plain sentences: the key, the fault, and the nearest right name.

What belongs at the place of a fault is read from the model's JSON schema, so that the files of every room are refused
in the same words. A validator of a model's own says its fault as `ValueError("uses {x}, which nobody fills")`: the key
is put before it, and each line of it is a fault by itself.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import ValidationError

from heard.hints import closest, nearest_name

Schema = Mapping[str, Any]
QUOTED = 40
"""Characters of a wrong text that a sentence repeats at most; of a longer one it tells the length."""
_UNKNOWN = ("extra_forbidden", "unexpected_keyword_argument")


class Fault(NamedTuple):
    """One thing that is wrong."""

    place: tuple[str | int, ...]
    """The keys, and places in lists from 0, that lead to it."""
    sentence: str


def faults_of(error: ValidationError, schema: Schema, *, quote: bool = True) -> list[Fault]:
    """Every fault that a validation found, misspelt keys first: they are also why the right ones are missing.

    `schema` is the JSON schema of the model. Without `quote` no value is repeated, for those that may be secret.
    """
    found = sorted(error.errors(include_url=False), key=lambda one: one["type"] not in _UNKNOWN)
    return [Fault(_place(one), sentence) for one in found for sentence in _sentences(one, schema, quote)]


def _place(one: Mapping[str, Any]) -> tuple[str | int, ...]:
    return tuple(part for part in one["loc"] if part != "[key]")


def _sentences(one: Mapping[str, Any], schema: Schema, quote: bool) -> Iterator[str]:
    place, value = _place(one), one["input"]
    name = ".".join(str(part + 1 if isinstance(part, int) else part) for part in place)
    if one["type"] in ("value_error", "assertion_error"):
        for line in str(one["ctx"]["error"]).split("\n"):
            yield f"{name} {line}".strip() + ("" if line.endswith((".", "?")) else ".")
        return
    if one["type"] == "missing":
        yield f"{name} is missing."
        return
    wanted, parent = _schema_at(schema, place), _schema_at(schema, place[:-1])
    known = parent.get("properties") or parent.get("propertyNames", {}).get("enum", ())
    if one["type"] in _UNKNOWN or (known and "[key]" in one["loc"]):
        yield f'unknown key "{name}". {nearest_name(str(place[-1]), known)}'
    elif value in (None, ..., "", [], {}) or (isinstance(value, str) and not value.strip()):
        yield f"{name or 'it'} is empty; it must {_phrase(wanted)}."
    else:
        of_length = one["type"].endswith(("too_long", "too_short"))
        given = f", not {len(value) if of_length else _given(value)}" if quote else ""
        bare = wanted.get("type") == "string" and not isinstance(value, str | list | tuple | dict)
        match = closest(value, map(str, wanted.get("enum", ()))) if isinstance(value, str) else None
        yield f"{name or 'it'} must {_phrase(wanted)}{given}{': put it in quotes' if bare else ''}." + (
            f" Did you mean {match}?" if match else ""
        )


def _schema_at(schema: Schema, place: Sequence[str | int]) -> Schema:
    """The part of a JSON schema that says what belongs at a place; an empty one where it says nothing."""
    here = _resolved(schema, schema)
    for part in place:
        below = here.get("items") if isinstance(part, int) else here.get("properties", {}).get(part)
        below = below or here.get("additionalProperties")
        here = _resolved(below, schema) if isinstance(below, Mapping) else {}
    return here


def _resolved(part: Schema, schema: Schema) -> Schema:
    """A part without its references; of several choices the first that is no null."""
    if "$ref" in part:
        return _resolved(schema["$defs"][part["$ref"].rsplit("/", 1)[-1]], schema)
    choices = [choice for choice in part.get("anyOf", ()) if choice.get("type") != "null"]
    return _resolved(choices[0], schema) if choices else part


def _phrase(wanted: Schema) -> str:
    """What a value must be or hold, after "must"."""
    kind, keys = wanted.get("type", "string"), list(wanted.get("properties", ()))
    if names := wanted.get("enum", [wanted["const"]] if "const" in wanted else []):
        return "be " + " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))
    if kind == "object":
        return f"hold keys such as {' and '.join(keys[:2])}" if keys else "hold names with values"
    if kind == "array":
        return "be a list" + _range(wanted.get("minItems"), wanted.get("maxItems"), " of ")
    if kind == "string":
        if wanted.get("format") == "date":
            return "be a date such as 2026-11-28"
        if example := wanted.get("examples"):
            return f'be a text such as "{example[0]}"'
        characters = _range(wanted.get("minLength"), wanted.get("maxLength"), " of ")
        return f"be a text{characters} characters" if "maxLength" in wanted else "be a text"
    what = {"integer": "a whole number", "number": "a number"}.get(kind, "true or false")
    above = f" above {wanted['exclusiveMinimum']}" if "exclusiveMinimum" in wanted else ""
    return f"be {what}{above}" + _range(wanted.get("minimum"), wanted.get("maximum"), " from ")


def _range(least: float | None, most: float | None, between: str) -> str:
    if least is not None and most is not None:
        return f"{between}{least} to {most}"
    return f" of at least {least}" if least is not None else f" of at most {most}" if most is not None else ""


def _given(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"' if len(value) <= QUOTED else f"a text of {len(value)} characters"
    kinds = {bool: str(value).lower(), list: "a list", tuple: "a list", dict: "keys with values"}
    return kinds.get(type(value), str(value))
