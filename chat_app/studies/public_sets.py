"""Public sets of counselling and of battles between models, each by its own name: `--format counselchat`.

Each gives messages with answers as its authors published it; nothing of them comes with heard. In a set of whole talks
a message is the first of the seeker that says something, with what the helper answered.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from heard.chat_app.studies.item_drafts import HUMAN, ItemDraft, SkippedLines
from heard.chat_app.studies.public_talks import Turn, first_exchange, turns_in
from heard.chat_app.studies.stimulus_text import Repairs
from heard.scorer.csv_rows import Row, Sheet, choose

FEWEST_WORDS = 8
"""Fewest words of a message from a talk: what is shorter is a greeting, or hangs on what was said before."""
_NO_OPENING = f"talks in which no message of {FEWEST_WORDS} words or more is answered"
_Drafts = Iterator[ItemDraft]


class Context(NamedTuple):
    """What a reader of a set needs beside the table."""

    sources: tuple[str, ...]
    """Those of the study that come with the file."""
    repairs: Repairs
    skipped: SkippedLines


class PublicSet(NamedTuple):
    """How a public set is read."""

    needed: tuple[str, ...]
    """Its columns in lower case, without which it is not that set."""
    read: Callable[[Sheet, Context], _Drafts]
    """From a table with these columns to drafts, whose texts may be empty; what is passed over is counted."""
    humans: bool = True
    """Whether its answers are of people."""
    quoted: bool = True
    """Whether a cell of its CSV may stand in quotes."""
    either: tuple[str, ...] = ()
    """Of these one is needed too."""


def read_set(name: str, sheet: Sheet, context: Context) -> list[ItemDraft]:
    """Return the drafts of a set of PUBLIC_SETS, several for one message. Raises ScorerError for missing columns."""
    known = PUBLIC_SETS[name]
    one = next((column for column in known.either if column in sheet.columns), "")
    choose(sheet, (*known.needed, *([one] if one else known.either[:1])), others=True)
    context.skipped.faulty += len(sheet.faults)
    return list(known.read(sheet, context))


def set_that_fits(columns: Sequence[str]) -> str | None:
    """Return the name of the set that has these columns, or None."""
    for name, known in PUBLIC_SETS.items():
        if set(known.needed) <= set(columns) and (not known.either or set(known.either) & set(columns)):
            return name
    return None


def _counselchat(sheet: Sheet, context: Context) -> _Drafts:
    for row in sheet.rows:
        # Some questions have a title only.
        asked = row.cells["questiontext"].strip() or row.cells.get("questiontitle", "")
        yield _pair(row, asked, row.cells["answertext"], context, _number(row.cells.get("upvotes", "")))


def _context_response(sheet: Sheet, context: Context) -> _Drafts:
    for row in sheet.rows:
        yield _pair(row, row.cells["context"], row.cells["response"], context)


def _epitome(sheet: Sheet, context: Context) -> _Drafts:
    for row in sheet.rows:
        yield _pair(row, row.cells["seeker_post"], row.cells["response_post"], context)


def _esconv(sheet: Sheet, context: Context) -> _Drafts:
    speakers = {"seeker": True, "usr": True, "supporter": False, "sys": False}
    for row in sheet.rows:
        turns = turns_in(row.cells["dialog"], ("speaker", "role"), ("content", "text"), speakers)
        if turns is None:
            context.skipped.faulty += 1
        else:
            yield from _opening(row, turns, context, FEWEST_WORDS)


def _annomi(sheet: Sheet, context: Context) -> _Drafts:
    talks: dict[str, dict[str, tuple[float, Turn]]] = {}
    first: dict[str, Row] = {}
    for row in sheet.rows:
        cells = row.cells
        speaker, name = cells["interlocutor"].strip().lower(), cells["transcript_id"]
        if cells.get("mi_quality", "high").strip().lower() != "high":
            context.skipped.of_format["of a talk that shows how not to counsel"] += 1
        elif speaker not in ("client", "therapist"):
            context.skipped.faulty += 1
        else:  # each of several annotators has a line for the same utterance
            first.setdefault(name, row)
            turn = Turn(speaker == "client", cells["utterance_text"])
            talks.setdefault(name, {}).setdefault(cells["utterance_id"], (_number(cells["utterance_id"]), turn))
    for name, talk in talks.items():
        turns = [turn for _, turn in sorted(talk.values(), key=lambda numbered: numbered[0])]
        yield from _opening(first[name], turns, context, FEWEST_WORDS)


def _empatheticdialogues(sheet: Sheet, context: Context) -> _Drafts:
    talks: dict[str, list[tuple[float, Turn]]] = {}
    first: dict[str, Row] = {}
    for row in sheet.rows:
        name = row.cells.get("conv_id") or row.cells.get("conv_idx") or ""
        talk = talks.setdefault(name, [])
        first.setdefault(name, row)
        number = _number(row.cells.get("utterance_idx", "")) or len(talk) + 1.0
        # The one who begins speaks of what happened; the two take turns.
        text = row.cells["utterance"].replace("_comma_", ",").replace("_pipe_", "|")
        talk.append((number, Turn(number % 2 == 1, text)))
    for name, talk in talks.items():
        turns = [turn for _, turn in sorted(talk, key=lambda numbered: numbered[0])]
        yield from _opening(first[name], turns, context, 1)


def _arena(sheet: Sheet, context: Context) -> _Drafts:
    named = {source.lower(): source for source in context.sources}
    for row in sheet.rows:
        models = [named.get(row.cells[column].strip().lower(), "") for column in ("model_a", "model_b")]
        talks = [
            turns_in(row.cells[column], ("role",), ("content",), {"user": True, "assistant": False})
            for column in ("conversation_a", "conversation_b")
        ]
        if not all(models) or models[0] == models[1]:
            context.skipped.of_format["battles of models that are not both among the study's sources"] += 1
            continue
        found = [first_exchange(talk or [], 1) for talk in talks]
        if found[0] is None or found[1] is None or found[0][0] != found[1][0]:
            context.skipped.faulty += 1
            continue
        message, *answers = (context.repairs.mended(text, row.line) for text in (*found[0], found[1][1]))
        yield ItemDraft(row.line, message, dict(zip(models, answers, strict=True)))


def _opening(row: Row, turns: Sequence[Turn], context: Context, fewest_words: int) -> _Drafts:
    found = first_exchange(turns, fewest_words)
    if found is None:
        context.skipped.of_format[_NO_OPENING if fewest_words > 1 else "talks without an answer"] += 1
    else:
        yield _pair(row, *found, context)


def _pair(row: Row, message: str, answer: str, context: Context, votes: float = 0.0) -> ItemDraft:
    mended = context.repairs.mended
    return ItemDraft(row.line, mended(message, row.line), {HUMAN: mended(answer, row.line)}, votes=votes)


def _number(cell: str) -> float:
    """Return the number in a cell; 0 if there is none."""
    try:
        number = float(cell)
    except ValueError:
        return 0.0
    return number if abs(number) < 1e15 else 0.0


PUBLIC_SETS = {
    "counselchat": PublicSet(("questiontext", "answertext"), _counselchat),
    "mental_health_counseling": PublicSet(("context", "response"), _context_response),
    "epitome": PublicSet(("seeker_post", "response_post"), _epitome),
    "esconv": PublicSet(("dialog",), _esconv),
    "annomi": PublicSet(("transcript_id", "utterance_id", "interlocutor", "utterance_text"), _annomi),
    "empatheticdialogues": PublicSet(
        ("utterance",), _empatheticdialogues, quoted=False, either=("conv_id", "conv_idx")
    ),
    "arena": PublicSet(("model_a", "model_b", "conversation_a", "conversation_b"), _arena, humans=False),
}
"""The sets by the names that `--format` takes."""
