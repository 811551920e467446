"""`heard score`, `heard train` and `heard evaluate`: the scorer on the command line."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, TextIO

import typer

from heard.chat_app.commands.json_lines import LineError, answer_lines, identity_of, listed
from heard.chat_app.commands.progress import Progress
from heard.errors import UserError

if TYPE_CHECKING:
    from heard.scorer.records import EmpathyScore
    from heard.scorer.score import Scorer
    from heard.scorer.training.labels import Labels

app = typer.Typer()

TRAINING_LIBRARIES = ("crepes", "scipy", "sklearn", "torch", "transformers")
"""Of the extra `train`; told by the two best known."""
CANNOT_TELL = (
    "What the numbers cannot tell: whether the reply is true, safe, or right for this person. They read words only."
)

HeadOption = Annotated[
    str, typer.Option("--head", help="A head's name, or a path to its folder. Default: the setting scorer_head.")
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
    """A published training that can be repeated."""

    PAPER = "paper"


class CommandError(UserError):
    """Bad input on the command line; `str()` names the fault and the next step."""


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

    scorer = open_scorer(head, encoder)
    if jsonl:
        raise typer.Exit(filter_lines(scorer, sys.stdin.buffer, sys.stdout))
    typer.echo(render(checked_score(scorer, seeker, text or "")))


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
    if out.exists() and not out.is_dir():
        raise CommandError(f"{out} is a file. Give a folder with --out.")
    if out.is_dir() and any(out.iterdir()) and not force:
        raise CommandError(f"{out} is not empty. Give another folder, or --force to replace the head in it.")
    if protocol is not None:
        _follow_protocol(out, data, shared, encoder, _cache(cache), seed or 0)
        return
    labels = None
    if data is not None:
        from heard.scorer.training.labels import check_enough

        labels = _read_labels(data)
        check_enough(labels)  # before anything is fetched: a fault should not take minutes to show
    with training():
        from heard.scorer.evaluation.labels_card import write_labels_card
        from heard.scorer.training.train_head import train_default_head, train_on_labels
    folder, chosen = encoder_folder(encoder), _chosen(encoder)
    with Progress() as tell:
        if data is not None and labels is not None:
            command = f"heard train --data {data.name}{chosen} --out DIR"
            write_labels_card(out, train_on_labels(labels, folder, out, _cache(cache), tell, command), labels)
        else:
            assert shared is not None
            command = f"heard train --shared DIR{chosen} --out scorer/heads/default --force"
            train_default_head(shared, folder, out, _cache(cache), tell, command)
    _say_where(out)


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
    card: Annotated[
        Path | None, typer.Option("--card", help="Write the tables into this card, between its two marks.")
    ] = None,
) -> None:
    """Measure the scorer: error beside baselines, over folds, as tables in Markdown."""
    if (data is None) is (shared is None):
        raise CommandError("Give the default head's sources with --shared DIR, or your ratings with --data labels.csv.")
    if data is not None:
        from heard.scorer.evaluation.evaluate_labels import on_labels

        labels = _read_labels(data)
        typer.echo(on_labels(open_scorer(head, encoder), labels))
        return
    with training():
        from heard.scorer.evaluation.evaluate import evaluate as tables

    assert shared is not None
    with Progress() as tell:
        text = tables(shared, encoder_folder(encoder), _cache(cache), tell)
    if card is not None:
        from heard.scorer.tables import write_between_marks

        write_between_marks(card, text)
    typer.echo(text)


def _follow_protocol(out: Path, data: Path | None, shared: Path | None, encoder: str, cache: Path, seed: int) -> None:
    from heard.scorer.training.study_sample import EPITOME, epitome_table, source_of_labels, team_table

    # Before anything is fetched, as above.
    if data is not None:
        _read_labels(data)  # tells what is left out
        table, source = team_table(data), source_of_labels(data)
    else:
        assert shared is not None
        table, source = epitome_table(shared), EPITOME
    with training():
        from heard.scorer.training.study_protocol import follow
    folder = encoder_folder(encoder)
    command = f"heard train --protocol paper {source.option}{_chosen(encoder)} --seed {seed} --out DIR"
    with Progress() as tell:
        figures = follow(table, source, folder, out, cache, seed, tell, command)
    typer.echo(figures + "\n")
    _say_where(out)


def _chosen(encoder: str) -> str:
    """The option that chose the encoder, for the head's own record, so without this machine's paths."""
    return f" --encoder {'FOLDER' if Path(encoder).is_dir() else encoder}" if encoder else ""


def _say_where(out: Path) -> None:
    typer.echo(f"The head is in {out}. Use it by `heard score --head {out}`, or by scorer_head in settings.toml.")


def render(result: "EmpathyScore") -> str:
    """A score as a few lines for a person."""
    from heard.scorer.records import COMPONENTS, NOTES, level_of

    if result.empathy is None:
        return f"Not scored. {result.reason}"
    ranges = {name.capitalize(): f"  {low:.1f} to {high:.1f}" for name, (low, high) in result.intervals.items()}
    values = {name.capitalize(): float(getattr(result, name)) for name in COMPONENTS} | {"Empathy": result.empathy}
    lines = [
        f"{name:<11} {value:.2f}  {level_of(value):<8}  {_bar(value)}{ranges.get(name, '')}"
        for name, value in values.items()
    ]
    lines += [NOTES[note] for note in result.notes]
    if ranges:
        lines.append("The range at the end holds nine of ten ratings of replies like those it was measured on.")
    return "\n".join([*lines, "Scale: 1 lacking, 2 moderate, 3 strong. Empathy is the mean of the three.", CANNOT_TELL])


def filter_lines(scorer: "Scorer", source: BinaryIO, out: TextIO) -> int:
    """Answer every line of `source` in order, each flushed at once. Returns 0, or 2 when a line could not be read."""
    faults = answer_lines(source, out, lambda row: _answer(row, scorer), _fault)
    if faults:
        typer.echo(
            f'{len(faults)} line(s) could not be read ({listed(faults)}); each has the status "error" in the output.',
            err=True,
        )
    return 2 if faults else 0


def pair_of(row: dict[str, Any]) -> tuple[str, str]:
    """The seeker's message ("" if there is none) and the reply of a line. Raises LineError when one is not a string."""
    identity, seeker, reply = identity_of(row), row.get("seeker"), row.get("reply")
    if not isinstance(reply, str):
        raise LineError('"reply" is missing or is not text.', identity)
    if not isinstance(seeker, str | None):
        raise LineError('"seeker" is not text.', identity)
    return seeker or "", reply


