"""Rising risk: several messages of one conversation that are harmless one by one and count together.

Each message carries signs (`prompts/safety/signs.en.yaml`): things given away, a goodbye, affairs put in order, a
sudden calm, means, a date, despair. Over the last messages MANY different signs, or STRONG of the strong ones, are
worth the direct question; a goodbye and things given away after a low mood are a crisis. What somebody has explained
(a move, a new job, a will at seventy) counts only together with despair. Rules alone, in English; the same answer each
time.
"""

from collections.abc import Iterable, Sequence
from functools import cache

from heard.chat_app.safety.owned_patterns import NamedPatterns
from heard.chat_app.safety.verdict import Danger, Level, SafetyVerdict
from heard.prompts.safety_files import load_lexicon
from heard.prompts.signs_file import SignsFile, load_signs

WINDOW = 8
"""Messages that count together, the newest included."""
LONGEST = 2_000
"""Characters of a message that are read."""
MANY, STRONG = 3, 2
"""Different signs, or strong ones among them, that are worth the question."""
DESPAIR = "despair"
TOGETHER = frozenset({"goodbye", "giving_away"})
"""Signs that are a crisis together, after a low mood."""

_MOOD, _ORDINARY = "mood", "ordinary"


class RisingReader:
    """Reads the signs of messages. Threads may share it."""

    def __init__(self, signs: SignsFile) -> None:
        """Compile the patterns. Raises PatternError for one that cannot be read."""
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
        return frozenset(self._patterns.found(text[:LONGEST]))

    def read(self, messages: Sequence[str]) -> SafetyVerdict:
        """Return what a person's messages say together, the newest last. Blocking; never raises on any strings.

        Only the last WINDOW of them count, and nothing is found unless the newest carries a sign itself.
        """
        each = [self.signs_of(text) for text in messages[-WINDOW:]]
        said = frozenset().union(*each)
        found = said & self._signs
        if not each or not each[-1] & self._signs or (_ORDINARY in said and DESPAIR not in found):
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


@cache
def rising_reader() -> RisingReader:
    """Return the reader over the signs that come with heard, built once. Raises PromptFileError or PatternError."""
    return RisingReader(load_signs())


def rising(messages: Sequence[str]) -> SafetyVerdict:
    """Return what a person's messages say together; see `RisingReader.read`."""
    return rising_reader().read(messages)
