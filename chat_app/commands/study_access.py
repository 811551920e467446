"""`heard study invite`, `revoke`, `access`, `pause` and `resume`: links with a role, their use, and a study's rest."""

from typing import TYPE_CHECKING, Annotated

import typer

from heard.chat_app.commands.study_common import StudyError, check_known, on_studies
from heard.chat_app.commands.study_people import COMMAND, Study

if TYPE_CHECKING:
    from heard.chat_app.common.settings import Settings
    from heard.db.desk_records import AccessLink
    from heard.db.study_records import StudyRecord
    from heard.db.study_store import StudyStore

MOST_LINES = 20
"""Newest lines of the log that are shown."""


def invite(
    study_id: Study,
    role: Annotated[
        str,
        typer.Option(
            "--role",
            help="participant or rater (take part under an id of their own), researcher (see results and desk), or "
            "lead (also exclude, pause, close, revoke links, read the log).",
        ),
    ],
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="Whom the link is for, as the log names them.")],
) -> None:
    """Make a link with a role in one study, and show it once: only a hash of it is stored.

    \b
    heard study invite example --role researcher --name "Grace"
    heard study invite example --role rater --name "Rater 3"
    """
    from heard.chat_app.common.settings import load_settings
    from heard.chat_app.studies.study_file import study_of
    from heard.chat_app.studies.survey_links import entry_url
    from heard.db.desk_records import Actor, Role
    from heard.db.desk_store import DeskStore
    from heard.hints import nearest_name

    settings, name = load_settings(), name.strip()
    if role not in list(Role):
        raise StudyError(f'There is no role "{role[:40]}". {nearest_name(role, [one.value for one in Role])}')
    if not 0 < len(name) <= 100:
        raise StudyError("A --name has 1 to 100 characters.")

    async def work(studies: "StudyStore") -> "tuple[StudyRecord, AccessLink, str]":
        await check_known(studies, study_id)
        record = await studies.study(study_id)
        assert record is not None
        return record, *await DeskStore(studies.engine).invite(study_id, Role(role), name, Actor(COMMAND))

    record, link, token = on_studies(settings, work)
    # Behind the "#" it is sent to no server and stands in no log; the desk's page reads it from there.
    path = f"/desk#{token}" if link.role.is_staff else entry_url(study_of(record), token)
    typer.echo(f"{_site(settings)}{path}")
    typer.echo(f"For {name}, as {role} of {study_id}. It is not shown again. To end it: heard study revoke {link.id}")


def revoke(
    link_id: Annotated[str, typer.Argument(metavar="LINK", help="The link's id, as `heard study access` shows it.")],
) -> None:
    """Revoke a link for good. Whoever holds it sees nothing more from the next page on; what they did stays."""
    from heard.chat_app.common.settings import load_settings
    from heard.db.desk_records import Actor
    from heard.db.desk_store import DeskStore

    link = on_studies(load_settings(), lambda studies: DeskStore(studies.engine).revoke(link_id, Actor(COMMAND)))
    if link is None:
        raise StudyError(f'There is no link "{link_id[:40]}". `heard study access STUDY` lists those of a study.')
    before = f", which it was since {link.revoked_at:%Y-%m-%d %H:%M} UTC" if link.revoked_at else ""
    typer.echo(f"Revoked: the link of {link.name} ({link.role.value} of {link.study_id}){before}.")


def access(study_id: Study) -> None:
    """Show a study's links with a role, and the newest lines of the log: who saw and did what at the desk."""
    from heard.chat_app.common.settings import load_settings
    from heard.db.desk_store import DeskStore

    async def work(studies: "StudyStore") -> list[str]:
        await check_known(studies, study_id)
        desk = DeskStore(studies.engine)
        lines = [
            f"{link.id}  {link.role.value:<11}  {link.name}"
            + (f"  (revoked {link.revoked_at:%Y-%m-%d %H:%M})" if link.revoked_at else "")
            for link in await desk.links(study_id)
        ]
        lines = lines or [f"No link yet: heard study invite {study_id} --role researcher --name NAME"]
        log = await desk.log(study_id, MOST_LINES)
        return lines + [f"{line.at:%Y-%m-%d %H:%M}  {line.who} ({line.role.value}): {line.did}" for line in log]

    typer.echo("\n".join(on_studies(load_settings(), work)))


def pause(study_id: Study) -> None:
    """Pause a study: newcomers and those within are told so in a sentence, and nothing is lost."""
    _pause(study_id, paused=True)
    typer.echo(f"Study {study_id} is paused. To let it go on: heard study resume {study_id}")


def resume(study_id: Study) -> None:
    """Let a paused study go on, from where everybody was."""
    _pause(study_id, paused=False)
    typer.echo(f"Study {study_id} goes on.")


def _pause(study_id: str, *, paused: bool) -> None:
    from heard.chat_app.common.settings import load_settings
    from heard.db.desk_records import Actor
    from heard.db.desk_store import DeskStore
    from heard.db.errors import StudyRefused

    async def work(studies: "StudyStore") -> None:
        await check_known(studies, study_id)
        await DeskStore(studies.engine).pause(study_id, Actor(COMMAND), paused=paused)

    try:
        on_studies(load_settings(), work)
    except StudyRefused as refused:
        raise StudyError(str(refused)) from None


def _site(settings: "Settings") -> str:
    address = (settings.public_host or f"{settings.host}:{settings.port}") + settings.root_path
    return f"{'https' if settings.public_host else 'http'}://{address}"
