"""Faults of a reply, by patterns of their own: they know nothing of the guard, so that they can judge it.

Which there are stands in `faults.yaml`; two more need no words: "repeat" (a sentence that comes twice) and "unfinished"
(no whole last sentence).
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, StrictBool, with_config

from heard.prompts.fields import NonEmpty, validated
from heard.prompts.files import read_record

FILE = Path(__file__).with_name("faults.yaml")
REPEAT, UNFINISHED = "repeat", "unfinished"
FEWEST_REPEATED = 4
"""Words of a sentence that may not come twice; "I hear you." may."""
LONGEST = 20_000
"""Characters of a reply that are looked at."""
_SENTENCE = re.compile(r"[^.!?…\n]+")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_WHOLE = re.compile(r"[.!?…。！？][\"'”’»)\]*_」』]*$")
_SYMBOLS = {"So", "Sk", "Mn", "Cf"}
"""Of an emoji and its parts: it may stand behind the last sentence."""


def _compiles(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        return validated(pattern, [f"is no regular expression ({error})"])
    return pattern


Pattern = Annotated[NonEmpty, AfterValidator(_compiles)]


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True)
class FaultKind:
    """One kind of fault."""

    name: NonEmpty
    meaning: NonEmpty
    """What a reply with it does, as the end of a sentence."""
    patterns: tuple[Pattern, ...]
    unless: tuple[Pattern, ...] = ()
    """Parts of a reply that are not looked at, such as denials."""
    only_without_death: StrictBool = False
    """Whether it is a fault only where nobody has died."""


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True)
class _File:
    kinds: tuple[FaultKind, ...]


@cache
def fault_kinds() -> tuple[FaultKind, ...]:
    """Return the kinds of `faults.yaml`. Raises PromptFileError."""
    return read_record(FILE, _File).kinds


@cache
def _patterns(kind: str) -> tuple[re.Pattern[str], re.Pattern[str] | None]:
    found = next(one for one in fault_kinds() if one.name == kind)
    unless = re.compile("|".join(found.unless), re.IGNORECASE) if found.unless else None
    return re.compile("|".join(found.patterns), re.IGNORECASE), unless


def faults_of(text: str, *, death: bool) -> list[str]:
    """Return the kinds of fault in a reply, in the order of the file, then "repeat" and "unfinished".

    `death` says whether somebody has died in what it answers.
    """
    plain = text[:LONGEST].replace("’", "'").replace("‘", "'")
    found = [kind.name for kind in fault_kinds() if not (kind.only_without_death and death) and _has(kind.name, plain)]
    return found + [REPEAT] * repeats(plain) + [UNFINISHED] * (not is_finished(plain))


def repeats(text: str) -> bool:
    """Return whether a sentence of FEWEST_REPEATED words or more comes twice, signs and capitals aside."""
    sentences = [tuple(words_of(sentence)) for sentence in _SENTENCE.findall(text)]
    long = [words for words in sentences if len(words) >= FEWEST_REPEATED]
    return len(set(long)) < len(long)


def is_finished(text: str) -> bool:
    """Return whether a reply ends with a whole sentence; an emoji may follow. False for an empty one."""
    end = len(text)
    while end and (text[end - 1].isspace() or unicodedata.category(text[end - 1]) in _SYMBOLS):
        end -= 1
    return _WHOLE.search(text[max(0, end - 12) : end]) is not None


def words_of(text: str) -> list[str]:
    """Return the words of a text in small letters."""
    return [word.casefold() for word in _WORD.findall(text)]


def _has(kind: str, text: str) -> bool:
    pattern, unless = _patterns(kind)
    if unless is not None:
        text = unless.sub(" ", text)
    return pattern.search(text) is not None
