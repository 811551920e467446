"""Whether a reply is formulaic. A rewrite that becomes so is no longer a better answer to this person.

Two signs, each defined so that it can be counted by hand:

- Stacked emotion words: some WINDOW words in a row contain at least STACKED different words of the list in
  `prompts/emotion_words.yaml`. One or two name a feeling; many name none.
- The same opening: the first OPENING words equal those of an earlier text, punctuation and case aside. That is the last
  reply of the conversation, or the draft that this one should improve on.
"""

import re
from collections.abc import Iterable

from heard.prompts.policy_files import emotion_words

WINDOW = 12
"""Words in a window, about one sentence."""
STACKED = 4
"""Different emotion words in a window. Under one in a hundred of the project's rated replies has so many."""
OPENING = 4
"""Words that are compared; "I'm so sorry to" are four."""

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")


def formulaic(text: str, before: Iterable[str]) -> bool:
    """Return whether `text` stacks emotion words, or opens like one of the texts `before`."""
    return stacked(text) >= STACKED or any(same_opening(text, other) for other in before)


def stacked(text: str) -> int:
    """Return the largest number of different emotion words in any WINDOW words in a row, 0..WINDOW."""
    words = _words(text)
    known = emotion_words()
    return max((len(known.intersection(words[at : at + WINDOW])) for at in range(len(words))), default=0)


def same_opening(text: str, other: str) -> bool:
    """Return whether both texts begin with the same OPENING words; False if one has fewer."""
    first, second = _words(text)[:OPENING], _words(other)[:OPENING]
    return len(first) == OPENING and first == second


def _words(text: str) -> list[str]:
    return [word.replace("’", "'").lower() for word in _WORD.findall(text)]
