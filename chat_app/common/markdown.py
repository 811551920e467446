"""Texts of models and people as Markdown that is safe to render on the page."""

import re

from heard.chat_app.common.text import clean_unicode

_JOINER = "\u2060"
"""Word joiner: invisible, and breaks a piece of syntax apart."""
_IMAGE = re.compile(r"!(?=\[)")
_DIRECTIVE = re.compile(r":(?=[A-Za-z/])")
"""A directive, and the sign in an address of which a page would make a link by itself."""
_LINK = re.compile(r"\](?=[(\[:])")
"""A label and its address, a reference to one, or the line that defines one."""
_ANGLE = re.compile(r"<(?=[himx])", re.IGNORECASE)
"""Of an address in angle brackets: pages follow http, https, irc, mailto and xmpp, and no others."""
_WWW = re.compile(r"(?<=www)\.", re.IGNORECASE)


def safe_markdown(text: str) -> str:
    """Return Markdown that loads no resources and loses no text when the page renders it.

    An image in a reply would make the browser request it from another server (a tracking pixel), and a link's label
    could hide where it leads; so both are broken apart, and label and address stay there as text. `:word` would be
    swallowed as a Markdown directive, and a zero-width space is the page's own sign for a blinking cursor. The result
    for a prefix of a text is a prefix of its result, so that a stream can be shown as it grows.
    """
    text = text.replace("\u200b", "").replace("\x00", "")
    text = _LINK.sub("]" + _JOINER, _IMAGE.sub("!" + _JOINER, text))
    return _WWW.sub(_JOINER + ".", _ANGLE.sub("<" + _JOINER, _DIRECTIVE.sub(":" + _JOINER, text)))


def safe_final_markdown(text: str) -> str:
    """Return `safe_markdown` of a complete text, with lone surrogates replaced."""
    return safe_markdown(clean_unicode(text))
