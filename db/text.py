"""The one place where a text is made storable: what no database takes is replaced, so that no write fails for it."""

import math
from typing import Any

REPLACEMENT = "\ufffd"


def clean_text(text: str) -> str:
    """`text` with U+FFFD for every NUL and every lone surrogate; halves that belong together become their character.

    SQLite would cut a text at a NUL for many readers, PostgreSQL refuses it, and neither takes a lone surrogate.
    """
    if text.isascii():
        return text.replace("\x00", REPLACEMENT)
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").replace("\x00", REPLACEMENT)


def clean(value: Any) -> Any:
    """`value` with every text in it cleaned (keys too), and numbers that JSON lacks (NaN, infinity) as texts."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        return {clean_text(str(key)): clean(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
