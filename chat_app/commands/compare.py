"""`heard compare`: models, personas and strategies over a file of questions, every combination."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heard.chat_app.commands.own_head import rater_name
from heard.chat_app.commands.progress import Progress
from heard.chat_app.commands.raters import model_of_judge, own_head, with_rater
from heard.chat_app.commands.report_tables import show_table
from heard.chat_app.commands.score import HeadOption
from heard.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from heard.chat_app.comparing.answers import Answer
    from heard.chat_app.comparing.human_answers import HumanAnswer
    from heard.chat_app.comparing.journal import Journal
    from heard.chat_app.comparing.plan import Plan
    from heard.chat_app.comparing.questions import Question, Questions
    from heard.chat_app.comparing.runner import Report
    from heard.chat_app.comparing.tables import ReportTable
    from heard.chat_app.conversation.services import Services

app = typer.Typer()

MOST_LISTED = 20
"""Most faults and failures that are listed."""
PER_MINUTE = 60
"""Default limit of calls per minute for a model on a server. One on this machine needs no limit."""

QuestionsOption = Annotated[
    Path,
    typer.Option(
        "--questions",
        metavar="FILE",
        help="A table (CSV, JSON, JSON lines or Parquet) with a column question, message or Context, or a .txt with "
        "one question a line.",
    ),
]
ColumnsOption = Annotated[
    str,
    typer.Option("--columns", metavar="message=NAME", help="The column of questions, if it has another name."),
]
OpenCallsOption = Annotated[
    int, typer.Option("--open-calls", min=1, max=256, help="Most calls at once, of all models together.")
]
PerMinuteOption = Annotated[
    int | None,
    typer.Option(
        "--per-minute",
        min=1,
        max=100_000,
        help=f"Most calls of one model in a minute. Default: {PER_MINUTE} for a model on a server, no bound for one on "
        "this machine.",
    ),
]


class CompareError(UserError):
    """The comparison cannot be written; `str()` names the fault and the next step."""


@app.command()
def compare(
    models: Annotated[str, typer.Option("--models", metavar="A,B", help="Models, as `heard models list` shows them.")],
    strategies: Annotated[
        str,
        typer.Option("--strategies", metavar="X,Y", help="Strategies. With plain among them, each is held against it."),
    ],
    questions: QuestionsOption,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder of the journal and of what comes out.")],
    personas: Annotated[
        str, typer.Option("--personas", metavar="P,Q", help="Personas. Default: the first, as a new visitor has it.")
    ] = "",
    examples: Annotated[
        str,
        typer.Option(
            "--examples", metavar="on|off|both", help="The personas' examples. With both, each persona twice."
        ),
    ] = "on",
    open_calls: OpenCallsOption = 4,
    per_minute: PerMinuteOption = None,
    head: HeadOption = "",
    answers: Annotated[
        Path | None,
        typer.Option(
            "--answers",
            metavar="FILE",
            help="Human answers to the questions, as `heard study import` takes them; several to one are averaged.",
        ),
    ] = None,
    columns: Annotated[
        str,
        typer.Option(
            "--columns",
            metavar="message=NAME,reply=NAME",
            help="The columns of questions and of human answers, if they have other names.",
        ),
    ] = "",
) -> None:
    """Answer every question with every model, persona and strategy, and score the answers.

    \b
    heard compare --models smollm2,gpt-4o --strategies plain,definition \\
                  --questions questions.csv --out first

    Into DIR go results.csv (one row an answer), summary.csv and summary.md
    (means with intervals of 95%; each strategy against plain on the same
    questions, and examples against none, paired, with Wilcoxon's test
    corrected by Holm; tokens and seconds), and radar.png and radar.svg (needs the extra "charts").

    With --answers FILE people's answers to the same questions are scored too:
    they are the source "human" in every table and radar, and each other source
    is held against them.

    Each answer is in DIR's journal as soon as it is there. After Ctrl-C or
    kill -9 the same command goes on with what is missing or had failed, and
    asks for nothing twice. A question in a crisis is never sent. Failures are
    counted and told, and then the exit status is 2.
    """
    from heard.chat_app.comparing.human_answers import check_names, question_names
    from heard.chat_app.comparing.plan import (
        Plan,
        default_persona,
        examples_wanted,
        raters_of,
        resolve_names,
        with_examples,
    )
    from heard.chat_app.studies.column_names import parse_columns

    wanted = examples_wanted(examples)
    names = parse_columns(columns)
    of_questions = names
    if answers is not None:
        check_names(names, (questions, answers))
        of_questions = question_names(questions, names)

    def plan(services: "Services", usable: "Questions") -> "Plan":
        library = services.library
        named = resolve_names("persona", personas or default_persona(services), library.personas)
        return Plan(
            command="compare",
            questions=tuple(usable.questions),
            models=resolve_names("model", models, services.models.specs),
            personas=with_examples(named, wanted),
            strategies=resolve_names("strategy", strategies, library.strategies),
            policies=(library.policies["never"],),
            examples=library.examples,
            raters=raters_of(services),
            human=_people(answers, usable.questions, names),
        )

    def finish(found: "Sequence[Answer]") -> "list[ReportTable]":
        from heard.chat_app.comparing.figures import BASELINE, differences, example_differences, human_differences
        from heard.chat_app.comparing.tables import radar_means, report_tables, results_csv, summary_csv

        held = differences(found), example_differences(found), human_differences(found)
        tables = report_tables(found, *held)
        write_files(
            out,
            {
                "results.csv": results_csv(found),
                "summary.csv": summary_csv(found, *held),
                "summary.md": "\n".join(report_table.markdown() for report_table in tables),
            },
        )
        if not any(held):
            typer.echo(f"Without the strategy {BASELINE} and another one there is nothing to hold against each other.")
        _draw(radar_means(found), out)
        return tables

    run_plan(
        plan,
        models,
        questions,
        out,
        open_calls,
        per_minute,
        finish,
        rater=rater_name(head),
        names=of_questions,
        repeats=answers is not None and answers.resolve() == questions.resolve(),
    )


def run_plan(
    plan_of: "Callable[[Services, Questions], Plan]",
    models: str,
    questions: Path,
    out: Path,
    open_calls: int,
    per_minute: int | None,
    finish: "Callable[[Sequence[Answer]], list[ReportTable]]",
    *,
    kept: bool = True,
    rater: str = "",
    names: "Mapping[str, str] | None" = None,
    repeats: bool = False,
) -> None:
    """Run a plan, show the tables that `finish` makes of its answers, and report. Exit status 2 if anything failed.

    Of `models`, as the command line names them, those that are embedded are fetched if need be. `kept` is False if the
    folder `out` is deleted when the command ends. `rater` names what scores the answers; without it that is the
    head of the settings, and a rater that is not heard's own is refused. `names` are our
    names of columns with those in the file of questions (`parse_columns`), in which with `repeats` a question may come
    again.
    """
    import asyncio

    from heard.chat_app.common.settings import load_settings
    from heard.chat_app.comparing.answers import answers_from_journal
    from heard.chat_app.comparing.journal import Journal
    from heard.chat_app.comparing.questions import read_questions
    from heard.chat_app.models.downloads import ensure_weights

    settings = load_settings()
    settings = own_head(settings, rater) if rater else settings
    logging.getLogger("heard").setLevel(logging.ERROR)  # failures are told below, once
    usable = read_questions(questions, settings.message_limit, names, repeats=repeats)
    _print_left_out(usable)
    called = [*(name.strip() for name in models.split(",")), *model_of_judge(rater)]
    weights = ensure_weights(settings.cache_dir, settings.embedded, also=called)

    async def work() -> "tuple[Plan, Journal, Report]":
        from heard.chat_app.startup import open_services

        async with open_services(settings, weights, serving=False) as services:
            services = with_rater(services, rater) if rater else services
            plan = plan_of(services, usable)
            with Journal(out, plan.identity()) as journal:
                return plan, journal, await _run(services, plan, journal, open_calls, per_minute)

    try:
        plan, journal, report = asyncio.run(work())
    except KeyboardInterrupt:
        typer.echo("Stopped. What was written is kept; the same command goes on." if kept else "Stopped.", err=True)
        raise
    for report_table in finish(answers_from_journal(plan, journal.entries())):
        show_table(report_table)
    typer.echo(f"Written: {report.written}. There before: {report.already_complete}. Failed: {len(report.failed)}.")
    if kept:
        typer.echo(f"Everything is in {out}.")
    if report.failed or report.not_tried:
        _print_failures(report, kept)
        raise typer.Exit(2)


def _people(
    path: Path | None, questions: "Sequence[Question]", names: "Mapping[str, str]"
) -> "tuple[HumanAnswer, ...]":
    from heard.chat_app.comparing.human_answers import read_human_answers

    if path is None:
        return ()
    found = read_human_answers(path, questions, names)
    for sentence in found.told:
        typer.echo(sentence, err=True)
    return tuple(found.answers)


def write_files(folder: Path, texts: dict[str, str]) -> None:
    """Write texts to files by name. Raises CompareError."""
    try:
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise CompareError(
            f"{folder} cannot be written to ({error.strerror}). The answers are in its journal: mend that, and run the "
            "same command again."
        ) from None


async def _run(
    services: "Services", plan: "Plan", journal: "Journal", open_calls: int, per_minute: int | None
) -> "Report":
    from heard.chat_app.comparing.runner import run
    from heard.chat_app.models.providers import PROVIDERS

    paces = {
        model.id: per_minute or PER_MINUTE
        for model in plan.models
        if per_minute is not None or PROVIDERS[model.provider].served
    }
    with Progress() as progress:
        return await run(services, plan, journal, progress, open_calls=open_calls, per_minute=paces)


def _draw(means: dict[str, dict[str, float]], out: Path) -> None:
    from heard.chat_app.comparing.radar import ChartsMissing, draw

    try:
        draw(means, out)
    except ChartsMissing as missing:
        typer.echo(str(missing), err=True)
    except OSError as error:
        raise CompareError(f"The radars cannot be written to {out} ({error.strerror}). Make room there.") from None


def _print_left_out(questions: "Questions") -> None:
    for sentence in questions.told:
        typer.echo(sentence, err=True)
    for fault in questions.faults[:MOST_LISTED]:
        typer.echo(f"left out, {fault}", err=True)
    if len(questions.faults) > MOST_LISTED:
        typer.echo(f"... and {len(questions.faults) - MOST_LISTED} more lines.", err=True)
    if questions.crises:
        what = "question is a crisis and is" if questions.crises == 1 else "questions are a crisis and are"
        typer.echo(f"{questions.crises} {what} never sent to a model.", err=True)


def _print_failures(report: "Report", kept: bool) -> None:
    for (question, *source, _), (_, sentence) in list(report.failed.items())[:MOST_LISTED]:
        typer.echo(f"line {question}, {' / '.join(filter(None, source))}: {sentence}", err=True)
    if len(report.failed) > MOST_LISTED:
        typer.echo(f"... and {len(report.failed) - MOST_LISTED} more.", err=True)
    if report.failed:
        typer.echo(f"Failures: {', '.join(f'{count} {kind}' for kind, count in report.kinds.items())}.", err=True)
    for model, number in report.not_tried.items():
        typer.echo(f"{number} answers of {model} were not tried after so many failures in a row.", err=True)
    step = (
        "Run the same command again to go on with them." if kept else "With --out DIR a second run goes on with them."
    )
    typer.echo(f"heard: Some answers are missing. {step}", err=True)
