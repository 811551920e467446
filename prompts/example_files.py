"""Example exchanges: how a persona answers, shown to the model before the person's message and not told.

One file a persona in `prompts/examples/`, named like it: a list of exchanges, each with its kind and turns. Examples
that are near to the input help most (Liu et al. 2022, "What makes good in-context examples for GPT-3?"); which are near
is found by `chat_app/conversation/examples.py`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field, StrictBool, StringConstraints, with_config

from heard.prompts.fields import Stripped, validated
from heard.prompts.files import read_record

MAX_TURNS = 4
"""Of one exchange: the model reads all of it."""
MAX_CHARACTERS = 600
"""Of one message or reply."""
MAX_EXAMPLES = 4
"""Before one message: past this they take more time to read than they bring."""
DEFAULT_EXAMPLES = 3
"""Of a persona that names a file and no number."""

Line = Annotated[Stripped, StringConstraints(min_length=1, max_length=MAX_CHARACTERS)]


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True)
class ExampleTurn:
    """What an invented person said, and the reply that the persona would give."""

    said: Line
    reply: Line


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True)
class Example:
    """One exchange of an invented person with the persona."""

    kind: Line
    """What it is about, such as "good news": exchanges of a kind are nearer to each other."""
    turns: Annotated[tuple[ExampleTurn, ...], Field(min_length=1, max_length=MAX_TURNS)]
    always: StrictBool = False
    """Whether it goes before every message, ahead of those that are near. Such are plain and few: they are the part of
    the prompt that an engine reads once for everybody."""

    @property
    def exchanges(self) -> list[tuple[str, str]]:
        """Its turns as (message, reply)."""
        return [(turn.said, turn.reply) for turn in self.turns]

    @property
    def characters(self) -> int:
        """Characters of all its texts."""
        return sum(len(turn.said) + len(turn.reply) for turn in self.turns)


def always_shown(examples: Sequence[Example]) -> tuple[Example, ...]:
    """Those that go before every message, in the order of their file."""
    return tuple(example for example in examples if example.always)


def _distinct(examples: tuple[Example, ...]) -> tuple[Example, ...]:
    """Refuse exchanges that begin with the same message: two that are equally near would be shown side by side."""
    return validated(examples, _repeated(examples))


def _repeated(examples: Sequence[Example]) -> Iterator[str]:
    first: dict[str, int] = {}
    for number, example in enumerate(examples, 1):
        said = example.turns[0].said
        if (before := first.setdefault(said.casefold(), number)) != number:
            yield f"exchange {number} begins with the same message as exchange {before}. Remove one of them."


_ExampleList: Any = Annotated[tuple[Example, ...], Field(min_length=1), AfterValidator(_distinct)]


@dataclass(frozen=True, slots=True)
class ExampleSet:
    """The exchanges of one file."""

    id: str
    """The file's name without the ending: a persona's."""
    examples: tuple[Example, ...]


def read_examples(path: Path) -> ExampleSet:
    """The exchanges of a file. Raises PromptFileError with every fault, each with its line or its exchange's number."""
    return ExampleSet(path.stem, read_record(path, _ExampleList))
