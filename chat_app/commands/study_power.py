"""`heard study power`: how many people and items a study needs, and what they cost."""

from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heard.chat_app.commands.study_common import StudyError

if TYPE_CHECKING:
    from heard.chat_app.results.power import Estimate, Power, Size

PEOPLE = "20,40,60,80,120,160,240,320"
ITEMS = "10,20,40,80"
MOST_COLUMNS = 5
WORDS, WORDS_A_MINUTE, MINUTES_TO_DECIDE = 120, 238, 0.5
"""Words of a message and of each answer, words that adults read a minute (Brysbaert 2019, silent reading of English
non-fiction, doi:10.1016/j.jml.2019.104047), and minutes to mark and to say why."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a person's time costs; amounts are in the currency of the rate."""

    ballots: int
    minutes: float
    """Of one ballot."""
    rate: float | None
    """For an hour; None is not known."""
    fee: float
    """Percent that the platform adds."""

    def of(self, people: int) -> str:
        """Return the amount, or hours where there is no rate."""
        hours = people * self.ballots * self.minutes / 60
        return f"{hours:,.0f} h" if self.rate is None else f"{hours * self.rate * (1 + self.fee / 100):,.0f}"


def power(
    study: Annotated[
        Path | None, typer.Argument(metavar="[STUDY.toml]", help="A study's file, for its sources.", show_default=False)
    ] = None,
    between: Annotated[
        str,
        typer.Option(
            metavar="A,B",
            help="Two sources of the file, whose difference is wanted. Without it the best one has to be told from "
            "every other one at once.",
        ),
    ] = "",
    sources: Annotated[
        int | None, typer.Option(min=2, max=5, help="Answers on a ballot, without a file; else 3.")
    ] = None,
    items: Annotated[str, typer.Option(metavar="N,N,...", help="Numbers of items, five at most.")] = ITEMS,
    people: Annotated[str, typer.Option(metavar="N,N,...", help="Numbers of people.")] = PEOPLE,
    items_per_person: Annotated[
        int | None, typer.Option(min=1, max=1000, help="Items that a person judges; else the file's, or 10.")
    ] = None,
    effect: Annotated[
        float, typer.Option(help="Log-odds between the best source and each other one. Its shares are shown.")
    ] = 0.5,
    item_sd: Annotated[
        float, typer.Option(min=0, max=5, help="How far items differ in it: standard deviation in log-odds.")
    ] = 0.7,
    person_sd: Annotated[float, typer.Option(min=0, max=5, help="The same of people.")] = 0.5,
    goal: Annotated[float, typer.Option("--power", min=0.05, max=0.99, help="The power that is wanted.")] = 0.8,
    rate: Annotated[float | None, typer.Option(min=0, help="What a person gets for an hour.")] = None,
    minutes: Annotated[
        float | None,
        typer.Option(min=0.01, help="Of one ballot; else 120 words a text at 238 words a minute, and half a minute."),
    ] = None,
    fee: Annotated[float, typer.Option(min=0, help="What the platform takes on top, in percent.")] = 0.0,
    studies: Annotated[
        int, typer.Option(min=20, max=100_000, help="Simulated studies of each size; four times as many halve the ±.")
    ] = 400,
    seed: Annotated[int, typer.Option(min=0, help="Of the simulation.")] = 1,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE.svg", help="Draw the power over people there too.")
    ] = None,
) -> None:
    """Simulate how often a study of some size would find a difference of shares as most.

    \b
    heard study power study.toml --rate 12 --fee 33
    heard study power study.toml --between human,plain --effect 0.4
    heard study power --sources 2 --items 20,40 --people 50,100,150

    Votes of one person, and on one item, hang together in the simulation
    as in a real study, and the difference counts as found where the
    interval that `heard results` shows leaves out 0. So more people help
    only as far as there are items. With an effect of 0 nothing must be
    found: about .05 of the intervals leave out 0 then.
    """
    from rich.console import Console

    from heard.chat_app.commands.progress import Progress
    from heard.chat_app.results.power import Plan
    from heard.chat_app.results.power import power as simulate

    if not all(map(isfinite, (item_sd, person_sd, goal, rate or 0, minutes or 0, fee))):
        raise StudyError("One of the options is no number that one can reckon with. Write it as 1.5.")
    if not 0 < effect <= 5:
        raise StudyError("--effect is in log-odds, above 0 and up to 5. The check with an effect of 0 is always made.")
    number, pair, of_file = _of_file(study, between, sources)
    each = items_per_person or of_file or 10
    plan = Plan(
        number, _numbers(items, "--items"), _numbers(people, "--people"), effect, each, item_sd, person_sd,
        every=pair is None, goal=goal, studies=studies, seed=seed,
    )  # fmt: skip
    if len(plan.items) > MOST_COLUMNS:
        raise StudyError(f"--items takes {MOST_COLUMNS} numbers at most, a column of the table each. Leave some out.")
    if picture is not None and picture.suffix.lower() != ".svg":
        raise StudyError(f"--picture draws an SVG file, and {picture.name} does not end in .svg. Call it so.")
    a_ballot = minutes or (number + 1) * WORDS / WORDS_A_MINUTE + MINUTES_TO_DECIDE
    cost = Cost(min(each, plan.items[-1]), a_ballot, rate, fee)
    with Progress() as progress:
        found = simulate(plan, progress)
    _show(Console(highlight=False, soft_wrap=False), found, cost, pair)
    if picture is not None:
        _draw(found, picture)


