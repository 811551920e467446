"""`heard perturb`: the founding study's adversarial table, for one reply or as means over a file of replies."""

import sys
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from heard.chat_app.commands.json_lines import LineError, read_lines
from heard.chat_app.commands.own_head import open_scorer
from heard.chat_app.commands.progress import Progress
from heard.chat_app.commands.score import CommandError, EncoderOption, HeadOption, seeker_and_reply

if TYPE_CHECKING:
    from heard.scorer.evaluation.perturb import Perturb
    from heard.scorer.evaluation.sensitivity import Change, Summary
    from heard.scorer.records import EmpathyScore
    from heard.scorer.score import Scorer

app = typer.Typer()

STDIN = "standard input"
WIDTH = 100
"""Columns at which a perturbed text is wrapped."""


@dataclass(frozen=True, slots=True)
class Replies:
    """The replies read from a file."""

    pairs: list[tuple[str, str]]
    """(seeker, reply) of each usable line."""
    faults: list[str]
    """One sentence for each line that cannot be used; it begins with the line's number."""


@app.command()
def perturb(
    text: Annotated[str | None, typer.Argument(help="The reply to perturb.")] = None,
    seeker: Annotated[str, typer.Option("--seeker", help="The message that it answers.")] = "",
    jsonl: Annotated[
        bool,
        typer.Option("--jsonl", help='Read {"id","seeker","reply"} a line from standard input, print means by kind.'),
    ] = False,
    csv: Annotated[
        bool,
        typer.Option(
            "--csv", help="Read a CSV with the column reply, and perhaps seeker, from standard input, print means."
        ),
    ] = False,
    disguises: Annotated[
        bool, typer.Option("--disguises", help="Disguises that should not move a score, instead of the study's kinds.")
    ] = False,
    seed: Annotated[int, typer.Option("--seed", help="Another number gives other slips and repetitions.")] = 0,
    head: HeadOption = "",
    encoder: EncoderOption = "",
) -> None:
    """Spoil a reply's wording in the founding study's seven ways, and show how its scores change."""
    if sum((text is not None, jsonl, csv)) != 1:
        raise CommandError('Give one text, or --jsonl, or --csv: heard perturb "That sounds hard."')
    from heard.scorer.evaluation.perturb import DISGUISES, STUDY

    kinds = DISGUISES if disguises else STUDY
    if text is not None:
        from heard.scorer.evaluation.sensitivity import changes

        original, found = changes(open_scorer(head, encoder), seeker, text, kinds, seed)
        typer.echo(render(original, text, found))
        return
    if sys.stdin.isatty():
        name = "csv" if csv else "jsonl"
        raise CommandError(f"Give the file on standard input: heard perturb --{name} < replies.{name}")
    replies = from_csv(sys.stdin.buffer) if csv else from_json_lines(sys.stdin.buffer)
    for fault in replies.faults:
        typer.echo(fault, err=True)
    if not replies.pairs:
        raise CommandError("There is no reply to perturb. Give one line for each reply.")
    typer.echo(_table_of_means(open_scorer(head, encoder), replies.pairs, kinds, seed))
    if replies.faults:
        typer.echo(f"{len(replies.faults)} line(s) could not be read; the table is of the others.", err=True)
        raise typer.Exit(2)


def from_json_lines(source: BinaryIO) -> Replies:
    """Return the replies of JSON lines, and a sentence for each line that cannot be used."""
    replies = Replies([], [])
    for line, row in read_lines(source):
        try:
            if isinstance(row, LineError):
                raise row
            replies.pairs.append(seeker_and_reply(row))
        except LineError as error:
            replies.faults.append(f"line {line}: {error}")
    return replies


def from_csv(source: BinaryIO) -> Replies:
    """Return the replies of a CSV, and a sentence for each row that cannot be used. Raises ScorerError for a bad file.

    The file may have the columns of a file of ratings too; they are ignored.
    """
    from heard.scorer.csv_rows import read_sheet
    from heard.scorer.training.labels import NEEDED, OPTIONAL

    sheet = read_sheet(STDIN, source.read(), ["reply"], [*OPTIONAL, *(name for name in NEEDED if name != "reply")])
    pairs = [(row.cells.get("seeker", ""), row.cells["reply"]) for row in sheet.rows]
    return Replies(pairs, [str(fault) for fault in sheet.faults])


def render(original: "EmpathyScore", text: str, found: list["Change"]) -> str:
    """Return the table of one reply: for each kind the scores with their change, and the perturbed text below."""
    from heard.scorer.records import READINGS

    if original.empathy is None:
        return f"Not scored, so there is no change to show. {original.reason}"
    names = [name for name in READINGS if getattr(original, name) is not None]
    wide = max(len("original"), *(len(change.kind) for change in found))
    lines = [" " * wide + "".join(f"  {name.capitalize():<12}" for name in names).rstrip()]
    cells = [f"{getattr(original, name):.2f}" for name in names]
    lines += ["original".ljust(wide) + "".join(f"  {cell:<12}" for cell in cells).rstrip(), _wrapped(text)]
    for change in found:
        if change.same:
            lines.append(f"{change.kind:<{wide}}  finds nothing to change")
            continue
        if change.by:
            cells = [f"{getattr(change.score, name):.2f} {change.by[name]:+.2f}" for name in change.by]
            lines.append(f"{change.kind:<{wide}}" + "".join(f"  {cell:<12}" for cell in cells).rstrip())
        else:
            lines.append(f"{change.kind:<{wide}}  not scored: {change.score.reason}")
        lines.append(_wrapped(change.text))
    return "\n".join(lines)


def table(summaries: list["Summary"], scored: int, unscored: int) -> str:
    """Return means by kind as Markdown: change of each score ± its standard deviation, and size of Empathy's change."""
    from heard.scorer.records import READINGS, SCALES

    names = [name for name in READINGS if name in SCALES or any(name in one.mean for one in summaries)]
    columns = ["replies changed", *(name.capitalize() for name in names), "size of Empathy's change"]
    lines = ["| | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for one in summaries:
        cells = [f"{one.mean[name]:+.3f} ± {one.spread[name]:.3f}" if name in one.mean else "" for name in names]
        moved = "" if one.moved is None else f"{one.moved:.3f}"
        lines.append(f"| {one.kind} | {one.changed} of {scored} | " + " | ".join([*cells, moved]) + " |")
    if lost := [f"{one.kind}: {one.lost}" for one in summaries if one.lost]:
        lines += ["", f"Scored before and not scored once perturbed: {'; '.join(lost)}."]
    if unscored:
        lines += ["", f"{unscored} more replies have no score as they are, so they are in no row of the table."]
    return "\n".join(lines)


def _table_of_means(scorer: "Scorer", pairs: list[tuple[str, str]], kinds: "Mapping[str, Perturb]", seed: int) -> str:
    from heard.scorer.evaluation.sensitivity import Change, changes, summarise

    found: list[Change] = []
    scored = 0
    with Progress() as on_progress:
        for done, (seeker, reply) in enumerate(pairs, 1):
            original, of_reply = changes(scorer, seeker, reply, kinds, seed)
            if original.empathy is not None:
                scored += 1
                found += of_reply
            on_progress("perturbing and scoring", done, len(pairs))
    return table(summarise(found), scored, len(pairs) - scored)


def _wrapped(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), WIDTH, initial_indent="    ", subsequent_indent="    ")
