"""Answers as HTML, each source in the same way: a small part of Markdown, and nothing that loads, links or runs."""

from typing import Any

from markdown_it import MarkdownIt
from markupsafe import Markup

_RULES = ["newline", "escape", "emphasis", "list", "heading", "blockquote"]
_MARKDOWN = MarkdownIt("zero", {"html": False, "breaks": True, "maxNesting": 20}).enable(_RULES)


_DOCUMENT = MarkdownIt("commonmark", {"html": False, "maxNesting": 20}).disable("image")
"""For what a researcher has written: links and headings are theirs to set; what loads or runs is still left out."""


def _heading(*_: Any) -> str:
    # The page has an outline of its own, and a large line would make one answer look more important than another.
    return "<p><strong>"


def _heading_end(*_: Any) -> str:
    return "</strong></p>\n"


_MARKDOWN.add_render_rule("heading_open", _heading)
_MARKDOWN.add_render_rule("heading_close", _heading_end)


def _lower_heading(renderer: Any, tokens: Any, at: int, options: Any, env: Any) -> str:
    tokens[at].tag = f"h{min(6, int(tokens[at].tag[1]) + 2)}"  # below the page's own headings
    return str(renderer.renderToken(tokens, at, options, env))


_DOCUMENT.add_render_rule("heading_open", _lower_heading)
_DOCUMENT.add_render_rule("heading_close", _lower_heading)


def as_document(text: str) -> Markup:
    """A study's own text: what `as_html` shows, and headings and links. HTML and pictures stay text. Never raises."""
    return Markup(_DOCUMENT.render(text))


def as_html(text: str) -> Markup:
    """Paragraphs, line breaks, lists, bold, italics, quotations; headings become bold lines. All else stays text.

    Never raises; HTML in the text is shown as it was typed, and addresses and pictures are not followed.
    """
    return Markup(_MARKDOWN.render(text))
