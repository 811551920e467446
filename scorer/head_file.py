"""What `head.toml` says of a head."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StrictFloat

from heard.scorer.everyday import FAULTS, NEEDED
from heard.scorer.records import COMPONENTS
from heard.scorer.toml_file import NO_OTHERS, read_toml


def _all_or_none(count: int) -> AfterValidator:
    def check(numbers: list[float]) -> list[float]:
        if len(numbers) not in (0, count):
            raise ValueError(f"must hold {count} numbers, or none")
        return numbers

    return AfterValidator(check)


@dataclass(frozen=True, slots=True)
class HeadFile:
    """What `head.toml` says. Every key without a default is needed and none else is allowed."""

    __pydantic_config__ = NO_OTHERS

    title: str
    """One line for people."""
    encoder: str
    """The encoder it was trained on: the embedded one, a Hub name with its commit, or "folder:" and a name."""
    encoder_sha256: str
    """Of that encoder's model.safetensors, 64 hex digits."""
    weights_sha256: str
    """Of weights.safetensors beside this file, 64 hex digits."""
    layers: Annotated[list[StrictFloat], Field(min_length=1)]
    """Encoder layers whose states it reads, side by side: 0 is the embeddings, 2 the output of the second block, 1.5
    its middle (`heard.scorer.onnx_export.build_graph`)."""
    facets: Annotated[list[str], Field(min_length=1)]
    """Name of each facet, in the order of the weights."""
    trained_on: Annotated[list[str], Field(min_length=1)]
    """Label sources, with the rows of each."""
    command: str
    """The command that makes it again."""
    pooling: Literal["attention", "cls"] = "attention"
    """How the head gets from all tokens to one vector: by attention, or by [CLS] alone."""
    half_widths: Annotated[list[StrictFloat], _all_or_none(len(COMPONENTS) + 1)] = field(default_factory=list)
    """Of the interval round each component and round Empathy, on 1..3: CONFIDENCE of the ratings held out lie within
    it (`scorer/training/intervals.py`). Four numbers, or none for a head without intervals."""
    answering_sha256: str = ""
    """Of answering.safetensors beside this file (`scorer/relevance.py`), 64 hex digits; "" for a head that does not
    judge whether a reply answers its message."""
    perceived: Annotated[list[StrictFloat], _all_or_none(3)] = field(default_factory=list)
    """Of how empathic people would call the reply: a and b of the line, and the half width of its interval, on 1..3.
    None for a head that was not taught it (`scorer/everyday.py`)."""
    cold: Annotated[list[StrictFloat], _all_or_none(2)] = field(default_factory=list)
    """Of the facet "cold", 0..1: from where it takes from "perceived", and where nothing is left."""
    faults: Annotated[list[StrictFloat], _all_or_none(len(FAULTS))] = field(default_factory=list)
    """Of the facet of each of FAULTS, 0..1: from where the fault is noted. None for a head that notes none of them."""

    def __post_init__(self) -> None:
        """Raises ValueError, a line for each fault that no key can know by itself."""
        if faults := list(self._faults()):
            raise ValueError("\n".join(faults))

    def _faults(self) -> Iterator[str]:
        if bool(self.perceived) is not bool(self.cold):
            yield "perceived and cold belong together: give both or none."
        needed = {"perceived": NEEDED if self.perceived else (), "faults": FAULTS if self.faults else ()}
        for key, names in needed.items():
            if missing := [name for name in names if name not in self.facets]:
                yield f"{key} needs the facets {', '.join(missing)}, which this head has not."


def read_head_file(path: Path) -> HeadFile:
    """Read a head.toml. Raises ScorerError with every fault in it."""
    return read_toml(
        path, HeadFile, f"There is no head in {path.parent}. Give a folder that `heard train` has written."
    )
