"""The region that a browser's language names: a guess at a person's country, offered as one and never taken for it."""

import re
from collections.abc import Iterable, Mapping

_TAG = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z]{4})?-([A-Za-z]{2})(?:-|;|$)")
MOST_TAGS = 20


def region_from_headers(headers: Mapping[str, str], known: Iterable[str]) -> str | None:
    """Return the first region of `Accept-Language` that is one of the `known` ISO codes, or None. Never raises."""
    codes = set(known)
    for tag in headers.get("accept-language", "").split(",")[:MOST_TAGS]:
        found = _TAG.match(tag.strip())
        if found and (code := found[1].upper()) in codes:
            return code
    return None
