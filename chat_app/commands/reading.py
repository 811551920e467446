"""`heard train-reading`: trains and measures the small model that reads a message's emotion."""

from pathlib import Path
from typing import Annotated

import typer

from heard.chat_app.commands.own_head import encoder_folder
from heard.chat_app.commands.progress import Progress
from heard.chat_app.commands.score import EncoderOption, training_imports
from heard.chat_app.commands.training_output import CardOption, check_folder, show_figures

app = typer.Typer()


@app.command("train-reading")
def train_reading(
    out: Annotated[Path, typer.Option("--out", help="Folder of the new reading.")],
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            help="Your labelled messages: CSV with the columns emotion (anger, anxiety, depression, sadness, shame, "
            "joy, neutral) and message. Default: the project's own.",
        ),
    ] = None,
    encoder: EncoderOption = "",
    force: Annotated[bool, typer.Option("--force", help="Replace the reading that is in the folder.")] = False,
    card: CardOption = None,
) -> None:
    """Train the reading of a message's emotion that the hybrid strategy uses, and measure it over folds.

    It learns from whole messages with one emotion each; what is printed was measured on messages that the classifier
    had not seen, in five cuts into five folds.
    """
    check_folder(out, force=force, holds="reading")
    with training_imports():
        from heard.scorer.training.train_emotion import train_emotion_reader

        with Progress() as on_progress:
            figures = train_emotion_reader(data, encoder_folder(encoder), out, on_progress)
    show_figures(figures, out, card, "reading")
