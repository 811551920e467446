"""`heard study generate`: the answers of a survey's arms."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heard.chat_app.commands.progress import Progress
from heard.chat_app.commands.study_common import ColumnsOption, Limit, StudyError, next_step

if TYPE_CHECKING:
    from heard.chat_app.conversation.services import Services
    from heard.chat_app.studies.generation import Report
    from heard.chat_app.studies.study_file import StudyFile

MOST_LISTED = 20
"""Most failures that are listed."""


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
    study = file_named(named)
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
        typer.echo(next_step(study, settings, written=True))
        return
    _print_failures(report)
    raise typer.Exit(2)


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


def file_named(named: str) -> "StudyFile | None":
    """Return the study in a file; None if `named` is not a file but the id of a stored study."""
    from heard.chat_app.studies.study_file import read_study_file

    path = Path(named)
    return read_study_file(path) if path.suffix or len(path.parts) > 1 or path.exists() else None


def _print_failures(report: "Report") -> None:
    for (number, source), sentence in sorted(report.failed.items())[:MOST_LISTED]:
        typer.echo(f"item {number}, {source}: {sentence}", err=True)
    if len(report.failed) > MOST_LISTED:
        typer.echo(f"... and {len(report.failed) - MOST_LISTED} more.", err=True)
    for model, number in report.not_tried.items():
        typer.echo(f"{number} answers of {model} were not tried after so many failures in a row.", err=True)
    typer.echo("heard: Some answers are missing. Run the same command again to go on with them.", err=True)
