"""What a person says after a hand-off ("i called but hung up", "they put me on hold", "k"): one intent of
prompts/safety/after_handoff.yaml.

A bare yes or no answers the last question; then the file's patterns are asked, in its order; then the frozen encoder's
nearest phrasing, as for questions about the bot. Whether somebody is safe is read by patterns alone: to an encoder
"i am safe" and "i am not safe" are neighbours.
"""

import logging
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from heard.chat_app.safety.nearest_phrasing import NearestPhrasing
from heard.chat_app.safety.normalise import plain_tokens
from heard.chat_app.safety.owned_patterns import NamedPatterns
from heard.prompts.safety_files import load_lexicon
from heard.prompts.safety_turn_files import (
    MISTAKEN,
    SAFE,
    UNCLEAR,
    AfterHandoff,
    Question,
    SupportText,
    load_after_handoff,
)
from heard.prompts.variables import VARIABLE
from heard.scorer.errors import ScorerError
from heard.scorer.phrase_index import LazyPhraseIndex
from heard.scorer.vectors import Vectors

LONGEST = 600
"""Characters of a message that are read."""
MOST_CLAUSES = 6
"""Of a message, beside the whole, that are compared with phrasings."""
NEAR = 0.6
"""The least cosine to a phrasing."""

_CLAUSE = re.compile(r"[.?!;,\n]+|\bbut\b", re.IGNORECASE)

log = logging.getLogger(__name__)


class SaidAfter:
    """Reads messages after a hand-off, in one language. Blocking; threads may share it."""

    def __init__(
        self, texts: AfterHandoff, language: str, index: Callable[[list[str]], LazyPhraseIndex] | None
    ) -> None:
        """`index` makes the index over the phrasings; None for patterns alone. Raises PatternError."""
        self.texts = texts
        self._rewrites = load_lexicon(language).rewrites
        groups = {name: (intent.patterns, intent.safe) for name, intent in texts.intents.items()}
        self._patterns = NamedPatterns(groups, macros=texts.macros, rewrites=self._rewrites)
        self._affirmed, self._denied = ({self._plain(line) for line in each} for each in (texts.affirmed, texts.denied))
        phrasings = {self._plain(line): name for name, intent in texts.intents.items() for line in intent.phrasings}
        self._phrasings = NearestPhrasing(phrasings, (), index) if index and phrasings else None
        self._said = [(_as_regex(text.says), text) for intent in texts.intents.values() for text in intent.texts]

    def intent(self, text: str, asked: Question | None) -> str:
        """Return the intent of a message; `asked` is the question that the last turn put. Never raises on any str."""
        text = text[:LONGEST]
        plain = self._plain(text)
        if (answer := self._answer(plain, asked)) is not None:
            return answer
        found = self._patterns.found(text)
        if asked and (not found or self.texts.intents[found[0]].bare):
            # "no, not really"; but "yes, for now" is no plain yes to whether somebody is safe.
            first = plain.partition(" ")[0]
            if first in self._denied or (first in self._affirmed and asked != SAFE):
                return self._answer(first, asked) or UNCLEAR
        if found:
            return self._most_telling(found)
        return self._nearest(text) or UNCLEAR

    def prepare(self) -> None:
        """Read the phrasings. Raises ScorerError."""
        if self._phrasings is not None:
            self._phrasings.prepare()

    def text_of(self, reply: str) -> SupportText | None:
        """Return the text that was given as `reply`, with whichever numbers; None if it is none of them."""
        return next((text for said, text in self._said if said.fullmatch(reply)), None)

    def _answer(self, plain: str, asked: Question | None) -> str | None:
        answers = self.texts.answers.get(asked) if asked else None
        if answers is None:
            return None
        if plain in self._affirmed:
            return answers.affirmed
        return answers.denied if plain in self._denied else None

    def _most_telling(self, found: Sequence[str]) -> str:
        """Return the first of several; that somebody is safe before all but what is urgent."""
        if SAFE in found and not any(self.texts.intents[name].urgent for name in found):
            return SAFE
        return next((name for name in found if name != SAFE), SAFE)

    def _nearest(self, text: str) -> str | None:
        if self._phrasings is None:
            return None
        parts = dict.fromkeys((text, *_clauses(text)))
        try:
            best = max((self._phrasings.nearest(self._plain(part)) for part in parts), key=lambda one: one.likeness)
        except ScorerError as error:
            log.error("a message after a hand-off could not be read: %s", type(error).__name__)
            return None
        return best.name if best.likeness >= NEAR else None

    def _plain(self, text: str) -> str:
        return " ".join(plain_tokens(text, self._rewrites))


class SupportReaders:
    """The reader of each language that after_handoff.yaml has."""

    def __init__(self, vectors: Callable[[], Vectors] | None = None, cache_dir: Path | None = None) -> None:
        """`vectors` gives those of the encoder that comes with heard; without them patterns alone are read. In
        `cache_dir` the phrasings' vectors are kept. Raises PromptFileError or PatternError."""

        def reader(language: str, texts: AfterHandoff) -> SaidAfter:
            if vectors is None or cache_dir is None:
                return SaidAfter(texts, language, None)
            path = cache_dir / "after-hand-off" / f"{language}.npz"
            return SaidAfter(texts, language, lambda lines: LazyPhraseIndex(vectors, lines, path))

        self._readers = {language: reader(language, texts) for language, texts in load_after_handoff().items()}

    def of(self, language: str | None) -> SaidAfter:
        """Return the reader of a language, else the English one."""
        return self._readers.get(language or "en", self._readers["en"])

    def prepare(self) -> None:
        """Read all phrasings: a second, or less where they are in the cache. Raises ScorerError."""
        for reader in self._readers.values():
            reader.prepare()


def ends_support(intent: str) -> bool:
    """Return whether an intent says that the person is safe, or was misunderstood."""
    return intent in (SAFE, MISTAKEN)


def _clauses(text: str) -> Iterator[str]:
    parts = (part.strip() for part in _CLAUSE.split(text))
    yield from [part for part in parts if part][:MOST_CLAUSES]


def _as_regex(says: str) -> re.Pattern[str]:
    return re.compile(".+?".join(re.escape(part) for part in VARIABLE.split(says)[::2]), re.DOTALL)
