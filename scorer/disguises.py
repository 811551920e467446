"""Undo what disguises a text: odd widths and alphabets, the unseen, digits for letters, letters drawn out or apart.

Of letters only: it knows no word of any language. Whoever calls it chooses among the readings by the words that he
knows; the scorer by English (`mending.py`), the crisis check by its lexicons.
"""

import itertools
import math
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from threading import Lock

from anyascii import anyascii

MOST_READINGS = 1_000
"""Ways to read one disguised word that are tried."""

LEET: Mapping[str, str] = {
    "0": "o", "1": "il", "2": "z", "3": "e", "4": "a", "5": "s", "6": "gb", "7": "t", "8": "b", "9": "g",
    "@": "aoeiu", "$": "s", "!": "il", "|": "li", "+": "t", "(": "c", "\u20ac": "e", "\u00a3": "l", "\u00a1": "i",
}  # fmt: skip
"""Each digit and sign to the letters that it may stand for, the likeliest first."""

_LIKE = (
    # Greek: by its look, then by its sound
    "αa βb γyg δd εe ζz ηnhe θo ιi κk λl μmu νvn ξxe οo πnp ρpr σos ςcs τt υuy φfo χxh ψu ωwo "
    "ΑA ΒB ΓG ΔAD ΕE ΖZ ΗH ΘO ΙI ΚK ΛAL ΜM ΝN ΞE ΟO ΠNP ΡPR ΣES ΤT ΥY ΦFO ΧX ΨY ΩO "
    # Cyrillic: by its look, for its sounds would make English of Russian
    "аa вb гr еe зe иn іi јj кk мm нh оo пn рp сc тt уy хx ѕs ьb яr ԁd һh ԛq ԝw "
    "АA ВB ЕE ЅS ІI ЈJ КK МM НH ОO РP СC ТT УY ХX ЯR ИN "
    # small capitals and struck letters
    "ᴀa ʙb ᴄc ᴅd ᴇe ꜰf ɢg ʜh ɪi ᴊj ᴋk ʟl ᴍm ɴn ᴏo ᴘp ʀr ꜱs ᴛt ᴜu ᴠv ᴡw ʏy ᴢz ıi łl øo đd"
)
LATIN: Mapping[str, str] = {entry[0]: entry[1:] for entry in _LIKE.split()}
"""Letters of other alphabets to the Latin ones that they may stand for, the likeliest first."""

_SIGNS = str.maketrans(
    dict.fromkeys("\u2018\u2019\u201a\u201b\u02bc\u02b9\u00b4\u2032\uff07\u05f3\ua78c", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f", '"')
    | dict.fromkeys("\r\x85\u2028\u2029", "\n")
    | dict.fromkeys("\t\x0b\x0c\u2800", " ")
    | dict.fromkeys("\u115f\u1160\u3164\uffa0\u17b4\u17b5", "")  # letters that show nothing
    | {"\u2202": "d"}
)
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Mn", "Me"})
"""Categories of what has no width of its own. Accents too: few words need theirs, and stacked they are a disguise."""
_REPEATED_LETTER = re.compile(r"([^\W\d_])\1+", re.IGNORECASE)
_DRAWN_OUT = re.compile(r"([^\W\d_])\1{2,}", re.IGNORECASE)


def plain_letters(text: str, kept: str = "") -> str:
    """`text` in compatibility forms, with straight quotes and without what is unseen, line breaks as "\\n".

    Characters in `kept` stay as they are. Never raises.
    """
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    text = text.replace("\r\n", "\n").translate(_SIGNS)
    # Twice, because a sign may come out of a compatibility form.
    text = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).translate(_SIGNS))
    seen = (c for c in text if c.isalnum() or c == "\n" or c in kept or unicodedata.category(c) not in _UNSEEN)
    return unicodedata.normalize("NFC", "".join(seen))


