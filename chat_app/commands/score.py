"""`heard score`, `heard train` and `heard evaluate`: the scorer on the command line."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, TextIO

import typer

from heard.chat_app.commands.json_lines import LineError, answer_lines, identity_of, listed
from heard.chat_app.commands.own_head import encoder_folder
from heard.chat_app.commands.progress import Progress
from heard.chat_app.commands.raters import opened_rater
from heard.chat_app.commands.training_output import CardOption, check_folder
from heard.errors import UserError

if TYPE_CHECKING:
    from heard.scorer.rater import Rater
    from heard.scorer.records import EmpathyScore
    from heard.scorer.training.labels import Labels

app = typer.Typer()

TRAINING_LIBRARIES = ("crepes", "scipy", "sklearn", "torch", "transformers")
"""Libraries that come with the extra `train`; the error message names only torch and transformers."""
CANNOT_TELL = (
    "What the numbers cannot tell: whether the reply is true, safe, or right for this person. They read words only."
)
LABELS = {"perceived": "People"}
"""Numbers of a score that are not called by their own name."""

HeadOption = Annotated[
    str,
    typer.Option(
        "--head",
        help="A head's name, or a path to its folder. heard score, compare and evaluate --data take another rater too: "
        "the folder of a transformers classifier, or judge:MODEL (docs/raters.md). Default: the setting scorer_head.",
    ),
]
EncoderOption = Annotated[
    str,
    typer.Option(
        "--encoder",
        help="A BERT encoder: its folder, or a name on the Hugging Face Hub such as bert-base-uncased. "
        "Default: the embedded one, or what the head was trained on.",
    ),
]
CacheOption = Annotated[
    Path | None,
    typer.Option("--cache", help="Folder for the texts' token states (about 0.6 GB). Default: heard's cache folder."),
]


class Protocol(StrEnum):
    """A published training protocol that can be repeated."""

    PAPER = "paper"


class HeadKind(StrEnum):
    """What a head from --shared is for."""

    BOTH = "both"
    EVERYDAY = "everyday"


class CommandError(UserError):
    """The command line's input is bad; `str()` names the fault and the next step."""


@app.command()
def score(
    text: Annotated[str | None, typer.Argument(help="The reply to score.")] = None,
    seeker: Annotated[str, typer.Option("--seeker", help="The message that it answers.")] = "",
    jsonl: Annotated[
        bool,
        typer.Option(
            "--jsonl",
            help='Read {"id","seeker","reply"} a line from standard input, write its scores a line. Within a '
            'conversation give "earlier" too: a list of what the seeker wrote before, the newest last.',
        ),
    ] = False,
    head: HeadOption = "",
    encoder: EncoderOption = "",
) -> None:
    """Rate a reply's cognitive, emotional and behavioral empathy on 1 to 3."""
    if (text is None) is not jsonl:
        raise CommandError('Give one text, or --jsonl: heard score "That sounds hard."')
    from heard.chat_app.safety.checked_score import checked_score

    with opened_rater(head, encoder) as rater:
        if jsonl:
            raise typer.Exit(filter_lines(rater, sys.stdin.buffer, sys.stdout))
        typer.echo(render(checked_score(rater, seeker, text or "")))


