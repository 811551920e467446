"""A text brought to plain letters: entities, tags, compatibility forms, invisible characters, accents, look-alikes.

Look-alikes come from the Unicode consortium's confusables (UTS #39, by `confusable_homoglyphs`, MIT); what that list
does not bring to a Latin letter comes from the character's own name, or from its sound (`anyascii`, ISC).
"""

import html
import re
import unicodedata
from functools import lru_cache

from anyascii import anyascii
from confusable_homoglyphs import confusables  # type: ignore[import-untyped]

_TAG = re.compile(r"</?(?:b|i|u|s|em|strong|span|small|mark|font|sub|sup|a)(?:\s[^<>]{0,300})?>", re.IGNORECASE)
_BLOCK = re.compile(r"</?(?:p|br|div|li|ul|ol|h[1-6]|td|tr|table|blockquote|pre|code|hr)(?:\s[^<>]{0,300})?/?>", re.I)
_FILLERS = dict.fromkeys((0x115F, 0x1160, 0x3164, 0xFFA0, 0x17B4, 0x17B5))  # letters that show nothing
_BLANKS = {0x2800: " "}
ONE_BY_ONE = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\u0e00-\u0e7f\U00020000-\U0003134f"
"""Scripts written without spaces: each character is a token of its own."""
_ENCLOSED = re.compile("[\U0001f100-\U0001f1ff]")
"""Letters in squares and circles, and the regional indicators that flags are made of."""
_AFTER_END = re.compile(rf"(?<=[\u3002\u3001])|(?<=[!?,;:])(?=[{ONE_BY_ONE}])")
_APOSTROPHES = str.maketrans(dict.fromkeys("\u2018\u2019\u201b\u02bc\u02b9\u00b4`\u2032\uff07\u05f3\ua78c", "'"))


def clean(text: str) -> str:
    """`text` with entities, tags, compatibility forms, invisible characters and accents taken off. Never raises."""
    if "&" in text:
        text = html.unescape(html.unescape(text))
    if "<" in text:
        text = _BLOCK.sub(" ", _TAG.sub("", text))
    text = _ENCLOSED.sub(lambda match: anyascii(match[0]), text)
    if text.isascii():
        text = text.replace("`", "'")
        return _without_controls(text) if not text.isprintable() else text
    text = unicodedata.normalize("NFKC", text.translate(_APOSTROPHES)).translate(_APOSTROPHES)
    text = unicodedata.normalize("NFD", text.translate(_FILLERS).translate(_BLANKS))
    kept = (c if c.isalnum() else _shown(c) for c in text)
    return _AFTER_END.sub(" ", unicodedata.normalize("NFC", "".join(kept)))


def _shown(char: str) -> str:
    if char in "\n\x85\u2028\u2029":
        return "\n"
    if char in "\t\r\x0b\x0c":
        return " "
    return "" if unicodedata.category(char) in _DROP else char


_DROP = frozenset({"Mn", "Me", "Cf", "Cc", "Cs"})


def _without_controls(text: str) -> str:
    return re.sub(r"[\x00-\x08\x0e-\x1f\x7f]", "", text)


@lru_cache(maxsize=4096)
def latin(char: str) -> tuple[str, str]:
    """What a foreign letter looks like and what it sounds like, in lower-case ASCII ("" where unknown)."""
    sound = anyascii(char).lower()
    like = [entry["c"] for entry in confusables.confusables_data.get(char, ()) if len(entry["c"]) == 1]
    looks = next((c.lower() for c in like if c.isascii() and c.isalpha()), "")
    return looks or next((letter for c in (char, *like) if (letter := _named(c))), sound), sound


def _named(char: str) -> str:
    """The letter in a name such as LATIN LETTER SMALL CAPITAL K; "" when it is turned, or no such letter."""
    name = unicodedata.name(char, "")
    if name == "LATIN SMALL LETTER KRA":
        return "k"
    last = name.rpartition(" ")[2]
    upright = name.startswith("LATIN") and "TURNED" not in name and "REVERSED" not in name
    return last.lower() if upright and len(last) == 1 else ""
