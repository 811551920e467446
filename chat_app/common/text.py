"""Clean texts from outside, so that they can be stored, sent and shown."""

import unicodedata

_UNSEEN = {"Cc", "Cf", "Cs", "Zs", "Zl", "Zp", "Mn"}


def clean_unicode(text: str) -> str:
    """Return `text` without characters that databases and protocols refuse.

    Surrogate pairs are joined, lone surrogates become U+FFFD, and NULs are removed.
    """
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return whole.replace("\x00", "")


def has_visible(text: str) -> bool:
    """Return whether `text` has a visible character: one that is not white space, zero-width or a control character."""
    return any(unicodedata.category(character) not in _UNSEEN for character in text)
