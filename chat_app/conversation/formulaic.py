"""Whether a reply reads as written by recipe. A rewrite that turns so has stopped being a better answer to this person.

Two signs, each defined so that it can be counted by hand:

- Stacked words of emotion: some WINDOW words in a row hold at least STACKED different words of the list in
  `prompts/emotion_words.yaml`. One or two name a feeling; a heap of them names none.
- The same opening: the first OPENING words are those of the reply before, signs and capitals aside. That is the last
  reply of the conversation, or the draft that this one is to better.
"""

import re
from collections.abc import Iterable

from heard.prompts.policy_files import emotion_words

WINDOW = 12
"""Words, about one sentence."""
STACKED = 4
"""Different words of emotion in a window. Of the project set of rated replies under one in a hundred has so many."""
OPENING = 4
"""Words that an opening is compared by; "I'm so sorry to" are four."""

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")


def formulaic(text: str, before: Iterable[str]) -> bool:
    """Whether `text` stacks words of emotion, or opens as one of the texts `before` does."""
    return stacked(text) >= STACKED or any(same_opening(text, other) for other in before)


def stacked(text: str) -> int:
    """The most different words of emotion in any WINDOW words in a row, 0..WINDOW."""
    words = _words(text)
    known = emotion_words()
    return max((len(known.intersection(words[at : at + WINDOW])) for at in range(len(words))), default=0)


def same_opening(text: str, other: str) -> bool:
    """Whether both begin with the same OPENING words; False where one has fewer."""
    first, second = _words(text)[:OPENING], _words(other)[:OPENING]
    return len(first) == OPENING and first == second


def _words(text: str) -> list[str]:
    return [word.replace("’", "'").lower() for word in _WORD.findall(text)]
