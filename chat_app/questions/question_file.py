"""A file of questions (TOML): pages of items, when they are asked, and how their answers make scores.

docs/questions.md explains each key. A fault is told with the file, the item and what belongs there.
"""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from heard.chat_app.questions.branching import Condition, ConditionError, parse_condition
from heard.errors import UserError
from heard.hints import nearest_name
from heard.toml_values import read_values
from heard.validation import Fault, faults_of

SCALES = Path(__file__).parent / "scales"
"""The files that come with heard."""
FILE_NAME = r"^[a-z][a-z0-9-]{0,39}$"
ITEM_NAME = r"^[a-z][a-z0-9_]{0,39}$"
OPTION = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$"
LONGEST_TEXT = 5_000
"""Most characters of an answer in free text."""
MOST_POINTS = 11
"""Most points of a Likert item."""

Kind = Literal["single", "multiple", "likert", "slider", "number", "text", "attention"]
Place = Literal["before", "between", "after"]
Label = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class QuestionFileError(UserError):
    """A file of questions that cannot be used; `str()` names the file, the item, the fault and the next step."""


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Option(_Section):
    """One answer to choose."""

    value: str = Field(pattern=OPTION, examples=["part-time"])
    """What is stored and exported."""
    label: str = Field(min_length=1, max_length=500)
    """What people read."""


class Range(_Section):
    """The answers to Likert items and sliders."""

    min: int = Field(ge=-1000, le=1000)
    """The lowest answer."""
    max: int = Field(ge=-1000, le=1000)
    """The highest answer."""
    labels: tuple[Label, ...] = ()
    """What the answers mean: of the lowest and the highest, or for a Likert item of each."""

    @model_validator(mode="after")
    def _check(self) -> "Range":
        if self.max <= self.min:
            raise ValueError(f"has max {self.max}, which is not above its min {self.min}")
        if len(self.labels) not in (0, 2, self.max - self.min + 1):
            raise ValueError(f"has {len(self.labels)} labels: give two for the ends, or {self.max - self.min + 1}")
        return self


class Item(_Section):
    """One question."""

    id: str = Field(pattern=ITEM_NAME, examples=["years_of_work"])
    """Its name in conditions and scores; exports call it FILE.ITEM."""
    kind: Kind
    """"single" (one option), "multiple" (any number of options), "likert" (one point of a range), "slider" (a value of
    a range), "number" (typed), "text" (free text) or "attention" (one option or point, one of which is right)."""
    text: str = Field(default="", max_length=2000)
    """The question. May be empty only in a scale whose wording a lab adds."""
    help: str = Field(default="", max_length=1000)
    """A line below it."""
    required: bool = True
    """Whether the page goes on only with an answer."""
    options: tuple[Option, ...] = Field(default=(), max_length=200)
    """For "single", "multiple" and, unless a range is meant, "attention": the answers to choose from."""
    range: Range | None = None
    """For "likert", "slider" and "attention": in place of the file's own range."""
    min: float | None = Field(default=None, allow_inf_nan=False)
    """For "number": the lowest answer that is taken; unset is no bound."""
    max: float | None = Field(default=None, allow_inf_nan=False)
    """For "number": the highest answer that is taken; unset is no bound."""
    step: float = Field(default=1, gt=0, allow_inf_nan=False)
    """For "number" and "slider": answers are whole multiples of it, counted from the lowest; 1 means whole numbers."""
    longest: int = Field(default=1000, ge=1, le=LONGEST_TEXT)
    """For "text": most characters."""
    correct: str = ""
    """For "attention": the option or point that an attentive person chooses."""
    show_if: str = Field(default="", max_length=500)
    """A condition on earlier pages: the item is asked only if it holds. Empty asks always."""
    screen_out: str = Field(default="", max_length=500)
    """A condition on this item: whoever answers so leaves the study here. Empty screens nobody out."""

    @model_validator(mode="after")
    def _check(self) -> "Item":
        choosing = self.kind in ("single", "multiple") or (self.kind == "attention" and not self.range)
        values = [option.value for option in self.options]
        if self.kind in ("single", "multiple") and len(values) < 2:
            raise ValueError("needs at least two options")
        if values and not choosing:
            raise ValueError(f'is of the kind "{self.kind}" and has options. Take them out, or make it "single"')
        if len(set(values)) != len(values):
            raise ValueError("has two options with the same value")
        if self.range and self.kind not in ("likert", "slider", "attention"):
            raise ValueError(f'is of the kind "{self.kind}", which has no range')
        if (self.min, self.max) != (None, None) and self.kind != "number":
            raise ValueError(f'is of the kind "{self.kind}": only a "number" has min and max of its own')
        if self.min is not None and self.max is not None and self.max <= self.min:
            raise ValueError(f"has max {self.max:g}, which is not above its min {self.min:g}")
        if (self.kind == "attention") != bool(self.correct):
            raise ValueError('needs "correct", the right answer' if not self.correct else 'has "correct" for no reason')
        if self.kind == "attention" and not self.required:
            raise ValueError("looks for attention, so an answer must be required")
        for name in ("show_if", "screen_out"):
            condition = _condition(self, name)
            if condition and name == "screen_out" and {one.item for one in condition.comparisons} != {self.id}:
                raise ValueError(f'has a screen_out on other items than itself: write "{self.id} = ..."')
        return self


