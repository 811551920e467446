"""Replies that say the same thing over and over, as a model does that has lost its way: seen in the words alone.

The head knows loops of a few words by their shape; a whole kind sentence three times over looks kind to it.
"""

import re
from itertools import pairwise

MOST_REPEATED = 0.4
"""Share of the words, from which a text is a loop."""

FEWEST_WORDS = 6
"""Of a loop: "I'm sorry. I'm sorry." is said by people too."""

_SENTENCE = re.compile(r"[.!?…\n]+")
_WORD = re.compile(r"\w+(?:['’]\w+)*")


def is_loop(text: str) -> bool:
    """Return whether much of `text` has been said before: a sentence once more, or a word right after itself."""
    said, words, repeated = set[tuple[str, ...]](), 0, 0
    for part in _SENTENCE.split(text.casefold()):
        sentence = tuple(_WORD.findall(part))
        words += len(sentence)
        if len(sentence) > 1 and sentence in said:
            repeated += len(sentence)
        else:
            repeated += sum(one == other for one, other in pairwise(sentence))
        said.add(sentence)
    return words >= FEWEST_WORDS and repeated / words >= MOST_REPEATED
