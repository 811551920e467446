"""Make texts storable: characters that a database refuses are replaced, so that no write fails because of them."""

import math
from typing import Any

REPLACEMENT = "\ufffd"


def clean_text(text: str) -> str:
    """Return `text` with U+FFFD for every NUL and every lone surrogate; surrogate pairs become their character.

    Many readers of SQLite cut a text at a NUL, PostgreSQL refuses it, and neither takes a lone surrogate.
    """
    if text.isascii():
        return text.replace("\x00", REPLACEMENT)
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").replace("\x00", REPLACEMENT)


def clean_value(value: Any) -> Any:
    """Return `value` with every text in it cleaned (keys too), and numbers that JSON lacks (NaN, infinity) as texts."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        return {clean_text(str(key)): clean_value(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean_value(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
