"""`heard prompts`: check the prompt files, and show the exact prompt that a model would read."""

from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from chat_app.hints import nearest_name
from prompts.build import build_prompt
from prompts.files import PromptFileError
from prompts.library import PromptLibrary

app = typer.Typer(help="Check and show personas, strategies and guidance.", no_args_is_help=True)

Folder = Annotated[Path | None, typer.Option(help="Folder with personas/, strategies/ and guidance.yaml of your own.")]


def _library(folder: Path | None) -> PromptLibrary:
    from chat_app.settings import load_settings

    settings = load_settings()
    return PromptLibrary.load(folder or settings.prompts_dir, settings.persona_word)


@app.command()
def check(folder: Folder = None) -> None:
    """Read every prompt file; name the first fault (exit status 2), and crisis numbers that were checked long ago."""
    from chat_app.safety import stale_hotlines

    library = _library(folder)
    for persona in library.personas.values():
        typer.echo(f"persona   {persona.id:<20} {persona.name}")
    for strategy in library.strategies.values():
        typer.echo(f"strategy  {strategy.id:<20} {strategy.name}")
    typer.echo(f"{len(library.personas)} personas and {len(library.strategies)} strategies are sound.")
    for warning in stale_hotlines(date.today()):
        typer.echo(f"warning: {warning}", err=True)


@app.command()
def show(
    persona: Annotated[str, typer.Argument(help="Name of a persona, as `heard prompts check` lists it.")],
    text: Annotated[str, typer.Argument(help="The person's words.")] = "I had a bad day.",
    strategy: Annotated[str, typer.Option(help="Name of a strategy.")] = "plain",
    folder: Folder = None,
) -> None:
    """Print the messages that a model would read, in order, with the prompt's sha256."""
    library = _library(folder)
    if persona not in library.personas:
        raise PromptFileError(f'No persona "{persona}". {nearest_name(persona, library.personas)}')
    if strategy not in library.strategies:
        raise PromptFileError(f'No strategy "{strategy}". {nearest_name(strategy, library.strategies)}')
    prompt = build_prompt(library.personas[persona], library.strategies[strategy], [], text)
    for message in prompt.messages:
        typer.echo(f"--- {message.role}\n{message.content}")
    typer.echo(f"--- at most {prompt.max_tokens} tokens, sha256 {prompt.sha256}")
