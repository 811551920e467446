"""The tables of `heard results`."""

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from heard.chat_app.results.display import chance_of, counts, interval, left_out, odds, odds_interval, percent
from heard.chat_app.results.records import Agreement, StudyResults
from heard.db.study_records import LETTERS


def show(found: StudyResults) -> None:
    """Print all tables. Names come from files, so markup in them is escaped."""
    console = Console(highlight=False, soft_wrap=False)
    for part in (_shares, _strengths, _positions, _leaks, _trial, _counted):
        part(console, found)


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold")
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number == 0 else "right", overflow="fold")
    return table


def _shares(console: Console, found: StudyResults) -> None:
    title = f"{escape(found.study)}: marked as most and as least empathetic, with intervals of 95%"
    table = _table(title, "source", "most", "95%", "least", "95%", "ballots")
    for one in found.shares:
        most, least = one.most, one.least
        table.add_row(
            escape(one.source), percent(most.share), interval(most.low, most.high), percent(least.share),
            interval(least.low, least.high), str(most.of),
        )  # fmt: skip
    if found.shares:
        console.print(table)
    else:
        console.print(f"{escape(found.study)}: no vote counts yet, so there are no shares.")


def _strengths(console: Console, found: StudyResults) -> None:
    fitted = found.strengths
    if fitted.reason:
        console.print(f"Strengths: not estimable. {escape(fitted.reason)}")
        return
    table = _table("Strength in log-odds (mean 0), and chance of most among all", "source", "strength", "95%", "chance")
    for one in fitted.sources:
        table.add_row(
            escape(one.source), odds(one.strength), odds_interval(one.low, one.high), percent(one.chance)
        )  # fmt: skip
    console.print(table)
    for reason in (fitted.position_reason, fitted.interval_reason):
        if reason:
            console.print(escape(reason))


def _positions(console: Console, found: StudyResults) -> None:
    effects = {one.position: one for one in found.strengths.positions}
    if found.position.positions:
        table = _table("Position", "place", "marked as most", "95%", "effect on most", "effect on least")
        for row in found.position.positions:
            effect = effects.get(row.position)
            table.add_row(
                LETTERS[row.position - 1], percent(row.most.share), interval(row.most.low, row.most.high),
                odds(effect.most if effect else None), odds(effect.least if effect else None),
            )  # fmt: skip
        console.print(table)
        if found.position.statistic is not None:
            console.print(
                f"Evenness over places: chi-square {found.position.statistic:.1f} on {found.position.degrees} degrees "
                f"of freedom, {chance_of(found.position.p)}."
            )
    for word, one in (("most", found.agreement_most), ("least", found.agreement_least)):
        console.print(f"Agreement on {word} (Krippendorff's alpha): {agreement_words(one)}")


def agreement_words(one: Agreement) -> str:
    """Return alpha with its basis, or why there is none."""
    if one.alpha is None:
        return one.reason or ""
    return f"{one.alpha:.3f} over {one.items} items and {one.judgements} judgements."


def _leaks(console: Console, found: StudyResults) -> None:
    if not found.leaks:
        return
    table = _table("Showings that gave their source away", "source", "rate", "95%", "showings")
    for one in found.leaks:
        table.add_row(
            escape(one.source), percent(one.rate.share), interval(one.rate.low, one.rate.high), counts(one.rate)
        )  # fmt: skip
    console.print(table)


def _trial(console: Console, found: StudyResults) -> None:
    if not found.trial:
        return
    table = _table(
        "Trial of auto-improve: marked as most, by what chance assigned", "source", "assigned", "control", "difference",
        "95%",
    )  # fmt: skip
    for arm in found.trial:
        table.add_row(
            "all sources" if arm.source is None else escape(arm.source), percent(arm.assigned.share),
            percent(arm.control.share), percent(arm.difference), interval(arm.low, arm.high),
        )  # fmt: skip
    console.print(table)


def _counted(console: Console, found: StudyResults) -> None:
    counted = found.counted
    table = _table(f"Votes, by {found.people} people", "what", "votes")
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
