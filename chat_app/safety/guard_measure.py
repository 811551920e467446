"""How often the guard of replies is right on labelled lines: by kind, by writer, and each of its parts alone.

Recall is the share of the caught lines that the guard catches, for whatever kind; a false alarm is a clean line, or a
good reply, that it catches. Intervals are Wilson's (1927) at 95 %.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from heard.chat_app.safety.measure import wilson
from heard.scorer.guard_lines import LINE_KINDS, GuardLine


@dataclass(frozen=True, slots=True)
class Reading:
    """What the guard's parts said of one reply."""

    rules: frozenset[str]
    """Kinds that the rules caught, and the comparison of languages."""
    head: frozenset[str]
    """Kinds that the trained head caught."""
    left_out: frozenset[str] | None = None
    """The same by a head that has seen no caught line of this line's kind; None where that was not measured."""

    @property
    def both(self) -> frozenset[str]:
        """What the guard as a whole catches."""
        return self.rules | self.head


Catches = Callable[[Reading], bool]
PARTS: dict[str, Catches] = {
    "rules": lambda reading: bool(reading.rules),
    "head": lambda reading: bool(reading.head),
    "both": lambda reading: bool(reading.both),
}


def report(lines: Sequence[GuardLine], readings: Sequence[Reading], good: Sequence[Reading]) -> str:
    """The tables, as text: `readings` are of `lines`, in order; `good` of replies that may be shown."""
    pairs = list(zip(lines, readings, strict=True))
    with_left_out = any(reading.left_out is not None for reading in readings)
    rows = [_heading("kind", with_left_out)]
    for kind in LINE_KINDS:
        rows.append(_row(kind, [pair for pair in pairs if pair[0].kind == kind], with_left_out))
    rows += [_row("all", pairs, with_left_out), "", _heading("writer", with_left_out)]
    for writer in dict.fromkeys(line.writer for line in lines):
        rows.append(_row(writer, [pair for pair in pairs if pair[0].writer == writer], with_left_out))
    rows.append("")
    caught = [reading for line, reading in pairs if line.caught]
    clean = [reading for line, reading in pairs if not line.caught]
    for name, catches in PARTS.items():
        rows.append(f"{name:<6} recall {_interval(caught, catches)}   false alarms {_interval(clean, catches)}")
    if good:
        alarms = "   ".join(f"{name} {_interval(good, catches)}" for name, catches in PARTS.items())
        rows += ["", f"good replies caught: {alarms}"]
    return "\n".join(rows) + "\n"


def _heading(first: str, with_left_out: bool) -> str:
    cells = "".join(f"{name:>8}" for name in PARTS)
    middle = f"{'left out':>10}" if with_left_out else ""
    return f"{first:<10}{'caught':>8}{cells}{middle}   {'clean':>8}{cells}"


def _row(name: str, pairs: Sequence[tuple[GuardLine, Reading]], with_left_out: bool) -> str:
    caught = [reading for line, reading in pairs if line.caught]
    clean = [reading for line, reading in pairs if not line.caught]
    middle = ""
    if with_left_out:
        known = [(line.kind, reading) for line, reading in pairs if line.caught and reading.left_out is not None]
        found = [bool(reading.rules - {kind} or reading.left_out) for kind, reading in known]
        middle = f"{_percent(sum(found), len(found)):>10}"
    return f"{name:<10}{len(caught):>8}{_shares(caught)}{middle}   {len(clean):>8}{_shares(clean)}"


def _shares(readings: Sequence[Reading]) -> str:
    return "".join(f"{_percent(_count(readings, catches), len(readings)):>8}" for catches in PARTS.values())


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}%" if whole else "-"


def _count(readings: Iterable[Reading], catches: Catches) -> int:
    return sum(catches(reading) for reading in readings)


def _interval(readings: Sequence[Reading], catches: Catches) -> str:
    return wilson(_count(readings, catches), len(readings))
