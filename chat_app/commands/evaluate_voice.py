"""`heard evaluate-voice`: how the chat talks, on a set of messages; and the sheets to read its replies by hand."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from heard.chat_app.commands.progress import Progress
from heard.chat_app.commands.report_tables import show_table
from heard.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from heard.chat_app.common.settings import Settings
    from heard.chat_app.comparing.tables import ReportTable
    from heard.chat_app.conversation.services import Services
    from heard.chat_app.voice.messages import Conversation
    from heard.chat_app.voice.records import VoiceRun
    from heard.chat_app.voice.voice_figures import VoiceFigures
    from heard.chat_app.voice.voice_runner import VoiceReport
    from heard.prompts.records import Persona

app = typer.Typer(context_settings={"help_option_names": ["-h", "--help"]})

Result = TypeVar("Result")
MessagesOption = Annotated[
    Path | None,
    typer.Option(
        "--messages", metavar="FILE", help="Messages of your own, in the form of chat_app/voice/messages.yaml."
    ),
]
CardOption = Annotated[
    Path | None, typer.Option("--card", metavar="FILE", help="Write the tables into this page, between its two marks.")
]


class EvaluateVoiceError(UserError):
    """A file that cannot be written; `str()` names it, the fault and the next step."""


@app.callback(invoke_without_command=True)
def evaluate_voice(
    context: typer.Context,
    model: Annotated[str, typer.Option("--model", help="Default: as a new visitor has it.")] = "",
    persona: Annotated[str, typer.Option("--persona", help="Default: the first, as a new visitor has it.")] = "",
    strategy: Annotated[str, typer.Option("--strategy", help="Default: as a new visitor has it.")] = "",
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The replies, one JSON line each.")] = Path(
        "voice.jsonl"
    ),
    at_once: Annotated[int, typer.Option("--at-once", min=1, max=64, help="Conversations at a time.")] = 4,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="So many conversations, in turn of every kind.")
    ] = None,
    messages: MessagesOption = None,
    replies: Annotated[
        list[Path] | None,
        typer.Option(
            "--replies",
            metavar="FILE",
            help="Ask nobody, and judge the replies in this file: an earlier --out, or {id, reply} a line. "
            "Several times: side by side.",
        ),
    ] = None,
    card: CardOption = None,
) -> None:
    """Say 200 messages and 40 talks of three turns to a model through the chat's own turn, and judge the replies.

    \b
    heard evaluate-voice                                    the default model
    heard evaluate-voice --model smollm2 --out small.jsonl
    heard evaluate-voice --replies small.jsonl --replies voice.jsonl

    Judged are the replies as a person reads them, and the drafts as the model
    wrote them: claims to be human, contact, love, dosage, insults, debris,
    condolence where nobody has died, whole last sentences, length, whether
    news is met as what it is, and the mean scores. docs/voice.md says how.

    Each conversation is in the file as soon as it has ended: after Ctrl-C or
    kill -9 the same command goes on with what is missing. Failures are told,
    and then the exit status is 2.
    """
    if context.invoked_subcommand is not None:
        return
    from heard.chat_app.voice.messages import BUILT_IN, limited, read_conversations

    conversations = read_conversations(messages or BUILT_IN)
    if limit is not None:
        conversations = limited(conversations, limit)
    if replies:
        _judge_files(replies, conversations, persona, card)
        return
    _run(conversations, (model, persona, strategy), out, at_once, card)


@app.command("messages")
def list_messages(messages: MessagesOption = None) -> None:
    """Print the messages as JSON lines {id, conversation, turn, kind, message}, for replies written elsewhere."""
    import json

    from heard.chat_app.voice.messages import BUILT_IN, read_conversations

    for one in read_conversations(messages or BUILT_IN):
        for turn, (name, text) in enumerate(zip(one.names, one.turns, strict=True), 1):
            values = {"id": name, "conversation": one.id, "turn": turn, "kind": one.kind, "message": text}
            typer.echo(json.dumps(values, ensure_ascii=False))


@app.command()
def sheet(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Files of replies, one of each source.")],
    out: Annotated[Path, typer.Option("--out", metavar="CSV", help="The sheet to mark.")],
    key: Annotated[Path, typer.Option("--key", metavar="CSV", help="Which row is of which source.")],
    number: Annotated[int, typer.Option("--n", min=1, help="Replies of each source, to the same messages.")] = 100,
    seed: Annotated[int, typer.Option("--seed", help="Another number draws other messages.")] = 1,
    news: Annotated[
        bool, typer.Option("--news", help="Ask only whether good and bad news are met as what they are.")
    ] = False,
    messages: MessagesOption = None,
) -> None:
    """Draw replies of several sources into one sheet, mixed and without their source, for reading by hand.

    Mark each 0 or 1 as docs/voice-rubric.md says, in a copy for each reading, and give the copies to `marks`.
    """
    from heard.chat_app.voice.messages import BUILT_IN, read_conversations
    from heard.chat_app.voice.reply_files import read_run
    from heard.chat_app.voice.sheets import NEWS, RUBRIC, make_sheet

    conversations = read_conversations(messages or BUILT_IN)
    runs = [read_run(path, conversations) for path in files]
    texts = make_sheet(runs, conversations, NEWS if news else RUBRIC, number, seed)
    for path in (out, key):
        if path.exists():
            raise EvaluateVoiceError(f"{path} is there already, and may have marks in it. Give another name.")
    for path, text in zip((out, key), texts, strict=True):
        _write(path, text)
    typer.echo(f"{len(runs) * number} replies are in {out}, and their sources in {key}.")


@app.command()
def marks(
    sheets: Annotated[list[Path], typer.Argument(metavar="SHEET...", help="Copies of one sheet, each marked.")],
    key: Annotated[Path, typer.Option("--key", metavar="CSV", help="The sheet's key.")],
    card: CardOption = None,
) -> None:
    """Show the share of acceptable replies of each source, in each reading and in all, and how the readings agree."""
    from heard.chat_app.voice.marks import marks_tables, read_key, read_marks

    rows = read_key(key)
    passes = [read_marks(path, rows) for path in sheets]
    for one in passes:
        if one.unmarked:
            typer.echo(f"{one.name}: {one.unmarked} rows are not marked, and are left out.", err=True)
    _show(marks_tables(rows, passes), card)


def _run(
    conversations: "tuple[Conversation, ...]", names: tuple[str, str, str], out: Path, at_once: int, card: Path | None
) -> None:
    from heard.chat_app.voice.reply_files import VoiceJournal
    from heard.chat_app.voice.voice_plan import plan_run
    from heard.chat_app.voice.voice_runner import run_plan

    async def work(services: "Services") -> "tuple[list[VoiceFigures], VoiceReport]":
        plan = plan_run(services, conversations, *names)
        with VoiceJournal(out, plan.identity) as journal:
            with Progress() as progress:
                report = await run_plan(services, plan, journal, progress, at_once=at_once)
            run = journal.run()
        return await _figures(services, [run], conversations, plan.persona), report

    try:
        figures, report = _with_services(work, [name for name in names[:1] if name])
    except KeyboardInterrupt:
        typer.echo("Stopped. What had ended is kept; the same command goes on.", err=True)
        raise
    _report(figures, card)
    typer.echo(f"Written: {report.written}. There before: {report.already_there}. Failed: {len(report.failed)}.")
    typer.echo(f"The replies are in {out}.")
    if report.failed or report.not_tried:
        for name, sentence in report.failed.items():
            typer.echo(f"{name}: {sentence}", err=True)
        if report.not_tried:
            typer.echo(f"{report.not_tried} messages after failures were not tried.", err=True)
        typer.echo("heard: Some replies are missing. Run the same command again to go on with them.", err=True)
        raise typer.Exit(2)


def _judge_files(
    paths: "Sequence[Path]", conversations: "tuple[Conversation, ...]", persona: str, card: Path | None
) -> None:
    from heard.chat_app.comparing.plan import default_persona, resolve_names
    from heard.chat_app.voice.reply_files import read_run

    runs = [read_run(path, conversations) for path in paths]

    async def work(services: "Services") -> "list[VoiceFigures]":
        (chosen,) = resolve_names("persona", persona or default_persona(services), services.library.personas)
        return await _figures(services, runs, conversations, chosen)

    _report(_with_services(work), card)


def _with_services(work: "Callable[[Services], Awaitable[Result]]", also: "Sequence[str]" = ()) -> Result:
    """Return what `work` makes with the chat's services, over an empty database that is deleted afterwards."""
    import asyncio
    import tempfile

    from heard.chat_app.common.settings import load_settings
    from heard.chat_app.models.downloads import ensure_weights

    settings = load_settings()
    logging.getLogger("heard").setLevel(logging.ERROR)  # failures are told below, once
    weights = ensure_weights(settings.cache_dir, settings.embedded, also=also)

    async def opened(own: "Settings") -> Result:
        from heard.chat_app.startup import open_services

        async with open_services(own, weights, serving=False) as services:
            return await work(services)

    with tempfile.TemporaryDirectory(prefix="heard-") as scratch:
        return asyncio.run(opened(settings.model_copy(update={"data_dir": Path(scratch), "database_url": ""})))


