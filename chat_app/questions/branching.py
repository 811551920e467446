"""The small language of `show_if` and `screen_out`: comparisons of earlier answers, joined by "and" and "or".

    age >= 18 and country in [DE, AT, CH] or panel = "invited people"

"and" binds tighter than "or"; there are no brackets round comparisons, no functions and no arithmetic. It is parsed by
hand and never run as code. Of an item with several answers, `=` and `in` ask whether one of them is meant. An item
without an answer makes every comparison with it false, `!=` too.
"""

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

SEPARATOR = ";"
"""Between the chosen options in the stored answer to an item of the kind `multiple`."""

_TOKEN = re.compile(r"""\s*(?:(>=|<=|!=|=|<|>|\[|\]|,)|"([^"]*)"|([\w.-]+))""")
_NAME = re.compile(r"[a-z][a-z0-9_-]*(?:\.[a-z][a-z0-9_]*)?")
_ORDER: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "<": operator.lt,
    ">": operator.gt,
}
_HOW = "write item = value, item in [a, b] or item >= 3, joined by and, or"


class ConditionError(ValueError):
    """A condition that cannot be read; `str()` says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One comparison of an item's answer."""

    item: str
    sign: str
    """One of = != in >= <= < >."""
    values: tuple[str, ...]
    """One value; for `in` one or more."""

    def holds(self, answer: str | None) -> bool:
        """Return whether a stored answer fits; False for none."""
        if not answer:
            return False
        if self.sign in _ORDER:
            given, wanted = as_number(answer), as_number(self.values[0])
            return given is not None and wanted is not None and _ORDER[self.sign](given, wanted)
        found = any(_same(one, wanted) for one in answer.split(SEPARATOR) for wanted in self.values)
        return not found if self.sign == "!=" else found


@dataclass(frozen=True, slots=True)
class Condition:
    """A parsed condition."""

    text: str
    any_of: tuple[tuple[Comparison, ...], ...]
    """It holds if all comparisons of one of these hold."""

    @property
    def comparisons(self) -> Iterator[Comparison]:
        """Every comparison in it."""
        return (one for group in self.any_of for one in group)

    def holds(self, answers: Mapping[str, str | None]) -> bool:
        """Return whether it holds for stored answers by item."""
        return any(all(one.holds(answers.get(one.item)) for one in group) for group in self.any_of)


def parse_condition(text: str) -> Condition:
    """Return the condition that a text says. Raises ConditionError."""
    tokens = list(_tokens(text))
    groups: list[tuple[Comparison, ...]] = []
    group: list[Comparison] = []
    while True:
        group.append(_comparison(tokens))
        if not tokens:
            groups.append(tuple(group))
            return Condition(text, tuple(groups))
        joint = tokens.pop(0)
        if joint == "or":
            groups.append(tuple(group))
            group = []
        elif joint != "and":
            raise ConditionError(f'has "{joint}" where "and" or "or" is expected: {_HOW}')


def as_number(text: str) -> float | None:
    """Return a text as a finite number, or None."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if abs(number) != float("inf") and number == number else None


def _same(one: str, other: str) -> bool:
    number = as_number(one)
    return one == other or (number is not None and number == as_number(other))


def _tokens(text: str) -> Iterator[str]:
    place = 0
    while text[place:].strip():
        found = _TOKEN.match(text, place)
        if not found:
            raise ConditionError(f'has "{text[place:].strip()[:20]}", which it does not understand: {_HOW}')
        sign, quoted, word = found.groups()
        yield sign or (quoted if quoted is not None else word)
        place = found.end()


def _comparison(tokens: list[str]) -> Comparison:
    item = tokens.pop(0) if tokens else ""
    if not _NAME.fullmatch(item) or item in ("and", "or", "in"):
        raise ConditionError(f'has "{item}" where an item is expected: {_HOW}' if item else f"is not complete: {_HOW}")
    sign = tokens.pop(0) if tokens else ""
    if sign == "in":
        return Comparison(item, sign, tuple(_listed(tokens)))
    if sign not in ("=", "!=", *_ORDER):
        raise ConditionError(f'has no comparison after "{item}": {_HOW}')
    value = _value(tokens)
    if sign in _ORDER and as_number(value) is None:
        raise ConditionError(f'compares "{item}" by {sign} with "{value}", which is no number')
    return Comparison(item, sign, (value,))


def _listed(tokens: list[str]) -> Iterator[str]:
    if not tokens or tokens.pop(0) != "[":
        raise ConditionError(f'has no list after "in": {_HOW}')
    while True:
        yield _value(tokens)
        end = tokens.pop(0) if tokens else ""
        if end == "]":
            return
        if end != ",":
            raise ConditionError(f"has a list that does not end: {_HOW}")


def _value(tokens: list[str]) -> str:
    if not tokens or tokens[0] in ("=", "!=", "[", "]", ",", *_ORDER):
        raise ConditionError(f"lacks a value: {_HOW}")
    return tokens.pop(0)
