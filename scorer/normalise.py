"""Undo disguises in an English text: letters of other alphabets, repeated or apart, digits for letters, misspellings.

Every function takes a text and gives one; a word that makes no English word stays as it is, or as it looks.
"""

import re
from collections.abc import Sequence
from math import log

from heard.scorer.disguises import LATIN, LEET, MOST_READINGS, is_drawn_out, look, readings, shortened, split_words
from heard.scorer.english import English

MOST_CORRECTIONS = 100
"""Misspelt words mended in one text; the rest stays as it is, to bound the time."""
MOST_READINGS_OF_TEXT = 100_000
"""Ways to read the disguised words of a text that are tried, all together."""

LONGEST_WORD = 20
"""Letters of a word that is looked for among letters that stand apart."""
CORPUS = 1e12
"""Words that the frequencies were counted in."""
NUMBER_WORD = 50_000_000
"""A bare number is read as a word only if the word is as frequent as this: "50" as "so", but not "911" as "gil"."""

WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")

_RUN = re.compile(r"(?<![^\W_])(?<!['’])[^\W_]([ .\-_*·~|/])(?:(?:[^\W_]|['’])\1)*[^\W_](?![^\W_])")
"""Single letters, all parted by the same one sign. A wider gap ends a run."""
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
        choices = [_letters(char) for char in word]
        return budget.likeliest(choices, english) or "".join(choice[0] for choice in choices)

    return WORD.sub(folded, text)


def _letters(char: str) -> str:
    # In an alphabet without capitals (Arabic, Hebrew) the likeness is of chance, and the text is in that language.
    foreign = not char.isascii() and (char in LATIN or char.lower() != char.upper())
    return (foreign and look(char)) or char


def unrepeat(text: str, english: English) -> str:
    """ "sooo goood!!!" to "so good!": a letter three times or more is one or two, whichever makes a word."""
    budget = _Budget()

    def shorten(match: re.Match[str]) -> str:
        word = match[0]
        if not is_drawn_out(word):
            return word
        pieces = shortened(word)
        return budget.likeliest(pieces, english) or "".join(piece[0] for piece in pieces)

    if is_drawn_out(text):
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
    read = {token: budget.likeliest([LEET.get(char, char) for char in token], english) for token in mixed}
    words = sum(bool(read.get(token)) and any(char in LEET for char in token) for token in tokens)
    everywhere = words >= LEET_WORDS and words >= LEET_SHARE * len(tokens)

    def read_letters(match: re.Match[str]) -> str:
        token = match[0].rstrip("!'")
        reading = read.get(token, "")
        if everywhere and not reading and not token.isalpha() and len(token) <= 30:
            choices = [LEET.get(char, char) for char in token]
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


def close_up(text: str, english: English) -> str:
    """`text` with spaced-out words closed up, if it has any; else the text itself.

    Evidence is a run of four letters or more that are a word, or several, when they are closed up. Then runs of two and
    three letters are closed up as well, and words that are in no list, so long as a wider gap parts them from the next.
    """
    runs = [(run[0].replace(run[1], ""), run[1]) for run in _RUN.finditer(text)]
    if not any(len(letters) >= 4 and _words(letters, english) for letters, _ in runs):
        return text
    wide = re.search(r"[^\W_] [^\W_] {2,}[^\W_]", text) is not None

    def closed(run: re.Match[str]) -> str:
        letters = run[0].replace(run[1], "")
        apart = wide or run[1] != " "
        return _words(letters, english) or (letters if apart else run[0])

    text = _RUN.sub(closed, text)
    return re.sub(r"(?<=\w) +(?=[.,!?;:](?:\s|$))", "", text)


def _words(letters: str, english: English) -> str:
    """`letters` as one English word, or parted into several; "" if they are none."""
    parts = split_words(letters, lambda part: _likelihood(part.lower(), english), LONGEST_WORD)
    known = sum(len(part) for part in parts if english.knows(part.lower()))
    one_letter = any(len(part) == 1 and part not in "aiAI" for part in parts)
    good = known >= 0.8 * len(letters) and not one_letter and len(letters) >= 1.5 * len(parts)
    return " ".join(parts) if good else ""


def _likelihood(word: str, english: English) -> float:
    count = english.frequency(word)
    if len(word) == 1 and word not in "ai":
        count = 0
    return log(count / CORPUS) if count else log(10 / CORPUS) - 2.3 * len(word)


class _Budget:
    """Bounds the readings that are tried in one text, whatever it holds."""

    def __init__(self) -> None:
        self._left = MOST_READINGS_OF_TEXT

    def likeliest(self, choices: Sequence[Sequence[str]], english: English, least: int = 0) -> str:
        """The most frequent English word with one of the choices at each place; "" if none is as frequent as `least`.

        Where there are too many readings, only the first choices are tried.
        """
        tried = list(readings(choices, min(MOST_READINGS, self._left)))
        self._left -= len(tried)
        frequency, word = max((english.frequency(word.lower()), word) for word in tried)
        return word if frequency > 0 and frequency >= least else ""
