"""A judge's answer as numbers: read strictly, or refused with a sentence that repeats none of its words."""

import re
from collections.abc import Iterator
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from heard.errors import UserError
from heard.scorer.records import HIGHEST, LOWEST

Number = Annotated[float, Field(ge=LOWEST, le=HIGHEST, allow_inf_nan=False)]
_FENCED = re.compile(r"```(?:json)?\s*\n(.*)\n\s*```", re.DOTALL)
"""A whole answer in one code block, which many models put round JSON whatever they are told."""


class UnusableAnswer(UserError):
    """An answer without the numbers that were asked for; `str()` says what is wrong with it."""


class Numbers(BaseModel):
    """The JSON that a judge is asked for, each number on 1..3."""

    model_config = ConfigDict(extra="forbid", strict=True)

    cognitive: Number
    emotional: Number
    behavioral: Number
    perceived: Number


def numbers_of(answer: str) -> dict[str, float]:
    """The four numbers of an answer, by name, each on 1..3. Raises UnusableAnswer."""
    fenced = _FENCED.fullmatch(answer.strip())
    try:
        return Numbers.model_validate_json(fenced[1] if fenced else answer).model_dump()
    except ValidationError as error:
        raise UnusableAnswer(f"The judge's answer {' and '.join(_faults(error))}.") from None


def _faults(error: ValidationError) -> Iterator[str]:
    found = error.errors(include_url=False, include_input=False)
    if any(not one["loc"] for one in found):
        yield "is not the JSON object that it was asked for"
        return
    if missing := [str(one["loc"][0]) for one in found if one["type"] == "missing"]:
        yield f"lacks {', '.join(missing)}"
    if any(one["type"] == "extra_forbidden" for one in found):
        yield "holds keys that it was not asked for"
    wrong = [str(one["loc"][0]) for one in found if one["type"] not in ("missing", "extra_forbidden")]
    if wrong:
        yield f"has no number from {LOWEST:g} to {HIGHEST:g} as {', '.join(dict.fromkeys(wrong))}"
