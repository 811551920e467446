"""`heard study import`, `generate`, `status`, `release` and `end`: a study from its file to its votes and its end."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from heard.chat_app.commands.progress import Progress
from heard.errors import UserError
from heard.hints import nearest_name

if TYPE_CHECKING:
    from heard.chat_app.common.settings import Settings
    from heard.chat_app.conversation.services import Services
    from heard.chat_app.studies.generation import Report
    from heard.chat_app.studies.study_file import StudyFile
    from heard.db.study_counts import StudyCounts
    from heard.db.study_records import ItemRecord, StudyRecord
    from heard.db.study_store import StudyStore

Result = TypeVar("Result")

app = typer.Typer(
    no_args_is_help=True,
    help=(
        "Blind votes: make a study, write its answers, see how far it is.\n\n"
        "A study is one TOML file; docs/studies.md explains every line of it and docs/example-study has one to copy. "
        "A survey: `heard study import STUDY.toml ITEMS.csv`, then `heard study generate STUDY.toml` for the answers "
        "of its arms, then `heard chat` and the link that the commands print. A live study needs only "
        "`heard study import STUDY.toml` and the setting blind_study."
    ),
)

MOST_LISTED = 20
"""Most failures that are listed."""

ColumnsOption = Annotated[
    str,
    typer.Option(
        "--columns",
        metavar="OURS=THEIRS,...",
        help="Columns that have other names in the file: message=questionText,reply=answerText. A reply is an answer "
        "of the source human; source, answer, attention and every source of the study may be named too.",
    ),
]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="Take only the first N items.")]


class StudyError(UserError):
    """The command cannot be done; `str()` names the fault and the next step."""


@app.command("import")
def import_study(
    study_file: Annotated[Path, typer.Argument(metavar="STUDY.toml", help="The study's file.")],
    items_file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[ITEMS.csv]",
            help="Messages with answers, as CSV, JSON, JSON lines or Parquet: columns Context,Response (as public "
            "counselling sets have them), or message,source,answer, or message and a column for each source; and, if "
            "you like, attention (the source that an attentive person marks). A live study has none.",
        ),
    ] = None,
    limit: Limit = None,
    columns: ColumnsOption = "",
    public_set: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="NAME",
            help="A public set as its authors published it: counselchat, mental_health_counseling, epitome, esconv, "
            "annomi, empatheticdialogues or arena.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the first items, lengths and what is left out, and store nothing.")
    ] = False,
) -> None:
    """Store a study with its items, or bring it up to date. Until the first person takes part it may be repeated as
    often as you like: whole answers of unchanged arms stay.

    What was read otherwise than it may look, mended or left out is told."""
    from heard.chat_app.common.settings import load_settings
    from heard.chat_app.models.catalogue import load_models
    from heard.chat_app.studies.column_names import parse_columns
    from heard.chat_app.studies.generation import store_study
    from heard.chat_app.studies.import_preview import preview
    from heard.chat_app.studies.study_answers import check_names
    from heard.chat_app.studies.study_file import read_study_file
    from heard.chat_app.studies.study_items import read_items
    from heard.db.study_records import StudyKind
    from heard.prompts.library import PromptLibrary

    settings, study = load_settings(), read_study_file(study_file)
    specs = load_models(settings.models_file)
    check_names(study.id, study.arms, PromptLibrary.load(settings.prompts_dir, settings.persona_word), specs)
    if study.kind is StudyKind.LIVE and items_file is not None:
        raise StudyError(f"Study {study.id} is live, so it has no items. Leave {items_file.name} out.")
    if study.kind is StudyKind.SURVEY and items_file is None:
        raise StudyError(
            f"Study {study.id} is a survey and needs its items: heard study import {study_file.name} ITEMS.csv. "
            f"For questions without any answer: heard study generate {study_file.name} QUESTIONS.csv."
        )
    items: list[ItemRecord] = []
    if items_file is not None:
        read = read_items(items_file, study, specs, limit, names=parse_columns(columns), public_set=public_set)
        items = read.items
        if dry_run:
            typer.echo("\n".join(preview(read)))
        for sentence in (*read.told, *read.skipped.sentences()):
            typer.echo(sentence)
        if not items:
            raise StudyError(f"{items_file.name} has no item that can be used. Add lines with a message and answers.")
    if dry_run:
        typer.echo(
            f"Nothing was stored. Without --dry-run: {len(items)} item{'s' * (len(items) != 1)} of study {study.id}."
        )
        return
    _on_studies(settings, lambda studies: store_study(studies, study, items))
    own = [answer for item in items for answer in item.answers if answer.text]
    if leaks := sum(bool(answer.leak) for answer in own):
        typer.echo(f"{leaks} of {len(own)} answers give away who wrote them; results leave them out unless asked.")
    typer.echo(f"Study {study.id} is stored" + (f" with {len(items)} items." if items else "."))
    typer.echo(_next(study, settings, written=not study.arms))


@app.command()
def generate(
    named: Annotated[str, typer.Argument(metavar="STUDY.toml|ID", help="The study's file, or the id of a stored one.")],
    questions_file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[QUESTIONS.csv]",
            help="Questions to add, for the arms to answer (CSV, JSON, JSON lines or Parquet): a column message, "
            "Context or question; others are not read. Empty lines and repetitions are passed over.",
        ),
    ] = None,
    limit: Limit = None,
    columns: ColumnsOption = "",
) -> None:
    """Write the answers of a survey's arms, at most 640 tokens each.

    Each answer is stored as soon as it is there. Ctrl-C loses nothing: the same command goes on with what is missing,
    and with what had failed. Failures are listed at the end, and then the exit status is 2.
    """
    import asyncio

    from heard.chat_app.common.settings import load_settings
    from heard.chat_app.models.downloads import ensure_weights
    from heard.chat_app.studies.column_names import parse_columns

    settings, names = load_settings(), parse_columns(columns)
    logging.getLogger("heard").setLevel(logging.ERROR)  # failures are printed below, once
    study = _file(named)
    also = [arm.model for arm in study.arms] if study else []
    weights = ensure_weights(settings.cache_dir, settings.embedded, also=also)

    async def run() -> "tuple[StudyFile, Report]":
        from heard.chat_app.startup import open_services

        async with open_services(settings, weights, serving=False) as services:
            return await _generate(services, study, named, questions_file, limit, names)

    try:
        study, report = asyncio.run(run())
    except KeyboardInterrupt:
        typer.echo("Stopped. What was written is stored; the same command goes on.", err=True)
        raise
    typer.echo(f"Written: {report.written}. There before: {report.already_complete}. Failed: {len(report.failed)}.")
    if not report.failed and not report.not_tried:
        typer.echo(_next(study, settings, written=True))
        return
    _print_failures(report)
    raise typer.Exit(2)


@app.command()
def status(
    study_id: Annotated[str | None, typer.Argument(metavar="[ID]", help="One study; without it, all of them.")] = None,
) -> None:
    """Show how far a study is: items, answers by source, people by condition, votes, completions, leaks."""
    from heard.chat_app.common.settings import load_settings
    from heard.db.study_counts import study_counts
    from heard.hints import nearest_name

    async def read(studies: "StudyStore") -> "list[tuple[StudyRecord, StudyCounts]]":
        return [(record, await study_counts(studies.engine, record.id)) for record in await studies.studies()]

    found = _on_studies(load_settings(), read)
    if not found:
        raise StudyError("There is no study yet. Make one: heard study import STUDY.toml ITEMS.csv")
    known = [record.id for record, _ in found]
    if study_id is not None and study_id not in known:
        raise StudyError(f'There is no study "{study_id}". {nearest_name(study_id, known)}')
    chosen = [pair for pair in found if study_id in (None, pair[0].id)]
    typer.echo("\n\n".join(_status(record, counts) for record, counts in chosen))


async def _generate(
    services: "Services",
    study: "StudyFile | None",
    named: str,
    questions_file: Path | None,
    limit: int | None,
    names: Mapping[str, str],
) -> "tuple[StudyFile, Report]":
    from heard.chat_app.studies.generation import LIVE_STUDY, extended_items, generate, store_study, updated_items
    from heard.chat_app.studies.study_answers import check_arms
    from heard.chat_app.studies.study_file import study_of
    from heard.chat_app.studies.study_items import read_questions
    from heard.db.study_records import StudyKind
    from heard.hints import nearest_name

    changed = study is not None or questions_file is not None
    if study is None:
        record = await services.studies.study(named)
        if record is None:
            known = [one.id for one in await services.studies.studies()]
            hint = nearest_name(named, known) if known else "There is none yet: give the path of a study's file."
            raise StudyError(f'There is no study "{named}". {hint}')
        study = study_of(record)
    if study.kind is StudyKind.LIVE:
        raise StudyError(LIVE_STUDY.format(id=study.id))
    check_arms(study, services)
    if not study.arms:
        raise StudyError(f"Study {study.id} has no arms, so there is nothing to write. Add [[arms]] to its file.")
    items = updated_items(study, await services.studies.items(study.id))
    only: set[str] | None = None
    if questions_file is not None:
        questions = read_questions(questions_file, study, limit, names=names)
        for sentence in (*questions.told, *questions.skipped.sentences()):
            typer.echo(sentence)
        items, only = extended_items(study, items, questions.items), {item.id for item in questions.items}
    if not items:
        raise StudyError(
            f"Study {study.id} has no items yet. Give questions (heard study generate {named} QUESTIONS.csv), or "
            f"import items with answers (heard study import {named} ITEMS.csv)."
        )
    if changed:
        study = await store_study(services.studies, study, items)
    stored = await services.studies.items(study.id)
    wanted = [item for item in stored if only is None or item.id in only]
    with Progress() as on_progress:
        return study, await generate(services, study, wanted if only is not None else wanted[:limit], on_progress)


@app.command()
def end(
    study_id: Annotated[str, typer.Argument(metavar="ID", help="The id of a stored study.")],
    yes: Annotated[bool, typer.Option("--yes", help="Really end it. There is no way back.")] = False,
) -> None:
    """End a study: nobody takes part in it any more. With retention_days set, old conversations that only its votes
    needed are deleted from then on, and those votes with them: export it first (`heard export`)."""
    from datetime import UTC, datetime

    from heard.chat_app.common.settings import load_settings

    settings = load_settings()
    _on_studies(settings, lambda studies: _known(studies, study_id))
    if not yes:
        raise StudyError(f"Nothing was done. Export study {study_id} first, then add --yes to end it for good.")
    ended = _on_studies(settings, lambda studies: studies.end_study(study_id, datetime.now(UTC)))
    typer.echo(f"Study {study_id} ended on {ended:%Y-%m-%d %H:%M} UTC.")


@app.command()
def release(
    external_id: Annotated[str, typer.Argument(metavar="ID", help="The id in the person's link.")],
    study_id: Annotated[
        str | None, typer.Option("--study", metavar="STUDY", help="The study, if the id is in several.")
    ] = None,
) -> None:
    """Let a person go on in another browser or on another device: the next one that opens the link with this id.

    Needed once they have judged something, because an id alone proves nobody. Their votes come along, what they wrote
    is not shown there; a conversation stays in the browser where it was held."""
    from datetime import UTC, datetime

    from heard.chat_app.common.settings import load_settings

    async def work(studies: "StudyStore") -> str:
        if study_id is not None:
            await _known(studies, study_id)
        held = await studies.holdings(external_id)
        found = [(study, spelt) for study, spelt in held if study_id in (None, study)]
        if not found:
            raise StudyError("Nobody has taken part under this id. Copy it from the person's link, letter by letter.")
        if len(found) > 1:
            names = ", ".join(study for study, _ in found)
            raise StudyError(f"This id is in several studies: {names}. Say which one with --study.")
        ((study, spelt),) = found
        await studies.release(study, spelt, datetime.now(UTC))
        return study

    study = _on_studies(load_settings(), work)
    typer.echo(f"Released in study {study}: the next browser that opens the person's link goes on from there.")


async def _known(studies: "StudyStore", study_id: str) -> None:
    names = [record.id for record in await studies.studies()]
    if study_id not in names:
        raise StudyError(f'There is no study "{study_id}". {nearest_name(study_id, names) if names else ""}'.strip())


def _file(named: str) -> "StudyFile | None":
    """Return the study in a file; None if `named` is not a file but the id of a stored study."""
    from heard.chat_app.studies.study_file import read_study_file

    path = Path(named)
    return read_study_file(path) if path.suffix or len(path.parts) > 1 or path.exists() else None


def _next(study: "StudyFile", settings: "Settings", *, written: bool) -> str:
    from heard.db.study_records import StudyKind

    if study.kind is StudyKind.LIVE:
        return f'Next: set blind_study = "{study.id}" in settings.toml, and run heard chat.'
    if not written:
        return f"Next: heard study generate {study.id}"
    address = (settings.public_host or f"{settings.host}:{settings.port}") + settings.root_path
    scheme = "https" if settings.public_host else "http"
    return f"Next: run heard chat, and send people to {scheme}://{address}/survey/{study.id}"


def _print_failures(report: "Report") -> None:
    for (number, source), sentence in sorted(report.failed.items())[:MOST_LISTED]:
        typer.echo(f"item {number}, {source}: {sentence}", err=True)
    if len(report.failed) > MOST_LISTED:
        typer.echo(f"... and {len(report.failed) - MOST_LISTED} more.", err=True)
    for model, number in report.not_tried.items():
        typer.echo(f"{number} answers of {model} were not tried after so many failures in a row.", err=True)
    typer.echo("heard: Some answers are missing. Run the same command again to go on with them.", err=True)


def _status(record: "StudyRecord", counts: "StudyCounts") -> str:
    ended = f", ended on {record.ended_at:%Y-%m-%d}" if record.ended_at else ""
    lines = [f"{record.id} ({record.kind.value}{ended})"]
    if counts.items:
        attention = f", {counts.attention} of them for attention" if counts.attention else ""
        lines.append(f"items        {counts.items}{attention}")
    for source, by_status in counts.answers.items():
        parts = [f"{number} {status}" for status, number in sorted(by_status.items())]
        parts += [f"{counts.leaks[source]} with a leak"] if source in counts.leaks else []
        lines.append(f"answers      {source}: {', '.join(parts)}")
    for condition, number in counts.people.items():
        group = f"{condition}: " if condition is not None else ""
        lines.append(f"people       {group}{number}, completed {counts.completed[condition]}")
    if not counts.people:
        lines.append("people       0")
    lines.append(f"votes        {counts.votes} on {counts.ballots} ballots")
    return "\n".join(lines)


def _on_studies(settings: "Settings", work: "Callable[[StudyStore], Awaitable[Result]]") -> Result:
    import asyncio

    from heard.db.engine import open_database
    from heard.db.study_store import StudyStore

    async def run() -> Result:
        async with open_database(settings.database, lock_seconds=settings.save_seconds) as engine:
            return await work(StudyStore(engine))

    return asyncio.run(run())
