"""`heard guard` and `heard train-guard`: what the guard of replies catches, how often it is right, and its head.

No text is logged, and no error message quotes it.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heard.chat_app.commands.own_head import encoder_folder
from heard.chat_app.commands.progress import Progress
from heard.chat_app.commands.score import CommandError, EncoderOption, training_imports
from heard.chat_app.commands.training_output import CardOption, check_folder, show_figures

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from heard.chat_app.safety.guard_measure import Reading
    from heard.chat_app.safety.reply_guard import ReplyGuard
    from heard.scorer.guard_lines import GuardLine
    from heard.scorer.training.train_guard import GoodReply

app = typer.Typer()
LINES_HELP = "CSV with the columns writer, kind, verdict (caught or clean), message and reply."


@app.command()
def guard(
    message: Annotated[str | None, typer.Argument(help="What the person wrote.")] = None,
    reply: Annotated[str | None, typer.Argument(help="The reply to read.")] = None,
    measure: Annotated[
        Path | None,
        typer.Option("--measure", help=f"Print recall and false alarms over labelled lines: {LINES_HELP}"),
    ] = None,
    folds: Annotated[
        bool,
        typer.Option(
            "--folds",
            help="With --measure: train the head anew on parts of the lines and measure it on the others, for a file "
            "that the head has learnt from. Takes minutes.",
        ),
    ] = False,
) -> None:
    """Say whether a reply may be shown to the person, and if not why. Exit status 1 for one that may not.

    The rules are in prompts/safety/guard.en.yaml. Nothing leaves this machine.
    """
    if (measure is None) is (reply is None) or (measure is not None and message is not None):
        raise CommandError(
            'Give a message and a reply, or --measure FILE: heard guard "Are you real?" "Of course I am."'
        )
    if folds and measure is None:
        raise CommandError("--folds says how lines are measured. Give them with --measure FILE, or leave it out.")
    if measure is not None:
        typer.echo(_measured(measure, folds), nl=False)
        return
    found = _caught(_open_guard(), message or "", reply or "")
    for kind, by, sentence in found:
        typer.echo(f"{kind} (by {by}): {sentence}")
    if found:
        raise typer.Exit(1)
    typer.echo("nothing caught")


@app.command("train-guard")
def train_guard(
    out: Annotated[Path, typer.Option("--out", help="Folder of the new head.")],
    data: Annotated[
        Path | None, typer.Option("--data", help=f"Your labelled lines: {LINES_HELP} Default: the project's own.")
    ] = None,
    encoder: EncoderOption = "",
    force: Annotated[bool, typer.Option("--force", help="Replace the head that is in the folder.")] = False,
    card: CardOption = None,
) -> None:
    """Train the head of the guard, which reads replies after the rules, and measure it over folds.

    It learns from labelled lines, and, as replies that may be shown, from the example exchanges of the personas and the
    guard's own fixed sentences.
    """
    check_folder(out, force=force)
    with training_imports():
        from heard.scorer.guard_lines import LINES, read_lines
        from heard.scorer.training.train_guard import train_guard as train

        lines = read_lines(data or LINES)
        title = "The default head of heard's guard" if data is None else f"A head trained on {data.name}"
        with Progress() as on_progress:
            figures = train(lines, _good_replies(lines), encoder_folder(encoder), out, title, on_progress)
    show_figures(figures, out, card)


def _open_guard() -> "ReplyGuard":
    from heard.chat_app.commands.own_head import open_scorer
    from heard.chat_app.safety.reply_guard import ReplyGuard
    from heard.scorer.encoder import Encoder
    from heard.scorer.guard_head import GuardHeadFile

    scorer, file, folder = open_scorer("", ""), GuardHeadFile.load(), encoder_folder("")
    return ReplyGuard.load(lambda: Encoder.load(folder, file.layers, sha256=file.encoder_sha256), scorer.misreads)


def sentences_of(reply: str) -> list[str]:
    """The sentences of a reply as they arrive in a chat, each with the white space before it."""
    from heard.chat_app.conversation.sentences import SentenceSplitter

    splitter = SentenceSplitter()
    return [sentence for sentence in (*splitter.feed(reply), splitter.rest()) if sentence.strip()]


def _caught(
    opened: "ReplyGuard", message: str, reply: str, earlier: tuple[str, ...] = ()
) -> list[tuple[str, str, str]]:
    """(kind, by, sentence) of everything that any part of the guard catches."""
    from heard.chat_app.safety.reply_guard import GuardContext

    context, before, found = GuardContext(message, earlier), "", []
    for sentence in sentences_of(reply):
        found += [(one.kind, one.by, sentence.strip()) for one in opened.explain(context, sentence, before)]
        before += sentence
    return found


def reading_of(opened: "ReplyGuard", message: str, reply: str, earlier: tuple[str, ...] = ()) -> "Reading":
    """What the rules and the head of a guard say of a whole reply; `earlier` are the person's messages before."""
    from heard.chat_app.safety.guard_measure import Reading

    found = _caught(opened, message, reply, earlier)
    return Reading(
        frozenset(kind for kind, by, _ in found if by != "head"),
        frozenset(kind for kind, by, _ in found if by == "head"),
    )


def example_replies() -> list[tuple[tuple[str, ...], str]]:
    """(the person's messages, the newest last; the reply) of every example exchange that comes with heard."""
    from heard.prompts.library import PromptLibrary

    found = []
    for examples in PromptLibrary.load(None).examples.values():
        for example in examples:
            said: list[str] = []
            for message, reply in example.exchanges:
                said.append(message)
                found.append((tuple(said), reply))
    return found


def _good_replies(lines: "Sequence[GuardLine]") -> "list[GoodReply]":
    """The example exchanges, then the guard's own fixed sentences in answer to the messages of the lines."""
    from heard.prompts.guard_files import KINDS, load_guard
    from heard.scorer.training.train_guard import GoodReply

    found = [GoodReply(said[-1], tuple(sentences_of(reply))) for said, reply in example_replies()]
    texts = load_guard().kinds
    fixed = [one for kind in KINDS for some in (texts[kind].fixed, *texts[kind].personas.values()) for one in some]
    messages = [line.message for line in lines if line.caught]
    found += [GoodReply(message, tuple(sentences_of(fixed[at % len(fixed)]))) for at, message in enumerate(messages)]
    return found


def _measured(path: Path, folds: bool) -> str:
    from dataclasses import replace

    from heard.chat_app.safety.guard_measure import report
    from heard.scorer.guard_head import HEAD_KINDS
    from heard.scorer.guard_lines import read_lines

    lines, exchanges, opened = read_lines(path), example_replies(), _open_guard()
    readings = [reading_of(opened, line.message, line.reply) for line in lines]
    good = [reading_of(opened, said[-1], reply, said[:-1]) for said, reply in exchanges]
    if folds:
        with training_imports():
            from heard.scorer.training.train_guard import held_out_margins

            with Progress() as on_progress:
                held_out = held_out_margins(lines, _good_replies(lines), encoder_folder(""), on_progress)

        def kinds(margins: "Iterable[float]") -> frozenset[str]:
            return frozenset(kind for kind, margin in zip(HEAD_KINDS, margins, strict=True) if margin >= 0)

        readings = [
            replace(one, head=kinds(margins), left_out=kinds(left_out) if line.kind in HEAD_KINDS else None)
            for line, one, margins, left_out in zip(lines, readings, held_out.lines, held_out.left_out, strict=True)
        ]
        good = [replace(one, head=kinds(margins)) for one, margins in zip(good, held_out.good, strict=False)]
    return report(lines, readings, good)
