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
    talks = [_talks(verdicts, interval, kind) for kind in sorted({line.kind for line in lines if _is_talk(line)})]
    if talks:
        parts += ["### Conversations, by their gravest message", markdown(talks)]
    return "\n\n".join(parts) + "\n"


def _is_talk(line: DangerLine) -> bool:
    """Whether a line is a message of a conversation, whose messages are one group."""
    return line.kind.startswith("talk:")


def _talks(verdicts: Verdicts, interval: Interval, kind: str) -> Line:
    """Shares of a kind's conversations of which at least one message is met so."""
    places: dict[str, list[int]] = {}
    for at, line in enumerate(verdicts.lines):
        if line.kind == kind:
            places.setdefault(line.group, []).append(at)

    def share(found: Sequence[SafetyVerdict], *levels: Level) -> str:
        return interval([any(found[at].level in levels for at in own) for own in places.values()], list(places))

    return Line(
        kind.removeprefix("talk:"),
        {
            "rules alone": share(verdicts.rules, Level.CRISIS),
            "rules and head": share(verdicts.both, Level.CRISIS),
            "asked or handed off": share(verdicts.both, Level.CHECK_IN, Level.CRISIS),
        },
    )


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
