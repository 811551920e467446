"""`heard results` with `--by`, `--flow` or `--adjust`: what costs more, or is asked for less often."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.markup import escape

from heard.chat_app.commands.results_tables import agreement_words, as_text, new_table
from heard.chat_app.results.adjusted import Adjusted, Coefficient, adjusted
from heard.chat_app.results.breakdown import Breakdown, breakdown
from heard.chat_app.results.display import MISSING, interval, odds, odds_interval, percent
from heard.chat_app.results.flow import Flow, study_flow
from heard.chat_app.results.flow_chart import flow_chart
from heard.chat_app.results.records import Share

if TYPE_CHECKING:
    from heard.chat_app.results.records import VoteFilter
    from heard.db.study_records import StudyRecord
    from heard.db.study_store import StudyStore

    Compute = Callable[[StudyStore, StudyRecord, VoteFilter], Awaitable[Any]]

LONGEST_MESSAGE = 40
"""Most characters of an item's message in the table."""


def show_more(
    found: "Callable[[Compute], Any]", by: str | None, covariates: Sequence[str], as_json: bool
) -> dict[str, Callable[[], str]]:
    """Print one of the three, computed by `found`, and return its pictures by file name."""

    async def compute(studies: "StudyStore", record: "StudyRecord", wanted: "VoteFilter") -> Any:
        if by:
            return await breakdown(studies, record.id, wanted, by)
        if covariates:
            return await adjusted(studies, record.id, wanted, covariates)
        return await study_flow(studies, record.id, wanted, record.definition.get("allow") or ())

    result = found(compute)
    if as_json:
        typer.echo(as_text(result))
    else:
        console = Console(highlight=False, soft_wrap=False)
        if isinstance(result, Breakdown):
            _show_breakdown(console, result)
        elif isinstance(result, Adjusted):
            _show_adjusted(console, result)
        else:
            _show_flow(console, result)
    return {"flow": lambda: flow_chart(result)} if isinstance(result, Flow) else {}


def _show_breakdown(console: Console, found: Breakdown) -> None:
    if found.reason:
        console.print(f"{escape(found.study)}: {found.reason}")
    elif found.by == "item":
        _show_items(console, found)
    elif found.by == "condition":
        _show_conditions(console, found)
    else:
        _show_sources(console, found)


def _show_items(console: Console, found: Breakdown) -> None:
    title = f"{escape(found.study)}, by item: marks as most / as least, and pairs of people who say the same"
    table = new_table(
        title, "item", "message", "ballots", *map(escape, found.sources), "tie, none", "agree, most", "least"
    )
    for item in found.items:
        marks = {one.source: f"{one.most.count} / {one.least.count}" for one in item.sources}
        table.add_row(
            str(item.number), escape(shortened(item.message)), str(item.ballots - item.skipped),
            *(marks.get(name, MISSING) for name in found.sources), str(item.same + item.none),
            percent(item.agree_most.share), percent(item.agree_least.share),
        )  # fmt: skip
    console.print(table)
    console.print("Ballots that were not skipped. Sorted by agreement on most, the highest first.")


def _show_conditions(console: Console, found: Breakdown) -> None:
    title = f"{escape(found.study)}, by condition"
    table = new_table(title, "condition", "source", "most", "95%", "least", "95%", "of ballots", "strength")
    for one in found.by_condition:
        strengths = {row.source: row.strength for row in one.results.strengths.sources}
        for row in one.results.shares:
            most, least = row.most_interval, row.least_interval
            table.add_row(
                escape(one.name), escape(row.source), percent(row.most.share), interval(most.low, most.high),
                percent(row.least.share), interval(least.low, least.high), str(row.most.of),
                odds(strengths.get(row.source)),
            )  # fmt: skip
        table.add_section()
    console.print(table)
    for one in found.by_condition:
        name, results = escape(one.name), one.results
        console.print(f"{name}: {results.counted.kept} votes of {results.people} people.")
        if results.strengths.reason:
            console.print(f"{name}: strengths are not estimable. {escape(results.strengths.reason)}")
        console.print(f"{name}: agreement on most, alpha {agreement_words(results.agreement_most)}")


