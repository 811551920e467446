"""`heard check`: the crisis check on the command line, for one text or as a filter over JSON lines.

No text is logged, and no error message quotes it.
"""

import sys
from pathlib import Path
from typing import Annotated, Any, BinaryIO, TextIO

import typer

from heard.chat_app.commands.json_lines import LineError, answer_lines, identity_of, listed
from heard.chat_app.commands.own_head import danger_reader

app = typer.Typer()


@app.command()
def check(
    text: Annotated[str | None, typer.Argument(help="The text to check.")] = None,
    jsonl: Annotated[
        bool, typer.Option("--jsonl", help='Read {"id","text"} a line from standard input, write a verdict a line.')
    ] = False,
    measure: Annotated[
        Path | None,
        typer.Option(
            "--measure",
            help='Print recall and false alarms over {"id","text","crisis","group"} lines, or, '
            'by how grave, over {"text","label","kind","group"} lines.',
        ),
    ] = None,
) -> None:
    """Say whether a text tells of a danger to somebody's life, and of which. Nothing leaves this machine.

    The rules read it first, then a trained head that reads meaning (English only). A line of --jsonl may have
    "before", the same person's one or two messages before it.
    """
    if sum(chosen is not None and chosen is not False for chosen in (text, jsonl, measure)) != 1:
        _fail('Give one text, or --jsonl, or --measure FILE: heard check "I feel low today".')
    if jsonl:
        raise typer.Exit(_filter(sys.stdin.buffer, sys.stdout))
    if measure is not None:
        raise typer.Exit(_measure(measure))

    verdict = danger_reader().assess(text or "")
    if verdict.crisis:
        typer.echo(f"crisis: {verdict.category} ({verdict.danger}, by {verdict.reader})")
    else:
        typer.echo("no crisis found" if verdict.level == "none" else f"no crisis found, but: {verdict.level}")


def _fail(sentence: str) -> None:
    typer.echo(sentence, err=True)
    raise typer.Exit(2)


def _filter(source: BinaryIO, out: TextIO) -> int:
    """Answer every line of `source` in order, each flushed at once. Returns 0, or 2 if any line could not be read."""
    assessor = danger_reader()

    def answer(row: dict[str, Any]) -> dict[str, Any]:
        identity = identity_of(row)
        if "id" not in row:
            raise LineError('"id" is missing.')
        if not isinstance(row.get("text"), str):
            raise LineError('"text" is missing or is not text.', identity)
        before = row.get("before", [])
        if not isinstance(before, list) or not all(isinstance(text, str) for text in before):
            raise LineError('"before" is not a list of texts.', identity)
        verdict = assessor.assess(row["text"], before)
        return {
            "id": identity,
            "crisis": verdict.crisis,
            "category": verdict.category if verdict.crisis else None,
            "level": verdict.level.value,
            "danger": verdict.danger.value if verdict.crisis else None,
            "reader": verdict.reader,
        }

    faults = answer_lines(source, out, answer, lambda error: {"id": error.identity, "error": str(error)})
    if faults:
        typer.echo(
            f'{len(faults)} line(s) could not be checked ({listed(faults)}); each has an "error" in the output.',
            err=True,
        )
    return 2 if faults else 0


def _is_labelled(path: Path) -> bool:
    """Whether a file's first line has a "label" of how grave it is, and no mere "crisis"."""
    if not path.is_file():
        return False
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        return '"label"' in file.readline()


def _measure(path: Path) -> int:
    if _is_labelled(path):
        from heard.chat_app.commands.danger import measured_by
        from heard.chat_app.commands.progress import Progress
        from heard.scorer.danger_lines import read_lines

        lines = read_lines(path)
        with Progress() as on_progress:
            typer.echo(measured_by(danger_reader(), lines, on_progress), nl=False)
        return 0
    from heard.chat_app.safety.measure import MeasureError, load_cases, report

    try:
        typer.echo(report(load_cases(path)), nl=False)
    except MeasureError as error:
        typer.echo(str(error), err=True)
        return 2
    return 0
