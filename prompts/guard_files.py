"""The reviewed words behind the guard of replies: `prompts/safety/guard.en.yaml` as frozen records.

Nothing here decides anything; `chat_app/safety/reply_guard.py` is what uses them. The language of the patterns is
described in `chat_app/safety/patterns.py`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, with_config

from heard.hints import nearest_name
from heard.prompts.fields import NonEmpty
from heard.prompts.files import read_record
from heard.prompts.safety_files import FOLDER, Patterns
from heard.validation import Fault

GuardKind = Literal["human", "contact", "medical", "insult", "harm", "language", "delusion", "mismatch"]
KINDS: tuple[GuardKind, ...] = get_args(GuardKind)
"""What a reply may be caught for."""
FEWEST_FIXED = 4
"""Fixed sentences of a kind: with fewer, a person would soon read the same again."""

Sentences = Annotated[Patterns, Field(min_length=FEWEST_FIXED)]


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True, kw_only=True)
class KindText:
    """What is said once a reply was caught for a kind."""

    reason: NonEmpty
    """A sentence for the prompt of the rewrite."""
    fixed: Sentences
    """What stands in the reply's place when the rewrites were caught too. Each fits any mood of the message."""
    personas: Mapping[NonEmpty, Sentences] = field(default_factory=dict)
    """The same for a persona with a voice of its own, by its id."""


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """Something that a person may have spoken of."""

    patterns: Annotated[Patterns, Field(min_length=1)]
    safe: Patterns = ()
    """Patterns that take out a match lying wholly inside them: "my phone died"."""


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True, kw_only=True)
class GuardRule:
    """Patterns of a reply that are caught together."""

    kind: GuardKind
    reply: Annotated[Patterns, Field(min_length=1)]
    safe: Patterns = ()
    """Patterns that take out a match lying wholly inside them."""
    unless: Patterns = ()
    """Patterns that take out every match of a sentence that they stand in, wherever they do: "but I am an AI"."""
    quoted: bool = True
    """Whether words in quotation marks count: what a person might say to others is no claim of the reply."""
    if_said: tuple[NonEmpty, ...] = ()
    """Topics of which the person must have spoken, one of them."""
    unless_said: tuple[NonEmpty, ...] = ()
    """Topics of which the person must not have spoken."""
    newest: bool = False
    """Whether only the person's newest message counts for both."""
    or_misread: bool = False
    """Whether it catches without them too, where the scorer reads the message's news as the opposite."""
    reason: NonEmpty | None = None
    """In place of the kind's own."""


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True, kw_only=True)
class GuardFile:
    """All of `guard.en.yaml`."""

    rewrites: Mapping[str, NonEmpty]
    """Word -> words it stands for, applied before matching."""
    keys: Patterns = ()
    """Telling words whose misspellings and disguises are undone."""
    real_words: Patterns = ()
    """Words one letter from a key that are no misspelling of it."""
    macros: Mapping[str, NonEmpty] = field(default_factory=dict)
    names: frozenset[str] = frozenset()
    """Words that may follow "my name is" in any persona's reply, in small letters."""
    topics: Mapping[NonEmpty, Topic] = field(default_factory=dict)
    rules: Annotated[Mapping[NonEmpty, GuardRule], Field(min_length=1)]
    """By name."""
    kinds: Mapping[GuardKind, KindText]


def load_guard(path: Path = FOLDER / "guard.en.yaml") -> GuardFile:
    """The guard's words. Raises PromptFileError, also for a kind without text and for a topic that is not there."""
    return read_record(path, GuardFile, _faults)


def load_languages(path: Path = FOLDER / "languages.yaml") -> dict[str, frozenset[str]]:
    """ISO 639-1 code -> small words that tell the language, in small letters. Raises PromptFileError."""
    return {code: frozenset(words.split()) for code, words in read_record(path, dict[str, NonEmpty]).items()}


def _faults(values: Mapping[str, Any]) -> Iterator[Fault]:
    kinds, topics, rules = (_mapping(values.get(name)) for name in ("kinds", "topics", "rules"))
    for kind in KINDS:
        if kind not in kinds:
            yield Fault(("kinds",), f"{kind} is missing. Give it a reason and fixed sentences.")
    for name, rule in rules.items():
        for key in ("if_said", "unless_said"):
            named = _mapping(rule).get(key)
            for topic in named if isinstance(named, list) else ():
                if topic not in topics:
                    sentence = f'{key}: there is no topic "{topic}". {nearest_name(str(topic), topics)}'
                    yield Fault(("rules", name, key), sentence)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
