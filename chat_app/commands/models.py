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

SYSTEM = "You are a warm listener. Answer in two or three short sentences."
"""Sent first, because the chat always sends one: a model that takes none fails here, and not in a talk."""
QUESTION = "I could not sleep last night, and today everything is too much."

app = typer.Typer(no_args_is_help=True, help="List the models, try one, or fetch the ones that run on this machine.")


@app.command("list")
def list_models() -> None:
    """Show every model, from heard and from models.toml, and what it still needs."""
    from heard.chat_app.common.settings import load_settings
    from heard.chat_app.models.catalogue import load_models

    settings = load_settings()
    specs = load_models(settings.models_file)
    default = settings.default_model or _embedded_name(settings)
    width = max(len(name) for name in specs)
    for spec in specs.values():
        facts = [_needs(spec, settings) or "ready", *_catalogue_facts(spec)]
        mark = " (default)" if spec.id == default else ""
        typer.echo(f"{spec.id:<{width}}  {spec.provider:<12}  {', '.join(facts)}  {spec.label}{mark}")


@app.command("try")
def try_model(
    name: Annotated[str, typer.Argument(help="A model's name, as `heard models list` shows it.")],
    text: Annotated[str, typer.Argument(help="What to say to it.")] = QUESTION,
    max_tokens: Annotated[int, typer.Option(min=1, max=4000, help="Longest reply, in tokens.")] = 200,
    answers: Annotated[
        int, typer.Option(min=1, help="Answers of a study, whose cost is shown if prices are set.")
    ] = 1000,
) -> None:
    """Send a system message and one message to a model and stream its reply, without persona, scores or storage."""
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
        asyncio.run(_try(specs[name], text, max_tokens, answers, settings))
    except ModelFailure as failure:
        typer.echo(f"heard: {failure}", err=True)
        if failure.reason:
            typer.echo(f"The server says: {failure.reason}", err=True)
        raise typer.Exit(2) from None


@app.command()
def fetch() -> None:
    """Download the embedded chat model and the scorer's encoder, and verify both. Does nothing when they are whole."""
    from heard.chat_app.common.settings import load_settings
    from heard.chat_app.models.downloads import ensure_weights

    settings = load_settings()
    weights = ensure_weights(settings.cache_dir, settings.embedded)
    typer.echo(f"Chat model: {weights.chat_model}\nEncoder:    {weights.encoder}")


@app.command()
def get(
    name: Annotated[str, typer.Argument(help="A model of the catalogue, as `heard models list` shows it.")],
) -> None:
    """Download one embedded model and verify it whole. What an earlier try has fetched is gone on with."""
    from heard.chat_app.common.settings import load_settings
    from heard.chat_app.models.embedded_models import catalogue_model
    from heard.chat_app.models.model_download import fetch_model, is_whole

    model, cache_dir = catalogue_model(name), load_settings().cache_dir
    is_whole(model, cache_dir, thorough=True)  # a damaged file loses its stamp, and is fetched again
    typer.echo(f"{model.model}: {fetch_model(model, cache_dir)}")


@app.command()
def check() -> None:
    """Read every embedded model on this machine and compare its sha256. Exit status 2 if one is damaged."""
    from heard.chat_app.common.settings import load_settings
    from heard.chat_app.models.embedded_models import MODELS
    from heard.chat_app.models.model_download import is_whole

    cache_dir, damaged = load_settings().cache_dir, False
    for model in MODELS:
        if model.path_in(cache_dir).exists():
            whole = is_whole(model, cache_dir, thorough=True)
            damaged = damaged or not whole
            fault = f"is damaged: run `heard models get {model.name}`"
            typer.echo(f"{model.name}  {'its sha256 is right' if whole else fault}")
    if damaged:
        raise typer.Exit(2)


@app.command()
def find() -> None:
    """Look for Ollama, LM Studio, llama.cpp and vLLM on this machine, and print the lines that add their models."""
    from heard.chat_app.models.local_servers import PORTS, find_servers

    servers = asyncio.run(find_servers())
    for server in servers:
        typer.echo(f"# {server.server}, port {server.port}. Put what you want into models.toml:")
        for model in server.models:
            typer.echo(server.entry(model))
        if not server.models:
            typer.echo("# it has no model yet")
    if not servers:
        asked = ", ".join(f"{port.server} ({port.number})" for port in PORTS)
        typer.echo(f"None of these answers on this machine: {asked}.")


def _embedded_name(settings: "Settings") -> str:
    """Return the embedded model that a start would use now; what is not on the disk would be fetched first."""
    from heard.chat_app.models.embedded_models import AUTO, SMOLLM2
    from heard.chat_app.models.model_choice import chosen_on_disk
    from heard.chat_app.models.weights_folder import WeightsError

    if settings.embedded != AUTO:
        return settings.embedded
    try:
        return chosen_on_disk(settings.cache_dir, settings.embedded).name
    except WeightsError:
        return SMOLLM2.name


