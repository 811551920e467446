"""The codebook of an export: every column of every table, for people (Markdown) and for programs (CSV)."""

import csv
import io
from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import itemgetter

from heard.chat_app.common.csv_cell import csv_cell
from heard.chat_app.export.columns import ExportTable
from heard.chat_app.export.question_tables import Entry

HEADINGS = ("table", "column", "type", "meaning", "values", "origin")

NOTES = """\
# Codebook

Each table is there twice: `name.csv` (UTF-8, commas, texts in quotes, an empty cell is no value) and `name.parquet`.
Both hold the same rows in the same order. Times are UTC.

In CSV, a text that a spreadsheet would take for a formula has a `'` before it, and so has a text that begins with `'`:
take one leading `'` away and every text is as it was written. In Parquet texts are as they were written.

With `--excel` the CSV files begin with a byte-order mark, and a short text that a spreadsheet would take for a number,
a date or a truth value stands as `="007"`: what is between the quotes is as it was written.

What stands in one table is not repeated in another: `ballot` leads from votes_long to votes_wide, `answer` to answers,
`item` to items, `participant` to people. Only people are in here whose newest answer to the notice allows the chat and
research; the manifest counts the others. Before publishing free texts, read them:
people may have named themselves or others.
"""


def codebook_csv(tables: Iterable[ExportTable], questions: Sequence[Entry] = ()) -> str:
    """Return the codebook as CSV, one row for each column, then one for each question and score of the studies."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow(HEADINGS)
    for table in tables:
        for column in table.columns:
            row = (table.name, column.name, column.kind.value, column.meaning, column.values, column.origin)
            writer.writerow(row)
    writer.writerows([csv_cell(cell) for cell in entry] for entry in questions)
    return out.getvalue()


def codebook_markdown(tables: Iterable[ExportTable], questions: Sequence[Entry] = ()) -> str:
    """Return the codebook as Markdown, a section for each table with a line for each column, and then one for the
    questions and one for the scores of each study."""
    parts = [NOTES]
    for table in tables:
        lines = [f"\n## {table.name}\n", f"One row is {table.row}.\n"]
        lines += ["| column | type | meaning | values | origin |", "|---|---|---|---|---|"]
        for column in table.columns:
            cells = (f"`{column.name}`", column.kind.value, column.meaning, column.values, column.origin)
            lines.append(_row(cells))
        parts.append("\n".join(lines) + "\n")
    for heading, entries in groupby(sorted(questions, key=itemgetter(0)), itemgetter(0)):
        lines = [f"\n## {heading[0].upper()}{heading[1:]}\n", "| name | kind | wording or rule | values | where |"]
        lines += ["|---|---|---|---|---|", *(_row((f"`{entry[1]}`", *entry[2:])) for entry in entries)]
        parts.append("\n".join(lines) + "\n")
    return "".join(parts)


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"
