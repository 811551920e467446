"""The tables of `heard evaluate-voice`: a column for each source."""

from collections.abc import Callable, Sequence

from heard.chat_app.comparing.tables import ReportTable
from heard.chat_app.results.display import MISSING
from heard.chat_app.voice.voice_figures import Rows, VoiceFigures, row_names
from heard.scorer.tables import Line

PARTS: tuple[tuple[str, Callable[[VoiceFigures], Rows]], ...] = (
    ("Replies as a person reads them (intervals of 95%)", lambda one: one.shown),
    ("Drafts as the model wrote them, before the gate (intervals of 95%)", lambda one: one.raw),
    ("Replies without any fault, by kind of message", lambda one: one.by_kind),
    ("The run as it was seen, and no bench", lambda one: one.course),
)
MOST_LISTED = 20
"""Most messages that are named for one kind of fault."""


def voice_tables(figures: Sequence[VoiceFigures]) -> list[ReportTable]:
    """Return the tables that have any rows."""
    tables = []
    for title, part in PARTS:
        columns = [part(one) for one in figures]
        lines = tuple(
            Line(name, {one.source: rows.get(name, MISSING) for one, rows in zip(figures, columns, strict=True)})
            for name in row_names(columns)
        )
        if lines:
            tables.append(ReportTable(title, lines))
    return tables


def faulty_lines(figures: VoiceFigures) -> list[str]:
    """Return, for each kind of fault in what is shown, the names of the messages."""
    return [
        f"{figures.source}, {kind}: {', '.join(names[:MOST_LISTED])}"
        + (f" and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else "")
        for kind, names in figures.faulty.items()
    ]
