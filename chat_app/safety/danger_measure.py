"""How often the check of messages is right, by how grave they are: on labelled lines, by kind, register and writer.

Recall of crises is the share that is handed off; of check-ins the share that is met at all (asked or handed off); a
false alarm is a harmless line that is handed off, a question too many one that is asked about.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from heard.chat_app.safety.verdict import Level, SafetyVerdict
from heard.scorer.danger_lines import FIRST_DANGER, LABELS, DangerLine
from heard.scorer.tables import Line, markdown

Interval = Callable[[Sequence[bool], Sequence[str]], str]
"""A share of marks as text with its interval, given what hangs together (`results.clustered`)."""
DANGERS = LABELS[FIRST_DANGER:]


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What two checks said of the same lines."""

    lines: Sequence[DangerLine]
    rules: Sequence[SafetyVerdict]
    both: Sequence[SafetyVerdict]


def report(verdicts: Verdicts, interval: Interval) -> str:
    """Tables as Markdown: all, then the crises by kind and by register, the other dangers, and the harmless lines."""
    lines = verdicts.lines
    parts = ["### All", markdown(_all(verdicts, interval))]
    names: dict[str, Callable[[DangerLine], str]] = {
        "kind": lambda line: line.kind,
        "register": lambda line: line.register,
    }
    for name, of in names.items():
        for title, label in ((f"Crises by {name}", "crisis"), (f"Harmless lines by {name}", "none")):
            groups = sorted({of(line) for line in lines if line.label == label})
            rows = [
                _row(verdicts, interval, group or "-", [line.label == label and of(line) == group for line in lines])
                for group in groups
            ]
            if rows:
                parts += [f"### {title}: handed off", markdown(rows)]
    return "\n\n".join(parts) + "\n"


def _all(verdicts: Verdicts, interval: Interval) -> list[Line]:
    rows = []
    for label in LABELS:
        chosen = [line.label == label for line in verdicts.lines]
        if any(chosen):
            rows.append(_row(verdicts, interval, label, chosen))
    return rows


def _row(verdicts: Verdicts, interval: Interval, name: str, chosen: Sequence[bool]) -> Line:
    places = [at for at, wanted in enumerate(chosen) if wanted]
    groups = [verdicts.lines[at].group for at in places]

    def share(found: Sequence[SafetyVerdict], test: Callable[[SafetyVerdict], bool]) -> str:
        return interval([test(found[at]) for at in places], groups)

    return Line(
        name,
        {
            "rules alone": share(verdicts.rules, lambda verdict: verdict.crisis),
            "rules and head": share(verdicts.both, lambda verdict: verdict.crisis),
            "asked or handed off": share(
                verdicts.both, lambda verdict: verdict.level in (Level.CHECK_IN, Level.CRISIS)
            ),
            "acknowledged as past": share(verdicts.both, lambda verdict: verdict.level is Level.RECOVERY),
        },
    )
