"""The tables of `heard results`."""

import json
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from heard.chat_app.results.display import (
    MISSING,
    TRIAL,
    beside,
    chance_of,
    counts,
    interval,
    left_out,
    odds,
    odds_interval,
    percent,
    sample,
    why_no_intervals,
)
from heard.chat_app.results.records import Agreement, StudyResults
from heard.db.study_records import LETTERS


def as_text(found: Any) -> str:
    """Return a record as JSON. A figure that does not exist is null: NaN would be no JSON."""
    return json.dumps(asdict(found), ensure_ascii=False, indent=2, allow_nan=False)


def show(results: StudyResults) -> None:
    """Print all tables. Names come from files, so markup in them is escaped."""
    console = Console(highlight=False, soft_wrap=False)
    if results.hidden:
        console.print(f"Hidden, and counted all the same: {escape(', '.join(results.hidden))}.")
    if results.not_pooled:
        console.print(f"{escape(results.not_pooled)} --condition NAME shows one, --pool-conditions all as one.")
    for one in results.parts or [results]:
        if results.parts:
            console.rule(f"Condition {escape(one.wanted.condition or '')}", align="left")
        for part in (_shares, _differences, _strengths, _positions, _trial, _bootstrap):
            part(console, one)
    _leaks(console, results)
    _counted(console, results)


def new_table(title: str, *columns: str) -> Table:
    """Return a table whose first column is a name and whose others are figures."""
    table = Table(title=title, title_justify="left", title_style="bold")
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number == 0 else "right", overflow="fold")
    return table


def _shares(console: Console, results: StudyResults) -> None:
    title = f"{escape(results.study)}: marked as most and as least empathetic; 95% over people and items"
    table = new_table(title, "source", "marked as", "share", "95%", "Wilson", "of ballots")
    for one in results.shares:
        both = (one.source, "most", one.most, one.most_interval), ("", "least", one.least, one.least_interval)
        for name, mark, share, found in both:
            if share.of or mark == "most":
                shown = percent(share.share), beside(found), interval(share.low, share.high), str(share.of)
                table.add_row(escape(name), mark, *shown)
        if one.net is not None:
            table.add_row("", "net", percent(one.net), beside(one.net_interval), "", "")
        table.add_section()
    if results.shares:
        console.print(table)
        console.print("Wilson: votes as if independent. Net: most minus least.")
        if reason := why_no_intervals(results):
            console.print(f"No interval over people and items: {reason}")
    elif not results.hidden:
        console.print(f"{escape(results.study)}: no vote counts yet, so there are no shares.")


def _differences(console: Console, results: StudyResults) -> None:
    if not results.differences:
        return
    table = new_table("First minus second source", "first", "second", "most", "95%", "least", "95%")
    for one in results.differences:
        table.add_row(
            escape(one.first), escape(one.second), percent(one.most), beside(one.most_interval), percent(one.least),
            beside(one.least_interval),
        )  # fmt: skip
    console.print(table)


def _strengths(console: Console, results: StudyResults) -> None:
    fitted = results.strengths
    if fitted.reason:
        console.print(f"Strengths: not estimable. {escape(fitted.reason)} {sample(fitted)}")
        return
    title = f"Strength in log-odds (mean 0), and chance of most among all. {sample(fitted)}"
    table = new_table(title, "source", "strength", "95%", "chance", "ballots")
    for one in fitted.sources:
        table.add_row(
            escape(one.source), odds(one.strength), odds_interval(one.low, one.high), percent(one.chance),
            str(one.ballots),
        )  # fmt: skip
    console.print(table)
    for reason in (fitted.position_reason, fitted.interval_reason):
        if reason:
            console.print(escape(reason))


