"""What `rater.toml` says of a classifier beside it: which of its outputs mean what."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, PlainValidator, StrictBool, StrictFloat, StrictStr

from heard.hints import nearest_name
from heard.scorer.errors import ScorerError
from heard.scorer.records import READINGS
from heard.scorer.toml_file import NO_OTHERS, read_toml

NAME = "rater.toml"
PAGE = "docs/raters.md"


def _listed(value: Any) -> tuple[int | str, ...]:
    named = value if isinstance(value, list) else [value]
    if not named or any(type(one) not in (int, str) for one in named):
        raise ValueError("must be an output's number or name, or a list of them")
    return tuple(named)


Named = Annotated[tuple[int | str, ...], PlainValidator(_listed)]
"""Outputs by their number (from 0) or by their name in config.json's id2label."""


@dataclass(frozen=True, slots=True)
class Outputs:
    """Which outputs are which number of a score; those that the model does not give are left out."""

    __pydantic_config__ = NO_OTHERS

    cognitive: Named = ()
    emotional: Named = ()
    behavioral: Named = ()
    perceived: Named = ()
    """How empathic people would call the reply, as one number."""


@dataclass(frozen=True, slots=True)
class RaterFile:
    """What `rater.toml` says. Every key without a default is needed and none else is allowed."""

    __pydantic_config__ = NO_OTHERS

    title: Annotated[StrictStr, Field(min_length=1)]
    """One line for people."""
    kind: Literal["regression", "classes"]
    """Whether an output is the number itself, or the outputs of a number are its classes from the lowest to the
    highest, of whose probabilities the expected level is taken."""
    outputs: Outputs
    lowest: StrictFloat | None = None
    highest: StrictFloat | None = None
    """Of a regression: the ends of its own scale, which become 1 and 3. What lies beyond them is cut."""
    pair: StrictBool = False
    """Whether the message goes in as first text of a pair, the reply as second; else the reply goes in alone."""

    def __post_init__(self) -> None:
        """Raises ValueError, a line for each fault that no key can know by itself."""
        faults = list(self._faults())
        if faults:
            raise ValueError("\n".join(faults))

    def _faults(self) -> Iterator[str]:
        if not self.numbers:
            yield f"outputs names none of {', '.join(name for name in READINGS if name != 'empathy')}."
        if self.kind == "classes":
            if any(len(named) < 2 for named in self.numbers.values()):
                yield "of classes each number needs a list of two outputs or more, from the lowest to the highest."
            if self.lowest is not None or self.highest is not None:
                yield "lowest and highest are of a regression; classes are in the order of their list. Remove both."
            return
        if any(len(named) > 1 for named in self.numbers.values()):
            yield "of a regression each number is one output."
        if self.lowest is None or self.highest is None:
            yield "a regression needs lowest and highest, the ends of its own scale."
        elif self.lowest >= self.highest:
            yield "lowest must be below highest."

    @property
    def numbers(self) -> dict[str, tuple[int | str, ...]]:
        """The outputs of each number that the model gives, by its name in READINGS."""
        given = {field.name: getattr(self.outputs, field.name) for field in fields(Outputs)}
        return {name: named for name, named in given.items() if named}


def read_rater_file(folder: Path, names: Sequence[str]) -> tuple[RaterFile, dict[str, list[int]]]:
    """The rater.toml in `folder`, and of each number of READINGS that it names the outputs, counted from 0.

    `names` are those of the model's outputs. Raises ScorerError with every fault, and what to write where there is no
    file.
    """
    path = folder / NAME
    known = ", ".join(f'"{name}"' for name in names)
    example = (
        f'kind = "classes" and outputs = {{ perceived = [{known}] }}'
        if len(names) > 1
        else f'kind = "regression", lowest = 0, highest = 1 and outputs = {{ perceived = "{names[0]}" }}'
    )
    missing = (
        f"{folder} holds a classifier, and no {NAME} that says what its outputs mean. Write one: a title, "
        f"{example}, say; {PAGE} has all of it."
    )
    file = read_toml(path, RaterFile, missing)
    found: dict[str, list[int]] = {}
    faults: list[str] = []
    for component, named in file.numbers.items():
        found[component] = [index for one in named if (index := _index(one, names)) is not None]
        faults += [_unknown(component, one, names) for one in named if _index(one, names) is None]
    uses = Counter(index for indices in found.values() for index in indices)
    faults += [f"the output {names[index]} is named twice." for index, times in uses.items() if times > 1]
    if faults:
        raise ScorerError(f"{path}: {' '.join(faults)}")
    return file, found


def _index(one: int | str, names: Sequence[str]) -> int | None:
    if isinstance(one, int):
        return one if 0 <= one < len(names) else None
    return names.index(one) if list(names).count(one) == 1 else None


def _unknown(number: str, one: int | str, names: Sequence[str]) -> str:
    if isinstance(one, int):
        return f"outputs.{number}: there is no output {one}; they are numbered from 0 to {len(names) - 1}."
    if one in names:
        return f"outputs.{number}: several outputs are called {one}. Give their numbers."
    return f'outputs.{number}: there is no output "{one}". {nearest_name(one, names)}'
