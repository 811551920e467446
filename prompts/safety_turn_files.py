"""The reviewed texts of the turns about a person's safety: after a hand-off, at a check-in, and at a danger long past.

Each file has its texts by language; a language that it lacks falls back to English. `chat_app/conversation/` has what
chooses among them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, StrictBool, with_config

from heard.hints import nearest_name
from heard.prompts.fields import NonEmpty, Tokens, exactly_once, only_variables
from heard.prompts.files import PromptFileError, read_record
from heard.prompts.safety_files import FOLDER, Patterns
from heard.validation import Fault

Question = Literal["safe", "person", "call"]
UNCLEAR, SAFE, MISTAKEN = "unclear", "safe", "mistaken"
"""Intents that every language has: what fits none, that the person is safe, and that the hand-off was a mistake."""
NEEDED = (UNCLEAR, SAFE, MISTAKEN)

T = TypeVar("T")
Said = Annotated[NonEmpty, only_variables("numbers", "emergency")]
WithNumbers = Annotated[NonEmpty, only_variables("numbers"), exactly_once("numbers")]
Several = Annotated[tuple[T, ...], Field(min_length=3)]
"""With fewer, a person would soon read the same again."""


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """What `{numbers}` says, by what a country's first lines have."""

    both: Annotated[NonEmpty, only_variables("call", "text"), exactly_once("call", "text")]
    call: Annotated[NonEmpty, only_variables("call"), exactly_once("call")]
    text: Annotated[NonEmpty, only_variables("text"), exactly_once("text")]
    none: Annotated[NonEmpty, only_variables()]
    """Where no country is chosen, or it has neither."""


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True, kw_only=True)
class Emergency:
    """What `{emergency}` says."""

    known: Annotated[NonEmpty, only_variables("number"), exactly_once("number")]
    none: Annotated[NonEmpty, only_variables()]


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True, kw_only=True)
class BarWords:
    """The quiet bar above the input."""

    name: NonEmpty
    """For a screen reader."""
    call: Annotated[NonEmpty, only_variables("number"), exactly_once("number")]
    text: Annotated[NonEmpty, only_variables("number"), exactly_once("number")]
    choose: NonEmpty
    """The link to the numbers of all countries, where none is chosen."""
    safe: NonEmpty
    """The button's label."""
    message: NonEmpty
    """What the button says for the person."""


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True, kw_only=True)
class SupportText:
    """One fixed turn."""

    says: Said
    asks: Question | None = None
    """The question that a bare "yes" or "no" answers."""


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True, kw_only=True)
class SupportIntent:
    """One thing that people say after a hand-off, and what is said back."""

    texts: Several[SupportText]
    patterns: Patterns = ()
    safe: Patterns = ()
    """Patterns that take out a match lying wholly inside them."""
    phrasings: Patterns = ()
    """What is compared with a message that no pattern fits."""
    urgent: StrictBool = False
    """Whether it weighs more than a "safe" in the same message."""
    stays: StrictBool = False
    """Whether it makes sense only as said to the fixed turns."""
    bare: StrictBool = False
    """Whether it says nothing of its own, so that the word it begins with may answer a question."""

    @property
    def goes_on(self) -> bool:
        """Whether it gets a fixed turn however many there have been."""
        return self.urgent or self.stays


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """The intents of a bare yes and a bare no to a question."""

    affirmed: NonEmpty
    denied: NonEmpty


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True, kw_only=True)
class AfterHandoff:
    """One language of `after_handoff.yaml`."""

    numbers: Numbers
    emergency: Emergency
    bar: BarWords
    macros: Mapping[str, NonEmpty] = field(default_factory=dict)
    affirmed: Patterns
    """A bare "yes", word for word."""
    denied: Patterns
    answers: Mapping[Question, Answers]
    intents: Annotated[Mapping[str, SupportIntent], Field(min_length=1)]


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True, kw_only=True)
class CheckInButton:
    """An answer that can be given by a button."""

    label: NonEmpty
    message: NonEmpty
    """What it says for the person."""


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True, kw_only=True)
class CheckInPatterns:
    """Patterns of the answers; `unsure` leaves it open."""

    affirmed: Patterns
    unsure: Patterns
    denied: Patterns


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True, kw_only=True)
class CheckIn:
    """One language of `check_in.yaml`."""

    question: NonEmpty
    before: Annotated[NonEmpty, only_variables()]
    after: WithNumbers
    affirmed: CheckInButton
    denied: CheckInButton
    asked: NonEmpty
    """In the buttons' place once one was pressed."""
    patterns: CheckInPatterns
    safe: CheckInPatterns
    """Patterns that take out a match of the same answer lying wholly inside them."""
    thanks: Several[WithNumbers]
    """After "no"."""


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True, kw_only=True)
class SupportPrompt:
    """What a larger model is told that answers the turns after a hand-off."""

    system: Said
    max_tokens: Tokens


def load_support_prompt(path: Path = FOLDER / "support_prompt.yaml") -> SupportPrompt:
    """The prompt of the setting `crisis_model`. Raises PromptFileError."""
    return read_record(path, SupportPrompt)


def load_after_handoff(path: Path = FOLDER / "after_handoff.yaml") -> dict[str, AfterHandoff]:
    """Language -> the turns after a hand-off; English is always there. Raises PromptFileError, also for an answer that
    names no intent, and for a language without one of NEEDED."""
    return _with_english(path, read_record(path, dict[str, AfterHandoff], _faults))


def load_check_in(path: Path = FOLDER / "check_in.yaml") -> dict[str, CheckIn]:
    """Language -> the check-in; English is always there. Raises PromptFileError."""
    return _with_english(path, read_record(path, dict[str, CheckIn]))


def load_recovery(path: Path = FOLDER / "recovery.yaml") -> dict[str, tuple[str, ...]]:
    """Language -> acknowledgements of a danger long past; English is always there. Raises PromptFileError."""
    return _with_english(path, read_record(path, dict[str, Several[WithNumbers]]))


def in_language(texts: Mapping[str, T], language: str | None) -> T:
    """Return the texts of a language, else the English ones."""
    return texts.get(language or "en", texts["en"])


def _with_english(path: Path, texts: dict[str, T]) -> dict[str, T]:
    if "en" not in texts:
        raise PromptFileError(f"{path}: there is no English text (en), which every other one falls back to.")
    return texts


def _faults(values: Mapping[str, Any]) -> Iterator[Fault]:
    for language, texts in values.items():
        intents = _mapping(_mapping(texts).get("intents"))
        for name in NEEDED:
            if name not in intents:
                yield Fault((language, "intents"), f'there is no intent "{name}", which must be there. Add it.')
        for question, answers in _mapping(_mapping(texts).get("answers")).items():
            for answer, name in _mapping(answers).items():
                if isinstance(name, str) and name not in intents:
                    sentence = f'{answer}: there is no intent "{name}". {nearest_name(name, intents)}'
                    yield Fault((language, "answers", question, answer), sentence)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
