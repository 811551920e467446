"""Take HTML and Markdown off a text: what stays is what a person would read on the page."""

import functools
import html
import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_LESS_THAN = re.compile(r"<(?!!--|(?:/|[!?])?[A-Za-z][^<>]*>)")
"""One that begins neither a tag that ends nor a comment: "<3", "a<b"."""
_HIDDEN = ("head", "script", "style", "template")
_BLOCKS = frozenset(
    """
    address article aside blockquote body br dd details div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5
    h6 header hr li main nav ol option p pre section summary table td th tr ul
    """.split()  # noqa: SIM905 (a list of strings is no easier to read)
)
"""Elements that stand on lines of their own: without a break, the words of two cells would run together."""
_MARKDOWN_SIGNS = re.compile(r"[*_`#>\[\]~|]|^\s*(?:[-+]|\d+[.)])\s", re.MULTILINE)
_LINK = re.compile(r"(?:https?://|www\.)\S+", re.IGNORECASE)


@functools.cache
def _markdown() -> "MarkdownIt":
    from markdown_it import MarkdownIt  # here: plain text never needs it

    # "code" is the rule by which four leading spaces make a code block: in a chat they are only spaces.
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 20})
    return parser.enable(["table", "strikethrough"]).disable(["code", "reference"])


def plain(text: str) -> str:
    """The visible words of `text`: tags, hidden elements, code blocks, links' addresses and Markdown signs are gone.

    Blocks and list items stay apart by line breaks. Never raises; takes time in proportion to the length.
    """
    for _ in range(2):  # twice: data from the web is often escaped twice
        if "&" in text:
            text = html.unescape(text)
        if "<" in text:
            text = _without_tags(text)
    if _MARKDOWN_SIGNS.search(text):
        text = _without_markdown(text)
    return _LINK.sub(" ", text)


class _Page(HTMLParser):
    """Collects in `shown` what a page shows, block elements on lines of their own."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: list[str] = []
        self._hidden = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag in _HIDDEN:
            self._hidden = self._hidden or tag
        self.shown.append("\n" if tag in _BLOCKS else "")

    def handle_endtag(self, tag: str) -> None:
        if tag == self._hidden:
            self._hidden = ""
        self.shown.append("\n" if tag in _BLOCKS else "")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.shown.append(data)


def _without_tags(text: str) -> str:
    page = _Page()
    page.feed(_LESS_THAN.sub("&lt;", text) + "-->")  # closes a comment that is not closed, as a browser does
    page.close()
    return "".join(page.shown).removesuffix("-->")


def _without_markdown(text: str) -> str:
    kept: list[str] = []
    for token in _markdown().parse(text):
        if token.type != "inline":
            continue
        for child in token.children or ():
            if child.type == "text":
                kept.append(child.content)
            elif child.type in ("softbreak", "hardbreak"):
                kept.append("\n")
            elif child.type == "code_inline":
                kept.append(child.content)
            elif child.type == "image":
                kept.append(" ")
        kept.append("\n")
    return "".join(kept).strip("\n")