async def _figures(
    services: "Services", runs: "Sequence[VoiceRun]", conversations: "tuple[Conversation, ...]", persona: "Persona"
) -> "list[VoiceFigures]":
    import asyncio

    from heard.chat_app.voice.judging import Judge
    from heard.chat_app.voice.voice_figures import figures_of

    judge = Judge(services.scorer, services.guard, persona)
    of = sum(len(one.names) for one in conversations)
    found = []
    with Progress() as progress:
        for run in runs:
            said = run.said(conversations)

            def tell(done: int, source: str = run.source, number: int = len(said)) -> None:
                progress(f"judging {source}", done, number)

            judged = await asyncio.to_thread(judge.judge_all, said, run.models, tell)
            found.append(figures_of(run.source, said, judged, of, services.guard is not None))
    return found


def _report(figures: "Sequence[VoiceFigures]", card: Path | None) -> None:
    from heard.chat_app.voice.voice_tables import faulty_lines, voice_tables

    _show(voice_tables(figures), card)
    for line in (line for one in figures for line in faulty_lines(one)):
        typer.echo(line)


def _show(tables: "Sequence[ReportTable]", card: Path | None) -> None:
    for one in tables:
        show_table(one)
    if card is not None:
        from heard.scorer.tables import write_between_marks

        write_between_marks(card, "\n".join(one.markdown() for one in tables))


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8-sig")  # with its mark, or a spreadsheet reads other letters
    except OSError as error:
        raise EvaluateVoiceError(f"{path} cannot be written ({error.strerror}). Give another name.") from None
