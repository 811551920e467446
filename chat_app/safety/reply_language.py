"""Whether a sentence of a reply is in another language than the message that it answers.

It tells English from the rest by the scorer's list of words, and other languages by their scripts: so that French in
answer to Spanish is not seen. A library that names languages was tried on sentences as short as a chat's
(`scorer/english.py` has the figures), and named too many wrongly.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from heard.scorer.english import English
from heard.scorer.normalise import WORD

FEWEST_WORDS = 4
"""Of a text in Latin letters: fewer may be names, or the same in many languages ("hm", "haha", "Maria!")."""
FOREIGN_BELOW = 0.5
"""Share of English words under which a text is not English."""
ENGLISH_FROM = 0.75
"""Share of English words from which a text is English. Between the two it is not known."""
_STRANGE = 2
"""Letters of a script that the person has not used, one after another, that are more than a slip."""
_FAMILIES = {"HIRAGANA": "CJK", "KATAKANA": "CJK", "FULLWIDTH": "CJK", "HALFWIDTH": "CJK"}
_RUN = re.compile(r"[^\W\d_]+")


def differs(messages: Sequence[str], sentence: str) -> bool:
    """Whether `sentence` is surely in another language than the person's `messages`, the newest last.

    A few words in Latin letters are never sure, and English is never wrong to who has written English. Never raises
    on any strings.
    """
    message = messages[-1] if messages else ""
    if _foreign_script(sentence) - _scripts(message):
        return True
    replied = _is_english(sentence)
    if replied is None:
        return False
    said = [_is_english(text) for text in messages]
    return said[-1:] == [False] and True not in said if replied else said[-1:] == [True]


def _foreign_script(text: str) -> frozenset[str]:
    """Scripts other than Latin in which at least _STRANGE letters stand together."""
    if text.isascii():
        return frozenset()
    runs = (run for run in _RUN.findall(text) if len(run) >= _STRANGE and not run.isascii())
    return frozenset(_script(run[0]) for run in runs) - {"LATIN", ""}


@lru_cache(maxsize=64)
def _scripts(text: str) -> frozenset[str]:
    return frozenset(_script(char) for char in set(text) if not char.isascii() and char.isalpha())


def _script(char: str) -> str:
    """The first word of a letter's name: "LATIN", "CYRILLIC", "CJK", "HANGUL" ..."""
    name = unicodedata.name(char, "").partition(" ")[0]
    return _FAMILIES.get(name, name)


@lru_cache(maxsize=256)
def _is_english(text: str) -> bool | None:
    """None where it is not sure."""
    letters = [char for char in text if char.isalpha()]
    if letters and sum(_script(char) != "LATIN" for char in set(letters) if not char.isascii()) * 2 > len(set(letters)):
        return False
    words = [word.lower().replace("\u2019", "'") for word in WORD.findall(text.replace("\u2019", "'"))]
    if len(words) < FEWEST_WORDS:
        return None
    share = English.load().share(words)
    return True if share >= ENGLISH_FROM else False if share < FOREIGN_BELOW else None
