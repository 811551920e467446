"""`heard perturb`: the founding study's adversarial table, for one reply or as means over a file of replies."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from heard.chat_app.commands.json_lines import LineError, read_lines
from heard.chat_app.commands.own_head import open_scorer
from heard.chat_app.commands.perturb_tables import AS_WRITTEN, REPAIRED, render, table, table_beside
from heard.chat_app.commands.progress import Progress
from heard.chat_app.commands.score import CommandError, EncoderOption, HeadOption, seeker_and_reply

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heard.scorer.evaluation.perturb import Perturb
    from heard.scorer.evaluation.sensitivity import Change
    from heard.scorer.score import Scorer

app = typer.Typer()

STDIN = "standard input"
PICTURES = (".svg", ".png", ".pdf")
"""Endings of files that can be drawn."""


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
    raw: Annotated[
        bool,
        typer.Option(
            "--raw",
            help="Beside them what a scorer without repair does, which reads each text as it is written (the study's "
            "Figure 5).",
        ),
    ] = False,
    picture: Annotated[
        Path | None,
        typer.Option("--picture", metavar="FILE", help='Draw the changes too, .svg, .png or .pdf (extra "charts").'),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Another number gives other slips and repetitions.")] = 0,
    head: HeadOption = "",
    encoder: EncoderOption = "",
) -> None:
    """Spoil a reply's wording in the founding study's seven ways, and show how its scores change.

    \b
    heard perturb "That sounds so hard." --raw --picture figure5.svg
    heard perturb --csv --raw --head scorer/heads/study-bert < replies.csv

    The scorer repairs a text before it reads it: Greek letters, leetspeak and
    misspellings are undone. With --raw the lines "as written" show the same head
    and encoder without that. Over a file there are means by kind, with --raw
    with intervals of 95% over its replies, and over those that both have rated.
    """
    if sum((text is not None, jsonl, csv)) != 1:
        raise CommandError('Give one text, or --jsonl, or --csv: heard perturb "That sounds hard."')
    if picture is not None and picture.suffix.lower() not in PICTURES:
        raise CommandError(f"--picture draws {', '.join(PICTURES)}. Give a file with one of these endings.")
    from heard.scorer.evaluation.perturb import DISGUISES, STUDY

    kinds = DISGUISES if disguises else STUDY
    if text is not None:
        from heard.scorer.evaluation.sensitivity import changes

        scorer = open_scorer(head, encoder)
        original, found = changes(scorer, seeker, text, kinds, seed)
        if not raw:
            typer.echo(render(original, text, found))
            _draw(picture, {REPAIRED: found})
            return
        from heard.scorer.evaluation.unrepaired import AsWritten

        original_raw, found_raw = changes(AsWritten(scorer), seeker, text, kinds, seed)
        typer.echo(render(original, text, found, original_raw, found_raw))
        _draw(picture, {REPAIRED: found, AS_WRITTEN: found_raw})
        return
    if sys.stdin.isatty():
        name = "csv" if csv else "jsonl"
        raise CommandError(f"Give the file on standard input: heard perturb --{name} < replies.{name}")
    replies = from_csv(sys.stdin.buffer) if csv else from_json_lines(sys.stdin.buffer)
    for fault in replies.faults:
        typer.echo(fault, err=True)
    if not replies.pairs:
        raise CommandError("There is no reply to perturb. Give one line for each reply.")
    typer.echo(_table_of_means(open_scorer(head, encoder), replies.pairs, kinds, seed, raw=raw, picture=picture))
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


def _table_of_means(
    scorer: "Scorer",
    pairs: list[tuple[str, str]],
    kinds: "Mapping[str, Perturb]",
    seed: int,
    *,
    raw: bool = False,
    picture: Path | None = None,
) -> str:
    from heard.scorer.evaluation.sensitivity import Change, changes, summarise

    found: list[Change] = []
    found_raw: list[Change] = []
    scored = 0
    with Progress() as on_progress:
        for done, (seeker, reply) in enumerate(pairs, 1):
            original, of_reply = changes(scorer, seeker, reply, kinds, seed)
            if original.empathy is not None:
                scored += 1
                found += of_reply
                if raw:
                    from heard.scorer.evaluation.unrepaired import AsWritten

                    found_raw += changes(AsWritten(scorer), seeker, reply, kinds, seed)[1]
            on_progress("perturbing and scoring", done, len(pairs))
    summaries = summarise(found)
    if not raw:
        _draw(picture, {REPAIRED: found})
        return table(summaries, scored, len(pairs) - scored)
    from heard.scorer.evaluation.unrepaired import in_both, intervals

    kept, kept_raw = in_both(found, found_raw)
    of_both, of_raw = summarise(kept), summarise(kept_raw)
    _draw(picture, {REPAIRED: kept, AS_WRITTEN: kept_raw})
    text = table_beside(
        of_both, of_raw, intervals(kept, of_both), intervals(kept_raw, of_raw), scored, len(pairs) - scored
    )
    if lost := [f"{one.kind}: {one.lost}" for one in summaries if one.lost]:
        text += f"\n\nNot scored once perturbed, and so in neither row: {'; '.join(lost)}."
    return text


def _draw(picture: Path | None, found: "Mapping[str, Sequence[Change]]") -> None:
    """Draw the changes by each scorer; of several replies their means with intervals."""
    if picture is None:
        return
    from heard.chat_app.comparing.perturb_chart import Series, draw_changes
    from heard.scorer.evaluation.sensitivity import summarise
    from heard.scorer.evaluation.unrepaired import intervals

    series = []
    for name, changes in found.items():
        summaries = summarise(changes)
        series.append(Series(name, {one.kind: one.mean for one in summaries}, intervals(changes, summaries)))
    kinds = list(dict.fromkeys(change.kind for changes in found.values() for change in changes))
    if not kinds:
        raise CommandError("There is no change to draw: no reply has a score.")
    try:
        draw_changes(kinds, series, picture)
    except OSError as error:
        raise CommandError(f"{picture} cannot be written ({error.strerror}). Give another name.") from None
    typer.echo(f"The picture is in {picture}.", err=True)
