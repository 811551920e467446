"""Whether a sentence of a reply is in another language than the message that it answers.

A language is told by its script, or by the small words that stand in almost every sentence of it
(`prompts/safety/languages.yaml`), English by the scorer's list of words. A library that names languages was tried on
sentences as short as a chat's (`scorer/english.py` has the figures), and named too many wrongly.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache

from heard.scorer.english import HOMOGRAPHS, English
from heard.scorer.normalise import WORD

ENGLISH = "en"
UNKNOWN = "other"
"""A language that is not English, and no more is known of it."""
FEWEST_WORDS = 4
"""Of a text that is told to be English, or not to be, by its share of English words. Fewer may be names."""
FOREIGN_BELOW = 0.5
"""Share of English words under which a text is not English."""
ENGLISH_FROM = 0.75
"""Share of English words from which a text is English. Between the two it is not known."""
FEWEST_SMALL_WORDS, LEAST_SHARE = 2, 0.2
"""Small words of a language that are no English ones, and their share of all words, that tell it."""
_STRANGE = 2
"""Letters of a script that the person has not used, one after another, that are more than a slip."""
_FAMILIES = {"HIRAGANA": "CJK", "KATAKANA": "CJK", "FULLWIDTH": "CJK", "HALFWIDTH": "CJK"}
_LETTERS = re.compile(r"[^\W\d_]+")
_MASHED = re.compile(r"^.$|^[b-df-hj-np-tv-xz]+$|(.)\1\1|^.{25}")
"""A word of no language: a letter, no vowel, a letter three times over, or endless, as keys hit at random make."""


class LanguageComparison:
    """Compares the languages of messages and replies, by the small words of each language."""

    def __init__(self, small_words: Mapping[str, frozenset[str]]) -> None:
        """`small_words`: ISO 639-1 code -> words in small letters; those that English has as well count for little."""
        self._small_words = small_words
        self._languages_of = lru_cache(maxsize=256)(self._tell)

    def differs(self, messages: Sequence[str], sentence: str) -> bool:
        """Whether `sentence` is surely in another language than the person's `messages`, the newest last.

        English is never wrong to who has written English before. Never raises on any strings.
        """
        message = messages[-1] if messages else ""
        if _scripts(sentence, _STRANGE) - _scripts(message, 1):
            return True
        replied, asked = self._languages_of(sentence), self._languages_of(message)
        if not replied or not asked or not replied.isdisjoint(asked):
            return False
        if ENGLISH in replied:
            long_enough = len(_words(sentence)) >= FEWEST_WORDS
            return long_enough and not any(ENGLISH in self._languages_of(text) for text in messages)
        return ENGLISH in asked or UNKNOWN not in asked | replied

    def _tell(self, text: str) -> frozenset[str]:
        """What `text` may be in: ISO 639-1 codes, the name of a script, or UNKNOWN; nothing where it is not sure."""
        letters = set(filter(str.isalpha, text))
        scripts = _scripts(text, 1)
        if scripts and sum(_script(char) in scripts for char in letters) * 2 > len(letters):
            return scripts
        words = _words(text)
        if not words:
            return frozenset()
        english = English.load()
        share = english.share(words)
        foreign = [word for word in words if word in HOMOGRAPHS or not english.knows(word)]
        hits = {code: sum(word in small for word in words) for code, small in self._small_words.items()}
        sure = max(sum(word in small for word in foreign) for small in self._small_words.values())
        most = max(hits.values())
        if (sure >= FEWEST_SMALL_WORDS and sure >= LEAST_SHARE * len(words)) or (most and share < FOREIGN_BELOW):
            return frozenset(code for code, number in hits.items() if number == most)
        if len(words) < FEWEST_WORDS:
            return frozenset({ENGLISH} if share == 1 and len(words) > 1 and not foreign else ())
        if share >= ENGLISH_FROM:
            return frozenset({ENGLISH})
        spoken = {word for word in words if _MASHED.search(word) is None}
        return frozenset({UNKNOWN} if share < FOREIGN_BELOW and len(spoken) >= FEWEST_WORDS else ())


def _words(text: str) -> list[str]:
    return [word.lower() for word in WORD.findall(text.replace("\u2019", "'"))]


@lru_cache(maxsize=256)
def _scripts(text: str, least: int) -> frozenset[str]:
    """Scripts other than Latin of which at least so many letters stand together."""
    if text.isascii():
        return frozenset()
    runs = (run for run in _LETTERS.findall(text) if len(run) >= least and not run.isascii())
    return frozenset(_script(char) for run in runs for char in run if not char.isascii()) - {"LATIN", ""}


def _script(char: str) -> str:
    """The first word of a letter's name: "LATIN", "CYRILLIC", "CJK", "HANGUL" ..."""
    name = unicodedata.name(char, "").partition(" ")[0]
    return _FAMILIES.get(name, name)
