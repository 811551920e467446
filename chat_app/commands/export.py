"""`heard export`: studies and their votes as CSV and Parquet, for research."""

import gc
from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer()


@app.command()
def export(
    out: Annotated[Path, typer.Option(help="Folder to make.")],
    study: Annotated[str | None, typer.Argument(help="The study's id.", show_default=False)] = None,
    every: Annotated[bool, typer.Option("--all", help="Every study, in the same tables.")] = False,
    full: Annotated[
        bool,
        typer.Option(
            "--full",
            help="Repeat ballot, vote and answer with their texts on each row of the votes' tables: flat "
            "files that need no join, and are large.",
        ),
    ] = False,
    with_external_ids: Annotated[
        bool,
        typer.Option(
            "--with-external-ids",
            help="Add the recruiting platform's ids of people. They are personal data: leave them out if you can.",
        ),
    ] = False,
    excel: Annotated[
        bool,
        typer.Option(
            "--excel",
            help="CSV that a spreadsheet opens as it is: a mark that it is UTF-8, and ids as texts, so that 007 and "
            "3-4 stay what they are. Programs read the Parquet files, or an export without this.",
        ),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier export in that folder.")] = False,
) -> None:
    """Write a study's votes as CSV and Parquet, long and wide, with a codebook and a manifest.

    Only people are in it whose newest answer to the notice allows the chat and research.
    """
    import asyncio

    from heard.chat_app.export.folder import ExportError

    if (study is None) != every:
        raise ExportError("Name one study, or give --all for every one of them.")
    manifest = asyncio.run(_run(study, out, force=force, full=full, external_ids=with_external_ids, excel=excel))
    for name, rows in manifest["rows"].items():
        typer.echo(f"{name:<14}{rows:>10}")
    left_out = sum(kind["people"] for counts in manifest["studies"].values() for kind in counts["left_out"].values())
    if left_out:
        typer.echo(f"Left out: {left_out} people who do not allow research. The manifest counts them.")
    for sentence in manifest["closed"].values():
        typer.echo(f"Left out: {sentence}")
    typer.echo(f"Written to {out}")


async def _run(study: str | None, out: Path, *, force: bool, **options: bool) -> dict[str, Any]:
    from heard.chat_app.commands.progress import Progress
    from heard.chat_app.export.no_pandas import without_pandas

    with without_pandas():
        from heard.chat_app.export.study_export import ExportOptions, export_study
    from heard.chat_app.common.settings import load_settings
    from heard.db.engine import open_database

    settings = load_settings()
    async with open_database(settings.database, lock_seconds=settings.save_seconds) as engine:
        gc.disable()  # a million rows are no garbage in cycles: looking for some takes a tenth of the time
        try:
            with Progress() as progress:
                wanted = ExportOptions(study, **options)
                return await export_study(engine, wanted, out, force=force, progress=progress)
        finally:
            gc.enable()
