"""A score as the scorer's page shows it: rows with bars and ranges, and the reply in pieces, some of them marked."""

from collections.abc import Sequence
from dataclasses import dataclass

from heard.chat_app.page.score_card import LABELS, score_props
from heard.scorer.records import COMPONENTS, HIGHEST, LOWEST, NOTES, EmpathyScore, Span

LIMITS = (
    "An estimate by a small model, from the words alone. It cannot tell whether the reply is true, safe or right for "
    "this person, or whether they would feel heard, and it misses irony."
)
SHORTEST_BAR = 3.0
"""Per cent; a score of exactly 1 still shows where its bar is."""


@dataclass(frozen=True, slots=True)
class Row:
    """One of the four scores."""

    label: str
    shown: str
    """The number as text."""
    level: str
    width: float
    """Of the bar, 0..100 per cent of the scale."""
    low: float | None
    """Where the plausible range begins on the bar, 0..100; None when no range is known."""
    high: float | None
    range: str
    """ "plausibly 1.8 to 2.6", or "" when no range is known."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of the reply; all pieces in order are the reply."""

    text: str
    strength: str
    """How soft the mark is: "strong", "middle" or "faint"; "" without a mark."""


@dataclass(frozen=True, slots=True)
class ScoreView:
    """Everything that the template shows of one score."""

    title: str
    """The whole result in a few words, for the browser's title."""
    rows: tuple[Row, ...]
    """Empathy first; empty when there is no score."""
    perceived: str
    """How empathic people would call the reply, as a sentence; "" when the scorer does not say."""
    reason: str
    """Why there is no score; "" when there is one."""
    notes: tuple[str, ...]
    """Sentences."""
    pieces: tuple[Piece, ...]
    """The reply with its evidence; empty when no evidence is known."""
    carried: str
    """The component whose evidence is marked; "" without evidence."""
    head: str


def strongest(score: EmpathyScore) -> str | None:
    """Name of the highest component (the first in rubric order on a tie), or None when not scored."""
    return None if score.empathy is None else max(COMPONENTS, key=lambda name: getattr(score, name))


def view_of(score: EmpathyScore, reply: str) -> ScoreView:
    """A score of `reply` for the page, with its evidence if it has any."""
    props = score_props(score)
    name = strongest(score)
    spans = score.evidence.get(name, ()) if name else ()
    pieces = pieces_of(reply, spans)
    found = any(piece.strength for piece in pieces)
    bars = [("empathy", props["empathy"]), *zip(COMPONENTS, props["bars"], strict=True)] if props["scored"] else []
    rows = tuple(
        _row(bar["label"], bar["shown"], bar["level"], bar["share"], score.intervals.get(key)) for key, bar in bars
    )
    return ScoreView(
        title=f"Empathy {rows[0].shown}, {rows[0].level}" if rows else "Not scored",
        rows=rows,
        perceived=props["perceived"] or "",
        reason=props["reason"] or "",
        notes=tuple(NOTES.get(note, note) for note in score.notes),
        pieces=pieces if found else (),
        carried=LABELS[name] if name and found else "",
        head=score.head_name,
    )


def _row(label: str, shown: str, level: str, share: float, interval: tuple[float, float] | None) -> Row:
    width = round(max(SHORTEST_BAR, share * 100), 2)
    if interval is None:
        return Row(label, shown, level, width, None, None, "")
    low, high = interval
    return Row(label, shown, level, width, _place(low), _place(high), f"plausibly {low:.1f} to {high:.1f}")


def _place(value: float) -> float:
    return round(min(1.0, max(0.0, (value - LOWEST) / (HIGHEST - LOWEST))) * 100, 2)


def pieces_of(reply: str, spans: Sequence[Span]) -> tuple[Piece, ...]:
    """`reply` cut at the edges of `spans`. Overlapping spans become one mark, which is as strong as the stronger."""
    marks: list[tuple[int, int, float]] = []
    for span in sorted(spans, key=lambda span: span.start):
        start, end = max(0, span.start), min(len(reply), span.end)
        if start >= end:
            continue
        if marks and start < marks[-1][1]:
            first, last, weight = marks.pop()
            marks.append((first, max(last, end), max(weight, span.weight)))
        else:
            marks.append((start, end, span.weight))
    most = max((weight for _, _, weight in marks), default=0.0)
    pieces, place = list[Piece](), 0
    for start, end, weight in marks:
        pieces += [Piece(reply[place:start], ""), Piece(reply[start:end], _strength(weight, most))]
        place = end
    pieces.append(Piece(reply[place:], ""))
    return tuple(piece for piece in pieces if piece.text)


def _strength(weight: float, most: float) -> str:
    share = weight / most if most > 0 else 1.0
    return "strong" if share > 2 / 3 else "middle" if share > 1 / 3 else "faint"