def _of_file(path: Path | None, between: str, sources: int | None) -> tuple[int, tuple[str, str] | None, int | None]:
    """Return the number of sources, the two that are compared, if any, and the items of a person, if known."""
    from heard.chat_app.studies.study_file import MOST_ANSWERS, read_study_file
    from heard.db.study_records import StudyKind
    from heard.hints import nearest_name

    if path is None:
        if between:
            raise StudyError("--between names sources of a study's file. Name the file too, or take --sources 2.")
        return sources or 3, None, None
    study = read_study_file(path)
    names = study.all_sources
    if study.kind is StudyKind.LIVE:
        raise StudyError(f"{path} is a live study, whose people write their own messages; this simulates surveys.")
    if sources is not None:
        raise StudyError(f"{path} names the sources. Leave out --sources, or the file.")
    if not 2 <= len(names) <= MOST_ANSWERS:
        raise StudyError(
            f"{path} names {len(names)} sources, and a ballot has 2 to {MOST_ANSWERS}. Say --sources N without a file."
        )
    if not between:
        return len(names), None, study.items_per_person
    pair = [name.strip() for name in between.split(",")]
    for name in pair:
        if name not in names:
            raise StudyError(f'--between: no source "{name}" in {path}. {nearest_name(name, names)}')
    if len(pair) != 2 or pair[0] == pair[1]:
        raise StudyError("--between takes two sources with a comma between them, such as human,plain.")
    return len(names), (pair[0], pair[1]), study.items_per_person


def _numbers(text: str, option: str) -> tuple[int, ...]:
    try:
        found = sorted({int(part) for part in text.split(",")})
    except ValueError:
        raise StudyError(f"{option} takes whole numbers with commas between them, such as 20,40,80.") from None
    if found[0] < 2 or found[-1] > 10_000:
        raise StudyError(f"{option} takes numbers from 2 to 10000: one of a kind tells nothing of how they differ.")
    return tuple(found)


def _show(console: Any, found: "Power", cost: Cost, pair: tuple[str, str] | None) -> None:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    from heard.chat_app.results.display import percent
    from heard.chat_app.results.simulate import expected_shares

    plan = found.plan
    best, other = expected_shares(plan.betas(plan.effect), plan.item_sd, plan.person_sd)[:2]
    if pair:
        what, one = f"{escape(pair[0])} from {escape(pair[1])}", escape(pair[0])
    else:
        what, one = (
            "the best source from every other one" if plan.sources > 2 else "one source from the other",
            "the best",
        )
    console.print(
        f"Effect {plan.effect:g} log-odds with {plan.sources} sources: {one} is marked as most on "
        f"{percent(float(best))} of ballots, each other one on {percent(float(other))}."
    )
    console.print(f"[bold]Power to tell {what}[/bold]")
    table = Table(box=box.SIMPLE)
    table.add_column("people", justify="right")
    for items in plan.items:
        table.add_column(f"{items} items", justify="right", no_wrap=True)
    table.add_column("time" if cost.rate is None else "cost", justify="right")
    for people in plan.people:
        row = [one for one in found.sizes if one.people == people]
        table.add_row(str(people), *(_cell(one, plan.goal) for one in row), cost.of(people))
    console.print(table)
    console.print(
        f"± is the Monte-Carlo standard error of {plan.studies} simulated studies of each size, seed {plan.seed}. "
        f"A person judges {plan.per_person} items, or all. Spread {plan.item_sd:g} over items, {plan.person_sd:g} over "
        f"people. Bold: {_short(plan.goal)} or more."
    )
    console.print(f"[bold]Fewest people for a power of {_short(plan.goal)}[/bold]")
    for items, size in found.fewest.items():
        if size is None:
            console.print(f"  {items} items: more than {plan.people[-1]}, or never; take more items, or more people.")
        else:
            console.print(f"  {items} items: {size.people} people ({_cell(size)}), {cost.of(size.people)}")
    fee = f" and a fee of {cost.fee:g}%" if cost.rate is not None and cost.fee else ""
    paid = "; give --rate for the cost" if cost.rate is None else f", at {cost.rate:g} an hour{fee}"
    each = cost.ballots * cost.minutes
    console.print(f"A ballot takes {cost.minutes:.1f} minutes, a person {each:.0f}{paid}.")
    worst = max(found.sizes, key=lambda one: one.first_kind.value)
    console.print(
        f"Check with an effect of 0: {_three(found.first_kind)} of intervals leave out 0, at most "
        f"{_three(worst.first_kind)} ({worst.people} people, {worst.items} items); it should be .050."
    )


def _cell(size: "Size", goal: float = 2.0) -> str:
    text = _both(size.power.value, size.power.error)
    return f"[bold]{text}[/bold]" if size.power.value >= goal else text


def _three(one: "Estimate") -> str:
    return f"{one.value:.3f} ±{one.error:.3f}".replace("0.", ".")


def _both(value: float, error: float) -> str:
    return f"{_short(value)} ±{_short(error)}"


def _short(value: float) -> str:
    """Return a share as it is usually written, without the 0 before the point."""
    return f"{value:.2f}".removeprefix("0")


def _draw(found: "Power", picture: Path) -> None:
    from heard.chat_app.results.power_chart import power_chart

    try:
        picture.parent.mkdir(parents=True, exist_ok=True)
        picture.write_text(power_chart(found), encoding="utf-8")
    except OSError as error:
        raise StudyError(f"Cannot write {picture} ({error.strerror}). Choose another file with --picture.") from error
    typer.echo(f"Picture: {picture}")