@app.command()
def train(
    out: Annotated[Path, typer.Option("--out", help="Folder of the new head.")],
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            help="Your ratings: CSV with the columns reply, cognitive, emotional, behavioral (1 to 3, empty is not "
            "rated) and, if you like, seeker (the message answered) and rater. Bad rows are told and left out.",
        ),
    ] = None,
    shared: Annotated[
        Path | None, typer.Option("--shared", help="Folder with the label sources of the default head (see its card).")
    ] = None,
    kind: Annotated[
        HeadKind,
        typer.Option(help="With --shared: a head for both counselling and everyday talk, or more for everyday talk."),
    ] = HeadKind.BOTH,
    encoder: EncoderOption = "",
    cache: CacheOption = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the head that is in the folder.")] = False,
    protocol: Annotated[
        Protocol | None,
        typer.Option(
            help="paper: the founding study's own training (100 replies, frozen [CLS], linear head, 50 epochs), on "
            "--data or on EPITOME's rows in --shared; prints its error over five seeds."
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, max=2**31, help="With --protocol: the first of the five seeds that draw the replies (0)."),
    ] = None,
) -> None:
    """Train a head on your own ratings, or the default head again."""
    if seed is not None and protocol is None:
        raise CommandError("--seed draws the replies of --protocol paper. Give both, or leave it out.")
    if (data is None) is (shared is None):
        raise CommandError("Give your ratings with --data labels.csv, or the default head's sources with --shared DIR.")
    check_folder(out, force=force)
    if protocol is not None:
        _follow_protocol(out, data, shared, encoder, _cache(cache), seed or 0)
        return
    labels = None
    if data is not None:
        from heard.scorer.training.labels import check_enough

        labels = _read_labels(data)
        check_enough(labels)  # before any download: a fault should not take minutes to show
    with training_imports():
        from heard.scorer.evaluation.labels_card import write_labels_card
        from heard.scorer.training.train_head import train_default_head, train_on_labels
    folder, chosen = encoder_folder(encoder), _encoder_option(encoder)
    with Progress() as on_progress:
        if data is not None and labels is not None:
            command = f"heard train --data {data.name}{chosen} --out DIR"
            write_labels_card(out, train_on_labels(labels, folder, out, _cache(cache), on_progress, command), labels)
        else:
            assert shared is not None
            talk = f" --kind {kind}" if kind is not HeadKind.BOTH else ""
            command = f"heard train --shared DIR{chosen}{talk} --out scorer/heads/{kind} --force"
            train_default_head(shared, folder, out, _cache(cache), on_progress, command, kind)
    _print_location(out)


@app.command()
def evaluate(
    shared: Annotated[
        Path | None, typer.Option("--shared", help="Folder with the label sources: makes the card's tables again.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", help="Your ratings (CSV as for `heard train`): measures a head on them.")
    ] = None,
    head: HeadOption = "",
    encoder: EncoderOption = "",
    cache: CacheOption = None,
    card: CardOption = None,
) -> None:
    """Measure the scorer: error beside baselines, over folds, as tables in Markdown."""
    if (data is None) is (shared is None):
        raise CommandError("Give the default head's sources with --shared DIR, or your ratings with --data labels.csv.")
    if data is not None:
        from heard.scorer.evaluation.evaluate_labels import on_labels

        labels = _read_labels(data)
        with opened_rater(head, encoder, whole=True) as rater:
            typer.echo(_rated_by(rater) + on_labels(rater, labels))
        return
    with training_imports():
        from heard.scorer.evaluation.evaluate import evaluate as tables

    assert shared is not None
    with Progress() as on_progress:
        text = tables(shared, encoder_folder(encoder), _cache(cache), on_progress)
    if card is not None:
        from heard.scorer.tables import write_between_marks

        write_between_marks(card, text)
    typer.echo(text)


def _follow_protocol(out: Path, data: Path | None, shared: Path | None, encoder: str, cache: Path, seed: int) -> None:
    from heard.scorer.training.study_sample import EPITOME, epitome_table, source_of_labels, team_table

    # Before any download, as above.
    if data is not None:
        labels = _read_labels(data)  # prints which rows are left out
        table = team_table(data)
        source = source_of_labels(data, labels.examples)
        typer.echo(f"{len(table.texts)} replies are rated on all three components.", err=True)
    else:
        assert shared is not None
        table, source = epitome_table(shared), EPITOME
    with training_imports():
        from heard.scorer.training.study_protocol import follow
    folder = encoder_folder(encoder)
    command = f"heard train --protocol paper {source.option}{_encoder_option(encoder)} --seed {seed} --out DIR"
    with Progress() as on_progress:
        figures = follow(table, source, folder, out, cache, seed, on_progress, command)
    typer.echo(figures + "\n")
    _print_location(out)


def _encoder_option(encoder: str) -> str:
    """Return the option --encoder as the head's card records it: a folder's path is private and becomes FOLDER."""
    return f" --encoder {'FOLDER' if Path(encoder).is_dir() else encoder}" if encoder else ""


def _print_location(out: Path) -> None:
    typer.echo(f"The head is in {out}. Use it by `heard score --head {out}`, or by scorer_head in settings.toml.")