@lru_cache(maxsize=4096)
def look(char: str) -> str:
    """The Latin letters that a letter may stand for by its look, the likeliest first; "" if there are none.

    Letters that are not in LATIN go by the Unicode consortium's list of confusables (UTS #39), then by their names.
    """
    if char in LATIN:
        return LATIN[char]
    from confusable_homoglyphs import confusables  # type: ignore[import-untyped]  # here: English never needs it

    like = [one for entry in confusables.confusables_data.get(char, ()) if len(one := entry["c"]) == 1]
    found = next((one for one in like if one.isascii() and one.isalpha()), "")
    return found or next((letter for one in (char, *like) if (letter := _named(one))), "")


def _named(char: str) -> str:
    """The letter in a name such as LATIN LETTER SMALL CAPITAL K; "" when it is turned, or no such letter."""
    name = unicodedata.name(char, "")
    if name == "LATIN SMALL LETTER KRA":
        return "k"
    last = name.rpartition(" ")[2]
    upright = name.startswith("LATIN") and "TURNED" not in name and "REVERSED" not in name
    return last.lower() if upright and len(last) == 1 else ""


def sound(char: str) -> str:
    """What a letter sounds like, in lower-case Latin letters, perhaps several; "" where unknown."""
    return anyascii(char).lower()


def is_drawn_out(word: str) -> bool:
    """Whether a letter stands three times or more in a row."""
    return _DRAWN_OUT.search(word) is not None


def shortened(word: str) -> list[Sequence[str]]:
    """The pieces of a word, each with its readings: a repeated letter may be one or two ("sooo goood": so, soo ...).

    The likelier comes first: two where there are two, one where there are more.
    """
    pieces: list[Sequence[str]] = []
    at = 0
    for run in _REPEATED_LETTER.finditer(word):
        one, two = run[0][0], run[0][:2]
        pieces += [[word[at : run.start()]], [two, one] if run[0] == two else [one, two]]
        at = run.end()
    return [*pieces, [word[at:]]]


def readings(choices: Sequence[Sequence[str]], most: int = MOST_READINGS) -> Iterator[str]:
    """Every word with one of the choices at each place, or with the first alone where there would be more than `most`.

    A word by the likeliest choices comes first.
    """
    if math.prod(map(len, choices)) > most:
        choices = [choice[:1] for choice in choices]
    return map("".join, itertools.product(*choices))


def speller(counts: Mapping[str, int]) -> Callable[[str], list[tuple[str, int]]]:
    """A search for words that are one slip away: with a letter more, less or other, or two neighbours swapped.

    It gives words of `counts`, each with its count, the most frequent first; never the word that is looked for. Threads
    may share it.
    """
    from symspellpy import SymSpell, Verbosity  # type: ignore[import-untyped]  # here: 30 ms that few texts need

    # A longer prefix would be made in twice the time and searched in half.
    symspell = SymSpell(max_dictionary_edit_distance=1, prefix_length=4)
    for word, count in counts.items():
        symspell.create_dictionary_entry(word, count)

    # SymSpell measures every distance in one pair of lists: of two threads at once each would find the other's.
    looking = Lock()

    def search(word: str) -> list[tuple[str, int]]:
        with looking:
            return [(found.term, found.count) for found in symspell.lookup(word, Verbosity.ALL) if found.distance]

    return search


def split_words(letters: str, value: Callable[[str], float | None], longest: int) -> list[str]:
    """`letters` parted into words of the greatest sum of values; [] if they cannot be parted into words that have one.

    By dynamic programming (Norvig 2009, "Natural Language Corpus Data"), over words of at most `longest` letters.
    """
    best: list[tuple[float, int] | None] = [(0.0, 0)]
    for end in range(1, len(letters) + 1):
        found: tuple[float, int] | None = None
        for start in range(max(0, end - longest), end):
            before = best[start]
            if before is None or (worth := value(letters[start:end])) is None:
                continue
            if found is None or before[0] + worth > found[0]:
                found = before[0] + worth, start
        best.append(found)
    words: list[str] = []
    end = len(letters)
    while end:
        step = best[end]
        if step is None:
            return []
        words.append(letters[step[1] : end])
        end = step[1]
    return words[::-1]
