"""What a log line may hold: where and what kind, never anybody's words.

Other people's code puts the text of an error into its log line, and that text can quote a message, a key or
SQL. So only our own loggers keep their message; from all others a line says the logger, the place in the code
and the kind of error.
"""

import logging
import sys
from types import TracebackType

OURS = "heard"
"""Root of the loggers whose messages are written with care, and so are shown."""

CHATTY = (
    "uvicorn", "uvicorn.error", "chainlit", "socketio", "socketio.server", "engineio", "engineio.server", "httpx",
    "alembic",
)  # fmt: skip
"""Foreign loggers that bring handlers of their own, or warn at every page load."""


class WordlessFormatter(logging.Formatter):
    """`12:00:00 WARNING name: text`, where the text of a foreign logger is replaced by its place in the code."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s", datefmt="%H:%M:%S")

    def format(self, record: logging.LogRecord) -> str:
        """One line, without the message of foreign code and without the text of any exception."""
        ours = record.name.partition(".")[0] == OURS
        text = record.getMessage() if ours else f"(text left out) at {record.module}:{record.lineno}"
        if record.exc_info and record.exc_info[0]:
            text += f" [{kind_and_place(record.exc_info[0], record.exc_info[2])}]"
        shown = logging.LogRecord(record.name, record.levelno, record.pathname, record.lineno, text, None, None)
        shown.created = record.created
        return super().format(shown)


def kind_and_place(kind: type[BaseException], traceback: TracebackType | None) -> str:
    """`ValueError at turn:41 < app:97`: the innermost four places, which is what finding a fault needs."""
    places: list[str] = []
    while traceback is not None:
        name = traceback.tb_frame.f_globals.get("__name__", "?")
        places.append(f"{str(name).rpartition('/')[2]}:{traceback.tb_lineno}")
        traceback = traceback.tb_next
    return f"{kind.__name__} at {' < '.join(reversed(places[-4:]))}" if places else kind.__name__


def set_up_logs(level: int = logging.WARNING) -> None:
    """Send every logger to standard error through the formatter above, from `level` on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(WordlessFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    logging.captureWarnings(True)
    for name in CHATTY:
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
        # With a level of their own, socketio and engineio add no handler that would print past the formatter above.
        logger.setLevel(max(level, logging.ERROR))
