"""`heard check`: the crisis check on the command line, for one text or as a filter over JSON lines.

Nothing that is checked is logged, and no fault is told with the text in it.
"""

import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any, BinaryIO, TextIO

import typer

app = typer.Typer()

LONGEST_LINE = 4_000_000
"""Bytes of a line that are read at most, so that memory stays constant whatever comes in."""


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
    from chat_app.safety import check as check_text

    verdict = check_text(text or "")
    typer.echo(f"crisis: {verdict.category}" if verdict.crisis else "no crisis found")


def _fail(sentence: str) -> None:
    typer.echo(sentence, err=True)
    raise typer.Exit(2)


def _filter(source: BinaryIO, out: TextIO) -> int:
    """Answer every line of `source` in order, flushed one by one. Returns 0, or 2 when a line could not be read."""
    from chat_app.safety import check as check_text

    faults = 0
    try:
        while line := source.readline(LONGEST_LINE + 1):
            if len(line) > LONGEST_LINE:
                while not line.endswith(b"\n") and (line := source.readline(LONGEST_LINE)):
                    pass
                answer: dict[str, Any] = {"id": None, "error": f"the line is longer than {LONGEST_LINE} bytes"}
            elif not line.strip():
                continue
            else:
                answer = _answer(line, check_text)
            faults += "error" in answer
            out.write(json.dumps(answer) + "\n")
            out.flush()
    except BrokenPipeError:
        # The reader has gone (`| head`): point standard output away, so that the flush at exit stays quiet.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    if faults:
        typer.echo(f'{faults} line(s) could not be checked; each has an "error" in the output.', err=True)
    return 2 if faults else 0


def _answer(line: bytes, check_text: Any) -> dict[str, Any]:
    try:
        row = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return {"id": None, "error": "the line is not UTF-8"}
    except json.JSONDecodeError as error:
        return {"id": None, "error": f"not JSON: {error.msg} (character {error.pos})"}
    except (RecursionError, ValueError):
        return {"id": None, "error": "not JSON that can be read: nested too deep, or a number too long"}
    if not isinstance(row, dict):
        return {"id": None, "error": 'a line must be an object with "id" and "text"'}
    if "id" not in row:
        return {"id": None, "error": '"id" is missing'}
    if not isinstance(row["id"], str | int | float | None):
        return {"id": None, "error": '"id" must be text or a number'}
    if not isinstance(row.get("text"), str):
        return {"id": row["id"], "error": '"text" is missing or is not text'}
    verdict = check_text(row["text"])
    return {"id": row["id"], "crisis": verdict.crisis, "category": verdict.category}


def _measure(path: Path) -> int:
    from chat_app.safety_measure import MeasureError, load_cases, report

    try:
        typer.echo(report(load_cases(path)), nl=False)
    except MeasureError as error:
        typer.echo(str(error), err=True)
        return 2
    return 0
