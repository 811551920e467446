"""`heard study ask-model`: the questions of a study put to a language model."""

import asyncio
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heard.chat_app.commands.progress import Progress
from heard.chat_app.commands.study_common import StudyError, on_studies
from heard.chat_app.commands.study_generate import file_named

if TYPE_CHECKING:
    from heard.chat_app.common.settings import Settings
    from heard.chat_app.comparing.item_asking import Asked, Asking
    from heard.chat_app.comparing.item_tables import Spread
    from heard.chat_app.studies.study_file import StudyFile


def ask_model(
    named: Annotated[str, typer.Argument(metavar="STUDY.toml|ID", help="The study's file, or the id of a stored one.")],
    model: Annotated[str, typer.Option("--model", metavar="M", help="A model, as `heard models list` shows it.")],
    persona: Annotated[
        str, typer.Option("--persona", metavar="P", help="A persona, by whose system text it answers. Default: none.")
    ] = "",
    times: Annotated[int, typer.Option("--times", min=1, max=10_000, help="How often every question is asked.")] = 1,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="DIR", help="Folder of the answers. Default: STUDY-MODEL, or STUDY-MODEL-PERSONA."
        ),
    ] = None,
) -> None:
    """Put the questions of a study to a model: the same items, the same branching, the same scores.

    \b
    heard study ask-model study.toml --model qwen-7b --times 10

    Each question is a prompt of its own, without those before it. What is no
    answer is asked for again, twice at most, and is missing then. Into DIR
    go answers.csv and scores.csv; the means are shown.

    Each answer is in DIR as soon as it is there. After Ctrl-C the same command
    goes on, and with larger --times it adds runs. If calls fail, they are
    told, and the exit status is 2.
    """
    from heard.chat_app.common.settings import load_settings
    from heard.chat_app.comparing.item_asking import AnswerJournal, Asking, ask_model
    from heard.chat_app.comparing.item_tables import answers_csv, scores_csv, spreads
    from heard.chat_app.models.catalogue import load_models
    from heard.chat_app.models.client import Models
    from heard.prompts.library import PromptLibrary

    settings = load_settings()
    logging.getLogger("heard").setLevel(logging.ERROR)  # failures are told below, once
    study = file_named(named) or _stored(named, settings)
    if not study.questions:
        raise StudyError(f"Study {study.id} asks no questions. Name files of them in its file: docs/questions.md.")
    specs, library = load_models(settings.models_file), PromptLibrary.load(settings.prompts_dir, settings.persona_word)
    _check_name("model", model, specs)
    if persona:
        _check_name("persona", persona, library.personas)
    asking = Asking(study, specs[model], library.personas[persona] if persona else None, library.item_answers)
    folder = out or Path("-".join(part for part in (study.id, model, persona) if part))

    async def run(journal: AnswerJournal) -> "Asked":
        async with Models.of({model: asking.spec}, settings) as models:
            with Progress() as progress:
                return await ask_model(models, asking, journal, times, progress)

    try:
        with AnswerJournal(folder, asking) as journal:
            report = asyncio.run(run(journal))
    except KeyboardInterrupt:
        typer.echo("Stopped. What was answered is kept; the same command goes on.", err=True)
        raise
    try:
        (folder / "answers.csv").write_text(answers_csv(asking, journal.answers), encoding="utf-8")
        (folder / "scores.csv").write_text(scores_csv(asking, journal.answers, times), encoding="utf-8")
    except OSError as error:
        raise StudyError(f"{folder} cannot be written to ({error.strerror}). Mend that and run this again.") from None
    _report(asking, report, spreads(asking, journal.answers, times), folder)
    missing = sum(answer.value is None for answer in journal.answers.values())
    if missing:
        typer.echo(f"No answer could be read to {missing} of the questions; what was said is in answers.csv.")
    if report.failures:
        for number, sentence in list(report.failures.items())[:20]:
            typer.echo(f"run {number}: {sentence}", err=True)
        typer.echo("heard: Some questions were not answered. Run the same command again to go on.", err=True)
        raise typer.Exit(2)


def _check_name(what: str, name: str, known: object) -> None:
    from heard.hints import nearest_name

    names = list(known)  # type: ignore[call-overload]
    if name not in names:
        raise StudyError(f'There is no {what} "{name}". {nearest_name(name, names)}')


def _stored(named: str, settings: "Settings") -> "StudyFile":
    from heard.chat_app.studies.study_file import study_of
    from heard.hints import nearest_name

    records = {record.id: record for record in on_studies(settings, lambda studies: studies.studies())}
    if named not in records:
        hint = nearest_name(named, records) if records else "There is none yet: give the path of a study's file."
        raise StudyError(f'There is no study "{named}". {hint}')
    return study_of(records[named])


def _report(asking: "Asking", report: "Asked", found: "list[Spread]", folder: Path) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, padding=(0, 1))
    for number, column in enumerate(("score", "mean", "SD", "runs")):
        table.add_column(column, justify="right" if number else "left", no_wrap=True)
    for one in found:
        figures = ("-" if value is None else f"{value:.2f}" for value in (one.mean, one.deviation))
        table.add_row(escape(one.name), *figures, str(one.runs))
    if found:
        Console(highlight=False).print(table)
    typer.echo(f"Asked: {report.written}. There before: {report.already}. Everything is in {folder}.")
