"""Which table of one byte a letter a text was written with, by the letters that each table makes of its bytes.

Nearly every byte is some letter in every table, so that a wrong one is not refused by itself: Polish read by the table
of the West is "moÂ¿e" for "może". What tells them apart is that a language has few letters outside ASCII, and that
capitals and signs do not stand within a word.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

_WEST = (
    "àâæçéèêëîïôœùûüÿ",  # French
    "áéíñóúüºª¿¡",  # Spanish
    "áàâãçéêíóôõúü",  # Portuguese
    "äöüß",  # German
    "àèéìíòóù",  # Italian
    "áäéèëïíóöüú",  # Dutch
    "åäöæøé",  # Danish, Norwegian, Swedish, Finnish
    "áéíóúýþæöð",  # Icelandic
    "àçèéíïòóúü·",  # Catalan
)
_MIDDLE = (
    "ąćęłńóśźż",  # Polish
    "áčďéěíňóřšťúůýž",  # Czech
    "áäčďéíĺľňóôŕšťúýž",  # Slovak
    "áéíóöőúüű",  # Hungarian
    "čćđšž",  # Croatian, Slovene
    "ăâîşţ",  # Romanian
)
_LETTERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "cp1252": ("Windows-1252", _WEST),
    "mac_roman": ("Mac Roman", _WEST),
    "cp1250": ("Windows-1250", _MIDDLE),
    "iso8859_2": ("ISO 8859-2", _MIDDLE),
    "cp850": ("DOS 850", _WEST),
    "cp1254": ("Windows-1254", ("çğıöşüâîû",)),
    "cp1251": ("Windows-1251", ("абвгдежзийклмнопрстуфхцчшщъыьэюяё", "абвгґдеєжзиіїйклмнопрстуфхцчшщьюя")),
    "cp1253": ("Windows-1253", ("αβγδεζηθικλμνξοπρσςτυφχψωάέήίόύώϊϋ",)),
}
"""Of each codec: its name for people, and the letters outside ASCII of the languages that are written with it. The
first of those that fit equally well is taken."""
_EDGES = "‘’“”‚„«»…–—•"
"""Signs at the edge of a word."""
_LOOSE = "\xa0©®°™½¼¾²×§"
"""Signs that stand beside a word."""
_MONEY = "€£"
_WORD = re.compile(r"\S*[^\x00-\x7f]\S*")
LEAST = 0.9
"""Least share of the characters outside ASCII that a table must make sense of."""


def eight_bit(lines: Sequence[bytes]) -> tuple[str, str] | None:
    """The codec of these lines, which are no UTF-8, and its name for people; None where no table makes sense of them.

    Takes time in proportion to the length.
    """
    found: tuple[float, str, str] | None = None
    for codec, (title, languages) in _LETTERS.items():
        try:
            text = b"\n".join(lines).decode(codec)
        except UnicodeDecodeError:
            continue
        fitting, best = _fit(text, languages)
        if fitting >= LEAST and (found is None or fitting + best > found[0] + 1e-9):
            found = (fitting + best, codec, title)
    return None if found is None else found[1:]


def _fit(text: str, languages: Sequence[str]) -> tuple[float, float]:
    """Shares, 0..1, of the characters outside ASCII that stand where they may and belong to any of the languages, and
    to the one that has most of them."""
    letters: Counter[str] = Counter()
    signs = number = 0
    for word in _WORD.findall(text):
        for place, character in enumerate(word):
            if character.isascii():
                continue
            number += 1
            before, after = word[place - 1 : place], word[place + 1 : place + 2]
            if character.isalpha():
                letters[character.lower()] += _letter_may_stand(character, before, after)
            else:
                signs += _sign_may_stand(character, before, after)
    if not number:
        return 1.0, 1.0
    known = set("".join(languages))
    of_all = sum(count for letter, count in letters.items() if letter in known)
    of_one = max(sum(letters[letter] for letter in set(language)) for language in languages)
    return (of_all + signs) / number, (of_one + signs) / number


def _letter_may_stand(character: str, before: str, after: str) -> bool:
    """No capital stands within a word of small letters, and a word is of one script."""
    if character in "õÕ":  # Portuguese has it before an e only; elsewhere the same byte is the ő of Hungarian
        return after in ("e", "E")
    if character.isupper() and (before.islower() or (before.isalpha() and after.islower())):
        return False
    script = unicodedata.name(character, "").partition(" ")[0]
    beside = [other for other in (before, after) if other.isalpha()]
    return all(unicodedata.name(other, "").partition(" ")[0] == script for other in beside)


def _sign_may_stand(character: str, before: str, after: str) -> bool:
    """An apostrophe and a dash stand within a word, and every other sign at its edge."""
    within = before.isalnum() and after.isalnum()
    if character in "’–—…":
        return character != "…" or not within
    if character in _EDGES:
        return not within
    if character in _MONEY:
        return not before.isalpha() and not after.isalpha()
    return (character in _LOOSE and not within) or character in "¿¡ºª·"
