"""An anonymised data set for others, made of an export: new ids, days, screened texts, and what it takes to be cited.

The export is written into a private folder first and deleted. What is published is a person's decision: every text of
a participant stands in a list beside the folder, to be read before.
"""

import csv
import io
import json
import re
import secrets
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from datetime import UTC, date, datetime
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from heard.chat_app.export.anonymous_columns import CHANGES, ORDER, Change, name_after, released
from heard.chat_app.export.cells import TYPES, escape_formulas, make_chunk
from heard.chat_app.export.citation import Author, citation_cff, licence_text
from heard.chat_app.export.codebook import HEADINGS, NOTES, codebook_csv, codebook_markdown
from heard.chat_app.export.columns import Column, ExportTable, Kind
from heard.chat_app.export.folder import MANIFEST, ExportError, atomic_folder
from heard.chat_app.export.rows import WITHHELD_KEYS
from heard.chat_app.export.screening import screen
from heard.chat_app.export.study_export import ExportOptions, ProgressCallback, export_study
from heard.chat_app.export.table_files import FileRecord, HashedFile, TableFiles
from heard.db.preregistration import preregistration, registered_file
from heard.db.research_export import Engine
from heard.db.study_records import StudyKind

FORMAT = "heard anonymised data"
ROWS = 20_000
"""Rows of one piece of a table."""
OUR_NOTES = """\
# Codebook

Each table is there twice: `name.csv` (UTF-8, commas, texts in quotes, an empty cell is no value) and `name.parquet`,
with the same rows in the same order. `ballot` leads from votes_long to votes_wide, `answer` to answers, `item` to
items, `participant` to people. These ids are random, drawn for this data set; no list of what they stand for was kept.
Times are days from the day (UTC) of the study's first vote, which is day 0. Words of participants were screened for
mails, links, numbers, addresses and names. In CSV, a text that a spreadsheet would take for a formula has a `'` before
it, and so has one that begins with `'`. Only people are in here who had allowed the use for research.
"""


@dataclass(frozen=True, slots=True)
class About:
    """What the person who publishes says of the data."""

    title: str
    authors: list[Author]
    licence: str
    """An SPDX id of `citation.LICENCES`."""


@dataclass(slots=True)
class _Text:
    """One text of the list that is to be read."""

    table: str
    row: str
    column: str
    replaced: Sequence[str]
    possible: Sequence[str]
    text: str


@dataclass(slots=True)
class _Ids:
    """Random ids in place of others, each kind with a letter of its own."""

    known: dict[tuple[str, str], str] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)

    def new(self, kind: str, old: str | None) -> str | None:
        """Return the id in place of `old`; the same one for the same."""
        if old is None:
            return None
        if (kind, old) not in self.known:
            while (drawn := f"{kind[0]}{secrets.token_hex(5)}") in self.taken:
                pass
            self.taken.add(drawn)
            self.known[kind, old] = drawn
        return self.known[kind, old]

    def ballot(self, old: str | None) -> str | None:
        """Return the key of a ballot: its person's new id, and its number."""
        if old is None:
            return None
        person, _, number = old.rpartition("-")
        return f"{self.new('participant', person)}-{number}"


async def anonymise(
    engine: Engine, study: str, out: Path, about: About, progress: ProgressCallback
) -> tuple[dict[str, Any], Path]:
    """Write the folder `out`; return its manifest and the list of texts beside it.

    Raises ExportError, for a study whose preregistration keeps its votes closed too, or StoreError.
    """
    to_read = out.with_name(f"{out.name}-to-read.csv")
    if to_read.exists():
        raise ExportError(f"{to_read} is there already. Move it away, or choose another folder with --out.")
    with atomic_folder(out, force=False) as folder:
        with TemporaryDirectory(prefix="heard-") as private:
            source = Path(private) / "export"
            # With the panel's ids, so that they are found where people wrote them into a text.
            wanted = ExportOptions(study, external_ids=True)
            exported = await export_study(engine, wanted, source, force=False, progress=progress)
            data = _DataSet(source, folder)
            with ThreadPoolExecutor(2) as pool:
                data.write_tables(pool)
        registered = await preregistration(engine, study)
        files = {"LICENSE": b"", "CITATION.cff": b""}
        today = datetime.now(UTC).date()
        files["LICENSE"] = licence_text(about.title, about.authors, about.licence, today).encode()
        files["CITATION.cff"] = _citation(about, today, data).encode()
        if registered is not None:
            files[f"preregistration-{registered.file_name}"] = await registered_file(engine, study) or b""
        for name, body in files.items():
            data.write(name, body)
        manifest = {
            "format": FORMAT, "format_version": 1, "heard": version("heard"), "made_on": today.isoformat(),
            "title": about.title, "authors": [asdict(one) for one in about.authors], "licence": about.licence,
            "study": {"id": study, "definition_sha256": exported["studies"][study]["definition_sha256"]},
            "preregistration": None if registered is None else registered.as_json(),
            "replaced": data.replaced, "rows": data.rows, "files": [asdict(one) for one in data.files],
        }  # fmt: skip
        data.write(MANIFEST, (json.dumps(manifest, ensure_ascii=False, indent=2) + "\n").encode())
    _write_list(to_read, data.texts)
    return manifest, to_read


