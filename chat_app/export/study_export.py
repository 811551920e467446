"""Write an export: all tables of one study or of all, from one snapshot, with a codebook and a manifest.

Memory is constant whatever the size: rows come in batches, and the next one is read while the last is written.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from heard.chat_app.export.cells import filter_rows
from heard.chat_app.export.codebook import codebook_csv, codebook_markdown
from heard.chat_app.export.columns import OF_BALLOT, tables
from heard.chat_app.export.feedback_columns import FELT_HEARD, THUMBS
from heard.chat_app.export.folder import FORMAT, MANIFEST, ExportError, atomic_folder
from heard.chat_app.export.people import ParticipantKeys
from heard.chat_app.export.question_tables import (
    QUESTION_ANSWERS,
    QUESTION_SCORES,
    codebook_entries,
    files_in,
    with_scores,
)
from heard.chat_app.export.rows import (
    CACHED_ANSWERS,
    AnswerCache,
    answer_chunk,
    ballot_columns,
    long_chunk,
    plain_chunk,
    slots_long,
    slots_wide,
    study_chunk,
    wide_chunk,
)
from heard.chat_app.export.table_files import BOM, FileRecord, HashedFile, TableFiles
from heard.chat_app.questions.question_file import QuestionFile
from heard.db.preregistration import Preregistration, preregistration
from heard.db.research_export import ALLOWED, TEXTS, Engine, ExportReader, Total, export_reader
from heard.db.research_export_feedback import felt_heard, thumbs
from heard.db.research_export_questions import question_answers_of
from heard.db.research_export_texts import study_texts
from heard.db.study_records import LETTERS
from heard.hints import nearest_name


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """Options of an export."""

    study: str | None
    """The id of one study, or None for all."""
    external_ids: bool = False
    """Whether the recruiting platform's ids of people are included."""
    full: bool = False
    """Whether ballots, votes and answers with their texts are repeated on each row of the votes' tables."""
    excel: bool = False
    """Whether the CSV files are for a spreadsheet: with a byte-order mark, and ids that look like numbers as texts."""


ProgressCallback = Callable[[str, int, int], None]
"""Called with what is being written, the number of rows written, and the number of all rows."""


async def export_study(
    engine: Engine, options: ExportOptions, out: Path, *, force: bool, progress: ProgressCallback
) -> dict[str, Any]:
    """Write the folder `out` and return its manifest. An export that fails or is cancelled leaves nothing behind.

    Raises ExportError, or StoreError if the database fails.
    """
    with atomic_folder(out, force=force) as folder:
        async with export_reader(engine, None) as reader:
            studies = await reader.study_ids()
        if options.study is not None and options.study not in studies:
            raise ExportError(_unknown(options.study, studies))
        wanted = studies if options.study is None else [options.study]
        found = [await preregistration(engine, study) for study in wanted]
        registered = {one.study: one for one in found if one is not None}
        closed = {name: one.sentence for name, one in registered.items() if one.closed}
        if options.study in closed:
            raise ExportError(closed[options.study])
        async with export_reader(engine, options.study, closed) as reader:
            writing = _Export(reader, options, folder, progress, registered)
            return await writing.run()


