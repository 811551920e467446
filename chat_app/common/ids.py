"""Ids that a browser sends."""

import uuid


def is_uuid(text: object) -> bool:
    """Return whether a value is a UUID as a string in canonical form: 36 characters, lower case."""
    try:
        return isinstance(text, str) and str(uuid.UUID(text)) == text
    except ValueError:
        return False
