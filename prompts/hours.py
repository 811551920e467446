"""When a line is open, as `hotlines.yaml` writes it: "always", "varies", or spans.

Spans are such as "mon-fri 9:00-17:00, sat 10:00-14:00"; one without days is every day. The hand-off says it in the
words of its language (`HoursWords`).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, Field, with_config

from heard.prompts.fields import NonEmpty, Stripped, validated

ALWAYS, VARIES = "always", "varies"
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_DAY = "|".join(DAYS)
_TIME = r"(?:[01]?\d|2[0-3]):[0-5]\d|24:00"
_SPAN = re.compile(rf"(?:({_DAY})(?:-({_DAY}))? )?({_TIME})-({_TIME})")


def _readable(hours: str) -> str:
    fine = hours in ("", ALWAYS, VARIES) or all(_SPAN.fullmatch(span.strip()) for span in hours.split(","))
    return validated(
        hours,
        [] if fine else ['must be always, varies, or spans such as "mon-fri 9:00-17:00, sat 10:00-14:00"'],
    )


Hours = Annotated[Stripped, AfterValidator(_readable)]
"""See the module's docstring; "" where nobody knows."""


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True, kw_only=True)
class HoursWords:
    """The words for opening hours in one language."""

    always: NonEmpty
    daily: NonEmpty
    """Before the hours of a span without days."""
    varies: NonEmpty
    days: Annotated[tuple[NonEmpty, ...], Field(min_length=7, max_length=7)]
    """Short names of the days, from Monday."""


def hours_in_words(hours: str, words: HoursWords) -> str:
    """Return opening hours as a person reads them; "" for ""."""
    if hours in ("", ALWAYS, VARIES):
        return {"": "", ALWAYS: words.always, VARIES: words.varies}[hours]
    return ", ".join(_span_in_words(span.strip(), words) for span in hours.split(","))


def _span_in_words(span: str, words: HoursWords) -> str:
    found = _SPAN.fullmatch(span)
    assert found is not None  # the file was read with `Hours`
    first, last, opens, closes = found.groups()
    return f"{_days(first, last, words.daily, words.days)} {opens}–{closes}"


def _days(first: str | None, last: str | None, daily: str, names: Sequence[str]) -> str:
    if first is None:
        return daily
    begin = names[DAYS.index(first)]
    return f"{begin}–{names[DAYS.index(last)]}" if last else begin