class _Export:
    """An export that is being written."""

    def __init__(
        self, reader: ExportReader, options: ExportOptions, folder: Path, progress: ProgressCallback,
        registered: Mapping[str, Preregistration],
    ) -> None:  # fmt: skip
        self.reader, self.options, self.folder, self.progress = reader, options, folder, progress
        self.registered = registered
        self.tables = tables(external_ids=options.external_ids, full=options.full)
        if options.study is None:  # what was said of the chat belongs to no study
            self.tables |= {table.name: table for table in (THUMBS, FELT_HEARD)}
        self.rows: dict[str, int] = {}
        self.files: list[FileRecord] = []
        self.studies: dict[str, str] = {}
        self.people = ParticipantKeys()
        self.item_numbers: dict[str, int] = {}
        self.questions: dict[str, list[QuestionFile]] = {}
        """The files of questions by study, of those that ask any."""

    async def run(self) -> dict[str, Any]:
        """Write every table, then the codebook, and the manifest last. Returns the manifest."""
        totals = await self.reader.totals()
        with ThreadPoolExecutor(4) as pool:
            await self._studies(pool)
            with self._open_tables(pool, "study_texts") as (files,):
                async for batch in study_texts(self.reader, self.options.study):
                    files.write(plain_chunk(self.tables["study_texts"], batch))
            await self._people(pool)
            if self.questions:
                await self._questions(pool)
            await self._items(pool)
            with self._open_tables(pool, "vote_changes") as (files,):
                async for batch in self.reader.changes():
                    files.write(plain_chunk(self.tables["vote_changes"], self.people.with_keys(batch)))
            await self._answers(pool)
            await self._ballots(pool, sum(total.ballots for total in totals if total.consent == ALLOWED))
            if self.options.study is None:
                for table, batches in ((THUMBS, thumbs), (FELT_HEARD, felt_heard)):
                    with self._open_tables(pool, table.name) as (files,):
                        async for batch in batches(self.reader):
                            files.write(plain_chunk(table, batch))
        mark, asked = BOM.decode() if self.options.excel else "", codebook_entries(self.questions)
        self._write_text("codebook.csv", mark + codebook_csv(self.tables.values(), asked))
        self._write_text("codebook.md", codebook_markdown(self.tables.values(), asked))
        manifest = self._manifest(totals, await self.reader.revision())
        self._write_text(MANIFEST, json.dumps(manifest, ensure_ascii=False, indent=2) + "\n")
        return manifest

    async def _studies(self, pool: ThreadPoolExecutor) -> None:
        with self._open_tables(pool, "studies") as (files,):
            async for batch in self.reader.studies():
                self.studies |= dict(zip(batch["id"], batch["definition_sha256"], strict=True))
                self.questions |= files_in(batch)
                files.write(study_chunk(self.tables["studies"], batch, external_ids=self.options.external_ids))

    async def _people(self, pool: ThreadPoolExecutor) -> None:
        with self._open_tables(pool, "people") as (files,):
            async for batch in self.reader.people():
                self.people.add(batch)
                files.write(plain_chunk(self.tables["people"], self.people.with_keys(batch)))

    async def _questions(self, pool: ThreadPoolExecutor) -> None:
        tables = (QUESTION_ANSWERS, QUESTION_SCORES)
        self.tables |= {table.name: table for table in tables}
        read = question_answers_of(self.reader, list(self.questions))
        with self._open_tables(pool, *(table.name for table in tables)) as files:
            async for batches in with_scores(self.questions, read):
                for file, table, batch in zip(files, tables, batches, strict=True):
                    if batch:
                        file.write(plain_chunk(table, self.people.with_keys(batch)))

    async def _items(self, pool: ThreadPoolExecutor) -> None:
        with self._open_tables(pool, "items") as (files,):
            async for batch in self.reader.items():
                of_survey = zip(batch["id"], batch["item_number"], strict=True)
                self.item_numbers |= {item: number for item, number in of_survey if number is not None}
                files.write(plain_chunk(self.tables["items"], self.people.with_keys(batch), "item"))

    async def _answers(self, pool: ThreadPoolExecutor) -> None:
        with self._open_tables(pool, "answers") as (files,):
            async for batch in self.reader.answers():
                files.write(answer_chunk(self.tables["answers"].columns, batch))

    async def _ballots(self, pool: ThreadPoolExecutor, of: int) -> None:
        """Write ballots with a vote to two tables, those without one to a third."""
        tables = [self.tables[name] for name in ("votes_long", "votes_wide", "unvoted")]
        columns = [column for table in tables for column in table.columns]
        needed = {column.name.rpartition("_")[0] for column in columns} | {column.name for column in columns}
        full = self.options.full
        answers = AnswerCache(self.reader, needed - OF_BALLOT, TEXTS * 10 if full else CACHED_ANSWERS)
        done = 0
        with self._open_tables(pool, *(table.name for table in tables)) as (long, wide, unvoted):
            async for batch, arrangements in self.reader.ballots(messages=full):
                slots = arrangements.columns
                rows = await answers.rows([slots[f"answer_id_{letter}"] for letter in LETTERS])
                in_long = slots_long(tables[0].columns, slots, answers.chunk, rows)
                in_wide = slots_wide(columns, slots, answers.chunk, rows)
                numbers = {"item_number": [self.item_numbers.get(item) for item in batch["item_id"]]}
                ballots = ballot_columns(self.people.with_keys(batch) | numbers, columns)
                of_ballots = pa.array(arrangements.rows, pa.int32())
                voted = ballots.columns["choice"].is_valid()
                if not pc.all(voted).as_py():
                    others = pc.invert(voted)
                    unvoted.write(
                        wide_chunk(tables[2], filter_rows(ballots, others), of_ballots.filter(others), in_wide)
                    )
                    ballots, of_ballots = filter_rows(ballots, voted), of_ballots.filter(voted)
                if ballots.rows:
                    long.write(long_chunk(tables[0], ballots, of_ballots, in_long))
                    wide.write(wide_chunk(tables[1], ballots, of_ballots, in_wide))
                done += len(batch["ballot_id"])
                self.progress("ballots", done, of)

    @contextmanager
    def _open_tables(self, pool: ThreadPoolExecutor, *names: str) -> Iterator[list[TableFiles]]:
        """Yield the files of these tables; they are closed and recorded if the block succeeds, else abandoned."""
        with ExitStack() as stack:
            files = [
                TableFiles(self.folder, name, self.tables[name].columns, pool, self.options.excel) for name in names
            ]
            for file in files:
                stack.callback(file.abandon)
            yield files
            for name, file in zip(names, files, strict=True):
                self.files += file.close()
                self.rows[name] = file.rows

    def _write_text(self, name: str, body: str) -> None:
        file = HashedFile(self.folder / name)
        try:
            file.write(body.encode("utf-8"))
        finally:
            file.close()
        self.files.append(file.record)

    def _manifest(self, totals: list[Total], revision: str) -> dict[str, Any]:
        studies = {
            study: {"definition_sha256": sha256, **_counts([total for total in totals if total.study == study])}
            for study, sha256 in self.studies.items()
        }
        exported = [counts["exported"] for counts in studies.values()]
        expected = {
            "people": sum(counts["people"] for counts in exported),
            "votes_wide": sum(counts["votes"] for counts in exported),
            "vote_changes": sum(counts["changes"] for counts in exported),
            "unvoted": sum(counts["ballots"] - counts["votes"] for counts in exported),
        }
        if any(self.rows[name] != number for name, number in expected.items()):
            raise RuntimeError(f"the export's rows do not add up: {self.rows} are not {expected}")
        return {
            "format": FORMAT,
            "format_version": 1,
            "heard": version("heard"),
            "database_revision": revision,
            "exported_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "filters": {
                "study": self.options.study or "all",
                "consent": "the newest answer to the notice allows the chat and research",
                "external_ids": self.options.external_ids,
                "full": self.options.full,
                "excel": self.options.excel,
            },
            "studies": studies,
            "preregistrations": {name: one.as_json() for name, one in self.registered.items()},
            "closed": {name: one.sentence for name, one in self.registered.items() if one.closed},
            "rows": self.rows,
            "files": [asdict(file) for file in self.files],
        }


def _counts(totals: list[Total]) -> dict[str, Any]:
    """Return the numbers of all, the exported and, by reason, the excluded rows of a study. They add up."""
    names = ("people", "ballots", "votes", "changes")
    by_consent = {total.consent: {name: getattr(total, name) for name in names} for total in totals}
    everything = {name: sum(counts[name] for counts in by_consent.values()) for name in names}
    exported = by_consent.pop(ALLOWED, dict.fromkeys(names, 0))
    return {"all": everything, "exported": exported, "left_out": by_consent}


def _unknown(study: str, studies: list[str]) -> str:
    if not studies:
        return "There is no study yet. `heard study import` makes one."
    return (
        f'There is no study "{study[:100]}". {nearest_name(study, studies)} '
        "For one person's own data: `heard data person ID`."
    )
