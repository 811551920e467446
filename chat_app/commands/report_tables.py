"""Print the tables of a report so that they fit the terminal: one that is too wide comes in parts."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heard.chat_app.comparing.tables import ReportTable

WIDEST_NAME = 26
"""Columns of a name; a longer one is folded where it would take room from the figures."""
GAP = 3
"""Columns between two cells."""


def show_table(report_table: "ReportTable") -> None:
    """Print a table of a report; no line is wider than the terminal, and no cell is cut."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console(highlight=False)
    lines = report_table.lines
    widths = [max(len(name), *(len(line.cells[name]) for line in lines)) for name in lines[0].cells]
    names = min(max(len(line.name) for line in lines), WIDEST_NAME)
    console.print(report_table.title, style="bold", markup=False)
    for part in parts(list(zip(lines[0].cells, widths, strict=True)), console.width - names - 1):
        table = Table(box=SIMPLE_HEAD, padding=(0, 1), pad_edge=False)
        table.add_column("", min_width=min(names, console.width // 3), overflow="fold")
        for column in part:
            table.add_column(column, justify="right", overflow="fold")
        for line in lines:
            table.add_row(escape(line.name), *(escape(line.cells[column]) for column in part))
        console.print(table)


def parts(columns: "Sequence[tuple[str, int]]", width: int) -> list[list[str]]:
    """Return columns of these names and widths in groups that fit `width`; one that is wider stands alone."""
    found: list[list[str]] = []
    left = 0
    for name, wide in columns:
        if not found or wide + GAP > left:
            found.append([])
            left = width
        found[-1].append(name)
        left -= wide + GAP
    return found
