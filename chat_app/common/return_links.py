"""Links that lead people back to the panel that sent them, with a code that the panel checks."""

import re
from urllib.parse import quote

CODE = "{code}"
"""Where a link's code goes."""
_PARAMETER = re.compile(r"([?&]cc=)([^&#]*)", re.IGNORECASE)
"""The parameter in which Prolific expects the code."""


def with_code(url: str, code: str) -> str:
    """Return a link with its code: in the place of {code}, or as the value of an empty parameter cc; a link with
    neither is as it was written."""
    if not code:
        return url
    quoted = quote(code, safe="")
    if CODE in url:
        return url.replace(CODE, quoted)
    return _PARAMETER.sub(lambda found: found[1] + (found[2] or quoted), url)


def without_code(url: str, code: str) -> str:
    """Return a link with {code} in the place of its code: that of the parameter cc, and the text of `code` itself."""
    url = _PARAMETER.sub(lambda found: found[1] + CODE, url)
    for written in dict.fromkeys((code, quote(code, safe=""))):
        if written:
            url = url.replace(written, CODE)
    return url
