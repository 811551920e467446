"""`heard db upgrade`, `heard data person`, `heard erase`, `heard retention` and `heard data flags`: the database, one
person's data, old data, and flags."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from heard.errors import UserError

if TYPE_CHECKING:
    from heard.db.store import Store

Result = TypeVar("Result")

app = typer.Typer()
db_app = typer.Typer(help="The database itself.", no_args_is_help=True)
app.add_typer(db_app, name="db")
data_app = typer.Typer(help="One person's data, and the cases that were flagged.", no_args_is_help=True)
app.add_typer(data_app, name="data")

Participant = Annotated[str, typer.Argument(help="The participant's id, as the page /you shows it.")]
Out = Annotated[Path | None, typer.Option(help="File to write instead of the standard output.")]


class DataError(UserError):
    """The command cannot be done; `str()` names the fault and the next step."""


@db_app.command()
def upgrade() -> None:
    """Make the database, or bring it to the newest form. Safe to run again and while heard runs."""
    from heard.chat_app.common.settings import load_settings
    from heard.db.engine import printable_url, upgrade_sync

    settings = load_settings()
    upgrade_sync(settings.database)
    typer.echo(f"The database is up to date: {printable_url(settings.database)}")


@data_app.command()
def person(participant: Participant, out: Out = None) -> None:
    """Write everything stored about one person as JSON."""
    import json

    stored = _on_store(lambda store: _export(store, participant))
    _write(json.dumps(stored, ensure_ascii=False, indent=2) + "\n", out)


@app.command()
def erase(
    participant: Participant,
    yes: Annotated[bool, typer.Option("--yes", help="Really erase. There is no way back.")] = False,
) -> None:
    """Erase everything stored about one person: rows and page history."""
    if not yes:
        raise DataError("Nothing was erased. Add --yes to erase this person's data for good.")
    removed = _on_store(lambda store: _erase(store, participant))
    for table, rows in removed.items():
        typer.echo(f"{table:<14}{rows:>8}")


@app.command()
def retention(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Count what would be deleted, and delete nothing.")
    ] = False,
) -> None:
    """Delete what is older than the setting retention_days, as a running heard does once a day. Safe while it runs."""
    from datetime import UTC, datetime

    from heard.chat_app.common.settings import load_settings
    from heard.chat_app.conversation.retention_run import apply_retention, cutoff

    days, now = load_settings().retention_days, datetime.now(UTC)
    if days == 0:
        raise DataError("retention_days is 0, so nothing is ever deleted. Set it in settings.toml first.")

    async def delete(store: "Store") -> dict[str, int]:
        removed = await apply_retention(store, days, now)
        await store.scrub_files()
        return removed

    counted = _on_store(lambda store: store.count_expired(cutoff(now, days))) if dry_run else _on_store(delete)
    for table, rows in counted.items():
        typer.echo(f"{table:<18}{rows:>8}")
    typer.echo(
        f"{'Older' if dry_run else 'Deleted what was older'} than {days} days, {cutoff(now, days):%Y-%m-%d %H:%M} UTC."
    )


@data_app.command()
def flags(
    csv: Annotated[
        bool,
        typer.Option(
            "--csv",
            help="A table instead of JSON lines. A leading ' marks a text that a spreadsheet would take for a formula.",
        ),
    ] = False,
    out: Out = None,
) -> None:
    """Write the cases that people flagged on the scorer's page, of those who allow research and have not withdrawn."""
    from heard.chat_app.export.flag_table import as_csv, as_json_lines

    flags = _on_store(lambda store: store.research_flags())
    _write(as_csv(flags) if csv else as_json_lines(flags), out)


def _write(body: str, out: Path | None) -> None:
    """Write to standard output, or to a file that only its owner can read."""
    if out is None:
        typer.echo(body, nl=False)
        return
    try:
        out.touch(mode=0o600)
        out.write_text(body, encoding="utf-8", newline="")
    except OSError as error:
        raise DataError(f"Cannot write {out} ({error.strerror}). Choose another file with --out.") from error
    typer.echo(f"Written to {out}")


async def _export(store: "Store", participant: str) -> dict[str, Any]:
    stored = await store.export_participant(participant)
    if stored["participant"] is None and not any(stored["page_history"].values()):
        raise DataError(_unknown(participant))
    return stored


async def _erase(store: "Store", participant: str) -> dict[str, int]:
    removed = await store.erase_participant(participant)
    if not any(removed.values()):
        raise DataError(_unknown(participant))
    return removed


def _on_store(work: "Callable[[Store], Awaitable[Result]]") -> Result:
    import asyncio

    from heard.chat_app.common.settings import load_settings
    from heard.db.engine import open_database
    from heard.db.store import Store

    async def run() -> Result:
        settings = load_settings()
        async with open_database(settings.database, lock_seconds=settings.save_seconds) as engine:
            return await work(Store(engine))

    return asyncio.run(run())


def _unknown(participant: str) -> str:
    return f'Nothing is stored about "{participant}". Take the id from the page /you of the browser concerned.'