def render(result: "EmpathyScore") -> str:
    """Return a score as a few lines of text for the terminal."""
    from heard.scorer.other_rater import is_other
    from heard.scorer.records import NOTES, READINGS, ScoreStatus, level_of

    if result.empathy is None and result.status is not ScoreStatus.PARTIAL:
        return f"Not scored. {result.reason}"
    ranges = {name: f"  {low:.1f} to {high:.1f}" for name, (low, high) in result.intervals.items()}
    values = {name: value for name in READINGS if (value := getattr(result, name)) is not None}
    lines = [
        f"{LABELS.get(name, name.capitalize()):<11} {value:.1f}  {level_of(value):<8}  {_bar(value)}"
        f"{ranges.get(name, '')}"
        for name, value in values.items()
    ]
    lines += [NOTES[note] for note in result.notes]
    if ranges:
        lines.append("The range at the end holds nine of ten ratings of replies like those it was measured on.")
    if result.reason:
        lines.append(f"Scored in part. {result.reason}")
    lines.append("Scale: 1 lacking, 2 moderate, 3 strong. Empathy is the mean of the three.")
    if result.perceived is not None:
        lines.append("People is how empathic people would probably call the reply.")
    if is_other(result.head_name):
        lines.append(f"Rated by {result.head_name}, and not by a head of heard's own.")
    return "\n".join([*lines, CANNOT_TELL])


def filter_lines(scorer: "Rater", source: BinaryIO, out: TextIO) -> int:
    """Write the score of each line of `source` to `out`, in order. Returns the exit status: 2 if a line was faulty."""
    workers = os.cpu_count() or 1  # the encoder leaves Python's lock to the others while it reads
    faults = answer_lines(source, out, lambda row: _score_line(row, scorer), _error_line, workers)
    if faults:
        typer.echo(
            f'{len(faults)} line(s) could not be read ({listed(faults)}); each has the status "error" in the output.',
            err=True,
        )
    return 2 if faults else 0


def seeker_and_reply(row: dict[str, Any]) -> tuple[str, str]:
    """Return the seeker's message ("" if absent) and the reply of a line. Raises LineError if one is not a string."""
    identity, seeker, reply = identity_of(row), row.get("seeker"), row.get("reply")
    if not isinstance(reply, str):
        raise LineError('"reply" is missing or is not text.', identity)
    if not isinstance(seeker, str | None):
        raise LineError('"seeker" is not text.', identity)
    return seeker or "", reply


def _earlier(row: dict[str, Any]) -> list[str]:
    """Return the seeker's earlier messages, oldest first. Raises LineError if they are not a list of strings."""
    earlier = row.get("earlier") or []
    if not isinstance(earlier, list) or not all(isinstance(text, str) for text in earlier):
        raise LineError('"earlier" is not a list of texts.', identity_of(row))
    return earlier


def _score_line(row: dict[str, Any], scorer: "Rater") -> dict[str, Any]:
    from heard.chat_app.safety.checked_score import checked_score
    from heard.scorer.score_json import as_json

    identity, (seeker, reply) = identity_of(row), seeker_and_reply(row)
    return as_json(checked_score(scorer, seeker, reply, _earlier(row)), identity)


def _error_line(error: LineError) -> dict[str, Any]:
    return {"id": error.identity, "status": "error", "reason": str(error)}


def _bar(value: float) -> str:
    filled = round((value - 1) * 10)
    return "█" * filled + "░" * (20 - filled)


def _rated_by(rater: "Rater") -> str:
    """A line that names a rater which is not heard's own; nothing for one that is."""
    from heard.scorer.other_rater import is_other

    label = rater.score("", "")
    return f"Rated by {label.head_name} (sha256 {label.head_sha256}).\n\n" if is_other(label.head_name) else ""


def _read_labels(path: Path) -> "Labels":
    """Return a team's ratings, and print on standard error how many rows were read and which were left out."""
    from heard.scorer.training.labels import account, read_labels

    labels = read_labels(path)
    typer.echo(account(labels), err=True)
    return labels


@contextmanager
def training_imports() -> Iterator[None]:
    """Context for imports of the training code: a missing library raises CommandError with a plain sentence."""
    try:
        yield
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in TRAINING_LIBRARIES:
            raise
        raise CommandError(
            'Training needs torch and transformers: pip install "heard[train]", or make train.'
        ) from error


def _cache(folder: Path | None) -> Path:
    from heard.chat_app.common.settings import load_settings

    return folder or load_settings().cache_dir / "features"
