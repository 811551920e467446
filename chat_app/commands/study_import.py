"""`heard study import`: a study's file and its items into the database."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heard.chat_app.commands.study_common import ColumnsOption, Limit, StudyError, next_step, on_studies

if TYPE_CHECKING:
    from heard.db.study_records import ItemRecord


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
    on_studies(settings, lambda studies: store_study(studies, study, items))
    own = [answer for item in items for answer in item.answers if answer.text]
    if leaks := sum(bool(answer.leak) for answer in own):
        typer.echo(f"{leaks} of {len(own)} answers give away who wrote them; results leave them out unless asked.")
    typer.echo(f"Study {study.id} is stored" + (f" with {len(items)} items." if items else "."))
    typer.echo(next_step(study, settings, written=not study.arms))
