"""`heard study held-back` and `admit`: messages of a survey that read like a crisis."""

from typing import TYPE_CHECKING, Annotated

import typer

from heard.chat_app.commands.study_common import StudyError, check_known, on_studies

if TYPE_CHECKING:
    from heard.db.study_records import HeldItem
    from heard.db.study_store import StudyStore

Id = Annotated[str, typer.Argument(metavar="ID", help="The id of a stored study.")]


def held_back(study_id: Id) -> None:
    """List the messages that the last import held back because they read like a crisis: id, place in the file, reason,
    and who admitted them. Read them there; they are not repeated here."""
    from heard.chat_app.common.settings import load_settings

    async def read(studies: "StudyStore") -> "list[HeldItem]":
        await check_known(studies, study_id)
        return await studies.held_items(study_id)

    held = on_studies(load_settings(), read)
    if not held:
        typer.echo(f"No message of study {study_id} was held back.")
    for one in held:
        admitted = f"  admitted by {one.admitted_by}, {one.admitted_at:%Y-%m-%d %H:%M} UTC" if one.admitted_at else ""
        typer.echo(f"{one.item_id}  {one.place}  {one.reason}{admitted}")


def admit(
    study_id: Id,
    items: Annotated[list[str], typer.Argument(metavar="ITEM...", help="Ids as `heard study held-back` lists them.")],
    by: Annotated[str, typer.Option("--by", metavar="NAME", help="Who decides so. Stored, and shown in exports.")],
) -> None:
    """Admit messages that read like a crisis to a survey whose raters are all trained (trained_raters = true).

    The next import takes them. Their answers must all come with the file: no model and no scorer sees such a message.
    """
    from datetime import UTC, datetime

    from heard.chat_app.common.settings import load_settings
    from heard.chat_app.studies.study_file import study_of
    from heard.db.study_counts import study_counts
    from heard.hints import nearest_name

    name = " ".join(by.split())
    if not name:
        raise StudyError("Nobody is named. Say with --by who decides so.")

    async def work(studies: "StudyStore") -> int:
        await check_known(studies, study_id)
        record = await studies.study(study_id)
        if record is None or not study_of(record).trained_raters:
            raise StudyError(
                f"Study {study_id} does not say that its raters are trained, so nothing was admitted. If they all are, "
                "set trained_raters = true in its file and import it again. In a live study it cannot be set."
            )
        if (await study_counts(studies.engine, study_id)).ballots:
            raise StudyError(
                f"People have been given ballots of study {study_id} already, so its items stay as they are. Give the "
                "study a new id to admit more."
            )
        known = [one.item_id for one in await studies.held_items(study_id)]
        for item in items:
            if item not in known:
                hint = nearest_name(item, known) if known else "The last import held nothing back."
                raise StudyError(f'No message "{item}" of study {study_id} was held back. {hint}')
        return await studies.admit(study_id, items, name, datetime.now(UTC))

    number = on_studies(load_settings(), work)
    typer.echo(f"Admitted by {name}: {number}. The next heard study import takes {'it' if number == 1 else 'them'}.")
