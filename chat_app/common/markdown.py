"""Texts of models and people as Markdown that the page can render without harm."""

import re

from heard.chat_app.common.text import readable

_JOINER = "\u2060"
"""Word joiner: nothing to see, and enough to break a piece of syntax apart."""
_IMAGE = re.compile(r"!(?=\[)")
_DIRECTIVE = re.compile(r":(?=[A-Za-z])")


def harmless(text: str) -> str:
    """Markdown that loads nothing and loses nothing when the page renders it.

    An image in a reply would make the browser ask a foreign server for it (a tracking pixel), so `![` is broken apart
    and leaves a link that does nothing until it is clicked. `:word` would be swallowed as a Markdown directive, and a
    zero-width space is the page's own sign for a blinking cursor. A longer text only ever extends the shorter one's
    result, so that a stream can be shown as it grows.
    """
    text = text.replace("\u200b", "").replace("\x00", "")
    return _DIRECTIVE.sub(":" + _JOINER, _IMAGE.sub("!" + _JOINER, text))


def shown_text(text: str) -> str:
    """A finished text: `harmless`, and with surrogate halves replaced."""
    return harmless(readable(text))
