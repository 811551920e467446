"""Whether a reply only gives the message's own words back. Needs no encoder: what counts is the words themselves."""

import re

CONTENT_WORDS = 6
"""Fewest content words of a reply that is judged. A shorter one may take up the words that matter and be kind or witty
with them ("Right on paper, and not at the candle."); of the 61 that only parrot, four have so few."""
NOTED = 0.8
"""From this share of echoed words on it is noted. In the project's set every parroting reply but one of
CONTENT_WORDS has as much, and no other reply has."""
UNTOUCHED = 0.7
"""Up to this share the score stays as it is; between the two it sinks in a line."""
_STEM = 5
"""Letters that are compared, so that "failed" echoes "failing"."""

_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_LISTED = (
    "i me my mine myself you your yours yourself he him his she her hers it its it's they them their we us our am is "
    "are was were be been being i'm you're i've you've i'd you'd do does did have has had a an the this that these "
    "those and or but so to of in on at for with by from as about into out up down over than then not no too very just "
    "all any some what which who when where how why because if"
)
_FUNCTION_WORDS = frozenset(_LISTED.split())


def echoed(message: str, reply: str) -> float:
    """Share, 0..1, of the reply's content words that stand in the message; 0 for a reply of too few."""
    known = {word[:_STEM] for word in _content(message)}
    words = _content(reply)
    if len(words) < CONTENT_WORDS:
        return 0.0
    return sum(word[:_STEM] in known for word in words) / len(words)


def kept(share: float) -> float:
    """What a reply with this echoed share keeps of a component's height above the lowest, 0..1."""
    return min(1.0, max(0.0, (NOTED - share) / (NOTED - UNTOUCHED)))


def _content(text: str) -> list[str]:
    words = (word.lower().replace("\u2019", "'") for word in _WORD.findall(text.replace("\u2019", "'")))
    return [word for word in words if word not in _FUNCTION_WORDS]
