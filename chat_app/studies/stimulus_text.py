"""Take off what a text has caught on its way from the web, so that nothing but its words tells who wrote it.

Tags and entities of HTML, and letters that were once read by the wrong table ("Iâ€™m"): answers of people from public
sets are full of them, and those of models are not.
"""

import html
import re
from collections import Counter
from html.entities import html5

from heard.chat_app.common.text import clean_unicode, has_visible

_PARAGRAPHS = (
    "article aside blockquote body div dl figure footer form h1 h2 h3 h4 h5 h6 header hr main nav ol p pre section "
    "table ul"
)
_WORDS = (
    "a abbr b big button center cite code del em font html i iframe img input ins kbd label link mark meta q s samp "
    "small span strike strong sub sup tbody td tfoot th thead tt u"
)
_TAG = re.compile(
    rf"<(?P<end>/?)(?P<name>{'|'.join((_PARAGRAPHS + ' br dd dt li tr ' + _WORDS).split())}|[ovw]:[a-z]+)"
    r"(?:\s+[a-z][a-z:-]*\s*=\s*(?:\"[^\"<>]*\"|'[^'<>]*'|[^\s\"'<>]+))*\s*/?>"
    r"|<!--[^<>]*-->|<(?P<hidden>script|style)\b[^<>]*>[^<]*</(?P=hidden)\s*>",
    re.IGNORECASE,
)
"""A tag of HTML, so that "<3", "a <b and c> d" and "<my name>" stay."""
_BROKEN_LINES = re.compile(rf"<(?:{'|'.join((_PARAGRAPHS + ' br li').split())})\b", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_LOST = "\ufffd"


class Repairs:
    """Mends texts one by one, and counts what it mended."""

    def __init__(self) -> None:
        self._found: Counter[str] = Counter()
        self._first: dict[str, int] = {}

    def mended(self, text: str, line: int) -> str:
        """Return a cell of the file, that begins in `line`, without what is not its words; "" if nothing is to be seen.

        Never raises.
        """
        text, found = clean_unicode(text), set[str]()
        for _ in range(2):  # data from the web is often escaped twice
            if _TAG.search(text):
                text = _words_of(text)
                found.add("html")
            plain = _ENTITY.sub(_letter, text)
            if plain != text:
                text = clean_unicode(plain)
                found.add("entities")
        if not text.isascii():
            import ftfy  # here: 50 ms that few files need

            whole = ftfy.fix_encoding(text)
            if whole != text:
                text = whole
                found.add("letters")
            if _LOST in text:
                found.add("lost")
        for kind in found:
            self._found[kind] += 1
            self._first.setdefault(kind, line)
        text = text.strip()
        return text if has_visible(text) else ""

    def sentences(self, unit: str = "line") -> list[str]:
        """Return a sentence for each thing that was mended or could not be; `unit` is what the file has lines of."""
        told = (
            ("html", "Mended: tags of HTML were taken off {}."),
            ("entities", "Mended: signs such as &amp; were written out in {}."),
            ("letters", "Mended: letters that were once read in a wrong encoding were put right in {}."),
            ("lost", "Look at {} with \ufffd in place of a letter that was lost before."),
        )
        return [
            sentence.format(
                f"{self._found[kind]:,} text{'s' * (self._found[kind] != 1)} (the first in {unit} {self._first[kind]})"
            )
            for kind, sentence in told
            if kind in self._found
        ]


def _words_of(text: str) -> str:
    """What a page shows, its paragraphs and lists as they are written in Markdown."""
    laid_out = _BROKEN_LINES.search(text) is not None
    if laid_out:  # a line break is only a space then
        text = " ".join(text.split())
    text = _TAG.sub(_break, text)
    lines = [line.strip() if laid_out else line for line in text.split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _break(tag: re.Match[str]) -> str:
    name = (tag["name"] or "").lower()
    if name in _PARAGRAPHS.split():
        return "\n\n"
    if name in ("br", "dd", "dt", "tr") and not tag["end"]:
        return "\n"
    if name == "li" and not tag["end"]:
        return "\n- "
    return " " if name in ("td", "th") and not tag["end"] else ""


def _letter(found: re.Match[str]) -> str:
    entity = found[0]
    known = entity[1] == "#" or entity[1:] in html5
    return html.unescape(entity).replace("\xa0", " ") if known else entity
