"""What a misspelt name was meant to be."""

import difflib
from collections.abc import Iterable


def closest(name: str, names: Iterable[str]) -> str | None:
    """The right name that looks most like `name`, if one does at all (difflib's ratio of at least 0.6)."""
    return next(iter(difflib.get_close_matches(name, sorted(names), n=1)), None)


def nearest_name(name: str, names: Iterable[str]) -> str:
    """The hint after a wrong name, as a sentence: the nearest right one, or all of them in their order."""
    known = list(names)
    match = closest(name, known)
    return f"Did you mean {match}?" if match else f"There are: {', '.join(known)}."