class Page(_Section):
    """One page."""

    title: str = Field(default="", max_length=200)
    """Its heading; empty takes the file's title."""
    text: str = Field(default="", max_length=10_000)
    """Markdown above the items."""
    shuffle: bool = False
    """Whether its items stand in a random order, another for each person."""
    items: tuple[Item, ...] = Field(min_length=1, max_length=100)
    """The questions on it, `[[pages.items]]`."""


class Score(_Section):
    """A number made from several items."""

    name: str = Field(pattern=FILE_NAME, examples=["perspective-taking"])
    """What exports call it."""
    items: tuple[str, ...] = Field(min_length=1)
    """The items that count, of this file."""
    combine: Literal["mean", "sum"] = "mean"
    """Mean or sum of the items."""
    reversed: tuple[str, ...] = ()
    """Those of them that are worded the other way: an answer x counts as min + max - x."""
    missing: float = Field(default=0.2, ge=0, lt=1)
    """Largest share of the items that may lack an answer, 0 to below 1; with more there is no score."""


class QuestionFile(_Section):
    """Everything that a file of questions sets."""

    id: str = Field(pattern=FILE_NAME, examples=["demographics"])
    """Its name in links, conditions of other files, and exports."""
    title: str = Field(min_length=1, max_length=200)
    """Heading of its pages."""
    source: str = Field(default="", max_length=2000)
    """Who made the questions: the publication to cite."""
    wording_from: str = Field(default="", max_length=1000)
    """Where a lab finds the wording, for a scale that is published under terms of its own."""
    place: Place = "before"
    """"before" the first ballot, "between" ballots, or "after" the last."""
    after_ballot: int | None = Field(default=None, ge=1)
    """For "between": once, after this many ballots."""
    every: int | None = Field(default=None, ge=1)
    """For "between": again and again, after so many ballots each time; not after the last one."""
    range: Range | None = None
    """The range of Likert items, sliders and attention items that have none of their own."""
    pages: tuple[Page, ...] = Field(min_length=1, max_length=100)
    """The pages in order, `[[pages]]`."""
    scores: tuple[Score, ...] = ()
    """What is made of the answers, `[[scores]]`."""

    @property
    def items(self) -> tuple[Item, ...]:
        """Every item, in order of pages."""
        return tuple(item for page in self.pages for item in page.items)

    @model_validator(mode="after")
    def _check(self) -> "QuestionFile":
        if (self.place == "between") != (self.after_ballot is not None or self.every is not None):
            raise ValueError('needs after_ballot or every with place "between", and neither with another place')
        if self.after_ballot is not None and self.every is not None:
            raise ValueError("has after_ballot and every: give one of them")
        faults = [*self._faults_of_items(), *self._faults_of_scores()]
        if faults:
            raise ValueError("\n".join(faults))
        return self

    def _faults_of_items(self) -> list[str]:
        faults: list[str] = []
        seen: dict[str, Item] = {}
        for page in self.pages:
            for item in page.items:
                if item.id in seen or [one.id for one in page.items].count(item.id) > 1:
                    faults.append(f'item "{item.id}" is there twice: give one of them another id')
                if not item.text and not self.wording_from:
                    faults.append(f'item "{item.id}" has no text')
                answers = range_of(self, item)
                if item.kind in ("likert", "slider") and answers is None:
                    faults.append(f'item "{item.id}" has no range, and neither has the file')
                elif item.kind == "likert" and answers and answers.max - answers.min >= MOST_POINTS:
                    faults.append(f'item "{item.id}" has more than {MOST_POINTS} points: make it a slider')
                elif item.kind == "attention" and item.correct not in values_of(self, item):
                    faults.append(f'item "{item.id}" has correct = "{item.correct}", which nobody can choose')
                condition = condition_of(item, "show_if")
                for one in condition.comparisons if condition else ():
                    if "." not in one.item and one.item not in seen:
                        on_page = any(other.id == one.item for other in page.items)
                        hint = "stands on the same page" if on_page else "is on no earlier page of this file"
                        faults.append(f'item "{item.id}" has a show_if on "{one.item}", which {hint}')
                    elif one.item in seen:
                        faults += fault_of_comparison(self, item.id, seen[one.item], one.values, one.sign)
                out = condition_of(item, "screen_out")
                for one in out.comparisons if out else ():
                    faults += fault_of_comparison(self, item.id, item, one.values, one.sign)
            seen |= {item.id: item for item in page.items}
        return faults

    def _faults_of_scores(self) -> list[str]:
        faults: list[str] = []
        items = {item.id: item for item in self.items}
        if len({score.name for score in self.scores}) != len(self.scores):
            faults.append("has two scores with the same name")
        for score in self.scores:
            for name in (*score.items, *score.reversed):
                if name not in items:
                    faults.append(f'score "{score.name}" names "{name}". {nearest_name(name, items)}')
                elif not countable(self, items[name]):
                    faults.append(f'score "{score.name}" names "{name}", whose answers are no numbers with bounds')
            if stray := set(score.reversed) - set(score.items):
                faults.append(f'score "{score.name}" reverses {", ".join(sorted(stray))}, which it does not count')
            if len(set(score.items)) != len(score.items):
                faults.append(f'score "{score.name}" counts an item twice')
        return faults


