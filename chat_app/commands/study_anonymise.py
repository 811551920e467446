"""`heard study anonymise`: a study's data as others may have them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heard.chat_app.commands.study_common import StudyError

if TYPE_CHECKING:
    from heard.chat_app.export.anonymise import About


def anonymise(
    study_id: Annotated[str, typer.Argument(metavar="ID", help="The id of a stored study.")],
    out: Annotated[Path, typer.Option(help="Folder to make.")],
    title: Annotated[str, typer.Option(help="Of the data set.")],
    author: Annotated[
        list[str],
        typer.Option(
            "--author", metavar="NAME", help='"Family, Given", with ", ORCID" after it if you like; once for each.'
        ),
    ],
    licence: Annotated[
        str, typer.Option(help="CC-BY-4.0, CC-BY-SA-4.0, CC-BY-NC-4.0, CC0-1.0, ODbL-1.0 or PDDL-1.0.")
    ] = "CC-BY-4.0",
) -> None:
    """Write a study's votes without anything that tells who voted, ready to be read and then published by you.

    \b
    heard study anonymise warm --out warm-data --title "Who sounds warm?" --author "Lee, Robin"

    Ids are random and no list of them is kept; times are days since the
    first vote; participants' words are screened for mails, links, numbers,
    addresses and names. Beside the folder stands a list of these words:
    read all of it, and look for rare combinations of answers, before you
    publish anything. heard publishes nothing.
    """
    import asyncio

    from heard.chat_app.export.no_pandas import without_pandas

    with without_pandas():
        from heard.chat_app.export.anonymise import About
        from heard.chat_app.export.citation import author_of, licence_of

    title = " ".join(title.split())
    if not title:
        raise StudyError("--title is what others will cite. Write one.")
    about = About(title, [author_of(one) for one in author], licence_of(licence))
    manifest, to_read = asyncio.run(_run(study_id, out, about))
    for name, rows in manifest["rows"].items():
        typer.echo(f"{name:<14}{rows:>10}")
    places = ", ".join(f"{number} {kind}" for kind, number in manifest["replaced"].items()) or "nothing"
    typer.echo(f"Replaced in participants' words: {places}.")
    typer.echo(
        f"Written to {out}. Before you publish it, read {to_read}: patterns miss names, and a story can tell who."
    )


async def _run(study: str, out: Path, about: "About") -> tuple[dict[str, Any], Path]:
    from heard.chat_app.commands.progress import Progress
    from heard.chat_app.common.settings import load_settings
    from heard.chat_app.export.anonymise import anonymise as write
    from heard.db.engine import open_database

    settings = load_settings()
    async with open_database(settings.database, lock_seconds=settings.save_seconds) as engine:
        with Progress() as progress:
            return await write(engine, study, out, about, progress)
