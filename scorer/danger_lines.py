"""Labelled messages of the reader of danger: what somebody wrote, what they had written before, and how grave it is.

`scorer/danger_messages/` is what the default head learnt from, a file a writer; each line was written for it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from heard.scorer.errors import ScorerError
from heard.validation import faults_of

LINES = Path(__file__).parent / "danger_messages"
Label = Literal[
    "none",
    "recovery",
    "check_in",
    "crisis",
    "domestic_violence",
    "sexual_assault",
    "child_abuse",
    "minor",
    "poisoning",
    "threat",
    "psychosis",
    "eating_disorder",
]
LABELS: tuple[Label, ...] = get_args(Label)
"""In the order of the head's classes; from the fourth on each is a danger with a hand-off."""
FIRST_DANGER = LABELS.index("crisis")


@dataclass(frozen=True, slots=True)
class DangerLine:
    """One labelled message."""

    __pydantic_config__ = ConfigDict(extra="ignore")

    text: Annotated[str, Field(min_length=1)]
    label: Label
    kind: str
    """What it is an example of: "goodbye", "idiom", "twin:threat" ..."""
    group: Annotated[str, Field(min_length=1)]
    """Lines of one speaker, situation or pattern; a group is never on both sides of a split."""
    register: str = ""
    """How it is written: "teen", "voice", "formal" ..."""
    before: tuple[str, ...] = ()
    """The same person's one or two messages before it, the newest last."""

    @property
    def writer(self) -> str:
        """Who wrote the line: the part of its group before the hyphen."""
        return self.group.partition("-")[0]


_LINE: TypeAdapter[DangerLine] = TypeAdapter(DangerLine)


def read_lines(path: Path = LINES) -> list[DangerLine]:
    """The JSON lines of a file, or of all .jsonl files of a folder in the order of their names.

    Raises ScorerError, with the line and never its words, for one that cannot be used.
    """
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    lines = [line for file in files for line in _lines_of(file)]
    if not lines:
        raise ScorerError(f'{path} holds no lines. Give JSON lines with "text", "label", "kind" and "group".')
    return lines


def _lines_of(path: Path) -> Iterator[DangerLine]:
    try:
        rows = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ScorerError(f"{path} cannot be read as UTF-8 text. Check the path and the file.") from error
    for number, row in enumerate(rows, 1):
        if not row.strip():
            continue
        try:
            yield _LINE.validate_json(row)
        except ValidationError as error:
            fault = faults_of(error, _LINE.json_schema(), quote=False)[0]
            raise ScorerError(f"{path}, line {number}: {fault.sentence}") from None
