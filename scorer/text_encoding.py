"""How a file of text was encoded: decided once for the whole file, by all its bytes, and told.

The order is: its first bytes (a byte-order mark), UTF-8, UTF-16 without a mark, and else the table of one byte a letter
that its letters speak for. A file that is UTF-8 but for a byte or two is refused with their line: read by another
table, every other letter of it would be broken.
"""

import codecs
import re
import unicodedata
from typing import NamedTuple

from heard.scorer.eight_bit import eight_bit
from heard.scorer.errors import ScorerError

_MARKS = (
    (codecs.BOM_UTF8, "utf-8", "UTF-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le", "UTF-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be", "UTF-32"),
    (codecs.BOM_UTF16_LE, "utf-16-le", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16-be", "UTF-16"),
)
"""First bytes of a file, its codec, and that for people."""
_MARK_ENCODED_TWICE = "ï»¿"
_EAST = {"gb18030": "GB 18030", "cp932": "Shift JIS", "cp949": "Korean (949)", "big5": "Big5"}
_HIGH = re.compile(rb"[\x80-\xff]")
_LINE_END = re.compile(rb"\r\n|\r|\n")
_PLAIN = re.compile(rb"[\r\n -~]")
_PRINTED = re.compile(r"[\t\r\n -~]")
_ONE_LETTER = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xed[\x80-\x9f][\x80-\xbf]"
    rb"|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2}"
)
"""One letter outside ASCII in UTF-8."""
_SAMPLE = 200_000
"""Most bytes of lines that are looked at for their letters, taken from all over the file."""
_RARELY = 20
"""A byte in so many may look like UTF-8 by chance in another encoding; with more the file is a mixture."""
_FEWEST_EAST = 20
"""Fewest bytes outside ASCII for which an encoding of the East is guessed."""


class Decoded(NamedTuple):
    """The text of a file."""

    text: str
    """Without byte-order marks at its beginning."""
    encoding: str
    """For people: "UTF-8", "UTF-16", "Windows-1252" ..."""
    line: int | None
    """The first line with a letter that another encoding would make another of; None where there is none."""

    @property
    def note(self) -> str:
        """A sentence for the person; "" for UTF-8, which is what is expected."""
        if self.line is not None:
            return (
                f"Read as {self.encoding}: it is no UTF-8, and its letters fit that best. The first of them is in line "
                f"{self.line}."
            )
        return "" if self.encoding == "UTF-8" else f"Read as {self.encoding}."


def decode(name: str, raw: bytes) -> Decoded:
    """The text in `raw`, the bytes of a file that people know as `name`.

    Raises ScorerError, with the line where one is to blame, for a file in no encoding that can be told.
    """
    mark, codec, title = next((known for known in _MARKS if raw.startswith(known[0])), (b"", "utf-8", "UTF-8"))
    body = raw
    while mark and body.startswith(mark):  # once more by each program that has added one
        body = body[len(mark) :]
    line = None
    if codec == "utf-8" and b"\0" in body:
        codec, title = _without_mark(name, body)
    elif codec == "utf-8" and not _is_utf8(body):
        codec, title = _eight_bit(name, body)
        line = _line_of(body, _HIGH.search(body))
    try:
        text = body.decode(codec)
    except UnicodeDecodeError as error:
        raise _broken(name, title, body[: error.start].decode(codec, "replace").count("\n") + 1) from error
    if "\0" in text:
        raise _broken(name, title, text[: text.index("\0")].count("\n") + 1)
    return Decoded(text.removeprefix(_MARK_ENCODED_TWICE).lstrip("\ufeff"), title, line)


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _line_of(raw: bytes, found: re.Match[bytes] | None) -> int:
    return len(_LINE_END.findall(raw, 0, found.start() if found else 0)) + 1


def _without_mark(name: str, raw: bytes) -> tuple[str, str]:
    """The codec of a file with bytes of 0: UTF-16 or UTF-32 without a mark, of those the one with most ASCII."""
    if len(_PLAIN.findall(raw)) > 0.8 * len(raw):
        line = _line_of(raw, re.search(rb"\0", raw))
        raise ScorerError(f"{name}, line {line}: a byte of 0 stands here, which is no letter. Remove it.")
    found: tuple[int, str] | None = None
    for codec in ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be"):
        try:
            text = raw.decode(codec)
        except UnicodeDecodeError:
            continue
        plain = len(_PRINTED.findall(text))
        strange = any(unicodedata.category(character) in ("Cn", "Co") for character in set(text))
        if "\0" not in text and not strange and plain > (found[0] if found else 0):
            found = plain, codec
    if found:
        return found[1], found[1][:6].upper()
    raise _unknown(name)


def _eight_bit(name: str, raw: bytes) -> tuple[str, str]:
    letters = _ONE_LETTER.findall(raw)
    rest = _ONE_LETTER.sub(lambda letter: b" " * len(letter[0]), raw)
    strays = len(_HIGH.findall(rest))
    if letters and strays < _RARELY * len(letters):
        stray = _HIGH.search(rest)
        # In GB 18030 and its kin many pairs look like UTF-8.
        if strays > len(letters) and (east := _east(raw)):
            return east
        byte = f"0x{stray[0].hex().upper()}" if stray else ""
        others = f"{len(letters):,} other letter{'s' * (len(letters) != 1)} outside ASCII"
        raise ScorerError(
            f"{name}, line {_line_of(rest, stray)}: a byte ({byte}) that is no UTF-8, as {others} of the file "
            f"{'are' if len(letters) != 1 else 'is'}. Type that letter again there, and save the file as UTF-8."
        )
    found = eight_bit(_with_high_bytes(raw)) or _east(raw)
    if found is None:
        raise _unknown(name)
    return found


def _east(raw: bytes) -> tuple[str, str] | None:
    """The encoding of a text in Chinese, Japanese or Korean that is no UTF-8, or None."""
    sample = b"\n".join(_with_high_bytes(raw))
    if len(_HIGH.findall(sample)) < _FEWEST_EAST:
        return None
    from charset_normalizer import from_bytes  # a tenth of a second that other files do not need

    best = from_bytes(sample, cp_isolation=list(_EAST), steps=1, chunk_size=max(1, len(sample)), threshold=0.05).best()
    return None if best is None or best.encoding not in _EAST else (best.encoding, _EAST[best.encoding])


def _with_high_bytes(raw: bytes) -> list[bytes]:
    """Lines that are not ASCII, from all over the file."""
    lines = [line for line in raw.splitlines() if not line.isascii()]
    step = 1 + sum(map(len, lines)) // _SAMPLE
    return lines[::step]


def _broken(name: str, title: str, line: int) -> ScorerError:
    return ScorerError(
        f"{name}, line {line}: here the file is no {title} any more, as it is before; it is in no encoding that can be "
        'told. Save it as "CSV UTF-8".'
    )


def _unknown(name: str) -> ScorerError:
    return ScorerError(f'{name} is text in no encoding that can be told. Save it as "CSV UTF-8".')
