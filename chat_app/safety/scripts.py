"""Brings Arabic, Hebrew, Devanagari and Bengali words to one spelling, so that a pattern is written once.

People leave out vowel points, type a look-alike letter of a neighbouring language's keyboard, and write a sound in
two ways. What is folded here never tells two words of a lexicon apart; everything else stays as it was written.
"""

import re
from collections.abc import Iterator

VOWEL_SIGNS = "".join(
    chr(code)
    for first, last in (
        (0x093E, 0x0944), (0x0946, 0x094D), (0x0962, 0x0963),  # Devanagari
        (0x09BE, 0x09C4), (0x09C7, 0x09C8), (0x09CB, 0x09CD), (0x09E2, 0x09E3),  # Bengali
    )
    for code in range(first, last + 1)
)  # fmt: skip
"""Vowel signs and the virama. Unicode calls them marks, as it does accents, but a word is not the same without them."""

_ARABIC = "\u0621-\u064a\u066e-\u06d3\u06d5"
_HEBREW = "\u05d0-\u05ea"
_INDIC = "\u0904-\u0939\u093d-\u094d\u0958-\u0963\u0985-\u09b9\u09bd-\u09ce\u09dc-\u09e3\u09f0\u09f1"
_OWN = re.compile(rf"[{_ARABIC}{_HEBREW}{_INDIC}]+")
_ANY = re.compile(rf"[{_ARABIC}{_HEBREW}{_INDIC}]")

_FOLDED = str.maketrans(
    {
        # Arabic: Persian and Urdu keyboards, alef and yeh variants, the hamza alone, the line that stretches a word
        **dict.fromkeys("\u0649\u06cc\u06d2\u06d0", "\u064a"),
        "\u06a9": "\u0643",
        **dict.fromkeys("\u0629\u06d5\u06c1\u06be", "\u0647"),
        "\u0671": "\u0627",
        **dict.fromkeys("\u0621\u0640", ""),
        # Long and short i and u, which people mix; the Bengali n of two letters
        "\u0940": "\u093f", "\u0942": "\u0941", "\u0908": "\u0907", "\u090a": "\u0909",
        "\u09c0": "\u09bf", "\u09c2": "\u09c1", "\u0988": "\u0987", "\u098a": "\u0989", "\u09a3": "\u09a8",
        # Signs that split no word: the Bengali dot of a nasal is its letter too, the breath at an end is often left out
        "\u0982": "\u0999", "\u0983": "", "\u0903": "",
        # Ends of sentences and commas
        **dict.fromkeys("\u0964\u0965\u06d4", ". "), "\u061f": "? ", "\u060c": ", ", "\u061b": "; ",
    }
)  # fmt: skip
_HALF_NASAL = re.compile(
    "\u0928\u094d(?=[\u0924-\u0927])|\u092e\u094d(?=[\u092a-\u092d])|\u0923\u094d(?=[\u091f-\u0922])"
    "|\u091e\u094d(?=[\u091a-\u091d])|\u0919\u094d(?=[\u0915-\u0918])"
)
"""A nasal before a consonant of its own place, which is written as a dot just as often; the dot is dropped."""
_PERSIAN_PREFIX = re.compile(rf"(?<![{_ARABIC}])(\u0646?\u0645\u064a)[^\S\n]+(?=[{_ARABIC}]{{2}})")
"""The verb's "mi" and "nemi", written apart, joined or with a joiner between that is already gone."""


def one_spelling(text: str) -> str:
    """`text` with the variants of these scripts folded; text without their letters stays as it is. Never raises."""
    if not _ANY.search(text):
        return text
    return _PERSIAN_PREFIX.sub(r"\1", _HALF_NASAL.sub("", text.translate(_FOLDED)))


def is_own_script(word: str) -> bool:
    """Whether all of `word` is written in one of these scripts, so that it is no Latin word in disguise."""
    return _OWN.fullmatch(word) is not None


def without_clitics(word: str) -> Iterator[str]:
    """`word` without the "and", "so", "that" or emphasis that its script writes together with it.

    Words of two letters keep theirs; of three, all but the "and".
    """
    first = word[:1]
    if len(word) < 3:
        return
    if first in "\u0648\u0641\u05d5":  # Arabic wa, fa; Hebrew ve
        yield word[1:]
    if len(word) < 4:
        return
    if first in "\u05d5\u05e9\u05d4\u05db":  # Hebrew she, ha, kshe, and two of them
        for clitic in ("\u05e9", "\u05d4", "\u05db\u05e9", "\u05d5\u05e9", "\u05d5\u05d4", "\u05e9\u05d4"):
            if word.startswith(clitic) and len(word) > len(clitic) + 2:
                yield word[len(clitic) :]
    elif word[-1] in "\u0987\u0993":  # Bengali -i "just", -o "too"
        yield word[:-1]
