"""Answers as HTML, each source in the same way: a small part of Markdown, and nothing that loads, links or runs."""

from typing import Any

from markdown_it import MarkdownIt
from markupsafe import Markup

_RULES = ["newline", "escape", "emphasis", "list", "heading", "blockquote"]
_MARKDOWN = MarkdownIt("zero", {"html": False, "breaks": True, "maxNesting": 20}).enable(_RULES)


def _heading(*_: Any) -> str:
    # The page has an outline of its own, and a large line would make one answer look more important than another.
    return "<p><strong>"


def _heading_end(*_: Any) -> str:
    return "</strong></p>\n"


_MARKDOWN.add_render_rule("heading_open", _heading)
_MARKDOWN.add_render_rule("heading_close", _heading_end)


def as_html(text: str) -> Markup:
    """Paragraphs, line breaks, lists, bold, italics, quotations; headings become bold lines. All else stays text.

    Never raises; HTML in the text is shown as it was typed, and addresses and pictures are not followed.
    """
    return Markup(_MARKDOWN.render(text))
