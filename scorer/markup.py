"""Take HTML and Markdown off a text: what stays is what a person would read on the page."""

import html
import re

from markdown_it import MarkdownIt

_TAG = re.compile(r"(<!--|-->|</?[A-Za-z][^<>]*>|<[!?][A-Za-z][^<>]*>)")  # no nested repetition: linear on any input
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

# "code" is the rule by which four leading spaces make a code block: in a chat they are only spaces.
_MARKDOWN = MarkdownIt("commonmark", {"html": False, "maxNesting": 20})
_MARKDOWN.enable(["table", "strikethrough"]).disable(["code", "reference"])


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


def _without_tags(text: str) -> str:
    kept: list[str] = []
    hidden = ""
    for piece in _TAG.split(text):
        if piece == "<!--":
            hidden = hidden or "-->"
        elif piece == "-->":
            hidden = "" if hidden == piece else hidden
            kept.append(" ")
        elif _TAG.fullmatch(piece):
            name = piece.strip("</> ").split()[0].rstrip("/").lower()
            if not hidden and name in _HIDDEN and not piece.startswith("</"):
                hidden = name
            elif hidden == name and piece.startswith("</"):
                hidden = ""
            kept.append("\n" if name in _BLOCKS else "")
        elif not hidden:
            kept.append(piece)
    return "".join(kept)


def _without_markdown(text: str) -> str:
    kept: list[str] = []
    for token in _MARKDOWN.parse(text):
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
