"""How much of a text of somebody else is ever looked at.

A text that is longer than a message may be is refused, so nothing has to be known of it but whether its writer is in
danger. For that its beginning and its end are read, where people say what they came to say; the rest is never touched.
"""

ENDS = 4_000
"""Characters of the beginning, and of the end, that are read of a text that is too long."""


def bounded_text(text: str, limit: int) -> str:
    """Return what is read of `text`: all of it up to `limit` characters, else its beginning and its end.

    The cost does not grow with the text.
    """
    if len(text) <= limit:
        return text
    most = min(ENDS, limit // 2)
    return f"{text[:most]}\n\n{text[-most:]}"