def _show_sources(console: Console, found: Breakdown) -> None:
    title = f"{escape(found.study)}, by source: ballots on which it could be marked"
    table = new_table(title, "source", "ballots", "most", "least", "neither", "not votable", "items", "led")
    for one in found.by_source:
        shares = one.shares
        table.add_row(
            escape(shares.source), str(shares.most.of), _marks(shares.most), _marks(shares.least), str(one.unmarked),
            str(one.not_votable), str(one.items), str(one.items_led),
        )  # fmt: skip
    console.print(table)
    console.print("Led: items on which no source has more marks as most.")
    title = "Marked before the source of the column, of the ballots that say which of the two is before"
    table = new_table(title, "source", *map(escape, found.sources))
    for one in found.by_source:
        won = {met.other: f"{percent(met.won.share)} of {met.won.of}" for met in one.meetings}
        table.add_row(escape(one.shares.source), *(won.get(name, "") for name in found.sources))
    console.print(table)


def _marks(share: Share) -> str:
    return f"{share.count} ({percent(share.share)})"


def shortened(message: str) -> str:
    """Return the beginning of an item's message, on one line."""
    line = " ".join(message.split())
    return line if len(line) <= LONGEST_MESSAGE else f"{line[: LONGEST_MESSAGE - 1]}…"


def _show_flow(console: Console, flow: Flow) -> None:
    if flow.invited is not None:
        one = flow.invited
        console.print(f"Ids on the list: {one.ids}; people here {one.here}, not come or erased {one.not_here}.")
    table = new_table(f"{escape(flow.study)}: how people went through the study", "step", "people")
    for step in flow.steps:
        table.add_row(step.name, str(step.people), style="bold")
        for reason, number in step.left:
            table.add_row(f"  {reason}", f"−{number}" if number else "0")
    console.print(table)
    console.print(f"Of those who began to vote, {flow.finished} finished and {flow.unfinished} did not.")
    if flow.turned_away:
        table = new_table("Visits that the link did not let in (who comes twice counts twice)", "reason", "visits")
        for reason, number in flow.turned_away:
            table.add_row(reason, str(number))
        console.print(table)


def _show_adjusted(console: Console, found: Adjusted) -> None:
    if found.reason:
        console.print(f"Strengths: not estimable. {escape(found.reason)}")
        return
    names = " and ".join(found.adjusted_for) or "nothing"
    title = f"{escape(found.study)}: strength in log-odds (mean 0), without covariates and adjusted for {names}"
    extra = ["longer time", "95%"] if "time" in found.adjusted_for else []
    words = ["words"] if "length" in found.asked else []
    table = new_table(title, "source", *words, "plain", "95%", "adjusted", "95%", "change", "95%", *extra)
    for one in found.sources:
        cells = [*_both(one.plain), *_both(one.adjusted), *_both(one.change)]
        mean = [MISSING if one.words is None else f"{one.words:.0f}"] if words else []
        table.add_row(escape(one.source), *mean, *cells, *(_both(one.by_time) if one.by_time and extra else []))
    console.print(table)
    people = f"{found.people} {'person' if found.people == 1 else 'people'}"
    console.print(f"From {found.ballots} ballots of {people}.")
    if found.length is not None:
        value, ends = _both(found.length)
        console.print(f"An answer twice as long: {value} ({ends}) log-odds of being marked as most.")
    if extra:
        console.print("Longer time: what a doubling of a ballot's seconds adds to the source's strength.")
    for note in (*found.notes, *([found.interval_reason] if found.interval_reason else [])):
        console.print(escape(note))


def _both(one: Coefficient) -> list[str]:
    return [odds(one.value), odds_interval(one.low, one.high)]
