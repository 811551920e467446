"""Patterns of several owners in one automaton: rules, topics, signs, or things that people say.

The pattern language is that of the lexicons (`patterns.py`), and so are the normaliser and the matcher.
"""

import threading
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from heard.chat_app.safety.matcher import Matcher, uncovered_spans
from heard.chat_app.safety.normalise import Normaliser, plain_tokens


class OwnedPatterns:
    """Patterns of several owners, by number; an owner's exceptions take out what lies wholly inside them."""

    def __init__(self, macros: Mapping[str, str], tokenise: "Tokenise") -> None:
        """`add` the patterns of every owner, then `compile`, then ask for `owners`."""
        self._found, self._safe = Matcher(tokenise), Matcher(tokenise, strict=True)
        self._owners: list[int] = []
        self._texts: list[str] = []
        for matcher in (self._found, self._safe):
            matcher.reader.define(macros)

    def add(self, owner: int, patterns: Iterable[str], safe: Iterable[str] = ()) -> None:
        """Add an owner's patterns and exceptions. Raises PatternError for one that cannot be read."""
        for pattern in patterns:
            self._found.add(pattern, len(self._owners))
            self._owners.append(owner)
            self._texts.append(pattern)
        for pattern in safe:
            self._safe.add(pattern, owner)

    def compile(self) -> None:
        """Prepare for `owners`."""
        self._found.compile()
        self._safe.compile()

    @property
    def words(self) -> frozenset[str]:
        """Every word of the patterns."""
        return frozenset(self._found.reader.vocabulary | self._safe.reader.vocabulary)

    @property
    def prefixes(self) -> frozenset[str]:
        """Every beginning of a word in them."""
        return frozenset(self._found.reader.prefixes | self._safe.reader.prefixes)

    def owners(self, tokens: Sequence[str]) -> dict[int, str]:
        """Each owner of what is found and not excepted, with its pattern."""
        spans = self._found.find(tokens)
        covers = self._safe.find_around(tokens, spans) if spans else []
        found: dict[int, str] = {}
        for owner in dict.fromkeys(self._owners[span.label] for span in spans):
            own = [span for span in spans if self._owners[span.label] == owner]
            kept = uncovered_spans(own, [cover for cover in covers if cover.label == owner], tokens)
            if kept:
                found[owner] = self._texts[kept[0].label]
        return found


class Tokenise:
    """A pattern's words as tokens, each kept: the same words stand in many patterns."""

    def __init__(self, rewrites: dict[str, str]) -> None:
        self._tokens = cache(lambda text: tuple(plain_tokens(text, rewrites)))

    def __call__(self, text: str) -> tuple[str, ...]:
        """The tokens of `text`."""
        return self._tokens(text)


class NamedPatterns:
    """Groups of patterns by name, with the words that they need to be read. Threads may share it."""

    def __init__(
        self,
        groups: Mapping[str, tuple[Iterable[str], Iterable[str]]],
        *,
        macros: Mapping[str, str],
        rewrites: Mapping[str, str],
    ) -> None:
        """`groups`: name -> (patterns, exceptions). Raises PatternError for a pattern that cannot be read."""
        self._names = list(groups)
        self._patterns = OwnedPatterns(macros, Tokenise(dict(rewrites)))
        for owner, (patterns, safe) in enumerate(groups.values()):
            self._patterns.add(owner, patterns, safe)
        self._patterns.compile()
        self._normaliser = Normaliser(
            vocabulary=self._patterns.words,
            keys=(),
            rewrites=rewrites,
            real_words=(),
            prefixes=self._patterns.prefixes,
        )
        self._reading = threading.Lock()
        """The automaton fills its cache while it reads."""

    def found(self, text: str) -> list[str]:
        """Return the names of the groups that `text` has a pattern of, in their order. Linear time; never raises."""
        with self._reading:
            owners = self._patterns.owners(self._normaliser.tokens(text))
        return [name for owner, name in enumerate(self._names) if owner in owners]