def condition_of(item: Item, name: Literal["show_if", "screen_out"]) -> Condition | None:
    """Return a parsed condition of an item; None for none."""
    text: str = getattr(item, name)
    return parse_condition(text) if text.strip() else None


def _condition(item: Item, name: Literal["show_if", "screen_out"]) -> Condition | None:
    try:
        return condition_of(item, name)
    except ConditionError as error:
        raise ValueError(f"has a {name} that {error}") from None


def range_of(file: QuestionFile, item: Item) -> Range | None:
    """Return the range of an item's answers: its own or the file's; None for an item that has none."""
    if item.kind in ("likert", "slider") or (item.kind == "attention" and not item.options):
        return item.range or file.range
    return None


def values_of(file: QuestionFile, item: Item) -> list[str]:
    """Return the stored answers that an item can have, as far as they can be listed."""
    answers = range_of(file, item)
    if answers and item.kind != "slider":
        return [str(point) for point in range(answers.min, answers.max + 1)]
    return [option.value for option in item.options]


def countable(file: QuestionFile, item: Item) -> bool:
    """Return whether an item can be part of a score: its answers are numbers with a lowest and a highest."""
    if item.kind == "number":
        return item.min is not None and item.max is not None
    return item.kind in ("likert", "slider") and range_of(file, item) is not None


def fault_of_comparison(file: QuestionFile, where: str, item: Item, values: tuple[str, ...], sign: str) -> list[str]:
    """Return what is wrong with a comparison in a condition of `where` with an item of `file`; [] for nothing."""
    known = values_of(file, item)
    if item.kind == "text":
        return [f'item "{where}" compares "{item.id}", which is free text']
    if sign in ("=", "!=", "in"):
        return [
            f'item "{where}" compares "{item.id}" with "{value}", which nobody can choose. {nearest_name(value, known)}'
            for value in values
            if known and value not in known
        ]
    if item.kind in ("single", "multiple"):
        return [f'item "{where}" compares "{item.id}" by {sign}, and its answers are no numbers']
    return []


def read_question_file(name: str, folder: Path) -> QuestionFile:
    """Return the file called `name` in `folder`, or else the one that comes with heard.

    Raises QuestionFileError, also for a scale whose wording is missing: it says where to find it.
    """
    path = folder / name
    if not path.is_file():
        path = SCALES / name
    if Path(name).name != name or not path.is_file():
        known = sorted({one.name for one in SCALES.glob("*.toml")})
        raise QuestionFileError(
            f"questions: there is no {name} beside the study's file, and none comes with heard. "
            f"{nearest_name(name, known)}"
        )
    file = parse_question_file(read_values(path), str(path))
    unworded = [item.id for item in file.items if not item.text]
    if unworded:
        raise QuestionFileError(
            f"{path}: {len(unworded)} items have no wording ({unworded[0]} is the first). heard has no right to ship "
            f"it. Copy the file beside the study's file and write the text of each item. Its wording: "
            f"{file.wording_from}"
        )
    return file


def parse_question_file(values: dict[str, Any], where: str) -> QuestionFile:
    """Return a file from its values; `where` is named in errors. Raises QuestionFileError."""
    try:
        return QuestionFile.model_validate(values)
    except ValidationError as error:
        fault = faults_of(error, QuestionFile.model_json_schema())[0]
        raise QuestionFileError(f"{where}: {_with_item(fault, values)}") from None


def question_values(file: QuestionFile) -> dict[str, Any]:
    """Return a file as JSON values without what it leaves to the defaults, so that a later default changes no study."""
    return file.model_dump(mode="json", exclude_defaults=True)


def _with_item(fault: Fault, values: dict[str, Any]) -> str:
    """Return a fault's sentence with the item's id where its place in lists would stand."""
    match fault.place:
        case ("pages", int(page), "items", int(place), *_):
            try:
                name = str(values["pages"][page]["items"][place]["id"])
            except (KeyError, TypeError, IndexError):
                return fault.sentence
            prefix = f"pages.{page + 1}.items.{place + 1}"
            of_whole = fault.sentence.startswith(f"{prefix} ")
            sentence = fault.sentence.removeprefix(prefix).replace(f"{prefix}.", "").lstrip(". ")
            return f'item "{name}"{"" if of_whole else ":"} {sentence}'
    return fault.sentence
