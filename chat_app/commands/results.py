"""`heard results STUDY`: what the blind votes of a study say, as tables, as JSON, or as pictures."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heard.errors import UserError

if TYPE_CHECKING:
    from heard.chat_app.results.records import StudyResults, VoteFilter

app = typer.Typer()


class ResultsError(UserError):
    """There are no such results; `str()` names the fault and the next step."""


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
    hide: Annotated[
        list[str] | None,
        typer.Option(
            "--hide", metavar="SOURCE", help="Leave a source out of the tables; its votes count all the same."
        ),
    ] = None,
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

    Counted are people whose newest answer allows research. Attention items,
    and ballots on which an answer gave its source away, are left out; the
    last table says how many votes were left out and why: it adds up to all.

    Share: of the ballots where the source could be marked and that were not
    skipped, with Wilson's interval. Strength: Bradley-Terry, in log-odds,
    freed of position effects, with a bootstrap over people. Alpha: agreement
    on items beyond the overall favourites; 1 is full, 0 is chance.
    """
    from heard.chat_app.results.records import VoteFilter

    study_results = _without(_found(study, VoteFilter(condition, with_leaks, passed_attention)), hide or [])
    if as_json:
        import json
        from dataclasses import asdict

        typer.echo(json.dumps(asdict(study_results), ensure_ascii=False, indent=2))
    else:
        from heard.chat_app.commands.results_tables import show

        show(study_results)
    if pictures is not None:
        _draw(study_results, pictures, quiet=as_json)


def _without(study_results: "StudyResults", names: list[str]) -> "StudyResults":
    from heard.chat_app.results.hide import hide, sources_of
    from heard.hints import nearest_name

    known = sources_of(study_results)
    for name in names:
        if name not in known:
            hint = nearest_name(name, known) if known else "No vote counts yet."
            raise ResultsError(f'There is no source "{name}" in these results to hide. {hint}')
    return hide(study_results, names)


def _draw(study_results: "StudyResults", folder: Path, *, quiet: bool) -> None:
    from heard.chat_app.results.charts import PICTURES

    files = {f"{name}.svg": draw(study_results) for name, draw in PICTURES.items()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, drawing in files.items():
            (folder / name).write_text(drawing, encoding="utf-8")
    except OSError as error:
        raise ResultsError(
            f"Cannot write the pictures to {folder} ({error.strerror}). Choose another folder with --pictures."
        ) from error
    typer.echo(f"Pictures: {', '.join(str(folder / name) for name in files)}", err=quiet)


def _found(study: str, wanted: "VoteFilter") -> "StudyResults":
    import asyncio

    from heard.chat_app.common.settings import load_settings
    from heard.chat_app.results.study_results import study_results
    from heard.db.engine import open_database
    from heard.db.study_records import Phase
    from heard.db.study_store import StudyStore
    from heard.hints import nearest_name

    async def run() -> "StudyResults":
        settings = load_settings()
        async with open_database(settings.database, lock_seconds=settings.save_seconds) as engine:
            studies = StudyStore(engine)
            records = await studies.studies(copies=True)
            known = {record.id: None for record in records if record.phase is not Phase.PREVIEW}
            if not known:
                raise ResultsError("There is no study in this database yet. See `heard study --help`.")
            if study not in known:
                raise ResultsError(f'There is no study "{study}" in this database. {nearest_name(study, known)}')
            read = await study_results(studies, study, wanted)
            if wanted.condition is not None and wanted.condition not in read.conditions:
                named = ", ".join(read.conditions) or "none"
                raise ResultsError(f'No vote of "{study}" is in condition "{wanted.condition}". There are: {named}.')
            return read

    return asyncio.run(run())
