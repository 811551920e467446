"""Reads `safety/nudges.yaml`: notes that speak of people, and the words by which two kinds of them are asked for."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, with_config

from heard.prompts.fields import NonEmpty, only_variables, validated
from heard.prompts.files import read_record
from heard.prompts.safety_files import FOLDER

Saying = Annotated[NonEmpty, Field(max_length=200)]


class NudgeKind(StrEnum):
    """Why a note is given."""

    REPLACED_PEOPLE = "replaced_people"
    """Somebody says that the chat has taken the place of therapy or of people."""
    LOVE = "love"
    """Somebody says that they love the bot."""
    LONG_TALK = "long_talk"
    MANY_DAYS = "many_days"


BY_WORDS = (NudgeKind.REPLACED_PEOPLE, NudgeKind.LOVE)
"""Kinds that a person's words ask for; the others go by time."""


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True, kw_only=True)
class Nudge:
    """The texts of one kind, and what people say that asks for them."""

    texts: Annotated[tuple[Annotated[NonEmpty, only_variables()], ...], Field(min_length=2)]
    """At least two, so that none comes twice in a row."""
    phrasings: tuple[Saying, ...] = ()


def _every_kind(kinds: Mapping[NudgeKind, Nudge]) -> Mapping[NudgeKind, Nudge]:
    faults = [f'has no "{kind}"' for kind in NudgeKind if kind not in kinds]
    faults += [f"{kind} has no phrasings" for kind in BY_WORDS if kind in kinds and not kinds[kind].phrasings]
    return validated(kinds, faults)


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True, kw_only=True)
class Nudges:
    """All of the file."""

    kinds: Annotated[Mapping[NudgeKind, Nudge], AfterValidator(_every_kind)]
    others: tuple[Saying, ...]
    """What only looks like one of the phrasings."""


def load_nudges(path: Path = FOLDER / "nudges.yaml") -> Nudges:
    """Return the file's notes. Raises PromptFileError."""
    return read_record(path, Nudges)
