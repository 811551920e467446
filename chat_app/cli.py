"""`heard`: the command line for the chat, the scorer, the crisis check, prompts, models and data.

A `UserError` is an error that the user can mend: it ends in one plain sentence and exit status 2. A traceback means a
bug.
"""

import sys
from typing import Annotated

import typer

from heard.chat_app.commands import (
    chat,
    check,
    compare,
    danger,
    data,
    evaluate_policy,
    evaluate_voice,
    export,
    guard,
    hotlines,
    models,
    perturb,
    prompts,
    reading,
    results,
    score,
    show_places,
    show_settings,
    study,
    train_voice,
)
from heard.errors import UserError

app = typer.Typer(
    help=(
        "Chat whose every reply is scored for cognitive, emotional and behavioral empathy.\n\n"
        "Start with `heard chat`. Settings: settings.toml or HEARD_<NAME> variables (`heard settings` shows those in "
        "force). Models: models.toml."
    ),
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"heard {version('heard')}")
        raise typer.Exit()


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    """Options before a command's name."""


for commands in (
    chat,
    show_settings,
    score,
    reading,
    perturb,
    check,
    danger,
    guard,
    show_places,
    data,
    export,
    results,
    compare,
    evaluate_policy,
    train_voice,
):  # each of their commands is one of heard's own
    app.add_typer(commands.app)
for name, group in (
    ("prompts", prompts.app),
    ("hotlines", hotlines.app),
    ("models", models.app),
    ("study", study.app),
    ("evaluate-voice", evaluate_voice.app),
):
    app.add_typer(group, name=name)


def main() -> None:
    """Run a command. Exit status: 0 done, 1 a bug, 2 bad input or environment, 130 interrupted."""
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(130)
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing in ("", "heard"):
            raise
        step = 'Run pip install "heard[chat]".'
        if missing in sys.stdlib_module_names:
            step = "Python has that on Linux and macOS only; on Windows run heard in WSL."
        typer.echo(f"heard: `heard {''.join(sys.argv[1:2])}` needs {missing}. {step}", err=True)
        sys.exit(2)
    except UserError as error:
        typer.echo(f"heard: {error}", err=True)
        sys.exit(2)
    except OSError as error:  # of a path that a command has not foreseen, or of the disk: of surroundings, and no bug
        what = f"{error.filename}: " if error.filename else ""
        typer.echo(f"heard: {what}{error.strerror or type(error).__name__}. Check the path, and the disk.", err=True)
        sys.exit(2)
