"""`heard hotlines`: the crisis numbers that a hand-off shows, and which of them are due to be checked again."""

from datetime import date
from typing import Annotated

import typer

from heard.hints import nearest_name

app = typer.Typer(help="List the crisis numbers, and those that were checked long ago.", no_args_is_help=True)

OLD, BAD_INPUT = 1, 2


@app.command()
def check() -> None:
    """List every number that was last checked more than a year ago.

    Exit status 0 if there is none, 1 if there are some, 2 if the file cannot be read. To renew one, call it or look it
    up at its source, then set the new date in prompts/safety/hotlines.yaml.
    """
    from heard.chat_app.safety.crisis_numbers import entries, stale_hotlines

    old = stale_hotlines(date.today())
    for sentence in old:
        typer.echo(sentence)
    if old:
        raise typer.Exit(OLD)
    typer.echo(f"All {len(entries())} entries were checked within a year.")


@app.command("list")
def list_(
    country: Annotated[
        str | None, typer.Argument(help="Two-letter code of one country, such as GB. Default: every country.")
    ] = None,
) -> None:
    """List the numbers: country, what it is for, how to reach it, when it was checked, and the page that names it."""
    from heard.chat_app.safety.crisis_numbers import country_with, hotlines
    from heard.prompts.safety_files import Country

    def show(one: Country) -> None:
        typer.echo(f"{one.code}  {one.name}")
        typer.echo(f"    emergency: {one.emergency}  [{one.checked}]  {one.emergency_source}")
        if one.police:
            typer.echo(f"    police: {one.police}  [{one.checked}]  {one.police_source}")
        for line in one.lines:
            ways = "; ".join(f"{how} {to}" for how, to in (("call", line.call), ("text", line.text)) if to)
            hours = f", {line.hours}" if line.hours else ""
            for_ = ", ".join(line.dangers)
            typer.echo(f"    {line.name}: {ways or line.url}{hours} ({for_})  [{line.checked}]  {line.source}")

    if country is not None:
        chosen = country_with(country)
        if chosen is None:
            codes = [one.code for one in hotlines().countries]
            typer.echo(f'There are no numbers for "{country}". {nearest_name(country.upper(), codes)}', err=True)
            raise typer.Exit(BAD_INPUT)
        show(chosen)
        return
    for one in hotlines().countries:
        show(one)
    for directory in hotlines().directories:
        typer.echo(f"--  {directory.name}: {directory.url}  [{directory.checked}]  {directory.source}")
