"""Flags as a table for research: CSV that is safe to open in a spreadsheet, or JSON lines."""

import csv
import io
import json
from collections.abc import Iterable
from typing import Any

from heard.chat_app.common.csv_cell import csv_cell
from heard.chat_app.export.columns import SCALES
from heard.db.records import FlagRecord

COLUMNS = (
    "participant", "flagged_at", "status", *SCALES, "reply", "seeker", "note", "head_name", "head_sha256",
    "encoder_sha256",
)  # fmt: skip


def as_csv(flags: Iterable[FlagRecord]) -> str:
    """Return flags as CSV with a header. A missing score is an empty cell; scores are on 1..3."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL)  # a lone "\r" would else end a row
    writer.writerow(COLUMNS)
    for flag in flags:
        row = _row(flag)
        writer.writerow([csv_cell(row[name]) for name in COLUMNS])
    return out.getvalue()


def as_json_lines(flags: Iterable[FlagRecord]) -> str:
    """Return flags as one JSON object a line, with the columns of the CSV and the texts unescaped."""
    return "".join(json.dumps(_row(flag)) + "\n" for flag in flags)


def _row(flag: FlagRecord) -> dict[str, Any]:
    score = flag.score
    values = (
        flag.participant_id, flag.created_at.isoformat(), score.status, *(getattr(score, name) for name in SCALES),
        flag.reply, flag.seeker, flag.note, score.head_name, score.head_sha256, score.encoder_sha256,
    )  # fmt: skip
    return dict(zip(COLUMNS, values, strict=True))
