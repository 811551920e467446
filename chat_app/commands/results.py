"""`heard results STUDY`: what the blind votes of a study say, as tables, as JSON, or as pictures."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from functools import partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heard.errors import UserError

if TYPE_CHECKING:
    from heard.chat_app.commands.results_more import Compute
    from heard.chat_app.results.records import StudyResults, VoteFilter
    from heard.db.study_records import StudyRecord
    from heard.db.study_store import StudyStore

app = typer.Typer()


class ResultsError(UserError):
    """There are no such results; `str()` names the fault and the next step."""


class By(StrEnum):
    """Tables that `--by` shows."""

    ITEM = "item"
    CONDITION = "condition"
    SOURCE = "source"


class Covariate(StrEnum):
    """What `--adjust` holds equal."""

    POSITION = "position"
    LENGTH = "length"
    TIME = "time"


@app.command()
def results(
    study: Annotated[str, typer.Argument(help="The study's id, as in its file.")],
    as_json: Annotated[bool, typer.Option("--json", help="Everything as JSON; shares on 0..1.")] = False,
    with_leaks: Annotated[
        bool, typer.Option("--with-leaks", help="Count ballots too on which an answer gave its source away.")
    ] = False,
    condition: Annotated[
        str | None, typer.Option("--condition", metavar="NAME", help="Only people in this condition.")
    ] = None,
    passed_attention: Annotated[
        bool, typer.Option("--passed-attention", help="Leave out people who failed an attention item.")
    ] = False,
    min_seconds: Annotated[
        float | None,
        typer.Option("--min-seconds", metavar="SECONDS", help="Leave out votes that took less time."),
    ] = None,
    by: Annotated[
        By | None, typer.Option("--by", help="One table by item, by condition or by source, in place of the others.")
    ] = None,
    flow: Annotated[
        bool, typer.Option("--flow", help="How many people joined, voted, finished, withdrew, and were left out.")
    ] = False,
    adjust: Annotated[
        list[Covariate] | None,
        typer.Option("--adjust", help="Strengths with this held equal; may be given several times."),
    ] = None,
    hide: Annotated[
        list[str] | None,
        typer.Option(
            "--hide", metavar="SOURCE", help="Leave a source out of the tables; its votes count all the same."
        ),
    ] = None,
    pool_conditions: Annotated[
        bool,
        typer.Option("--pool-conditions", help="Take conditions together even if they had different sources."),
    ] = False,
    with_bootstrap: Annotated[
        bool, typer.Option("--bootstrap", help="Also a two-way bootstrap over people and items; up to a minute.")
    ] = False,
    pictures: Annotated[
        Path | None, typer.Option("--pictures", metavar="DIR", help="Write the charts there as SVG files too.")
    ] = None,
) -> None:
    """Show what the blind votes of a study say.

    \b
    heard results warm                       tables
    heard results warm --json > warm.json    for a script
    heard results warm --hide human          without a source, and all votes
    heard results warm --pictures figures    most-least.svg and strengths.svg
    heard results warm --condition formal    one condition
    heard results warm --by item             ballots, marks and agreement by item
    heard results warm --flow                who came how far, as in a CONSORT diagram
    heard results warm --adjust length       strengths if all answers were equally long
    heard results warm --min-seconds 5       without votes of less than 5 seconds

    Counted are people whose newest answer allows research. Attention items,
    and ballots on which an answer gave its source away, are left out; the
    last table says how many votes were left out and why: it adds up to all.

    Share: of the ballots where the source could be marked and that were not
    skipped. Strength: Bradley-Terry, in log-odds, freed of position effects.
    Alpha: agreement on items beyond the overall favourites; 1 is full, 0 is
    chance. Intervals are for other people and other items: votes of one
    person, and on one item, hang together. Wilson's, as if they did not,
    stands beside them. docs/results.md says what the intervals mean.

    --adjust: position is in the strengths of the usual tables already.
    Length is per doubling of an answer's words. Time is the same for all
    answers of a ballot, so it tells how a source fares as people take longer.
    """
    from heard.chat_app.results.records import VoteFilter

    if min_seconds is not None and not 0 <= min_seconds < inf:
        raise ResultsError("--min-seconds is a number of seconds from 0 up, such as 5.")
    wanted = VoteFilter(condition, with_leaks, passed_attention, min_seconds, pool_conditions)
    if by or flow or adjust:
        from heard.chat_app.commands.results_more import show_more

        if sum(map(bool, (by, flow, adjust))) > 1:
            raise ResultsError("--by, --flow and --adjust each show something of their own. Give one of them.")
        if hide or (pictures is not None and not flow):
            option = "--hide" if hide else "--pictures"
            raise ResultsError(f"{option} does not go with {'--by' if by else '--flow' if flow else '--adjust'}.")
        names = [one.value for one in adjust or []]
        drawings: dict[str, Callable[[], str]] = show_more(
            lambda compute: _found(study, wanted, compute), by.value if by else None, names, as_json
        )
    else:
        study_results = _without(_found(study, wanted, partial(_usual, with_bootstrap)), hide or [])
        from heard.chat_app.commands.results_tables import as_text, show
        from heard.chat_app.results.charts import PICTURES

        if as_json:
            typer.echo(as_text(study_results))
        else:
            show(study_results)
        # Of conditions that are not taken together each has pictures of its own, in the order of their names.
        parts = [(f"-{number}", one) for number, one in enumerate(study_results.parts, 1)] or [("", study_results)]
        drawings = {f"{name}{end}": partial(draw, one) for end, one in parts for name, draw in PICTURES.items()}
    if pictures is not None:
        _draw({name: draw() for name, draw in drawings.items()}, pictures, quiet=as_json)


async def _usual(
    with_bootstrap: bool, studies: "StudyStore", record: "StudyRecord", wanted: "VoteFilter"
) -> "StudyResults":
    from contextlib import nullcontext

    from heard.chat_app.results.study_results import study_results

    with _bar() if with_bootstrap else nullcontext() as done:
        return await study_results(studies, record.id, wanted, done)


def _without(study_results: "StudyResults", names: list[str]) -> "StudyResults":
    from heard.chat_app.results.hide import hide, sources_of
    from heard.hints import nearest_name

    known = sources_of(study_results)
    for name in names:
        if name not in known:
            hint = nearest_name(name, known) if known else "No vote counts yet."
            raise ResultsError(f'There is no source "{name}" in these results to hide. {hint}')
    return hide(study_results, names)


def _draw(drawings: dict[str, str], folder: Path, *, quiet: bool) -> None:
    files = {f"{name}.svg": drawing for name, drawing in drawings.items()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, drawing in files.items():
            (folder / name).write_text(drawing, encoding="utf-8")
    except OSError as error:
        raise ResultsError(
            f"Cannot write the pictures to {folder} ({error.strerror}). Choose another folder with --pictures."
        ) from error
    typer.echo(f"Pictures: {', '.join(str(folder / name) for name in files)}", err=quiet)


def _found(study: str, wanted: "VoteFilter", compute: "Compute") -> Any:
    import asyncio

    from heard.chat_app.common.settings import load_settings
    from heard.db.engine import open_database
    from heard.db.preregistration import preregistration
    from heard.db.study_records import Phase
    from heard.db.study_store import StudyStore
    from heard.hints import nearest_name

    async def run() -> Any:
        settings = load_settings()
        async with open_database(settings.database, lock_seconds=settings.save_seconds) as engine:
            studies = StudyStore(engine)
            records = await studies.studies(copies=True)
            known = {record.id: record for record in records if record.phase is not Phase.PREVIEW}
            if not known:
                raise ResultsError("There is no study in this database yet. See `heard study --help`.")
            if study not in known:
                raise ResultsError(f'There is no study "{study}" in this database. {nearest_name(study, known)}')
            registered = await preregistration(engine, study)
            if registered is not None and registered.closed:
                raise ResultsError(registered.sentence)
            read = await compute(studies, known[study], wanted)
            if wanted.condition is not None and wanted.condition not in read.conditions:
                named = ", ".join(read.conditions) or "none"
                raise ResultsError(f'No vote of "{study}" is in condition "{wanted.condition}". There are: {named}.')
            return read

    return asyncio.run(run())


@contextmanager
def _bar() -> Iterator[Callable[[int], None]]:
    """A progress bar of the bootstrap on standard error."""
    from rich.console import Console
    from rich.progress import Progress

    from heard.chat_app.results.bootstrap import RESAMPLES

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("Bootstrap", total=RESAMPLES)
        yield lambda done: bar.update(task, completed=done)
