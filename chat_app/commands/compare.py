"""`heard compare`: models, personas and strategies over a file of questions, every combination."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heard.chat_app.commands.progress import Progress
from heard.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from heard.chat_app.comparing.answers import Answer
    from heard.chat_app.comparing.journal import Journal
    from heard.chat_app.comparing.plan import Plan
    from heard.chat_app.comparing.questions import Questions
    from heard.chat_app.comparing.running import Report
    from heard.chat_app.comparing.tables import Grid
    from heard.chat_app.conversation.services import Services

app = typer.Typer()

MOST_LISTED = 20
"""Faults and failures that are told one by one."""
PER_MINUTE = 60
"""Calls a minute of a model on a server, unless another number is given. One on this machine needs no bound."""

QuestionsOption = Annotated[
    Path,
    typer.Option(
        "--questions",
        metavar="FILE",
        help="A CSV with a column question, message or Context, or a .txt with one question a line.",
    ),
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
    """Something that a person can put right; `str()` names it and the next step."""


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
    open_calls: OpenCallsOption = 4,
    per_minute: PerMinuteOption = None,
) -> None:
    """Answer every question with every model, persona and strategy, and score the answers.

    \b
    heard compare --models smollm2,gpt-4o --strategies plain,definition \\
                  --questions questions.csv --out first

    Into DIR go results.csv (one row an answer), summary.csv and summary.md
    (means with intervals of 95%; each strategy against plain on the same
    questions, paired, with Wilcoxon's test corrected by Holm; tokens and
    seconds), and radar.png and radar.svg (needs the extra "charts").

    Each answer is in DIR's journal as soon as it is there. After Ctrl-C or
    kill -9 the same command goes on with what is missing or had failed, and
    asks for nothing twice. A question in a crisis is never sent. Failures are
    counted and told, and then the exit status is 2.
    """
    from heard.chat_app.comparing.plan import Plan, chosen, first_persona

    def plan(services: "Services", found: "Questions") -> "Plan":
        library = services.library
        return Plan(
            command="compare",
            questions=tuple(found.questions),
            models=chosen("model", models, services.models.specs),
            personas=chosen("persona", personas or first_persona(services), library.personas),
            strategies=chosen("strategy", strategies, library.strategies),
            policies=(library.policies["never"],),
        )

    def finish(answers: "Sequence[Answer]") -> "list[Grid]":
        from heard.chat_app.comparing.figures import PLAIN, differences
        from heard.chat_app.comparing.tables import grids, radar_means, results_csv, summary_csv

        found = differences(answers)
        tables = grids(answers, found)
        write_files(
            out,
            {
                "results.csv": results_csv(answers),
                "summary.csv": summary_csv(answers, found),
                "summary.md": "\n".join(grid.markdown() for grid in tables),
            },
        )
        if not found:
            typer.echo(f"Without the strategy {PLAIN} and another one there is nothing to hold against each other.")
        _draw(radar_means(answers), out)
        return tables

    run_plan(plan, questions, out, open_calls, per_minute, finish)


def run_plan(
    plan_of: "Callable[[Services, Questions], Plan]",
    questions: Path,
    out: Path,
    open_calls: int,
    per_minute: int | None,
    finish: "Callable[[Sequence[Answer]], list[Grid]]",
    *,
    kept: bool = True,
) -> None:
    """Run a plan, show what `finish` makes of its answers, and tell how it ended; exit status 2 if something failed.

    `kept` is False where the folder `out` goes when the command ends.
    """
    import asyncio

    from heard.chat_app.common.settings import load_settings
    from heard.chat_app.comparing.answers import answers_of
    from heard.chat_app.comparing.journal import Journal
    from heard.chat_app.comparing.questions import read_questions
    from heard.chat_app.models.downloads import ensure_weights

    settings = load_settings()
    logging.getLogger("heard").setLevel(logging.ERROR)  # failures are told below, once
    found = read_questions(questions, settings.message_limit)
    _tell_left_out(found)
    weights = ensure_weights(settings.cache_dir)

    async def work() -> "tuple[Plan, Journal, Report]":
        from heard.chat_app.startup import open_services

        async with open_services(settings, weights, serving=False) as services:
            plan = plan_of(services, found)
            with Journal(out, plan.identity()) as journal:
                return plan, journal, await _run(services, plan, journal, open_calls, per_minute)

    try:
        plan, journal, report = asyncio.run(work())
    except KeyboardInterrupt:
        typer.echo("Stopped. What was written is kept; the same command goes on." if kept else "Stopped.", err=True)
        raise
    for grid in finish(answers_of(plan, journal.entries())):
        _show(grid)
    typer.echo(f"Written: {report.written}. There before: {report.there}. Failed: {len(report.failed)}.")
    if kept:
        typer.echo(f"Everything is in {out}.")
    if report.failed or report.left:
        _tell_failures(report, kept)
        raise typer.Exit(2)


def write_files(folder: Path, texts: dict[str, str]) -> None:
    """Write each text under its name. Raises CompareError."""
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
    from heard.chat_app.comparing.running import run
    from heard.chat_app.models.providers import PROVIDERS

    paces = {
        model.id: per_minute or PER_MINUTE
        for model in plan.models
        if per_minute is not None or PROVIDERS[model.provider].served
    }
    with Progress() as tell:
        return await run(services, plan, journal, tell, open_calls=open_calls, per_minute=paces)


def _draw(means: dict[str, dict[str, float]], out: Path) -> None:
    from heard.chat_app.comparing.radar import ChartsMissing, draw

    try:
        draw(means, out)
    except ChartsMissing as missing:
        typer.echo(str(missing), err=True)
    except OSError as error:
        raise CompareError(f"The radars cannot be written to {out} ({error.strerror}). Make room there.") from None


def _show(grid: "Grid") -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=escape(grid.title), title_justify="left", title_style="bold", box=SIMPLE_HEAD, padding=(0, 1))
    for number, column in enumerate(("", *grid.lines[0].cells)):
        table.add_column(column, justify="right" if number else "left", overflow="fold", no_wrap=number == 0)
    for line in grid.lines:
        table.add_row(escape(line.name), *(escape(text) for text in line.cells.values()))
    Console(highlight=False).print(table)


def _tell_left_out(found: "Questions") -> None:
    for fault in found.faults[:MOST_LISTED]:
        typer.echo(f"left out, {fault}", err=True)
    if len(found.faults) > MOST_LISTED:
        typer.echo(f"... and {len(found.faults) - MOST_LISTED} more lines.", err=True)
    if found.crises:
        what = "question is a crisis and is" if found.crises == 1 else "questions are a crisis and are"
        typer.echo(f"{found.crises} {what} never sent to a model.", err=True)


def _tell_failures(report: "Report", kept: bool) -> None:
    for (question, model, persona, strategy, _), (_, sentence) in list(report.failed.items())[:MOST_LISTED]:
        typer.echo(f"line {question}, {model} / {persona} / {strategy}: {sentence}", err=True)
    if len(report.failed) > MOST_LISTED:
        typer.echo(f"... and {len(report.failed) - MOST_LISTED} more.", err=True)
    if report.failed:
        typer.echo(f"Failures: {', '.join(f'{count} {kind}' for kind, count in report.kinds.items())}.", err=True)
    for model, number in report.left.items():
        typer.echo(f"{number} answers of {model} were not tried after so many failures in a row.", err=True)
    step = (
        "Run the same command again to go on with them." if kept else "With --out DIR a second run goes on with them."
    )
    typer.echo(f"heard: Some answers are missing. {step}", err=True)
