"""What `head.toml` says of a head: read, and checked before any weight is."""

import difflib
import tomllib
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path

from heard.scorer.errors import ScorerError
from heard.scorer.records import COMPONENTS

POOLINGS = ("attention", "cls")
"""How a head gets from all tokens to one vector: by attention (this file), or by [CLS] alone."""


@dataclass(frozen=True, slots=True)
class HeadFile:
    """What `head.toml` says. Every key without a default is needed and none else is allowed."""

    title: str
    """One line for people."""
    encoder: str
    """The encoder it was trained on: the embedded one, a Hub name with its commit, or "folder:" and a name."""
    encoder_sha256: str
    """Of that encoder's model.safetensors, 64 hex digits."""
    weights_sha256: str
    """Of weights.safetensors beside this file, 64 hex digits."""
    layers: list[float]
    """Encoder layers whose states it reads, side by side: 0 is the embeddings, 2 the output of the second block, 1.5
    its middle (`heard.scorer.export.build_graph`)."""
    facets: list[str]
    """Name of each facet, in the order of the weights."""
    trained_on: list[str]
    """Label sources, with the rows of each."""
    command: str
    """The command that makes it again."""
    pooling: str = "attention"
    """One of POOLINGS."""
    half_widths: list[float] = field(default_factory=list)
    """Of the interval round each component and round Empathy, on 1..3: CONFIDENCE of the ratings held out lie within
    it (`scorer/training/intervals.py`). Four numbers, or none for a head without intervals."""
    answering_sha256: str = ""
    """Of answering.safetensors beside this file (`scorer/answering.py`), 64 hex digits; "" for a head that does not
    judge whether a reply answers its message."""


def read_head_file(path: Path) -> HeadFile:
    """Parse a head.toml. Raises ScorerError for a missing, unknown or mistyped key."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ScorerError(
            f"There is no head in {path.parent}. Give a folder that `heard train` has written."
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ScorerError(f"{path} is not valid TOML: {error}. Mend that line.") from error
    known = {item.name: str(item.type) for item in fields(HeadFile)}
    optional = {item.name for item in fields(HeadFile) if (item.default, item.default_factory) != (MISSING, MISSING)}
    for key in values:
        if key not in known:
            nearest = difflib.get_close_matches(key, list(known), n=1)
            raise ScorerError(f'{path}: unknown key "{key}".' + (f" Did you mean {nearest[0]}?" if nearest else ""))
    for key, kind in known.items():
        if key in optional and key not in values:
            continue
        if key not in values:
            raise ScorerError(f'{path}: the key "{key}" is missing.')
        if not _is_of(values[key], kind):
            raise ScorerError(f'{path}: "{key}" must be {_KINDS[kind]}.')
    file = HeadFile(**values)
    if file.pooling not in POOLINGS:
        raise ScorerError(f'{path}: "pooling" is "{file.pooling}", but it must be {" or ".join(POOLINGS)}.')
    if not file.layers:
        raise ScorerError(f'{path}: "layers" must name one layer at least.')
    if len(file.half_widths) not in (0, len(COMPONENTS) + 1):
        raise ScorerError(f'{path}: "half_widths" must hold {len(COMPONENTS) + 1} numbers, or none.')
    return file


_KINDS = {
    str(str): "text",
    str(list[str]): "a list of texts",
    str(list[float]): "a list of numbers",
}


def _is_of(value: object, kind: str) -> bool:
    if kind == str(str):
        return isinstance(value, str)
    if kind == str(list[float]):
        return isinstance(value, list) and all(type(item) in (int, float) for item in value)
    return isinstance(value, list) and bool(value) and all(type(item) is str for item in value)
