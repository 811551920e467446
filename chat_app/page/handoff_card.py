"""The hand-off in the chat: the element under its entry, whose text says the same until the element has loaded."""

from typing import Any

from heard.chat_app.safety.handoff import Handoff
from heard.chat_app.safety.handoff_pages import as_html

ELEMENT = "HandOff"
"""File name below `public/elements/`, without its ending."""


def handoff_props(shown: Handoff) -> dict[str, Any]:
    """Return the properties of the element: the HTML, and what its picker asks for another country's with."""
    return {"html": as_html(shown), "language": shown.language, "danger": shown.danger}
