"""A study's flow as an SVG file: the boxes of a CONSORT diagram, every number of which is text."""

from dataclasses import dataclass

from heard.chat_app.common.notice import templates
from heard.chat_app.results.flow import Flow

LINE, PAD, GAP = 19, 14, 26
"""Height of a line, room above and below the lines of a box, and room between boxes, in units of the drawing."""


@dataclass(frozen=True, slots=True)
class Box:
    """One box with its lines of text; the first is bold."""

    x: int
    y: int
    width: int
    lines: list[str]

    @property
    def height(self) -> int:
        """Of the box."""
        return LINE * len(self.lines) + PAD

    @property
    def bottom(self) -> int:
        """Where the box ends."""
        return self.y + self.height


def flow_chart(flow: Flow) -> str:
    """Return the diagram: each step, and beside it those who did not go on."""
    boxes: list[Box] = []
    arrows: list[tuple[int, int, int, int]] = []
    y = 56
    if flow.invited is not None:
        one = flow.invited
        lines = [f"Ids on the list: {one.ids}", f"People here: {one.here}", f"Not come, or erased: {one.not_here}"]
        boxes.append(Box(24, y, 300, lines))
        y = boxes[-1].bottom + GAP
    if flow.turned_away:
        visits = [f"Visits turned away: {sum(number for _, number in flow.turned_away)}"]
        visits += [f"{reason}: {number}" for reason, number in flow.turned_away]
        boxes.append(Box(372, 56, 412, visits))
        y = max(y, boxes[-1].bottom + GAP)
    above: Box | None = None
    for step in flow.steps:
        lines = [f"{step.name}: {step.people}"]
        if step.name == "Began to vote":
            lines += [f"Finished: {flow.finished}", f"Did not finish: {flow.unfinished}"]
        box = Box(24, y, 300, lines)
        boxes.append(box)
        if above is not None:
            arrows.append((174, above.bottom, 174, box.y))
        bottom = box.bottom
        left = [f"{reason}: {number}" for reason, number in step.left]
        if left:
            side = Box(372, box.bottom + 6, 412, left)
            boxes.append(side)
            arrows.append((174, side.y + side.height // 2, 372, side.y + side.height // 2))
            bottom = side.bottom + 6
        above, y = box, max(bottom, box.bottom + GAP)
    return templates().get_template("flow.svg").render(
        title=f"{flow.study}: how people went through the study", boxes=boxes, arrows=arrows, line=LINE,
        bottom=max(box.bottom for box in boxes) + 24,
    )  # fmt: skip
