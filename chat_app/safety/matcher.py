"""Matches all patterns against a text's tokens in one pass, in linear time.

Every pattern (`patterns.py`) becomes a path in one shared nondeterministic automaton (Thompson 1968), which is run over
the tokens once: the time is the number of tokens times the states alive at once, whatever the text. Nothing backtracks.
"""

import sys
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from heard.chat_app.safety.normalise import BOUNDARY, SOFT_BOUNDARY
from heard.chat_app.safety.patterns import Element, PatternReader, Words
from heard.chat_app.safety.seen_sets import SeenSets

_NOWHERE = -sys.maxsize
_EXTRA_TOKENS = 8
"""Tokens that a match may span beside its words: commas and ends of sentences between them."""
_MOST_CACHED_SETS = 20_000
"""Most sets of states in the cache; then it is cleared."""


@dataclass(frozen=True, slots=True)
class Span:
    """One match of a pattern: the tokens from `start` up to but not including `end`."""

    start: int
    end: int
    label: int
    """The pattern's label, as passed to `Matcher.add`."""


@dataclass(slots=True)
class _State:
    gap: bool = False
    """Whether a path at this state is inside a gap or has just left one."""
    edges: dict[str, list[int]] = field(default_factory=dict)
    skip: int = -1
    """The state after any one token, for gaps; -1 if there is none."""


