"""Measures the crisis check on labelled cases, against a list of common words as baseline.

A case is a line {"id","text","crisis": true|false,"group"}. Recall is the share of crises found, precision the share
of alarms that are crises, the false-alarm rate the share of the other messages that raise an alarm. Intervals are
Wilson's (1927) at 95 %.
"""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path

from heard.chat_app.safety.crisis_check import check
from heard.errors import UserError

COMMON_WORDS = (
    "suicide", "suicidal", "kill myself", "killing myself", "end my life", "want to die", "wanna die", "self harm",
    "self-harm", "cut myself", "cutting myself", "hurt myself", "overdose", "better off dead", "end it all",
    "no reason to live", "take my own life", "hang myself", "shoot myself", "don't want to live",
)  # fmt: skip
"""The baseline: twenty phrases such as a team would list in an afternoon, matched without regard to case."""
_COMMON = re.compile("|".join(re.escape(word) for word in COMMON_WORDS), re.IGNORECASE)


class MeasureError(UserError, ValueError):
    """Cases cannot be read; `str()` names the file, the line and the fault, never the text."""


@dataclass(frozen=True, slots=True)
class Case:
    """One labelled message."""

    id: str
    text: str
    crisis: bool
    group: str
    """What the case is an example of, such as "en.passive" or "trick.leetspeak"."""


@dataclass(frozen=True, slots=True)
class ConfusionMatrix:
    """Counts of outcomes over some cases; a crisis is the positive class."""

    true_positives: int
    false_negatives: int
    false_positives: int
    true_negatives: int

    @property
    def recall(self) -> float | None:
        """0..1, or None if no case is a crisis."""
        return _share(self.true_positives, self.true_positives + self.false_negatives)

    @property
    def precision(self) -> float | None:
        """0..1, or None if there was no alarm."""
        return _share(self.true_positives, self.true_positives + self.false_positives)

    @property
    def false_alarm_rate(self) -> float | None:
        """0..1, or None if every case is a crisis."""
        return _share(self.false_positives, self.false_positives + self.true_negatives)


def has_common_words(text: str) -> bool:
    """Return whether one of the twenty `COMMON_WORDS` is in the text."""
    return _COMMON.search(text) is not None


def load_cases(path: Path) -> list[Case]:
    """Read cases from a file, or from every .jsonl in a folder. Raises MeasureError."""
    paths = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    cases: list[Case] = []
    for one in paths:
        try:
            lines = one.read_text(encoding="utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise MeasureError(f"{one} cannot be read as UTF-8 text: {type(error).__name__}.") from error
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
                case = Case(str(row["id"]), row["text"], row["crisis"], str(row.get("group", "all")))
            except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
                raise MeasureError(f'{one}, line {number}: needs "id", "text" and "crisis" as JSON.') from error
            if not isinstance(case.text, str) or not isinstance(case.crisis, bool):
                raise MeasureError(f'{one}, line {number}: "text" must be text, "crisis" true or false.')
            cases.append(case)
    if not cases:
        raise MeasureError(f"{path} holds no cases: give a .jsonl file, or a folder of them.")
    return cases


def confusion_matrix(cases: Iterable[Case], judge: Callable[[str], bool]) -> ConfusionMatrix:
    """Return the outcomes of `judge`, which returns True for a crisis, over the cases."""
    tally = [0, 0, 0, 0]
    for case in cases:
        alarm = judge(case.text)
        tally[(0 if alarm else 1) if case.crisis else (2 if alarm else 3)] += 1
    return ConfusionMatrix(*tally)


def report(cases: Sequence[Case]) -> str:
    """Return the table of the check and the baseline, by group and over all cases."""
    groups = sorted({case.group for case in cases})
    width = max(len("common words, all"), *(len(group) for group in groups)) + 2
    rows = [f"{'group':<{width}}{'n':>6}{'crises':>8}{'recall':>9}{'list':>8}{'false alarms':>15}{'list':>8}"]
    for group in groups:
        some = [case for case in cases if case.group == group]
        ours, theirs = confusion_matrix(some, _is_crisis), confusion_matrix(some, has_common_words)
        crises = ours.true_positives + ours.false_negatives
        rows.append(
            f"{group:<{width}}{len(some):>6}{crises:>8}{_percent(ours.recall):>9}{_percent(theirs.recall):>8}"
            f"{_percent(ours.false_alarm_rate):>15}{_percent(theirs.false_alarm_rate):>8}"
        )
    rows.append("")
    for name, judge in (("heard check, all", _is_crisis), ("common words, all", has_common_words)):
        total = confusion_matrix(cases, judge)
        rows.append(
            f"{name:<{width}} recall {wilson(total.true_positives, total.true_positives + total.false_negatives)}"
            f"  precision {wilson(total.true_positives, total.true_positives + total.false_positives)}"
            f"  false alarms {wilson(total.false_positives, total.false_positives + total.true_negatives)}"
        )
    return "\n".join(rows) + "\n"


def _is_crisis(text: str) -> bool:
    return check(text).crisis


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}%"


def wilson(part: int, whole: int) -> str:
    """Return a share of counts in percent with its interval, such as "97.0% (95.1 to 98.2, n=500)"; "-" of none."""
    if not whole:
        return "-"
    z = 1.96
    share = part / whole
    middle = (share + z * z / (2 * whole)) / (1 + z * z / whole)
    half = z / (1 + z * z / whole) * sqrt(share * (1 - share) / whole + z * z / (4 * whole * whole))
    return f"{100 * share:.1f}% ({100 * max(0.0, middle - half):.1f} to {100 * (middle + half):.1f}, n={whole})"
