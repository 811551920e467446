"""One YAML file as a checked record; every fault is told with the file, the line and the nearest right name."""

import os
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import yaml
from pydantic import TypeAdapter, ValidationError

from heard.errors import UserError
from heard.validation import Fault, faults_of

T = TypeVar("T")
CrossCheck = Callable[[Mapping[str, Any]], Iterable[Fault]]
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}\.yaml")
# In C where the library has it: a thousand files in a tenth of the time.
_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class PromptFileError(UserError):
    """Prompt files that cannot be used; `str()` names the file, the fault and the next step."""

    def __init__(self, *faults: str) -> None:
        more = len(faults) - 1
        super().__init__(faults[0] + (f" And {more} more: `heard prompts check` lists them all." if more else ""))
        self.faults = faults
        """A sentence each."""


class _Loader(_SafeLoader):  # type: ignore[misc]  # the base is picked at run time
    """YAML that refuses a key written twice: the later one would silently take the earlier one's values away."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        seen = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(None, None, "a key must be a word", key.start_mark)
            if key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f'"{key.value}" is written twice', key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


# A key with nothing after it: no field takes it, not even one that may be left out.
_Loader.add_constructor("tag:yaml.org,2002:null", lambda loader, node: ...)


def yaml_files(folder: Path) -> tuple[list[Path], list[str]]:
    """The .yaml files of a folder, each named like what it holds, in order; and the faults of their names."""
    names = sorted(name for name in (os.listdir(folder) if folder.is_dir() else ()) if name.endswith((".yaml", ".yml")))
    faults = [
        f"{folder / name}: prompt files end in .yaml. Rename it."
        if name.endswith(".yml")
        else f"{folder / name}: a file name may use a-z, 0-9, - and _ (at most 40), because it is the name in the data."
        for name in names
        if not _NAME.fullmatch(name)
    ]
    return [folder / name for name in names], faults if names else [f"{folder} holds no .yaml file. Put one there."]


def read_record(path: Path, kind: type[T], cross_check: CrossCheck | None = None) -> T:
    """The record that a file holds, an instance of the dataclass `kind`.

    `cross_check` finds in the file's values what no field can know by itself. Raises PromptFileError with every fault.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
        values = yaml.load(text, _Loader)
    except OSError as error:
        raise PromptFileError(f"{path} cannot be read: {error.strerror}. Put it back, or make it readable.") from error
    except UnicodeDecodeError as error:
        raise PromptFileError(f"{path} is not UTF-8. Save it in that encoding.") from error
    except yaml.YAMLError as error:
        place, why = getattr(error, "problem_mark", None), getattr(error, "problem", "a character is not allowed")
        where = f"{path}:{place.line + 1}" if place else path
        raise PromptFileError(
            f"{where}: not valid YAML, {why}. Mend that line; a text with a colon needs quotes."
        ) from error
    except RecursionError as error:
        raise PromptFileError(f"{path}: not valid YAML, it is nested too deep. Write it flatter.") from error
    except ValueError as error:  # a date that no calendar has, a number of thousands of digits
        raise PromptFileError(
            f"{path}: not valid YAML, a date or number in it cannot be. Mend it, or put it in quotes."
        ) from error
    faults = list(cross_check(values)) if cross_check and isinstance(values, dict) else []
    schema: TypeAdapter[T] = _schema(cast(Any, kind))
    try:
        record = schema.validate_python(values)
    except ValidationError as error:
        faults = faults_of(error, schema.json_schema()) + faults
    if faults:
        document = yaml.compose(text, _Loader)
        raise PromptFileError(*(f"{path}{_line(document, fault.place)}: {fault.sentence}" for fault in faults))
    return record


@cache
def _schema(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _line(node: Any, place: tuple[str | int, ...]) -> str:
    """Where a place begins, as ":3"; of one that is not there, the nearest above it, and nothing for the whole file."""
    line = ""
    for part in place:
        pairs: dict[Any, Any] = {}
        if isinstance(node, yaml.SequenceNode):
            pairs = {number: (item, item) for number, item in enumerate(node.value)}
        elif isinstance(node, yaml.MappingNode):
            pairs = {key.value: (key, value) for key, value in node.value}
        if part not in pairs:
            break
        line, node = f":{pairs[part][0].start_mark.line + 1}", pairs[part][1]
    return line
