"""Where the train commands write: a folder that holds nothing of others, and the card that gets the figures."""

from pathlib import Path
from typing import Annotated

import typer

from heard.errors import UserError

CardOption = Annotated[
    Path | None, typer.Option("--card", help="Write the figures into this card, between its two marks.")
]


def check_folder(out: Path, *, force: bool, holds: str = "head") -> None:
    """Raise UserError for a file, and without `force` for a folder that is not empty; `holds` is what is in it."""
    if out.exists() and not out.is_dir():
        raise UserError(f"{out} is a file. Give a folder with --out.")
    if out.is_dir() and any(out.iterdir()) and not force:
        raise UserError(f"{out} is not empty. Give another folder, or --force to replace the {holds} in it.")


def show_figures(figures: str, out: Path, card: Path | None, holds: str = "head") -> None:
    """Print the figures and where the new classifier is, and write the figures into the card, if there is one."""
    if card is not None:
        from heard.scorer.tables import write_between_marks

        write_between_marks(card, figures)
    typer.echo(figures + f"\n\nThe {holds} is in {out}.")
