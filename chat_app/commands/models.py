"""`heard models`: which models there are, one question to one of them, and the download of the embedded ones."""

import asyncio
import logging
import os
import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from heard.chat_app.common.settings import Settings
    from heard.chat_app.models.records import ModelSpec, Usage

QUESTION = "I could not sleep last night, and today everything is too much."

app = typer.Typer(no_args_is_help=True, help="List the models, try one, or fetch the ones that run on this machine.")


@app.command("list")
def list_models() -> None:
    """Show every model, from heard and from models.toml, and what it still needs."""
    from heard.chat_app.common.settings import load_settings
    from heard.chat_app.models.catalogue import load_models

    settings = load_settings()
    specs = load_models(settings.models_file)
    width = max(len(name) for name in specs)
    for spec in specs.values():
        needs = _needs(spec, settings)
        mark = " (default)" if spec.id == settings.default_model else ""
        typer.echo(f"{spec.id:<{width}}  {spec.provider:<12}  {needs or 'ready'}  {spec.label}{mark}")


@app.command("try")
def try_model(
    name: Annotated[str, typer.Argument(help="A model's name, as `heard models list` shows it.")],
    text: Annotated[str, typer.Argument(help="What to say to it.")] = QUESTION,
    max_tokens: Annotated[int, typer.Option(min=1, max=4000, help="Longest reply, in tokens.")] = 200,
) -> None:
    """Send one message to a model and stream its reply, without persona, scores or storage."""
    from heard.chat_app.common.settings import load_settings
    from heard.chat_app.models.catalogue import ModelsError, load_models
    from heard.chat_app.models.records import ModelFailure
    from heard.hints import nearest_name

    settings = load_settings()
    specs = load_models(settings.models_file)
    if name not in specs:
        raise ModelsError(f'No model "{name}". {nearest_name(name, specs)}')
    if not text.strip():
        raise ModelsError(f'The text is empty. Say something to the model: heard models try {name} "I feel low today".')
    logging.getLogger("heard").setLevel(logging.ERROR)  # the failure is told below, once
    try:
        asyncio.run(_try(specs[name], text, max_tokens, settings))
    except ModelFailure as failure:
        typer.echo(f"heard: {failure}", err=True)
        raise typer.Exit(2) from None


@app.command()
def fetch() -> None:
    """Download the embedded chat model and the scorer's encoder, and verify both. Does nothing when they are whole."""
    from heard.chat_app.common.settings import load_settings
    from heard.chat_app.models.downloads import ensure_weights

    weights = ensure_weights(load_settings().cache_dir)
    typer.echo(f"Chat model: {weights.chat_model}\nEncoder:    {weights.encoder}")


def _needs(spec: "ModelSpec", settings: "Settings") -> str | None:
    """Return what is missing before the model can answer, or None."""
    from heard.chat_app.models.providers import PROVIDERS, is_installed

    if not is_installed(spec.provider):
        return f'needs `pip install "heard[{PROVIDERS[spec.provider].extra}]"`'
    if spec.key_env and not os.environ.get(spec.key_env, "").strip():
        return f"needs its key in {spec.key_env}"
    if spec.provider == "embedded":
        from heard.chat_app.models.bundles import CHAT_MODEL
        from heard.chat_app.models.downloads import faulty_files

        if faulty_files(CHAT_MODEL, settings.cache_dir):
            return "needs `heard models fetch`"
    return None


async def _try(spec: "ModelSpec", text: str, max_tokens: int, settings: "Settings") -> None:
    from heard.chat_app.models.bundles import CHAT_MODEL
    from heard.chat_app.models.client import Models
    from heard.chat_app.models.local_chat import Engine
    from heard.chat_app.models.records import Delta, Usage, Waiting
    from heard.prompts.records import Prompt, PromptMessage

    engine = Engine(CHAT_MODEL.folder_in(settings.cache_dir) / CHAT_MODEL.files[0].name)
    prompt = Prompt((PromptMessage("user", text),), max_tokens)
    began = time.perf_counter()
    first = None
    try:
        async with Models(
            {spec.id: spec},
            engine=engine,
            first_token_seconds=settings.first_token_seconds,
            stall_seconds=settings.stall_seconds,
            total_seconds=settings.total_seconds,
        ) as models:
            async for item in models.stream(spec, prompt):
                if isinstance(item, Delta):
                    first = first or time.perf_counter()
                    sys.stdout.write(item.text)
                    sys.stdout.flush()
                elif isinstance(item, Usage):
                    typer.echo("")
                    typer.echo(_figures(item, began, first or began), err=True)
                elif isinstance(item, Waiting):
                    typer.echo(f"Waiting: {item.ahead} ahead.", err=True)
    finally:
        engine.close()


def _figures(usage: "Usage", began: float, first: float) -> str:
    now = time.perf_counter()
    read, written = (("?" if count is None else count) for count in (usage.prompt_tokens, usage.completion_tokens))
    return (
        f"First token after {first - began:.2f} s, all after {now - began:.2f} s; "
        f"{read} tokens read, {written} written{', cut at its longest length' if usage.cut else ''}."
    )
