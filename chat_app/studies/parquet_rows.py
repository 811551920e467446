"""A table in Parquet."""

import io

from heard.chat_app.studies.json_rows import cell_of
from heard.scorer.csv_rows import Row, Sheet
from heard.scorer.errors import ScorerError


def read_parquet(name: str, raw: bytes) -> Sheet:
    """The rows of a Parquet file, numbered from 1; a column of a kind that has no text, such as pictures, is noted.

    Raises ScorerError for a file that is damaged or no Parquet.
    """
    # Here: 0.2 s that a CSV does not need.
    import pyarrow as pa
    import pyarrow.parquet as parquet

    columns: dict[str, list[str]] = {}
    unread = []
    try:
        table = parquet.read_table(io.BytesIO(raw))
        for field, values in zip(table.schema, table.columns, strict=True):
            column = field.name.strip().lower()
            try:
                texts = [cell_of(value) for value in values.to_pylist()]
            except (ValueError, TypeError, OverflowError, ImportError):  # bytes that are no text, times of a nanosecond
                unread.append(column)
                continue
            if column in columns:
                raise ScorerError(f"{name}: the column {column} is there twice. Remove one.")
            if column:
                columns[column] = texts
    except (pa.ArrowException, OSError, ValueError, TypeError) as error:
        raise ScorerError(f"{name} is no Parquet file that can be read, or is damaged. Save it again.") from error
    notes = (f"Not read: {len(unread)} columns without text.",) if unread else ()
    rows = [
        Row(number, dict(zip(columns, cells, strict=True)))
        for number, cells in enumerate(zip(*columns.values(), strict=True), 1)
        if any(cell.strip() for cell in cells)
    ]
    return Sheet(name, "Parquet", rows, [], tuple(columns), 1, notes, "row")
