"""Write one table as CSV and Parquet, as its rows come, with the sha256 and the size of each file."""

import hashlib
import io
import os
from collections.abc import Iterable
from concurrent.futures import Executor, wait
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from heard.chat_app.export.cells import Chunk, csv_schema, csv_times, kept_texts, schema
from heard.chat_app.export.columns import Column

BOM = b"\xef\xbb\xbf"
"""Tells a spreadsheet that a CSV file is UTF-8."""
GROUP_ROWS, GROUP_BYTES = 50_000, 12 << 20
"""Size of a row group in Parquet: metadata of each is kept until the file ends, so there should be few."""


@dataclass(frozen=True, slots=True)
class FileRecord:
    """One written file."""

    name: str
    bytes: int
    sha256: str


class HashedFile(io.RawIOBase):
    """A new file that only its owner can read, hashed while it is written sequentially."""

    def __init__(self, path: Path) -> None:
        self._name = path.name
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        self._file: BinaryIO | None = os.fdopen(handle, "wb", buffering=1 << 18)
        self._hash = hashlib.sha256()
        self._bytes = 0

    def writable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the number of bytes so far."""
        return self._bytes

    def write(self, data: Any) -> int:
        """Append data and return its length."""
        if self._file is not None:
            self._hash.update(data)
            self._file.write(data)
        self._bytes += len(data)
        return len(data)

    def close(self) -> None:
        """Flush and close the file. Later writes are discarded."""
        if self._file is not None:
            file, self._file = self._file, None
            file.close()

    @property
    def record(self) -> FileRecord:
        """The record of the written file."""
        return FileRecord(self._name, self._bytes, self._hash.hexdigest())


class TableFiles:
    """`name`.csv and `name`.parquet in a folder, written concurrently by the threads of `pool`."""

    def __init__(self, folder: Path, name: str, columns: Iterable[Column], pool: Executor, excel: bool = False) -> None:
        self.rows, self._excel = 0, excel
        columns = tuple(columns)
        self._schema = schema(columns)
        self._csv_schema = csv_schema(columns)
        self._pool = pool
        self._files = [HashedFile(folder / f"{name}.csv"), HashedFile(folder / f"{name}.parquet")]
        if excel:
            self._files[0].write(BOM)
        self._csv = pa.csv.CSVWriter(self._files[0], self._csv_schema)
        self._parquet = pa.parquet.ParquetWriter(self._files[1], self._schema, compression="zstd")
        self._pending: list[Any] = []
        self._group: list[pa.RecordBatch] = []

    def write(self, rows: Chunk) -> None:
        """Append rows; returns as soon as the previous rows are written. Raises OSError."""
        self.flush()
        self.rows += rows.rows
        self._group.append(pa.RecordBatch.from_pydict(rows.columns, self._schema))
        texts = rows.columns | rows.safe
        texts |= (kept_texts(texts) if self._excel else {}) | csv_times(rows.columns)
        safe = pa.RecordBatch.from_pydict(texts, self._csv_schema)
        self._pending = [self._pool.submit(self._csv.write_batch, safe)]
        rows_in_group, bytes_in_group = (
            sum(batch.num_rows for batch in self._group),
            sum(b.nbytes for b in self._group),
        )
        if rows_in_group >= GROUP_ROWS or bytes_in_group >= GROUP_BYTES:
            self._write_group()

    def _write_group(self) -> None:
        group, self._group = pa.Table.from_batches(self._group, self._schema), []
        self._pending.append(self._pool.submit(self._parquet.write_table, group))

    def flush(self) -> None:
        """Wait until all rows are written. Raises OSError."""
        pending, self._pending = self._pending, []
        wait(pending)
        for done in pending:
            done.result()

    def close(self) -> list[FileRecord]:
        """Finish both files and return their records. Raises OSError."""
        self.flush()
        if self._group:
            self._write_group()
            self.flush()
        for part in (self._csv, self._parquet, *self._files):
            part.close()
        return [file.record for file in self._files]

    def abandon(self) -> None:
        """Close both files whatever their state, before they are deleted."""
        wait(self._pending)
        for file in self._files:
            with suppress(OSError):
                file.close()
        for part in (self._csv, self._parquet):
            with suppress(OSError, pa.ArrowException):
                part.close()
