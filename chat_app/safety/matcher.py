"""All patterns over the tokens of a text in one pass, in linear time.

Every pattern (`safety_patterns`) becomes a path in one shared machine of states (Thompson 1968), which is run over the
tokens once: the time is the number of tokens times the states alive at once, whatever the text. Nothing backtracks.
"""

import sys
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from heard.chat_app.safety.normalise import BOUNDARY, SOFT_BOUNDARY
from heard.chat_app.safety.patterns import Element, PatternReader, Words

_NOWHERE = -sys.maxsize
_SPARE = 8
"""Tokens that a match may take beside its words: commas and ends of sentences between them."""
_MOST_SETS = 20_000
"""Sets of states remembered before the memory is started afresh."""


@dataclass(frozen=True, slots=True)
class Span:
    """Where a pattern fitted: tokens `start` up to but not including `end`."""

    start: int
    end: int
    label: int
    """The number given to the pattern when it was added."""


@dataclass(slots=True)
class _State:
    gap: bool = False
    """Whether a path here is in the middle of a gap, or has just passed one."""
    edges: dict[str, list[int]] = field(default_factory=dict)
    skip: int = -1
    """State after any one token, for gaps; -1 for none."""


class Matcher:
    """All patterns of one kind. Add every pattern, then `find`."""

    def __init__(self, tokenise: Callable[[str], Sequence[str]], *, strict: bool = False) -> None:
        """tokenise: plain words -> tokens, as the text will be. strict: gaps end at commas and lines too."""
        self._strict = strict
        self._stops = frozenset({BOUNDARY, SOFT_BOUNDARY})
        self.longest = 1
        self.reader = PatternReader(tokenise)
        self._states = [_State()]
        # What only few states have is kept beside them: the machine has ten thousand.
        self._free: dict[int, list[int]] = defaultdict(list)
        """State -> states reached without a token."""
        self._labels: dict[int, list[int]] = defaultdict(list)
        """State -> patterns that end there."""
        self._children: dict[tuple[int, Element], int] = {}

    def add(self, pattern: str, label: int) -> None:
        """Add one pattern. Raises PatternError when it cannot be read or would match nothing at all."""
        at = 0
        elements = self.reader.elements(pattern)
        words = sum(e[2] if e[0] == "gap" else max(map(len, e[1])) for e in elements)
        self.longest = max(self.longest, words + _SPARE)
        for element in elements:
            at = self._extend(at, element)
        self._labels[at].append(label)

    def finish(self) -> None:
        """Close the machine; call once after the last `add`."""
        self._closures = [self._closure(index) for index in range(len(self._states))]
        self._begin: dict[str, list[int]] = {}
        for index in self._closures[0]:
            for symbol, targets in self._states[index].edges.items():
                self._begin.setdefault(symbol, []).extend(targets)
        self._opening = frozenset(t for e in self._begin.get("^", ()) for t in self._closures[e])
        self._alphabet = frozenset(symbol for state in self._states for symbol in state.edges) - {"^", "$"}
        self._forget()

    def find(self, tokens: Sequence[str]) -> list[Span]:
        """Every place where a pattern ends, with the nearest start that fits. Order: by end.

        First the machine's sets of states alone, remembered as they come up (a lazy DFA), which settles nearly every
        text; only round the places where a pattern ends are the starts worked out.
        """
        tokens = [*tokens, BOUNDARY]
        ends = self._ends(tokens)
        if not ends:
            return []
        found: list[Span] = []
        for first, last in _windows(ends, self.longest, 0, len(tokens)):
            found.extend(self._trace(tokens, first, last))
        return found

    def find_around(self, tokens: Sequence[str], spans: Iterable[Span]) -> list[Span]:
        """Like `find`, looking only where a match could cover one of `spans`."""
        places = sorted({span.start for span in spans})
        found: list[Span] = []
        tokens = [*tokens, BOUNDARY]
        for first, last in _windows(places, self.longest, self.longest, len(tokens)):
            found.extend(self._trace(tokens, first, last))
        return found

    def _forget(self) -> None:
        self._sets: list[frozenset[int]] = [frozenset()]
        self._numbers: dict[tuple[frozenset[int], bool], int] = {(frozenset(), False): 0}
        self._moves: list[dict[str, int]] = [{}]
        self._final: list[bool] = [False]

    def _symbols(self, token: str) -> Words:
        """The edges that a token may take: itself, the prefixes it begins with, and "#" for a number."""
        begins = (f"{token[:n]}*" for n in range(3, len(token) + 1) if token[:n] in self.reader.prefixes)
        return tuple(s for s in (token, *begins, *(("#",) if token.isdigit() else ())) if s in self._alphabet)

    def _ends(self, tokens: Sequence[str]) -> list[int]:
        """Positions of the tokens at which at least one pattern ends."""
        if len(self._sets) > _MOST_SETS:
            self._forget()
        ends: list[int] = []
        moves, final, alphabet = self._moves, self._final, self._alphabet
        classes: dict[str, str] = {}
        here = self._move(0, BOUNDARY)
        for position, token in enumerate(tokens):
            if token not in alphabet:
                known = classes.get(token)
                if known is None:
                    # A word in no pattern is as good as any other, so the memory stays small.
                    known = classes[token] = token if token in self._stops or self._symbols(token) else ""
                token = known
            there = moves[here].get(token)
            if there is None:
                there = self._move(here, token)
            here = there
            if final[here]:
                ends.append(position)
        return ends

    def _move(self, here: int, token: str) -> int:
        states = self._states
        if token in self._stops:
            new = set(self._kept(token, self._sets[here]))
            new.update(self._opening)
            reached = {t for s in self._sets[here] for e in states[s].edges.get("$", ()) for t in self._closures[e]}
        else:
            symbols = self._symbols(token)
            targets = {target for symbol in symbols for target in self._begin.get(symbol, ())}
            for index in self._sets[here]:
                state = states[index]
                if state.edges:
                    for symbol in symbols:
                        targets.update(state.edges.get(symbol, ()))
                if state.skip >= 0:
                    targets.add(state.skip)
            new = reached = {index for target in targets for index in self._closures[target]}
        key = (frozenset(new), not self._labels.keys().isdisjoint(reached))
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._sets)
            self._sets.append(key[0])
            self._moves.append({})
            self._final.append(key[1])
        self._moves[here][token] = number
        return number

    def _kept(self, stop: str, alive: Iterable[int]) -> Iterable[int]:
        """The states that outlive the end of a sentence or clause.

        A gap ends with its sentence, while words that follow each other may be torn apart ("want to. die"). An
        exception (strict) ends at every stop, commas included.
        """
        if self._strict:
            return ()
        return alive if stop == SOFT_BOUNDARY else [s for s in alive if not self._states[s].gap]

    def _trace(self, tokens: Sequence[str], first: int, last: int) -> Iterator[Span]:
        """The spans within tokens[first:last]: the same machine, remembering where each path began.

        Of two paths to one state the later start wins, so that a statement is its bare words; for exceptions (strict)
        the earlier, so that they cover what they can. `sign` turns the second into the first.
        """
        states, closures = self._states, self._closures
        sign = -1 if self._strict else 1
        alive: dict[int, int] = {}
        if first == 0 or tokens[first - 1] in self._stops:
            alive = dict.fromkeys(self._opening, sign * first)
        for position in range(first, last):
            token = tokens[position]
            if token in self._stops:
                for index, start in alive.items():
                    for end in states[index].edges.get("$", ()):
                        for target in closures[end]:
                            for label in self._labels.get(target, ()):
                                yield Span(sign * start, position, label)
                alive = {s: alive[s] for s in self._kept(token, alive)}
                alive.update(dict.fromkeys(self._opening, sign * (position + 1)))
                continue
            symbols = self._symbols(token)
            new = {target: sign * position for symbol in symbols for target in self._begin.get(symbol, ())}
            for index, start in alive.items():
                state = states[index]
                if state.edges:
                    for symbol in symbols:
                        for target in state.edges.get(symbol, ()):
                            if new.get(target, _NOWHERE) < start:
                                new[target] = start
                if state.skip >= 0 and new.get(state.skip, _NOWHERE) < start:
                    new[state.skip] = start
            alive = {}
            for index, start in new.items():
                for target in closures[index]:
                    if alive.get(target, _NOWHERE) < start:
                        alive[target] = start
            for index, start in alive.items():
                for label in self._labels.get(index, ()):
                    yield Span(sign * start, position + 1, label)

    def _new(self) -> int:
        self._states.append(_State())
        return len(self._states) - 1

    def _extend(self, at: int, element: Element) -> int:
        """The state after `element`, shared with every other pattern that begins with the same elements."""
        known = self._children.get((at, element))
        if known is not None:
            return known
        kind, alternatives, number = element
        end = self._new()
        self._children[at, element] = end
        if kind == "gap":
            self._states[end].gap = True
            here = self._new()
            self._states[here].gap = True
            self._free[at].append(here)
            for left in range(number, -1, -1):
                self._free[here].append(end)
                if left:
                    following = self._new()
                    self._states[here].skip = following
                    self._states[following].gap = True
                    here = following
            return end
        if number:
            self._free[at].append(end)
        shared: dict[Words, int] = {(): at}  # "to be here" and "to be alive" go the first two steps together
        for words in sorted(alternatives):
            for place in range(1, len(words)):
                if words[:place] not in shared:
                    shared[words[:place]] = self._new()
                    edges = self._states[shared[words[: place - 1]]].edges
                    edges.setdefault(words[place - 1], []).append(shared[words[:place]])
            self._states[shared[words[:-1]]].edges.setdefault(words[-1], []).append(end)
        return end

    def _closure(self, index: int) -> tuple[int, ...]:
        seen = {index}
        todo = [index]
        while todo:
            for target in self._free.get(todo.pop(), ()):
                if target not in seen:
                    seen.add(target)
                    todo.append(target)
        return tuple(sorted(seen))


def survivors(
    spans: Iterable[Span], safe: Iterable[Span], tokens: Sequence[str], light: frozenset[str] = frozenset()
) -> list[Span]:
    """The spans that no safe span covers wholly: "dying to see you" takes out "dying", never a second statement.

    light: words that may stick out at a span's beginning ("i cut" of "i cut my hair").
    """
    reach: dict[int, int] = {}
    for cover in safe:
        reach[cover.start] = max(reach.get(cover.start, 0), cover.end)
    starts = sorted(reach)
    furthest = list(accumulate((reach[start] for start in starts), max))
    left: list[Span] = []
    for span in spans:
        begin = span.start
        while begin < span.end - 1 and tokens[begin] in light:
            begin += 1
        at = bisect_right(starts, begin) - 1
        if at < 0 or furthest[at] < span.end:
            left.append(span)
    return left


def _windows(places: Sequence[int], before: int, after: int, total: int) -> Iterator[tuple[int, int]]:
    """Stretches round sorted `places`, joined where they touch."""
    first = last = -1
    for place in places:
        if last < 0:
            first = max(0, place - before)
        elif place - before > last:
            yield first, last
            first = place - before
        last = min(total, place + after + 1)
    if last >= 0:
        yield first, last
