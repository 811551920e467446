"""`heard check`: the crisis check on the command line, for one text or as a filter over JSON lines.

No text is logged, and no error message quotes it.
"""

import sys
from pathlib import Path
from typing import Annotated, Any, BinaryIO, TextIO

import typer

from heard.chat_app.commands.json_lines import LineError, answer_lines, identity_of, listed

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
            help='Print recall, precision and false alarms over a file of {"id","text","crisis","group"} lines.',
        ),
    ] = None,
) -> None:
    """Say whether a text has suicidal or self-harm meaning. Rules only: nothing leaves this machine."""
    if sum(chosen is not None and chosen is not False for chosen in (text, jsonl, measure)) != 1:
        _fail('Give one text, or --jsonl, or --measure FILE: heard check "I feel low today".')
    if jsonl:
        raise typer.Exit(_filter(sys.stdin.buffer, sys.stdout))
    if measure is not None:
        raise typer.Exit(_measure(measure))

    from heard.chat_app.safety.crisis_check import check as check_text

    verdict = check_text(text or "")
    typer.echo(f"crisis: {verdict.category}" if verdict.crisis else "no crisis found")


def _fail(sentence: str) -> None:
    typer.echo(sentence, err=True)
    raise typer.Exit(2)


def _filter(source: BinaryIO, out: TextIO) -> int:
    """Answer every line of `source` in order, each flushed at once. Returns 0, or 2 if any line could not be read."""
    from heard.chat_app.safety.crisis_check import check as check_text

    def answer(row: dict[str, Any]) -> dict[str, Any]:
        identity = identity_of(row)
        if "id" not in row:
            raise LineError('"id" is missing.')
        if not isinstance(row.get("text"), str):
            raise LineError('"text" is missing or is not text.', identity)
        verdict = check_text(row["text"])
        return {"id": identity, "crisis": verdict.crisis, "category": verdict.category}

    faults = answer_lines(source, out, answer, lambda error: {"id": error.identity, "error": str(error)})
    if faults:
        typer.echo(
            f'{len(faults)} line(s) could not be checked ({listed(faults)}); each has an "error" in the output.',
            err=True,
        )
    return 2 if faults else 0


def _measure(path: Path) -> int:
    from heard.chat_app.safety.measure import MeasureError, load_cases, report

    try:
        typer.echo(report(load_cases(path)), nl=False)
    except MeasureError as error:
        typer.echo(str(error), err=True)
        return 2
    return 0
