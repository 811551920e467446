"""The tables of `heard perturb`."""

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heard.scorer.evaluation.sensitivity import Change, Summary
    from heard.scorer.evaluation.unrepaired import Intervals
    from heard.scorer.records import EmpathyScore

REPAIRED, AS_WRITTEN = "repaired", "as written"
"""What the two readings of a text are called."""
WIDTH = 100
"""Columns at which a perturbed text is wrapped."""


def render(
    original: "EmpathyScore",
    text: str,
    found: list["Change"],
    original_raw: "EmpathyScore | None" = None,
    found_raw: "Sequence[Change]" = (),
) -> str:
    """Return the table of one reply: for each kind the scores with their change, and the perturbed text below.

    With the scores of the texts as they are written, these stand in a line of their own below.
    """
    from heard.scorer.records import READINGS

    if original.empathy is None:
        return f"Not scored, so there is no change to show. {original.reason}"
    names = [name for name in READINGS if getattr(original, name) is not None]
    raw_of = {change.kind: change for change in found_raw}
    own = [f"  {AS_WRITTEN}"] if original_raw is not None else []
    wide = max(map(len, ("original", *own, *(change.kind for change in found))))
    lines = [" " * wide + "".join(f"  {name.capitalize():<12}" for name in names).rstrip()]
    cells = [f"{getattr(original, name):.2f}" for name in names]
    lines.append("original".ljust(wide) + "".join(f"  {cell:<12}" for cell in cells).rstrip())
    if original_raw is not None:
        cells = [f"{getattr(original_raw, name):.2f}" for name in names if original_raw.empathy is not None]
        lines.append(f"  {AS_WRITTEN}".ljust(wide) + "".join(f"  {cell:<12}" for cell in cells).rstrip())
    lines.append(_wrapped(text))
    for change in found:
        if change.same:
            lines.append(f"{change.kind:<{wide}}  finds nothing to change")
            continue
        lines.append(_scores_of(change.kind, change, wide))
        if change.kind in raw_of:
            lines.append(_scores_of(f"  {AS_WRITTEN}", raw_of[change.kind], wide))
        lines.append(_wrapped(change.text))
    return "\n".join(lines)


def _scores_of(name: str, change: "Change", wide: int) -> str:
    if not change.by:
        return f"{name:<{wide}}  not scored: {change.score.reason}"
    cells = [f"{getattr(change.score, one):.2f} {change.by[one]:+.2f}" for one in change.by]
    return f"{name:<{wide}}" + "".join(f"  {cell:<12}" for cell in cells).rstrip()


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


def table_beside(
    repaired: list["Summary"],
    raw: list["Summary"],
    ends: "Intervals",
    ends_raw: "Intervals",
    scored: int,
    unscored: int,
) -> str:
    """Return means by kind as Markdown, of the repaired texts and of those as they are written, with intervals."""
    from heard.scorer.records import READINGS, SCALES

    both = [one for pair in zip(repaired, raw, strict=True) for one in pair]
    names = [name for name in READINGS if name in SCALES or any(name in one.mean for one in both)]
    columns = ["replies changed", *(name.capitalize() for name in names), "size of Empathy's change"]
    lines = ["| | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for row, one in enumerate(both):
        of_kind = (ends, ends_raw)[row % 2].get(one.kind, {})
        cells = [f"{one.mean[name]:+.3f}{_ends(of_kind.get(name))}" if name in one.mean else "" for name in names]
        moved = "" if one.moved is None else f"{one.moved:.3f}"
        name = f"{one.kind}, {(REPAIRED, AS_WRITTEN)[row % 2]}"
        lines.append(f"| {name} | {one.changed} of {scored} | " + " | ".join([*cells, moved]) + " |")
    if unscored:
        lines += ["", f"{unscored} more replies have no score as they are, so they are in no row of the table."]
    return "\n".join(lines)


def _ends(found: tuple[float, float] | None) -> str:
    return "" if found is None else f" [{found[0]:+.3f}, {found[1]:+.3f}]"


def _wrapped(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), WIDTH, initial_indent="    ", subsequent_indent="    ")