def _earlier(row: dict[str, Any]) -> list[str]:
    """What the same person wrote before the line's message. Raises LineError when it is not a list of strings."""
    given = row.get("earlier") or []
    if not isinstance(given, list) or not all(isinstance(text, str) for text in given):
        raise LineError('"earlier" is not a list of texts.', identity_of(row))
    return given


def _answer(row: dict[str, Any], scorer: "Scorer") -> dict[str, Any]:
    from heard.chat_app.safety.checked_score import checked_score
    from heard.scorer.score_json import as_json

    identity, (seeker, reply) = identity_of(row), pair_of(row)
    return as_json(checked_score(scorer, seeker, reply, _earlier(row)), identity)


def _fault(error: LineError) -> dict[str, Any]:
    return {"id": error.identity, "status": "error", "reason": str(error)}


def _bar(value: float) -> str:
    filled = round((value - 1) * 10)
    return "█" * filled + "░" * (20 - filled)


def open_scorer(head: str, encoder: str) -> "Scorer":
    """The scorer that the options --head and --encoder name; without them that of the settings. Raises ScorerError."""
    from heard.scorer.hub import encoder_of
    from heard.scorer.score import Scorer, head_folder

    if not head:
        from heard.chat_app.common.settings import load_settings

        head = load_settings().scorer_head
    folder = head_folder(head)
    return Scorer.load(folder, encoder_folder(encoder) if encoder else encoder_of(folder, encoder_folder))


def _read_labels(path: Path) -> "Labels":
    """A team's ratings; says on standard error what was read and which rows were not."""
    from heard.scorer.training.labels import account, read_labels

    labels = read_labels(path)
    typer.echo(account(labels), err=True)
    return labels


@contextmanager
def training() -> Iterator[None]:
    """Around the imports of the training code: tells a missing library in a sentence."""
    try:
        yield
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in TRAINING_LIBRARIES:
            raise
        raise CommandError(
            'Training needs torch and transformers: pip install "heard[train]", or make train.'
        ) from error


def encoder_folder(name: str = "") -> Path:
    """Folder of the encoder called `name`, or of the embedded one, which is fetched now if need be."""
    if name:
        from heard.scorer import hub

        return hub.encoder_folder(name)
    from heard.chat_app.common.settings import load_settings
    from heard.chat_app.models.downloads import ENCODER, fetch_bundles

    cache_dir = load_settings().cache_dir
    fetch_bundles([ENCODER], cache_dir)
    return ENCODER.folder_in(cache_dir)


def _cache(folder: Path | None) -> Path:
    from heard.chat_app.common.settings import load_settings

    return folder or load_settings().cache_dir / "features"
