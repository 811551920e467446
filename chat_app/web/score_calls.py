"""A call to `/api/score` before anything is rated: who may call, how much they may send, and the texts in it.

Who may call. It needs no cookie, since it stores nothing and belongs to no participant; so the cookie of somebody's
chat is worth nothing here either. A program on this machine may call, and a page of this very server. A page of
another site may not: the gate refuses its `Origin`, JSON alone is taken (which a form cannot send, and a script not
without asking first), and no answer carries a header that would let a foreign page read it. A program on another
machine is refused; one that pretends to be a page of this server reaches no more than a line of bounded length
(`score_line.py`).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from heard.scorer.relevance import LOOKED_BACK

MOST_BYTES = 262_144
"""Of a request's body; the limit in characters of each text is the setting `message_limit`."""
MOST_ITEMS = 32
"""Of one call."""
MOST_EARLIER = LOOKED_BACK - 1
"""Earlier messages that the scorer looks at."""
LOOPBACK = ("127.0.0.1", "::1")

EXAMPLE = '{"seeker": "...", "reply": "..."}'


class RefusedCall(Exception):
    """A call that gets an HTTP status and a plain sentence; never the caller's own text."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.sentence = status, sentence


@dataclass(frozen=True, slots=True)
class Exchange:
    """A reply and what it answers."""

    seeker: str
    """May be ""."""
    reply: str
    earlier: tuple[str, ...] = ()
    """What the same person wrote before, the newest last."""

    @property
    def size(self) -> int:
        """Characters of all texts."""
        return sum(map(len, (self.seeker, self.reply, *self.earlier)))


@dataclass(frozen=True, slots=True)
class Call:
    """What is to be rated."""

    texts: tuple[Exchange, ...]
    """1..MOST_ITEMS of them."""
    many: bool
    """Whether it came as "items", and so is answered as a list."""


def check_caller(headers: Mapping[str, str], client: str) -> None:
    """Raise RefusedCall (403, 415) for a stranger or another type than JSON. `client` is the caller's address.

    `headers` must know its names in lower case. The gate has already refused a foreign Origin.
    """
    if "origin" not in headers and client not in LOOPBACK:
        raise RefusedCall(
            403,
            "Only programs on the server's own machine and its own pages may ask for scores. "
            "From another machine, open a tunnel to it, for example with ssh -L.",
        )
    check_json(headers)


def check_json(headers: Mapping[str, str]) -> None:
    """Raise RefusedCall (415) for another type than JSON. `headers` must know its names in lower case."""
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise RefusedCall(415, 'Send JSON with the header "Content-Type: application/json".')


def too_large() -> RefusedCall:
    """The refusal of a body of more than MOST_BYTES."""
    return RefusedCall(413, f"The request has more than {MOST_BYTES:,} bytes. Send fewer or shorter texts.")


def read_call(body: bytes, limit: int) -> Call:
    """The texts in a body. Raises RefusedCall: 400 for no JSON, 422 for another shape, 413 for too much.

    limit: most characters of each text.
    """
    try:
        given = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise RefusedCall(400, f"The body is not valid JSON. Send {EXAMPLE}.") from error
    if not isinstance(given, dict):
        raise RefusedCall(422, f"The body is not a JSON object. Send {EXAMPLE}.")
    if "items" not in given:
        return Call((_exchange(given, "", limit),), many=False)
    if len(given) > 1:
        raise RefusedCall(422, 'Beside "items" there is another key. Put "seeker" and "reply" into each item.')
    items = given["items"]
    if not isinstance(items, list) or not items:
        raise RefusedCall(422, f'"items" is not a list with something in it. Send {{"items": [{EXAMPLE}]}}.')
    if len(items) > MOST_ITEMS:
        raise RefusedCall(413, f"The call has {len(items):,} items, and {MOST_ITEMS} are allowed. Send several calls.")
    return Call(tuple(_exchange(item, f"Item {place}: ", limit) for place, item in enumerate(items, 1)), many=True)


def _exchange(given: Any, where: str, limit: int) -> Exchange:
    if not isinstance(given, dict) or not set(given) <= {"seeker", "reply", "earlier"}:
        raise RefusedCall(
            422, f'{where}Send an object with the key "reply" and, if you like, "seeker" and "earlier", and no others.'
        )
    seeker = _text(given.get("seeker", ""), "seeker", where, limit)
    reply = _text(given.get("reply"), "reply", where, limit)
    earlier = given.get("earlier", [])
    if not isinstance(earlier, list) or len(earlier) > MOST_EARLIER:
        raise RefusedCall(422, f'{where}"earlier" is not a list of at most {MOST_EARLIER} texts. Send the newest last.')
    return Exchange(seeker, reply, tuple(_text(said, "earlier", where, limit) for said in earlier))


def _text(given: Any, key: str, where: str, limit: int) -> str:
    if not isinstance(given, str):
        raise RefusedCall(422, f'{where}"{key}" is missing or not a text. Send it as a string; it may be empty.')
    if len(given) > limit:
        raise RefusedCall(413, f'{where}"{key}" has more than {limit:,} characters. Send a shorter text.')
    return given
