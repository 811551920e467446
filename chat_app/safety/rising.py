"""Rising risk: several messages of one conversation that are harmless one by one and count together.

Each message carries signs (`prompts/safety/signs.en.yaml`): things given away, a goodbye, affairs put in order, a
sudden calm, means, a date, despair. Over the last messages MANY different signs, or STRONG of the strong ones, are
worth the direct question; a goodbye and things given away after a low mood are a crisis. What somebody has explained
(a move, a new job, a will at seventy) counts only together with despair. In English; the same answer each time.

A sign is found by its patterns, and where there is an encoder by its nearest phrasing too: people have more words for
these things than a list.
"""

import logging
import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from heard.chat_app.safety.nearest_phrasing import NearestPhrasing
from heard.chat_app.safety.owned_patterns import NamedPatterns
from heard.chat_app.safety.verdict import Danger, Level, SafetyVerdict
from heard.prompts.safety_files import load_lexicon
from heard.prompts.signs_file import SignsFile, load_signs
from heard.scorer.errors import ScorerError
from heard.scorer.phrase_index import LazyPhraseIndex
from heard.scorer.vectors import Vectors

WINDOW = 8
"""Messages that count together, the newest included."""
LONGEST = 2_000
"""Characters of a message that are read."""
FEWEST = 2
"""Messages that carry a sign: one alone is the head's to read."""
MANY, STRONG = 3, 2
"""Different signs, or strong ones among them, that are worth the question."""
CALM, DESPAIR = "calm", "despair"
TOGETHER = frozenset({"goodbye", "giving_away"})
"""Signs that are a crisis together, after a low mood."""

NEAR, AHEAD = 0.6, 0.08
"""The least cosine to a phrasing, and by how much it is nearer to that than to other messages."""
LEAST_WORDS, MOST_WORDS = 2, 25
"""Of a clause that is compared."""
MOST_CLAUSES = 3
"""Of a message."""
KEPT = 512
"""Messages whose signs are kept: each is read again with every message after it."""

_CLAUSE = re.compile(r"[.?!;,\n]+")
_MOOD, _ORDINARY = "mood", "ordinary"

log = logging.getLogger(__name__)


class RisingReader:
    """Reads the signs of messages. Threads may share it."""

    def __init__(self, signs: SignsFile, index: Callable[[list[str]], LazyPhraseIndex] | None = None) -> None:
        """Compile the patterns. `index` makes the index over the phrasings; None for patterns alone.

        Raises PatternError for a pattern that cannot be read.
        """
        phrasings = {line: name for name, sign in signs.signs.items() for line in sign.phrasings}
        self._phrasings = NearestPhrasing(phrasings, signs.others, index) if index and phrasings else None
        self._read_signs = lru_cache(maxsize=KEPT)(self._all_signs_of)
        groups: dict[str, tuple[Iterable[str], Iterable[str]]] = {
            name: (sign.patterns, sign.safe) for name, sign in signs.signs.items()
        }
        groups |= {
            name: (group.patterns, group.safe) for name, group in ((_MOOD, signs.mood), (_ORDINARY, signs.ordinary))
        }
        self._signs = frozenset(signs.signs)
        self._strong = frozenset(name for name, sign in signs.signs.items() if sign.strong)
        self._patterns = NamedPatterns(groups, macros=signs.macros, rewrites=load_lexicon(signs.language).rewrites)

    def signs_of(self, text: str) -> frozenset[str]:
        """Return the signs of one message, with "mood" and "ordinary". Never raises on any str."""
        return self._read_signs(text[:LONGEST])

    def prepare(self) -> None:
        """Read the phrasings. Raises ScorerError."""
        if self._phrasings is not None:
            self._phrasings.prepare()

    def _all_signs_of(self, text: str) -> frozenset[str]:
        return frozenset(self._patterns.found(text)) | self._near(text)

    def _near(self, text: str) -> frozenset[str]:
        """Return the signs whose phrasings a message or one of its first clauses is near to."""
        if self._phrasings is None:
            return frozenset()
        parts = [part.strip() for part in _CLAUSE.split(text)]
        clauses = [part for part in parts if LEAST_WORDS <= len(part.split()) <= MOST_WORDS][:MOST_CLAUSES]
        try:
            nearest = [self._phrasings.nearest(clause) for clause in clauses]
        except ScorerError as error:
            log.error("a message could not be read for signs: %s", type(error).__name__)
            return frozenset()
        return frozenset(one.name for one in nearest if one.likeness >= NEAR and one.ahead >= AHEAD)

    def read(self, messages: Sequence[str]) -> SafetyVerdict:
        """Return what a person's messages say together, the newest last. Blocking; never raises on any strings.

        Only the last WINDOW of them count, and nothing is found unless the newest carries a sign itself.
        """
        each = _after_low_mood([self.signs_of(text) for text in messages[-WINDOW:]])
        said = frozenset().union(*each)
        found = said & self._signs
        if sum(bool(signs & self._signs) for signs in each) < FEWEST or not each[-1] & self._signs:
            return SafetyVerdict()
        if _ORDINARY in said and DESPAIR not in found:
            return SafetyVerdict()
        if found >= TOGETHER and self._low_before(each):
            level = Level.CRISIS
        elif len(found & self._strong) >= STRONG or self._many(each, found):
            level = Level.CHECK_IN
        else:
            return SafetyVerdict()
        return SafetyVerdict(level, Danger.SUICIDE.value, "en", reader="conversation")

    def _many(self, each: Sequence[frozenset[str]], found: frozenset[str]) -> bool:
        """Return whether there are MANY different signs, of which a low mood may be one beside a strong one; or MANY
        messages with two different ones, a grave one among them."""
        low = bool(found & self._strong) and any(_MOOD in signs for signs in each)
        grave = bool(found & (self._strong | {DESPAIR}))
        messages = sum(bool(signs & self._signs) for signs in each)
        return len(found) + low >= MANY or (grave and len(found) > 1 and messages >= MANY)

    def _low_before(self, each: Sequence[frozenset[str]]) -> bool:
        """Return whether a low mood was told no later than the last of TOGETHER, and nothing ordinary explains it."""
        last = max(place for place, signs in enumerate(each) if signs & TOGETHER)
        low = any(signs & {_MOOD, DESPAIR} for signs in each[: last + 1])
        return low and not any(_ORDINARY in signs for signs in each)


def _after_low_mood(each: Sequence[frozenset[str]]) -> list[frozenset[str]]:
    """Return the signs without a calm that no low mood came before."""
    kept, low = [], False
    for signs in each:
        low = low or bool(signs & {_MOOD, DESPAIR})
        kept.append(signs if low else signs - {CALM})
    return kept


def rising_reader(vectors: Callable[[], Vectors] | None = None, cache_dir: Path | None = None) -> RisingReader:
    """Return a reader over the signs that come with heard.

    `vectors` gives those of the encoder that comes with heard; without them patterns alone are read. In `cache_dir` the
    phrasings' vectors are kept. Raises PromptFileError or PatternError.
    """
    if vectors is None or cache_dir is None:
        return RisingReader(load_signs())
    path = cache_dir / "rising" / "signs.npz"
    return RisingReader(load_signs(), lambda lines: LazyPhraseIndex(vectors, lines, path))
