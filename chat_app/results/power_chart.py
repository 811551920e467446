"""The power of a study as an SVG file: a line over people for each number of items; every point is also text."""

from dataclasses import dataclass

from heard.chat_app.common.notice import templates
from heard.chat_app.results.power import Power

LEFT, RIGHT, TOP, BOTTOM = 64, 560, 64, 344
"""Ends of both scales in units of the drawing."""
DASHES = ("none", "8 4", "2 4", "12 4 2 4", "5 3 5 8")
"""How the lines are told apart without colour."""


@dataclass(frozen=True, slots=True)
class Line:
    """The line of one number of items."""

    label: str
    dash: str
    points: list[tuple[float, float, str]]
    """Places in units of the drawing, and the point as text."""


def power_chart(found: Power) -> str:
    """Return the drawing."""
    most = found.plan.people[-1]
    lines = [
        Line(
            f"{items} items",
            DASHES[number % len(DASHES)],
            [(_x(one.people, most), _y(one.power.value),
              f"{one.people} people, {items} items: {one.power.value:.2f} (standard error {one.power.error:.2f})")
             for one in found.sizes if one.items == items],
        )
        for number, items in enumerate(found.plan.items)
    ]  # fmt: skip
    return templates().get_template("power.svg").render(
        title=f"Power by simulation: effect {found.plan.effect:g} log-odds, {found.plan.sources} sources", lines=lines,
        left=LEFT, right=RIGHT, top=TOP, bottom=BOTTOM, goal=_y(found.plan.goal), goal_text=f"{found.plan.goal:g}",
        across=[(_y(value / 5), f"{value / 5:.1f}") for value in range(6)],
        along=[(_x(one, most), str(one)) for one in _ticks(found.plan.people)],
    )  # fmt: skip


def _ticks(people: tuple[int, ...]) -> list[int]:
    """Return the numbers that have room for their label, the largest among them."""
    kept: list[int] = []
    for one in reversed(people):
        if not kept or _x(kept[-1], people[-1]) - _x(one, people[-1]) >= 34:
            kept.append(one)
    return kept[::-1]


def _x(people: int, most: int) -> float:
    return round(LEFT + (RIGHT - LEFT) * people / most, 1)


def _y(value: float) -> float:
    return round(BOTTOM - (BOTTOM - TOP) * value, 1)
