"""`heard study preregister` and `open-results`: the plan of a study, and its results closed until its stop rule."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heard.chat_app.commands.study_common import StudyError, check_known, on_studies

if TYPE_CHECKING:
    from heard.db.preregistration import Preregistration
    from heard.db.study_store import StudyStore

EXAMPLE = "--stop-after people=60 or --stop-after date=2027-03-01"


def preregister(
    study_id: Annotated[str, typer.Argument(metavar="ID", help="The id of a stored study.")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The plan, as it was registered: any kind of file.")],
    stop_after: Annotated[
        list[str] | None,
        typer.Option(
            "--stop-after",
            metavar="people=N|date=DAY",
            help="When the results open: so many people have finished (in a live study: voted), or on this day, in "
            "UTC. Given twice, whichever comes first.",
        ),
    ] = None,
) -> None:
    """Store the plan of a study, and close its results until the stop rule is met.

    \b
    heard study preregister warm plan.pdf --stop-after people=60
    heard study preregister warm plan.pdf --stop-after people=60 --stop-after date=2027-03-01

    The file is stored as it is, with its sha256, the time, the version of
    heard and the sha256 of the study's definition; `heard study status`,
    every export and `heard study anonymise` show them. It is never changed.
    From then on `heard results`, its pages and `heard export` tell nothing
    of the votes until the stop rule is met; whoever needs them before says
    why: `heard study open-results`.
    """
    from importlib.metadata import version

    from heard.chat_app.common.settings import load_settings
    from heard.db.preregistration import MOST_BYTES, preregistration, register

    now = datetime.now(UTC)
    people, at = _stop_rule(stop_after or [], now)
    try:
        content = file.read_bytes()
    except OSError as error:
        raise StudyError(f"Cannot read {file} ({error.strerror}). Name the file of the plan.") from error
    if not content or len(content) > MOST_BYTES:
        size = "is empty" if not content else f"has more than {MOST_BYTES // 1_000_000} MB"
        raise StudyError(f"{file} {size}. Name the file of the plan.")

    async def work(studies: "StudyStore") -> "Preregistration | None":
        await check_known(studies, study_id)
        name = file.name
        await register(
            studies.engine, study_id, name, content, people=people, at=at, now=now, heard=version("heard")
        )  # fmt: skip
        return await preregistration(studies.engine, study_id, now)

    found = on_studies(load_settings(), work)
    if found is not None:
        typer.echo("\n".join(lines_of(found)))
        if found.votes_before:
            typer.echo(f"Votes were there before: {found.votes_before}. That stays noted, and readers will ask why.")


def open_results(
    study_id: Annotated[str, typer.Argument(metavar="ID", help="The id of a preregistered study.")],
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why. It is in every export from then on.")],
    by: Annotated[str, typer.Option(metavar="NAME", help="Who opens them.")],
) -> None:
    """Open the results of a preregistered study before its stop rule is met. When, who and why stay with the study."""
    from heard.chat_app.common.settings import load_settings
    from heard.db.preregistration import open_results as store_opening

    reason, by = " ".join(reason.split()), " ".join(by.split())
    if not reason or not by:
        raise StudyError("--reason and --by are in every export from then on. Say why, and who you are.")

    async def work(studies: "StudyStore") -> None:
        await check_known(studies, study_id)
        await store_opening(studies.engine, study_id, by=by, reason=reason, now=datetime.now(UTC))

    on_studies(load_settings(), work)
    typer.echo(f'The results of "{study_id}" are open. Noted: {by}, {reason}')


def lines_of(found: "Preregistration") -> list[str]:
    """Return the lines about a preregistration in `heard study status`."""
    lines = [
        f"registered   {found.file_name}, {found.registered_at:%Y-%m-%d %H:%M} UTC, sha256 {found.sha256}",
        f"stop rule    {found.stop_rule}",
    ]
    if found.definition_now != found.definition_sha256:
        lines.append("             the study's definition has been changed since it was registered")
    if found.opened_at is not None:
        lines.append(
            f"results      opened {found.opened_at:%Y-%m-%d %H:%M} UTC by {found.opened_by}: {found.opened_reason}"
        )
    elif found.met_at is not None:
        lines.append(f"results      open, stop rule met by {found.met_at:%Y-%m-%d %H:%M} UTC")
    else:
        done = "voted" if found.live else "finished"
        lines.append(f"results      closed; {found.people} have {done}")
    return lines


def _stop_rule(given: list[str], now: datetime) -> tuple[int | None, datetime | None]:
    people: int | None = None
    at: datetime | None = None
    if not given:
        raise StudyError(f"A preregistration needs a stop rule: {EXAMPLE}.")
    for one in given:
        kind, _, value = one.partition("=")
        kind = kind.strip()
        if kind == "people" and people is None and value.strip().isdecimal() and 0 < int(value) < 1_000_000:
            people = int(value)
        elif kind == "date" and at is None:
            try:
                at = datetime.fromisoformat(value.strip())
            except ValueError:
                raise StudyError(f'"{value}" is no date. Write it as 2027-03-01.') from None
            at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
            if at <= now:
                raise StudyError(
                    f"The date {value.strip()} is past. Take a later one: the results are closed until then."
                )
        else:
            raise StudyError(f'--stop-after cannot be "{one}". Give each kind once: {EXAMPLE}.')
    return people, at
