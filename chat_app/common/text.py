"""Text from outside, made safe to store, send and show. One place, used at the door of a turn and at its end."""

import unicodedata

_UNSEEN = {"Cc", "Cf", "Cs", "Zs", "Zl", "Zp", "Mn"}


def readable(text: str) -> str:
    """`text` without what no database or protocol can carry.

    Halves of surrogate pairs are joined or else become U+FFFD; NULs go.
    """
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return whole.replace("\x00", "")


def has_visible(text: str) -> bool:
    """Whether a person would see anything: False for white space, zero-width and control characters alone."""
    return any(unicodedata.category(character) not in _UNSEEN for character in text)
