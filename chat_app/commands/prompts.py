"""`heard prompts`: check the prompt files, and show the exact messages that a model would read."""

from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heard.hints import nearest_name

if TYPE_CHECKING:
    from heard.prompts.example_files import Example
    from heard.prompts.library import PromptLibrary  # with pydantic and YAML, which `heard --help` does without
    from heard.prompts.records import Persona

app = typer.Typer(help="Check and show personas, strategies, policies and guidance.", no_args_is_help=True)

Folder = Annotated[
    Path | None,
    typer.Option(
        help="Folder with some of personas/, strategies/, policies/, examples/, guidance.yaml, summary.yaml and "
        "bot_answers.yaml of your own."
    ),
]
BAD_FILES = 2


def _library(folder: Path | None) -> "PromptLibrary":
    from heard.chat_app.common.settings import load_settings
    from heard.prompts.library import PromptLibrary

    settings = load_settings()
    return PromptLibrary.load(folder or settings.prompts_dir, settings.persona_word)


@app.command()
def check(folder: Folder = None) -> None:
    """Read every prompt file and list what there is, or every fault of every file (exit status 2).

    A running chat takes in edited files by itself, once they are all sound; until then it keeps the last good version.
    """
    from heard.chat_app.safety.crisis_numbers import stale_hotlines
    from heard.prompts.files import PromptFileError
    from heard.prompts.policy_files import emotion_words
    from heard.prompts.safety_files import (
        load_danger_lexicon,
        load_dangers,
        load_handoff,
        load_hotlines,
        load_lexicons,
    )

    found: list[Any] = []
    faults: list[str] = []
    readers: tuple[Callable[[], Any], ...] = (
        partial(_library, folder),
        load_lexicons,
        load_hotlines,
        load_handoff,
        load_dangers,
        load_danger_lexicon,
        emotion_words,
    )
    for read in readers:
        try:
            found.append(read())
        except PromptFileError as error:
            faults += error.faults
    for fault in faults:
        typer.echo(fault, err=True)
    if count := len(faults):
        typer.echo(f"heard: {count} fault{'s' if count > 1 else ''} in the prompt files. Mend them all.", err=True)
        raise typer.Exit(BAD_FILES)
    library: PromptLibrary = found[0]
    for persona in library.personas.values():
        typer.echo(f"persona   {persona.id:<24} {persona.name}")
    for strategy in library.strategies.values():
        calls = len(strategy.steps)
        steps = f" ({calls} hidden step{'s' if calls > 1 else ''})" if calls else ""
        typer.echo(f"strategy  {strategy.id:<24} {strategy.name}{steps}")
    for policy in library.policies.values():
        typer.echo(f"policy    {policy.id:<24} {policy.name}")
    for name, examples in library.examples.items():
        several = sum(len(example.turns) > 1 for example in examples)
        shown = any(persona.examples and persona.examples_of == name for persona in library.personas.values())
        unused = "" if shown else "; no persona shows them"
        typer.echo(f"examples  {name:<24} {len(examples)} exchanges, {several} of several turns{unused}")
    for language, text in found[3].items():
        unread = "" if text.reviewed else "; machine-written, no speaker has read it yet"
        others = sum(language in danger.texts for danger in found[4].values())
        typer.echo(f"hand-off  {language:<24} {text.heading}; {others} of {len(found[4])} other dangers{unread}")
    counts = (
        f"{len(library.personas)} personas, {len(library.strategies)} strategies and {len(library.policies)} policies"
    )
    typer.echo(f"{counts} are sound.")
    if parts := library.inherited:
        typer.echo(f"Those that come with heard: {', '.join(parts)}.")
    for warning in stale_hotlines(date.today()):
        typer.echo(f"warning: {warning}", err=True)


@app.command()
def show(
    persona: Annotated[str, typer.Argument(help="Name of a persona, as `heard prompts check` lists it.")],
    strategy: Annotated[str, typer.Argument(help="Name of a strategy.")] = "plain",
    message: Annotated[str, typer.Option("--message", help="The person's words.")] = "I had a bad day.",
    examples: Annotated[
        bool, typer.Option(help="With the persona's examples, which are picked by the message, or without any.")
    ] = True,
    folder: Folder = None,
) -> None:
    """Print every call of one reply: the exact messages in order, and the sha256 that the data has of them.

    The hidden steps come first. Where the text of a step, or the encoder's reading, will go, its variable stands in
    braces; a call with such a variable is sent, and has its sha256 in the data, with the text in its place. The
    examples are those that go before this message as a conversation's first one.
    """
    from heard.prompts.build import reply_calls
    from heard.prompts.files import PromptFileError

    library = _library(folder)
    if persona not in library.personas:
        raise PromptFileError(f'No persona "{persona}". {nearest_name(persona, library.personas)}')
    if strategy not in library.strategies:
        raise PromptFileError(f'No strategy "{strategy}". {nearest_name(strategy, library.strategies)}')
    who = library.personas[persona]
    shown = _picked(library, who, message) if examples and who.examples else ()
    calls = list(reply_calls(who, library.strategies[strategy], message, shown))
    for name, prompt, variables in calls:
        if len(calls) > 1:
            typer.echo(f"=== {name}")
        for part in prompt.messages:
            typer.echo(f"--- {part.role}\n{part.content}")
        left = f", with {' and '.join(f'{{{variable}}}' for variable in variables)} not filled in" if variables else ""
        first = f"{prompt.examples} exchanges before the message are examples, " if prompt.examples else ""
        typer.echo(f"--- {first}at most {prompt.max_tokens} tokens, sha256 {prompt.sha256}{left}")


def _picked(library: "PromptLibrary", persona: "Persona", message: str) -> "tuple[Example, ...]":
    """The persona's examples for a first message."""
    from heard.chat_app.common.settings import load_settings
    from heard.chat_app.conversation.examples import ExamplePicker
    from heard.chat_app.models.downloads import ENCODER, fetch_bundles
    from heard.scorer.text_index import embedded_vectors

    cache_dir = load_settings().cache_dir
    fetch_bundles((ENCODER,), cache_dir)
    picker = ExamplePicker(lambda: embedded_vectors(ENCODER.folder_in(cache_dir)), cache_dir)
    return picker.pick(persona.examples_of, library.examples[persona.examples_of], message, persona.examples)