def _positions(console: Console, results: StudyResults) -> None:
    effects = {one.position: one for one in results.strengths.positions}
    if results.position.positions:
        table = new_table(
            "Position", "place", "marked as most", "95%", "Wilson", "marks", "effect on most", "effect on least"
        )
        for row in results.position.positions:
            effect = effects.get(row.position)
            shown = [
                percent(row.most.share),
                beside(row.interval),
                interval(row.most.low, row.most.high),
                counts(row.most),
            ]
            table.add_row(
                LETTERS[row.position - 1], *shown, odds(effect.most if effect else None),
                odds(effect.least if effect else None),
            )  # fmt: skip
        console.print(table)
        if results.position.statistic is not None:
            console.print(
                f"Evenness over places: chi-square {results.position.statistic:.1f} on {results.position.degrees} "
                f"degrees of freedom, {chance_of(results.position.p)}."
            )
    for word, one in (("most", results.agreement_most), ("least", results.agreement_least)):
        console.print(f"Agreement on {word} (Krippendorff's alpha): {agreement_words(one)}")


def agreement_words(one: Agreement) -> str:
    """Return alpha and the pairs with their basis and intervals, or why there are none."""
    if one.alpha is None:
        return one.reason or ""
    ends = "" if one.low is None or one.high is None else f" ({one.low:.3f} to {one.high:.3f})"
    said = [f"{one.alpha:.3f}{ends} over {one.items} items and {one.judgements} judgements."]
    if one.equal is not None:
        ends = "" if one.equal_low is None else f" ({interval(one.equal_low, one.equal_high)})"
        said.append(
            f"Of {one.pairs} pairs of people on one item {percent(one.equal)}{ends} say the same, where chance gives "
            f"{percent(one.by_chance)}."
        )
    return " ".join([*said, *([one.interval_reason] if one.interval_reason else [])])


def _leaks(console: Console, results: StudyResults) -> None:
    if not results.leaks:
        return
    table = new_table("Showings that gave their source away", "source", "rate", "95%", "Wilson", "showings")
    for one in results.leaks:
        table.add_row(
            escape(one.source), percent(one.rate.share), beside(one.interval),
            interval(one.rate.low, one.rate.high), counts(one.rate),
        )  # fmt: skip
    console.print(table)


def _trial(console: Console, results: StudyResults) -> None:
    if not results.trial:
        return
    table = new_table(
        "Trial of auto-improve: marked as most, by what chance assigned", "source", "assigned", "of", "answers",
        "control", "of", "answers", "difference", "95%", "by chance",
    )  # fmt: skip
    for arm in results.trial:
        table.add_row(
            "all sources" if arm.source is None else escape(arm.source), percent(arm.assigned.share),
            counts(arm.assigned), str(arm.assigned_answers), percent(arm.control.share), counts(arm.control),
            str(arm.control_answers), percent(arm.difference), interval(arm.low, arm.high), chance_of(arm.p),
        )  # fmt: skip
    console.print(table)
    console.print(TRIAL)
    for reason in dict.fromkeys(arm.reason for arm in results.trial if arm.reason):
        console.print(reason)


def _bootstrap(console: Console, results: StudyResults) -> None:
    found = results.bootstrap
    if found is None:
        return
    if found.reason:
        console.print(f"No two-way bootstrap: {found.reason}")
        return
    table = new_table(
        f"Two-way bootstrap over people and items, {found.resamples} samples, percentiles", "source", "most", "least",
        "strength",
    )  # fmt: skip
    by_figure = {(one.figure, one.source): one for one in found.intervals}
    for name in sorted({one.source for one in found.intervals}):
        cells = []
        for figure, shown in (("most", interval), ("least", interval), ("strength", odds_interval)):
            one = by_figure.get((figure, name))
            cells.append(shown(one.low, one.high) if one else MISSING)
        table.add_row(escape(name), *cells)
    console.print(table)


def _counted(console: Console, results: StudyResults) -> None:
    counted = results.counted
    table = new_table(f"Votes, by {results.people} people", "what", "votes")
    for what, number in (
        ("Ranked", counted.ranked),
        ("About the same", counted.same),
        ("None of these", counted.none),
        ("Skipped", counted.skipped),
    ):
        table.add_row(what, str(number))
    for reason, number in left_out(counted):
        table.add_row(f"Left out: {reason}", str(number))
    table.add_section()
    table.add_row("All rows", str(counted.rows))
    console.print(table)
