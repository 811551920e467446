"""The messages that the chat is measured with, each by its name, from `messages.yaml` or a file of that form."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool, with_config

from heard.prompts.fields import NonEmpty
from heard.prompts.files import read_record
from heard.validation import Fault

BUILT_IN = Path(__file__).with_name("messages.yaml")
Kind = Literal[
    "good_news", "grief", "bad_news", "anger", "worry", "shame", "loneliness", "tired", "everyday", "requests"
]  # fmt: skip
Mood = Literal["good", "bad", "mixed", "plain"]
"""The news in a message; "plain" is none."""
Text = Annotated[NonEmpty, Field(max_length=2000)]


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True)
class _Message:
    kind: Kind
    mood: Mood
    death: StrictBool
    text: Text


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True)
class _Talk:
    kind: Kind
    death: StrictBool
    turns: Annotated[tuple[Text, ...], Field(min_length=2, max_length=10)]


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True)
class _File:
    messages: tuple[_Message, ...] = ()
    talks: tuple[_Talk, ...] = ()


@dataclass(frozen=True, slots=True)
class Conversation:
    """One message, or the messages of one talk."""

    id: str
    kind: str
    mood: str | None
    """Of a single message, one of Mood; None for a talk, whose mood may turn."""
    death: bool
    """Whether somebody has died, a pet too."""
    turns: tuple[str, ...]
    """What the person says, in order."""

    @property
    def names(self) -> tuple[str, ...]:
        """The name of the reply to each turn."""
        return (self.id,) if len(self.turns) == 1 else tuple(f"{self.id}.{n}" for n, _ in enumerate(self.turns, 1))


def read_conversations(path: Path = BUILT_IN) -> tuple[Conversation, ...]:
    """Return the conversations of a file: the messages, then the talks. Raises PromptFileError with every fault."""
    file = read_record(path, _File, _faults)
    found, numbers = [], Counter[str]()
    for message in file.messages:
        numbers[message.kind] += 1
        name = f"{message.kind}-{numbers[message.kind]:02}"
        found.append(Conversation(name, message.kind, message.mood, message.death, (message.text,)))
    numbers.clear()
    for talk in file.talks:
        numbers[talk.kind] += 1
        found.append(Conversation(f"{talk.kind}-talk-{numbers[talk.kind]}", talk.kind, None, talk.death, talk.turns))
    return tuple(found)


def limited(conversations: tuple[Conversation, ...], most: int) -> tuple[Conversation, ...]:
    """Return `most` conversations, in turn of every kind and of talks and messages, in the order of the file."""
    groups: dict[tuple[str, bool], list[Conversation]] = {}
    for one in conversations:
        groups.setdefault((one.kind, len(one.turns) > 1), []).append(one)
    mixed = [one for row in zip_longest(*groups.values()) for one in row if one is not None]
    chosen = set(mixed[:most])
    return tuple(one for one in conversations if one in chosen)


def _faults(values: Mapping[str, Any]) -> Iterator[Fault]:
    """A text that is there twice, and a file with none."""
    seen: set[str] = set()
    for part, key in (("messages", "text"), ("talks", "turns")):
        entries = values.get(part)
        for number, entry in enumerate(entries if isinstance(entries, list) else ()):
            said = entry.get(key) if isinstance(entry, dict) else None
            text = said[0] if isinstance(said, list) and said else said
            if isinstance(text, str):
                if text in seen:
                    yield Fault((part, number, key), f"{part}.{number + 1} says what another one says. Remove it.")
                seen.add(text)
    if not seen:
        yield Fault((), "there is no message and no talk. Write one.")
