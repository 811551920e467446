"""Undo what disguises a word: letters of other alphabets, repetition, digits for letters, slips of the fingers.

Every function takes a text and gives one; a word that makes no English word stays as it is, or as it looks.
"""

import itertools
import math
import re
from collections.abc import Iterator, Sequence

from heard.scorer.english import English
from heard.scorer.lookalikes import latin

MOST_CORRECTIONS = 100
"""Misspelt words mended in one text; the rest stays as it is, to bound the time."""
MOST_READINGS = 1_000
"""Ways to read one disguised word that are tried."""
MOST_READINGS_OF_TEXT = 100_000
"""The same for all words of a text together."""

NUMBER_WORD = 50_000_000
"""A bare number is read as a word only if the word is as frequent as this: "50" as "so", but not "911" as "gil"."""

WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")

_REPEATED_LETTER = re.compile(r"([^\W\d_])\1+", re.IGNORECASE)
_LONG_REPEAT = re.compile(r"([^\W\d_])\1{2,}", re.IGNORECASE)
_SHOUT = re.compile(r"[!?]{3,}")
_REPEATED_SIGN = re.compile(r"(?!--(?!-))([^\w\s.])\1+")
_DOTS = re.compile(r"\.{4,}")
_TWO_SIGNS = re.compile(r"[^\w\s]{2}")
_TOKEN = re.compile(r"[A-Za-z0-9@$!']+")
_NUMBER = re.compile(
    r"[A-Z][A-Za-z]*\d\d+|"  # room B12
    r"[$]?(?!0)\d+(?i:st|nd|rd|th|[ap]m|[dghkmsx]|mg|ml|kg|km|cm|mm|mins?|hrs?|yrs?|yo|ish|'s)?"
)
_LEET_SIGN = re.compile(r"[0-9@$]|!['A-Za-z0-9@$]")
"""Without one of these, no token has a sign that may stand for a letter."""
_SENTENCE_END = re.compile(r"(?:^|[.!?\n]['\")]*)\s*$")
_LEET = {"0": "o", "1": "il", "2": "z", "3": "e", "4": "a", "5": "s", "6": "gb", "7": "t", "8": "b", "9": "g"}
_LEET |= {"@": "aoeiu", "$": "s", "!": "il"}
LEET_WORDS, LEET_SHARE = 2, 0.2
"""So many words, and such a share of all, with digits for letters make the other digits of the text letters too."""


def fold(text: str, english: English) -> str:
    """Look-alike letters to Latin, word by word: the reading that is an English word, else the likeliest look."""
    if text.isascii():
        return text
    budget = _Budget()

    def folded(match: re.Match[str]) -> str:
        word = match[0]
        if word.isascii():
            return word
        choices = [latin(char) for char in word]
        return budget.likeliest(choices, english) or "".join(choice[0] for choice in choices)

    return WORD.sub(folded, text)


def unrepeat(text: str, english: English) -> str:
    """ "sooo goood!!!" to "so good!": a letter three times or more is one or two, whichever makes a word."""
    budget = _Budget()

    def shorten(match: re.Match[str]) -> str:
        word = match[0]
        if not _LONG_REPEAT.search(word):
            return word
        pieces: list[Sequence[str]] = []
        at = 0
        for run in _REPEATED_LETTER.finditer(word):
            one, two = run[0][0], run[0][:2]
            pieces += [[word[at : run.start()]], [two, one] if run[0] == two else [one, two]]
            at = run.end()
        pieces.append([word[at:]])
        return budget.likeliest(pieces, english) or "".join(piece[0] for piece in pieces)

    if _LONG_REPEAT.search(text):
        text = WORD.sub(shorten, text)
    if not _TWO_SIGNS.search(text):
        return text
    text = _SHOUT.sub(lambda signs: "?" if "?" in signs[0] else "!", text)
    return _DOTS.sub(".", _REPEATED_SIGN.sub(r"\1", text))


def unleet(text: str, english: English) -> str:
    """ "y0u 4re l0ved" to "you are loved"; a token that makes no English word stays ("covid19", "2nd", "B12").

    Bare numbers become words only in a text that is full of such words ("50 50rry" to "so sorry").
    """
    if not _LEET_SIGN.search(text):
        return text
    budget = _Budget()
    tokens = [match[0].rstrip("!'") for match in _TOKEN.finditer(text)]
    mixed = {token for token in tokens if not token.isalpha() and not _NUMBER.fullmatch(token) and len(token) <= 30}
    readings = {token: budget.likeliest([_LEET.get(char, char) for char in token], english) for token in mixed}
    words = sum(bool(readings.get(token)) and any(char in _LEET for char in token) for token in tokens)
    everywhere = words >= LEET_WORDS and words >= LEET_SHARE * len(tokens)

    def read_letters(match: re.Match[str]) -> str:
        token = match[0].rstrip("!'")
        reading = readings.get(token, "")
        if everywhere and not reading and not token.isalpha() and len(token) <= 30:
            choices = [_LEET.get(char, char) for char in token]
            least = 0 if any(char.isalpha() for char in token) else NUMBER_WORD
            reading = budget.likeliest(choices, english, least)
            if not reading and any(char.isalpha() for char in token):  # a rare word or a name
                reading = "".join(choice[0] for choice in choices)
        return (reading or token) + match[0][len(token) :]

    return _TOKEN.sub(read_letters, text) if mixed else text


def spell(text: str, english: English) -> str:
    """Mend words one slip away from a common one; names (capitals inside a sentence) and known words stay."""
    if all(english.spelt(word) for word in {word.lower() for word in WORD.findall(text)}):
        return text
    budget = MOST_CORRECTIONS
    shouting = text.isupper()

    def mend(match: re.Match[str]) -> str:
        nonlocal budget
        word = match[0]
        if budget <= 0 or english.spelt(word.lower()):
            return word
        if word.isupper() and not shouting:
            return word  # ADHD
        name = word[0].isupper() and not shouting
        if name and not _SENTENCE_END.search(text[max(0, match.start() - 8) : match.start()]):
            return word
        budget -= 1
        found = english.correct(word.lower(), surely=name)
        return word if found == word.lower() else found

    return WORD.sub(mend, text)


class _Budget:
    """Bounds the readings that are tried in one text, whatever it holds."""

    def __init__(self) -> None:
        self._left = MOST_READINGS_OF_TEXT

    def likeliest(self, choices: Sequence[Sequence[str]], english: English, least: int = 0) -> str:
        """The most frequent English word with one of the choices at each place; "" if none is as frequent as `least`.

        Where there are too many readings, only the first choices are tried.
        """
        count = math.prod(map(len, choices))
        if count > min(MOST_READINGS, self._left):
            choices = [choice[:1] for choice in choices]
            count = 1
        self._left -= count
        frequency, word = max(_known(choices, english), default=(0, ""))
        return word if frequency >= least else ""


def _known(choices: Sequence[Sequence[str]], english: English) -> Iterator[tuple[int, str]]:
    for letters in itertools.product(*choices):
        word = "".join(letters)
        if frequency := english.frequency(word.lower()):
            yield frequency, word
