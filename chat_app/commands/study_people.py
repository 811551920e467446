"""`heard study people`, `exclude` and `include`: who came to a study, and who counts in its results."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heard.chat_app.commands.study_common import StudyError, check_known, on_studies

if TYPE_CHECKING:
    from heard.db.study_people import StudyPerson
    from heard.db.study_store import StudyStore

COMMAND = "command line"
"""How the log names whoever runs a command."""
MOST_SHOWN = 200
"""Most people in the table on the screen; the CSV has all."""
Study = Annotated[str, typer.Argument(metavar="STUDY", help="The id of a stored study.")]
People = Annotated[
    list[str] | None,
    typer.Option("--person", metavar="ID", help="A person: the id of their link, or their own. May be repeated."),
]


def people(
    study_id: Study,
    out: Annotated[
        Path | None, typer.Option("--csv", metavar="FILE", help="Write everything as CSV there; - is standard output.")
    ] = None,
    to_pay: Annotated[
        bool,
        typer.Option("--to-pay", help="Only the list to pay from, as CSV: who finished or was screened out, by id."),
    ] = False,
) -> None:
    """Show who came to a study: condition, progress, attention, time, straight-lining, device, leaks, exclusions.

    \b
    heard study people example                    a table
    heard study people example --csv people.csv   all columns, for a script or a spreadsheet
    heard study people example --to-pay --csv pay.csv

    Seconds are from seeing a ballot to the click. Same place: how often the
    place that the person marks most often is marked as most empathetic; 100%
    on many ballots is straight-lining. Nothing here is told to participants.
    The list to pay from holds the excluded too, with the reason: whoever did
    the work is paid unless you decide otherwise.
    """
    from heard.chat_app.studies.people_table import people_csv, to_pay_csv

    found = _people(study_id)
    if out is None and not to_pay:
        _show(found)
        return
    written = to_pay_csv(found) if to_pay else people_csv(found)
    if out is None or str(out) == "-":
        typer.echo(written, nl=False)
        return
    try:
        out.write_text(written, encoding="utf-8", newline="")
    except OSError as error:
        raise StudyError(f"Cannot write {out} ({error.strerror}). Choose another file with --csv.") from error
    typer.echo(f"Written: {out}")


def exclude(
    study_id: Study,
    persons: People = None,
    rules: Annotated[
        list[str] | None,
        typer.Option(
            "--rule",
            metavar="RULE",
            help="fast=3s (median seconds a ballot), attention=1 (items failed), straight-lining=90%, same=90%, "
            "leaks=50%, unfinished or screened-out. May be repeated.",
        ),
    ] = None,
    reason: Annotated[str, typer.Option("--reason", help="Why, of people named by --person; stored and shown.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show whom it would exclude, and store nothing.")] = False,
) -> None:
    """Leave people out of a study's results, by a rule or by hand. Nothing is deleted: their votes stay, the export
    marks them, and `heard study include` lifts it.

    \b
    heard study exclude example --rule fast=3s --rule attention=1 --dry-run
    heard study exclude example --rule fast=3s --rule attention=1
    heard study exclude example --person 5f2c1e --reason "Took part twice."
    """
    from heard.chat_app.common.settings import load_settings
    from heard.chat_app.studies.exclusion_rules import caught, parse_rule
    from heard.chat_app.studies.people_table import name_of
    from heard.db.desk_records import Actor
    from heard.db.desk_store import DeskStore

    if not persons and not rules:
        raise StudyError("Say whom: --rule fast=3s, or --person ID with a --reason.")
    if persons and not reason.strip():
        raise StudyError("An exclusion by hand needs a --reason, which is stored with it.")
    read = [parse_rule(rule) for rule in rules or []]
    found = _people(study_id)
    by_hand = [_person(found, name).participant_id for name in persons or []]
    wanted = [(str(rule), caught(rule, found)) for rule in read]
    wanted += [(None, dict.fromkeys(by_hand, reason.strip()))] if by_hand else []  # type: ignore[list-item]
    names = {one.participant_id: name_of(one) for one in found}
    for rule, reasons in wanted:
        typer.echo(f"{rule or 'by hand'}: {len(reasons)} of {len(found)} people")
        for person, why in reasons.items():
            typer.echo(f"  {names[person]}: {why}")
    if dry_run:
        typer.echo("Nothing was stored.")
        return

    async def work(studies: "StudyStore") -> set[str]:
        desk, added = DeskStore(studies.engine), set[str]()
        for rule, reasons in wanted:
            added |= set(await desk.exclude(study_id, reasons, rule, Actor(COMMAND)))
        return added

    added = on_studies(load_settings(), work)
    typer.echo(f"Excluded: {len(added)}. Their votes stay; `heard results {study_id}` leaves them out.")


def include(
    study_id: Study,
    persons: People = None,
    reason: Annotated[str, typer.Option("--reason", help="Why; stored beside the exclusion.")] = "",
) -> None:
    """Let excluded people count again. The exclusion stays in the record, with who lifted it, when and why."""
    from heard.chat_app.common.settings import load_settings
    from heard.db.desk_records import Actor
    from heard.db.desk_store import DeskStore

    if not persons or not reason.strip():
        raise StudyError("Say whom and why: --person ID --reason TEXT.")
    found = _people(study_id)
    ids = [_person(found, name).participant_id for name in persons]
    lifted = on_studies(
        load_settings(),
        lambda studies: DeskStore(studies.engine).include(study_id, ids, reason.strip(), Actor(COMMAND)),
    )
    if not lifted:
        raise StudyError("None of these people is excluded, so there is nothing to lift.")
    typer.echo(f"Lifted: {lifted}.")


def _people(study_id: str) -> "list[StudyPerson]":
    from heard.chat_app.common.settings import load_settings
    from heard.db.study_people import study_people

    async def work(studies: "StudyStore") -> "list[StudyPerson]":
        await check_known(studies, study_id)
        return await study_people(studies.engine, study_id)

    return on_studies(load_settings(), work)


def _person(people: "Sequence[StudyPerson]", name: str) -> "StudyPerson":
    found = [one for one in people if name in (one.external_id, one.participant_id)]
    if not found:
        raise StudyError(f'Nobody of this study has the id "{name[:100]}". `heard study people` lists all ids.')
    return found[0]


def _show(people: "Sequence[StudyPerson]") -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from heard.chat_app.studies.people_table import COLUMNS, MISSING, summary

    console = Console(highlight=False)
    if people:
        table = Table()
        for column in COLUMNS:
            table.add_column(column.heading, overflow="fold")
        for one in people[:MOST_SHOWN]:
            cells = (column.shown(one) if column.shown else column.value(one) for column in COLUMNS)
            table.add_row(*(escape(str(cell)) if cell is not None else MISSING for cell in cells))
        console.print(table)
    typer.echo(summary(people) + ".")
    if len(people) > MOST_SHOWN:
        typer.echo(f"The first {MOST_SHOWN} are shown. All of them: add --csv FILE.")
