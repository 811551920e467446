"""What `/api/score` is asked: the models of a call, and a sentence for every fault in one."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from heard.chat_app.common.refusals import RefusedCall
from heard.scorer.relevance import LOOKED_BACK

MOST_ITEMS = 32
"""Of one call."""
MOST_EARLIER = LOOKED_BACK - 1
"""Earlier messages that the scorer looks at."""
LONGEST_ID = 200
"""Characters."""
EXAMPLE = '{"seeker": "...", "reply": "..."}'

_STRICT = ConfigDict(extra="forbid", strict=True)


class Exchange(BaseModel):
    """A reply and what it answers."""

    model_config = _STRICT

    id: Annotated[str, Field(max_length=LONGEST_ID)] | int | Annotated[float, Field(allow_inf_nan=False)] | None = (
        Field(default=None, description="The caller's own; it comes back with the score.")
    )
    seeker: str = Field(default="", description="What the reply answers.")
    reply: str
    earlier: list[str] = Field(
        default=[], max_length=MOST_EARLIER, description="What the same person wrote before, the newest last."
    )

    @property
    def texts(self) -> list[tuple[str, str]]:
        """Every text with its key."""
        return [("seeker", self.seeker), ("reply", self.reply), *(("earlier", text) for text in self.earlier)]

    @property
    def size(self) -> int:
        """Characters of all texts."""
        return sum(len(text) for _, text in self.texts)


class Batch(BaseModel):
    """Several exchanges, which are rated in order."""

    model_config = _STRICT

    items: list[Exchange] = Field(min_length=1, max_length=MOST_ITEMS)


def _kind(given: Any) -> str:
    return "batch" if isinstance(given, Batch) or (isinstance(given, dict) and "items" in given) else "one"


Call = Annotated[Annotated[Exchange, Tag("one")] | Annotated[Batch, Tag("batch")], Discriminator(_kind)]


def exchanges_of(call: Exchange | Batch, limit: int) -> Sequence[Exchange]:
    """What is to be rated. Raises RefusedCall (413) for a text of more than `limit` characters."""
    exchanges = call.items if isinstance(call, Batch) else [call]
    for place, exchange in enumerate(exchanges):
        for key, text in exchange.texts:
            if len(text) > limit:
                where = _place(place) if isinstance(call, Batch) else ""
                raise RefusedCall(413, f'{where}"{key}" has more than {limit:,} characters. Send a shorter text.')
    return exchanges


def refusal(fault: Mapping[str, Any]) -> RefusedCall:
    """The refusal of a body with this fault, which is one of pydantic's."""
    kind, place = fault["type"], fault["loc"][2:]  # behind "body" and the kind of call
    if kind in ("json_invalid", "missing") and not place:
        return RefusedCall(400, f"The body is not valid JSON. Send {EXAMPLE}.")
    if not place:
        return RefusedCall(422, f"The body is not a JSON object. Send {EXAMPLE}.")
    if fault["loc"][1] == "one":
        return _in_exchange(kind, place, "")
    if place == ("items",):
        if kind == "too_long":
            sent = fault["ctx"]["actual_length"]
            return RefusedCall(413, f"The call has {sent:,} items, and {MOST_ITEMS} are allowed. Send several calls.")
        return RefusedCall(422, f'"items" is not a list with something in it. Send {{"items": [{EXAMPLE}]}}.')
    if place[0] != "items":
        return RefusedCall(422, 'Beside "items" there is another key. Put "seeker" and "reply" into each item.')
    return _in_exchange(kind, place[2:], _place(place[1]))


def _in_exchange(kind: str, place: Sequence[Any], where: str) -> RefusedCall:
    if not place or kind == "extra_forbidden":
        sentence = 'Send an object with the key "reply" and, if you like, "id", "seeker" and "earlier", and no others.'
    elif place[0] == "id":
        sentence = f'"id" is not a number or a text of at most {LONGEST_ID} characters. Send another, or none.'
    elif place == ("earlier",):
        sentence = f'"earlier" is not a list of at most {MOST_EARLIER} texts. Send the newest last.'
    else:
        sentence = f'"{place[0]}" is missing or not a text. Send it as a string; it may be empty.'
    return RefusedCall(422, where + sentence)


def _place(index: int) -> str:
    return f"Item {index + 1}: "
