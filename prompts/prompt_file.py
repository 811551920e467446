"""One prompt file while it is read: it notes its faults and goes on, so that all of them are found at once."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from heard.prompts.files import (
    PromptFileError,
    decimal_of,
    file_id,
    nearest,
    number_of,
    read_values,
    switch_of,
    text_of,
    unknown_keys,
    word_of,
)
from heard.prompts.variables import variables_in

T = TypeVar("T")


class PromptFile:
    """A file's values, checked one by one. What is faulty is noted in `faults` and gives a harmless value; nothing of a
    file with faults may be used."""

    def __init__(self, path: Path, keys: Iterable[str]) -> None:
        """`keys`: those that may stand in it."""
        self.path = path
        self.faults: list[str] = []
        """A sentence each, with the file's path."""
        nothing: dict[str, Any] = {}
        self.values = self._noting(lambda: read_values(path), nothing)
        self._unread = bool(self.faults)  # then one fault is enough
        self.faults += unknown_keys(path, self.values, keys)

    @property
    def id(self) -> str:
        """The name that the file gives to what it holds."""
        return self._noting(lambda: file_id(self.path), "")

    def fault(self, sentence: str) -> None:
        """Note a fault."""
        self.faults.append(f"{self.path}: {sentence}")

    def text(self, key: str, default: str | None = None) -> str:
        """A text; without a default it must be there."""
        return "" if self._unread else self._noting(lambda: text_of(self.path, self.values, key, default), "")

    def number(self, key: str, default: int, low: int, high: int) -> int:
        """A whole number of `low`..`high`."""
        return self._noting(lambda: number_of(self.path, self.values, key, default, low, high), default)

    def decimal(self, key: str, low: float, high: float) -> float | None:
        """A number of `low`..`high`; None where there is none."""
        return self._noting(lambda: decimal_of(self.path, self.values, key, None, low, high), None)

    def switch(self, key: str) -> bool:
        """true or false; false where it is left out."""
        return self._noting(lambda: switch_of(self.path, self.values, key, False), False)

    def word(self, key: str, default: str | None, known: Iterable[str]) -> str | None:
        """One of the `known` words; without a default it must be there. None where it is faulty."""
        return (
            default
            if self._unread
            else self._noting(lambda: word_of(self.path, self.values, key, default, known), None)
        )

    def listed(self, key: str, wanted: str) -> Sequence[Any]:
        """A list, empty where there is none; `wanted` says of what."""
        value = self.values.get(key, [])
        if not isinstance(value, list):
            self.fault(f"{key} must be a list of {wanted}.")
            return []
        return value

    def check_variables(self, where: str, text: str, known: Iterable[str]) -> None:
        """Note each variable of `text` that nobody fills; `known` are those that somebody does."""
        names = set(known)
        for name in dict.fromkeys(variables_in(text)):
            if name not in names:
                self.fault(f"{where} uses {{{name}}}, which nobody fills. {nearest(name, names)}")

    def _noting(self, read: Callable[[], T], harmless: T) -> T:
        try:
            return read()
        except PromptFileError as error:
            self.faults += error.faults
            return harmless
