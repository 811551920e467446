"""Reads `signs.en.yaml`, the signs that count together over several messages (`chat_app/safety/rising.py`)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, StrictBool, with_config

from heard.prompts.fields import NonEmpty
from heard.prompts.files import read_record
from heard.prompts.safety_files import FOLDER, Patterns

SignName = Literal["giving_away", "goodbye", "arrangements", "calm", "resolved", "means", "date_fixed", "despair"]


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True, kw_only=True)
class SignPatterns:
    """The wordings of one thing."""

    patterns: Annotated[Patterns, Field(min_length=1)]
    safe: Patterns = ()
    """Patterns that take out a match lying wholly inside them."""


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True, kw_only=True)
class Sign(SignPatterns):
    """One sign."""

    phrasings: Patterns = ()
    """What is compared with a message that no pattern fits."""
    strong: StrictBool = False


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True, kw_only=True)
class SignsFile:
    """All of `signs.en.yaml`."""

    language: NonEmpty
    """ISO 639-1 code: of the lexicon whose rewrites hold here too."""
    macros: Mapping[str, NonEmpty] = field(default_factory=dict)
    signs: Mapping[SignName, Sign]
    others: Patterns = ()
    """Messages that only sound alike."""
    mood: SignPatterns
    """A low mood: no sign by itself."""
    ordinary: SignPatterns
    """What explains most signs."""


def load_signs(path: Path = FOLDER / "signs.en.yaml") -> SignsFile:
    """The signs. Raises PromptFileError."""
    return read_record(path, SignsFile)