class Matcher:
    """The patterns of one kind. `add` every pattern, then `compile`, then `find`."""

    def __init__(
        self, tokenise: Callable[[str], Sequence[str]], *, strict: bool = False, unskipped: Iterable[str] = ()
    ) -> None:
        """`tokenise` turns a pattern's words into tokens as the text's are. With `strict`, gaps end at commas too.

        `unskipped`: tokens that no gap goes over.
        """
        self._strict = strict
        self._unskipped = frozenset(unskipped)
        self._stops = frozenset({BOUNDARY, SOFT_BOUNDARY})
        self.longest = 1
        self.reader = PatternReader(tokenise)
        self._states = [_State()]
        # Few of the ten thousand states have these, so they are kept outside _State.
        self._epsilon_edges: dict[int, list[int]] = defaultdict(list)
        """State -> the states reached without a token."""
        self._labels: dict[int, list[int]] = defaultdict(list)
        """State -> the labels of the patterns that end there."""
        self._children: dict[tuple[int, Element], int] = {}

    def add(self, pattern: str, label: int) -> None:
        """Add one pattern. Raises PatternError if it cannot be read or would match any text."""
        at = 0
        elements = self.reader.elements(pattern)
        words = sum(e[2] if e[0] == "gap" else max(map(len, e[1])) for e in elements)
        self.longest = max(self.longest, words + _EXTRA_TOKENS)
        for element in elements:
            at = self._add_element(at, element)
        self._labels[at].append(label)

    def compile(self) -> None:
        """Prepare the automaton for `find`. Call this once, after the last `add`."""
        self._epsilon_closures = [self._epsilon_closure(index) for index in range(len(self._states))]
        self._first_edges: dict[str, list[int]] = {}
        for index in self._epsilon_closures[0]:
            for symbol, targets in self._states[index].edges.items():
                self._first_edges.setdefault(symbol, []).extend(targets)
        self._sentence_start = frozenset(t for e in self._first_edges.get("^", ()) for t in self._epsilon_closures[e])
        self._alphabet = frozenset(symbol for state in self._states for symbol in state.edges) - {"^", "$"}
        self._seen = SeenSets()

    def find(self, tokens: Sequence[str]) -> list[Span]:
        """Return a span for every end of a pattern, with the nearest start that fits, ordered by end.

        A first pass finds the ends with cached sets of states (a lazy DFA), and for nearly every text there are none.
        Starts are computed only in windows around the ends.
        """
        tokens = [*tokens, BOUNDARY]
        ends = self._end_positions(tokens)
        if not ends:
            return []
        found: list[Span] = []
        for first, last in _windows(ends, self.longest, 0, len(tokens)):
            found.extend(self._spans_between(tokens, first, last))
        return found

    def find_around(self, tokens: Sequence[str], spans: Iterable[Span]) -> list[Span]:
        """Return the spans that `find` returns, as far as they could cover one of `spans`."""
        places = sorted({span.start for span in spans})
        found: list[Span] = []
        tokens = [*tokens, BOUNDARY]
        for first, last in _windows(places, self.longest, self.longest, len(tokens)):
            found.extend(self._spans_between(tokens, first, last))
        return found

    def _symbols_of(self, token: str) -> Words:
        """Return the edges that a token may take: itself, the prefixes it begins with, and "#" for a number."""
        begins = (f"{token[:n]}*" for n in range(3, len(token) + 1) if token[:n] in self.reader.prefixes)
        return tuple(s for s in (token, *begins, *(("#",) if token.isdigit() else ())) if s in self._alphabet)

    def _end_positions(self, tokens: Sequence[str]) -> list[int]:
        """Return the positions of the tokens at which a pattern ends."""
        seen = self._seen  # the same from the first token to the last, whatever other threads do
        if len(seen.sets) > _MOST_CACHED_SETS:
            seen = self._seen = SeenSets()
        ends: list[int] = []
        moves, final, alphabet = seen.moves, seen.accepting, self._alphabet
        classes: dict[str, str] = {}
        current = self._transition(seen, 0, BOUNDARY)
        for position, token in enumerate(tokens):
            if token not in alphabet:
                known = classes.get(token)
                if known is None:
                    # All words that are in no pattern count as one, so that the cache stays small.
                    own = token in self._stops or token in self._unskipped or self._symbols_of(token)
                    known = classes[token] = token if own else ""
                token = known
            following = moves[current].get(token)
            if following is None:
                following = self._transition(seen, current, token)
            current = following
            if final[current]:
                ends.append(position)
        return ends

    def _transition(self, seen: SeenSets, current: int, token: str) -> int:
        """Return the number of the set of states after a token, and remember it."""
        states, alive = self._states, seen.sets[current]
        if token in self._stops:
            new = set(self._surviving_states(token, alive))
            new.update(self._sentence_start)
            reached = {t for s in alive for e in states[s].edges.get("$", ()) for t in self._epsilon_closures[e]}
        else:
            symbols = self._symbols_of(token)
            targets = {target for symbol in symbols for target in self._first_edges.get(symbol, ())}
            for index in alive:
                state = states[index]
                if state.edges:
                    for symbol in symbols:
                        targets.update(state.edges.get(symbol, ()))
                if state.skip >= 0 and token not in self._unskipped:
                    targets.add(state.skip)
            new = reached = {index for target in targets for index in self._epsilon_closures[target]}
        number = seen.number_of(frozenset(new), accepting=not self._labels.keys().isdisjoint(reached))
        seen.moves[current][token] = number
        return number

    def _surviving_states(self, stop: str, alive: Iterable[int]) -> Iterable[int]:
        """Return the states that stay alive across the end of a sentence or clause.

        A gap ends with its sentence, while neighbouring words of a pattern may be in two ("want to. die"). With
        `strict` a match ends at every stop, commas included.
        """
        if self._strict:
            return ()
        return alive if stop == SOFT_BOUNDARY else [s for s in alive if not self._states[s].gap]

    def _spans_between(self, tokens: Sequence[str], first: int, last: int) -> Iterator[Span]:
        """Yield the spans within tokens[first:last], keeping the start of each path.

        Of two paths to one state the later start wins, so that a statement is its bare words; with `strict` the
        earlier, so that an exception covers as much as it can. `sign` negates the starts for that.
        """
        states, closures = self._states, self._epsilon_closures
        sign = -1 if self._strict else 1
        alive: dict[int, int] = {}
        if first == 0 or tokens[first - 1] in self._stops:
            alive = dict.fromkeys(self._sentence_start, sign * first)
        for position in range(first, last):
            token = tokens[position]
            if token in self._stops:
                for index, start in alive.items():
                    for end in states[index].edges.get("$", ()):
                        for target in closures[end]:
                            for label in self._labels.get(target, ()):
                                yield Span(sign * start, position, label)
                alive = {s: alive[s] for s in self._surviving_states(token, alive)}
                alive.update(dict.fromkeys(self._sentence_start, sign * (position + 1)))
                continue
            symbols = self._symbols_of(token)
            skipped = token not in self._unskipped
            new = {target: sign * position for symbol in symbols for target in self._first_edges.get(symbol, ())}
            for index, start in alive.items():
                state = states[index]
                if state.edges:
                    for symbol in symbols:
                        for target in state.edges.get(symbol, ()):
                            if new.get(target, _NOWHERE) < start:
                                new[target] = start
                if skipped and state.skip >= 0 and new.get(state.skip, _NOWHERE) < start:
                    new[state.skip] = start
            alive = {}
            for index, start in new.items():
                for target in closures[index]:
                    if alive.get(target, _NOWHERE) < start:
                        alive[target] = start
            for index, start in alive.items():
                for label in self._labels.get(index, ()):
                    yield Span(sign * start, position + 1, label)

    def _new_state(self) -> int:
        self._states.append(_State())
        return len(self._states) - 1

    def _add_element(self, at: int, element: Element) -> int:
        """Return the state after `element`; patterns that begin with the same elements share it."""
        known = self._children.get((at, element))
        if known is not None:
            return known
        kind, alternatives, number = element
        end = self._new_state()
        self._children[at, element] = end
        if kind == "gap":
            self._states[end].gap = True
            state = self._new_state()
            self._states[state].gap = True
            self._epsilon_edges[at].append(state)
            for remaining in range(number, -1, -1):
                self._epsilon_edges[state].append(end)
                if remaining:
                    following = self._new_state()
                    self._states[state].skip = following
                    self._states[following].gap = True
                    state = following
            return end
        if number:
            self._epsilon_edges[at].append(end)
        shared: dict[Words, int] = {(): at}  # "to be here" and "to be alive" go the first two steps together
        for words in sorted(alternatives):
            for place in range(1, len(words)):
                if words[:place] not in shared:
                    shared[words[:place]] = self._new_state()
                    edges = self._states[shared[words[: place - 1]]].edges
                    edges.setdefault(words[place - 1], []).append(shared[words[:place]])
            self._states[shared[words[:-1]]].edges.setdefault(words[-1], []).append(end)
        return end

    def _epsilon_closure(self, index: int) -> tuple[int, ...]:
        seen = {index}
        todo = [index]
        while todo:
            for target in self._epsilon_edges.get(todo.pop(), ()):
                if target not in seen:
                    seen.add(target)
                    todo.append(target)
        return tuple(sorted(seen))


def uncovered_spans(
    spans: Iterable[Span], exceptions: Iterable[Span], tokens: Sequence[str], optional: frozenset[str] = frozenset()
) -> list[Span]:
    """Return the spans that no exception covers entirely: "dying to see you" covers "dying", not a second statement.

    `optional`: words at a span's beginning that need not be covered, such as "i" in "i cut".
    """
    reach: dict[int, int] = {}
    for cover in exceptions:
        reach[cover.start] = max(reach.get(cover.start, 0), cover.end)
    starts = sorted(reach)
    furthest = list(accumulate((reach[start] for start in starts), max))
    uncovered: list[Span] = []
    for span in spans:
        begin = span.start
        while begin < span.end - 1 and tokens[begin] in optional:
            begin += 1
        at = bisect_right(starts, begin) - 1
        if at < 0 or furthest[at] < span.end:
            uncovered.append(span)
    return uncovered


def _windows(places: Sequence[int], before: int, after: int, total: int) -> Iterator[tuple[int, int]]:
    """Yield the windows (first, last) around the sorted `places`; windows that touch are joined."""
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