def _catalogue_facts(spec: "ModelSpec") -> list[str]:
    """Return size, licence and memory of a model of the catalogue; nothing for any other."""
    from heard.chat_app.models.embedded_models import CATALOGUE
    from heard.chat_app.models.machine import free_memory
    from heard.chat_app.models.model_choice import fits, memory_needed

    model = CATALOGUE.get(spec.id)
    if model is None:
        return []
    size = f"{(model.bytes or 0) / 1e6:,.0f} MB"
    memory = f"wants {memory_needed(model) / 1e9:.1f} GB of free memory"
    return [size, model.licence, memory if fits(model, free_memory()) else f"{memory}, which this machine has not"]


def _needs(spec: "ModelSpec", settings: "Settings") -> str | None:
    """Return what is missing before the model can answer, or None."""
    from heard.chat_app.models.env_values import variables_of
    from heard.chat_app.models.providers import PROVIDERS, is_installed

    if not is_installed(spec.provider):
        return f'needs `pip install "heard[{PROVIDERS[spec.provider].extra}]"`'
    if spec.key_env and not os.environ.get(spec.key_env, "").strip():
        return f"needs its key in {spec.key_env}"
    if unset := [name for name in variables_of(spec) if not os.environ.get(name, "").strip()]:
        return f"needs a value in {', '.join(unset)}"
    if spec.provider == "embedded":
        return _needs_file(spec, settings)
    return None


def _needs_file(spec: "ModelSpec", settings: "Settings") -> str | None:
    """Return what is missing of an embedded model's file, or None."""
    from pathlib import Path

    from heard.chat_app.models.embedded_models import MODELS
    from heard.chat_app.models.model_download import bytes_to_fetch

    if spec.file is not None:
        return None if spec.repo is not None or Path(spec.file).is_file() else f"needs its file, {Path(spec.file).name}"
    model = next(model for model in MODELS if model.model == spec.model)
    missing = bytes_to_fetch(model, settings.cache_dir)
    if not missing:
        return None
    there = (model.bytes or 0) - missing
    return f"needs `heard models get {model.name}`" + (f" ({there / 1e6:,.0f} MB of it are here)" if there else "")


async def _try(spec: "ModelSpec", text: str, max_tokens: int, answers: int, settings: "Settings") -> None:
    from heard.chat_app.models.client import Models
    from heard.chat_app.models.records import Delta, Rethought, Thinking, Usage, Waiting
    from heard.prompts.records import Prompt, PromptMessage

    prompt = Prompt((PromptMessage("system", SYSTEM), PromptMessage("user", text)), max_tokens)
    first, thinks = None, False
    async with Models.of({spec.id: spec}, settings) as models:
        models.prepare(spec)  # what is imported and made once is no time of the model's
        began = time.perf_counter()
        async for item in models.stream(spec, prompt):
            if isinstance(item, Delta):
                first = first or time.perf_counter()
                sys.stdout.write(item.text)
                sys.stdout.flush()
            elif isinstance(item, Thinking):
                if not thinks:
                    typer.echo("Thinking ...", err=True)
                thinks = True
            elif isinstance(item, Rethought):
                first = None
                typer.echo("")
                typer.echo("What stands above was thinking; the chat takes it away. The reply:", err=True)
            elif isinstance(item, Usage):
                typer.echo("")
                typer.echo(_figures(item, began, first or began), err=True)
                if cost := _cost(spec, item, answers):
                    typer.echo(cost, err=True)
            elif isinstance(item, Waiting):
                typer.echo(f"Waiting: {item.ahead} ahead.", err=True)


def _figures(usage: "Usage", began: float, first: float) -> str:
    now = time.perf_counter()
    read, written = (("?" if count is None else count) for count in (usage.prompt_tokens, usage.completion_tokens))
    return (
        f"First token after {first - began:.2f} s, all after {now - began:.2f} s; "
        f"{read} tokens read, {written} written{', cut at its longest length' if usage.cut else ''}."
    )


def _cost(spec: "ModelSpec", usage: "Usage", answers: int) -> str | None:
    """Return what a study of answers like this one would cost; None without prices or counts."""
    if spec.input_price is None and spec.output_price is None:
        return None
    if usage.prompt_tokens is None or usage.completion_tokens is None:
        return "What a study would cost cannot be said: the server does not count tokens."
    one = (usage.prompt_tokens * (spec.input_price or 0) + usage.completion_tokens * (spec.output_price or 0)) / 1e6
    return (
        f"A study of {answers:,} answers like this one would cost {one * answers:,.2f}, in the money of models.toml. "
        "A persona's prompt is longer than this one."
    )
