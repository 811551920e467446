"""`heard train-danger`: the head that reads the meaning of messages, trained anew and measured.

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
    from collections.abc import Iterator, Sequence

    from heard.chat_app.safety.assessment import Assessor
    from heard.scorer.danger_lines import DangerLine
    from heard.scorer.training.features import OnProgress

app = typer.Typer()
LINES_HELP = 'JSON lines with "text", "label", "kind", "group", and perhaps "before" and "register".'
EVERYDAY = Path("everyday") / "conversations.jsonl"
TALKS = 1_500
"""Everyday talks that are learnt from as harmless."""
LOOKED_BACK = 2
"""Messages before one that the head may be given."""


@app.command("train-danger")
def train_danger(
    out: Annotated[Path, typer.Option("--out", help="Folder of the new head.")],
    data: Annotated[
        Path | None, typer.Option("--data", help=f"Your labelled lines: {LINES_HELP} Default: the project's own.")
    ] = None,
    shared: Annotated[
        Path | None,
        typer.Option(
            "--shared",
            help="Folder with data/everyday/conversations.jsonl: everyday talks, learnt from as harmless.",
        ),
    ] = None,
    heldout: Annotated[
        Path | None, typer.Option("--heldout", help=f"Measure the new head on these lines too: {LINES_HELP}")
    ] = None,
    encoder: EncoderOption = "",
    force: Annotated[bool, typer.Option("--force", help="Replace the head that is in the folder.")] = False,
    card: CardOption = None,
) -> None:
    """Train the head that reads what messages mean, after the rules of the crisis check, and measure it.

    Some minutes. Every figure is of lines whose speaker or situation the head has not seen: five folds, and with a
    register, a kind of crisis or a writer left out whole.
    """
    check_folder(out, force=force)
    with training_imports():
        from heard.chat_app.safety import crisis_check
        from heard.scorer.danger_lines import LINES, read_lines
        from heard.scorer.training.train_danger import train_danger as train

        lines = read_lines(data or LINES)
        kept_apart = read_lines(heldout) if heldout else []
        ordinary = _ordinary(shared)
        title = "The default head of heard's reader of danger" if data is None else f"A head trained on {data.name}"
        folder = encoder_folder(encoder)
        with Progress() as on_progress:
            figures = train(
                lines, ordinary, folder, out, title, on_progress, lambda text: crisis_check.check(text).crisis
            )
            if kept_apart:
                figures += "\n\n## Lines kept apart\n\n" + _measured(out, folder, kept_apart, on_progress)
    show_figures(figures, out, card)


def _ordinary(shared: Path | None) -> "list[DangerLine]":
    """Harmless messages, each with the two before it, without what the rules hand off: those of the personas' example
    exchanges, and from `shared` the first and the third message of everyday talks."""
    from heard.chat_app.safety import crisis_check

    found = [*_of_examples(), *(_of_talks(shared) if shared else ())]
    return [line for line in found if not any(crisis_check.check(text).crisis for text in (*line.before, line.text))]


def _of_examples() -> "Iterator[DangerLine]":
    from heard.chat_app.commands.guard import example_replies
    from heard.scorer.danger_lines import DangerLine

    for said, _ in example_replies():
        yield DangerLine(said[-1], "none", "example", f"example-{said[0]}", before=said[-1 - LOOKED_BACK : -1])


def _of_talks(shared: Path) -> "Iterator[DangerLine]":
    """In an order of chance that is always the same."""
    import json
    import random

    from heard.scorer.danger_lines import DangerLine

    path = shared / "data" / EVERYDAY
    try:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        talks = {row["id"]: [text for who, text in row["turns"] if who == "seeker"] for row in rows}
    except (OSError, ValueError, KeyError) as error:
        raise CommandError(
            f"{path} cannot be read as JSON lines with turns. Give the folder that holds data/."
        ) from error
    chosen = random.Random(0).sample(sorted(talks), min(TALKS, len(talks)))
    for name in chosen:
        said = [text for text in talks[name] if text.strip()]
        for place in (0, LOOKED_BACK):
            if place < len(said):
                yield DangerLine(said[place], "none", "everyday", f"everyday-{name}", before=tuple(said[:place]))


def measured_by(assessor: "Assessor", lines: "Sequence[DangerLine]", on_progress: "OnProgress") -> str:
    """The tables of rules alone and of both, over labelled lines."""
    from heard.chat_app.results.clustered import clustered_share
    from heard.chat_app.safety import crisis_check
    from heard.chat_app.safety.danger_measure import Verdicts, report

    def interval(marks: "Sequence[bool]", groups: "Sequence[str]") -> str:
        share = clustered_share(marks, groups)
        if share.share is None or share.low is None or share.high is None:
            return "-"
        return f"{share.share:.1%} ({share.low:.1%} to {share.high:.1%}; {share.count} of {share.of})"

    rules, both = [], []
    for done, line in enumerate(lines, 1):
        rules.append(crisis_check.check(line.text))
        both.append(assessor.assess(line.text, line.before))
        on_progress("measuring the lines", done, len(lines))
    return report(Verdicts(lines, rules, both), interval)


def _measured(head: Path, encoder: Path, lines: "Sequence[DangerLine]", on_progress: "OnProgress") -> str:
    from heard.chat_app.safety.assessment import Assessor
    from heard.scorer.encoder import Encoder

    opened = Assessor.load(lambda file: Encoder.load(encoder, file.layers, sha256=file.encoder_sha256), head)
    return measured_by(opened, lines, on_progress)
