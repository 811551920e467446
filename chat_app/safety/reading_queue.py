"""Where the texts of visitors are read for danger: never in the event loop, and never in the pool of other work."""

from heard.chat_app.common.fair_queue import FairQueue

THREADS = 2
"""A long text of one visitor leaves a thread to the others."""


def reading_queue() -> FairQueue:
    """Return the queue of one server."""
    return FairQueue(THREADS, "reading")