def _citation(about: About, today: date, data: "_DataSet") -> str:
    number = data.rows.get("votes_wide", 0)
    abstract = (
        f"Blind votes on the empathy of answers: {number} votes of {data.rows.get('people', 0)} people, anonymised."
    )
    return citation_cff(about.title, about.authors, about.licence, today, abstract)


class _DataSet:
    """The data set that is being written."""

    def __init__(self, source: Path, folder: Path) -> None:
        self.source, self.folder = source, folder
        self.tables, self.entries = _tables_in(source)
        _, heading, asked = (source / "codebook.md").read_text("utf-8").partition("\n## Questions of ")
        self.questions = heading + asked
        """The codebook's sections on a study's questions, as they are."""
        self.ids = _Ids()
        self.files: list[FileRecord] = []
        self.rows: dict[str, int] = {}
        self.texts: list[_Text] = []
        (study,) = self._read("studies").to_pylist()
        self.live = study["kind"] == StudyKind.LIVE
        sources = {one for one in self._read("answers")["source"].to_pylist() if one}
        self.no_names = {word for name in sources for word in re.findall(r"\w+", name)}
        self.external = {one for one in self._read("people")["external_id"].to_pylist() if one}
        times = [time for name in ("votes_wide", "vote_changes") for time in self._read(name)["voted_at"].to_pylist()]
        self.first_day = min(times).date() if times else None

    @property
    def replaced(self) -> dict[str, int]:
        """How many places were replaced in participants' texts, by kind."""
        kinds = [kind for text in self.texts if text.table not in ("items", "answers") for kind in text.replaced]
        return {kind: kinds.count(kind) for kind in sorted(set(kinds))}

    def write_tables(self, pool: ThreadPoolExecutor) -> None:
        """Write the tables, people first, and the codebook."""
        for table in self.tables:
            self._table(table, pool)
        shown = [released(table) for table in self.tables]
        extra = io.StringIO()
        csv.writer(extra, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(self.entries)
        self.write("codebook.csv", (codebook_csv(shown) + extra.getvalue()).encode())
        self.write("codebook.md", (OUR_NOTES + codebook_markdown(shown).removeprefix(NOTES) + self.questions).encode())

    def write(self, name: str, body: bytes) -> None:
        """Write one file and note its hash."""
        file = HashedFile(self.folder / name)
        try:
            file.write(body)
        finally:
            file.close()
        self.files.append(file.record)

    def _read(self, name: str) -> pa.Table:
        return pa.parquet.read_table(self.source / f"{name}.parquet")

    def _table(self, table: ExportTable, pool: ThreadPoolExecutor) -> None:
        rows, after = self._read(table.name), released(table)
        named = {name_after(name, change): (name, change) for name, change in CHANGES[table.name].items()}
        columns = {}
        for column in after.columns:
            name, change = named[column.name]
            columns[column.name] = pa.array(self._changed(name, change, rows[name].to_pylist()), TYPES[column.kind])
        made = pa.table(columns).sort_by([(name, "ascending") for name in ORDER[table.name]])
        for column in after.columns:
            if named[column.name][1] in (Change.WORDS, Change.STIMULUS):
                made = self._screened(table.name, made, column.name, named[column.name][1])
        files = TableFiles(self.folder, table.name, after.columns, pool)
        try:
            for batch in made.to_batches(max_chunksize=ROWS):
                files.write(make_chunk(dict(zip(batch.schema.names, batch.columns, strict=True))))
            self.files += files.close()
        except BaseException:
            files.abandon()
            raise
        self.rows[table.name] = made.num_rows

    def _changed(self, name: str, change: Change, values: list[Any]) -> Iterable[Any]:
        if change is Change.ID:
            kind = name.partition("_")[0]
            return [self.ids.new(kind, one) for one in values]
        if change is Change.BALLOT:
            return [self.ids.ballot(one) for one in values]
        if change is Change.DAY:
            first = self.first_day
            return [None if one is None or first is None else (one.date() - first).days for one in values]
        if change is Change.DEFINITION:
            kept = [{key: value for key, value in json.loads(one).items() if _goes_out(key)} for one in values]
            return [json.dumps(one, ensure_ascii=False) for one in kept]
        return [None] * len(values) if change is Change.STIMULUS and self.live else values

    def _screened(self, table: str, made: pa.Table, name: str, change: Change) -> pa.Table:
        """Screen a column: participants' words are changed and listed; a stimulus stays, and is listed with a find."""
        texts = made[name].to_pylist()
        keys = list(self._keys(table, made))
        for place, text in enumerate(texts):
            if not text or name == "prompt_sha256":
                continue
            found = screen(text, self.no_names, self.external if change is Change.WORDS else ())
            if change is Change.WORDS:
                texts[place] = found.text
                if found.replaced or found.possible or " " in text.strip():
                    self.texts.append(_Text(table, keys[place], name, found.replaced, found.possible, found.text))
            elif found.replaced:
                self.texts.append(_Text(table, keys[place], name, found.replaced, found.possible, text))
        return made.set_column(made.schema.get_field_index(name), name, pa.array(texts, pa.string()))

    @staticmethod
    def _keys(table: str, made: pa.Table) -> Iterator[str]:
        name = {"items": "item", "answers": "answer", "votes_wide": "ballot", "vote_changes": "ballot"}.get(table)
        yield from made[name or "participant"].to_pylist() if table != "studies" else made["study"].to_pylist()


def _goes_out(key: str) -> bool:
    """Return whether a key of a study's definition may be published: not who was let in, nor how the panel pays."""
    return key not in WITHHELD_KEYS and "code" not in key and not key.endswith("_url")


def _tables_in(source: Path) -> tuple[list[ExportTable], list[list[str]]]:
    """Return the tables of an export that go out, by its own codebook, people first; and the codebook's other lines."""
    with (source / "codebook.csv").open(encoding="utf-8", newline="") as file:
        lines = [[row[name] for name in HEADINGS] for row in csv.DictReader(file)]
    of_rows = dict(re.findall(r"^## (\w+)\n\nOne row is (.*)\.$", (source / "codebook.md").read_text("utf-8"), re.M))
    columns: dict[str, list[Column]] = {}
    entries = []
    for table, name, kind, *rest in lines:
        if not (source / f"{table}.parquet").exists():
            entries.append([table, name, kind, *rest])
        elif table in CHANGES:
            columns.setdefault(table, []).append(Column(name, Kind(kind), *rest))
    found = [ExportTable(name, of_rows[name], tuple(of)) for name, of in columns.items()]
    return sorted(found, key=lambda table: table.name != "people"), entries


def _write_list(path: Path, texts: list[_Text]) -> None:
    """Write the texts that are to be read, those with finds first."""
    ordered = sorted(texts, key=lambda one: (not one.replaced, not one.possible))
    shown = {"text": pa.array([one.text for one in ordered], pa.string())}
    safe = escape_formulas(shown).get("text", shown["text"]).to_pylist()
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("table", "row", "column", "found", "perhaps_names", "text"))
    for one, text in zip(ordered, safe, strict=True):
        writer.writerow((one.table, one.row, one.column, " ".join(one.replaced), " ".join(one.possible), text))
    try:
        file = HashedFile(path)
        try:
            file.write(out.getvalue().encode())
        finally:
            file.close()
    except OSError as error:
        raise ExportError(f"Cannot write {path} ({error.strerror}). The data are written; read their texts.") from None
