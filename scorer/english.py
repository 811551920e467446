"""Which words are English: a frequency list, chat slang, and a one-edit speller.

Language identifiers were tried first, on short replies of the kind that a chat shows: lingua (low accuracy mode) gave
"hang in there, buddy" to Danish, py3langid gave "ok" and "Same here" to others, and the accurate modes cost 100-500 MB.
A list of English words tells English from not English better there, at 10 MB, and serves the speller too. The list is
SymSpell's (82,765 words, MIT).
"""

import functools
import importlib.resources
import string
from collections.abc import Iterable

RARE = 200_000
"""Words seen less often than this (in the list's corpus of 10^12 words) are left out: they are mostly names and
foreign."""
COMMON = 2_000_000
"""The speller corrects only to words at least this frequent."""

SLANG = frozenset(
    """
    ah ahh aint alot alright arent aww awww bc bday bff brb bro bruh btw cant couldnt cuz da dang didnt doesnt dont
    dude dunno em eh emo ew fam fml fr fyi gf bf gimme gosh gtg gud ha haha hahaha hadnt hasnt havent hb hehe hes
    heya hm hmm hmu hon hows hun hugs idc idk idek ikr ily im imma imo imho irl isnt its itll ive jk k kinda kk
    lemme lets lmao lmfao lmk lol lots luv lvl meh mhm mm mmm msg nah np nope nvm oh ohh ok okay okey omfg omg ooh
    oof op outta ouch pls plz pm ppl r rn shes shit shouldnt smh sorta srsly tbh tfw thats theres theyre theyll
    theyve thx tho til tmi tmr tn ttyl ty tysm u ugh uh uhh um umm ur urself wanna wasnt werent wed whats whos whove
    wont woah wouldnt wow wtf xo xoxo y yall yay yea yeah yep yes yikes yo youd youll youre youve yrs yup yw
    """.split()  # noqa: SIM905 (a list of strings is no easier to read)
)
"""Chat words that the list lacks. A shared closed list is enough here: it only has to keep short replies from looking
foreign."""

HOMOGRAPHS = frozenset(
    """
    ami amigo amigos arre bien bon bonjour buenos ciao com como dank das de del der des du dur el entiendo es est
    gracias guten hai hola ist jag ja kia la lag las le les lo los mal mas mat mein merci mes mi mir mit mon muy ne
    nein nur oder ora oui par pas por que qui rat sab se sein si sur tag tan tanto tanta todo tu tut un una und ve
    wat zu
    """.split()  # noqa: SIM905 (a list of strings is no easier to read)
)
"""Words in the list that are far likelier foreign: no evidence for English, and some against it."""

NEAR_MISS = 20_000_000
"""A word that is one edit away from a word this frequent counts as half English."""

_LETTERS = string.ascii_lowercase


class English:
    """A set of English words with their frequencies. Immutable after `load`, so threads may share it."""

    def __init__(self, counts: dict[str, int]) -> None:
        self._counts = counts
        self._correct = functools.lru_cache(maxsize=20_000)(self._search)

    @classmethod
    @functools.cache
    def load(cls) -> "English":
        """Read the packaged list once per process (about 60 ms, 10 MB)."""
        path = importlib.resources.files("symspellpy") / "frequency_dictionary_en_82_765.txt"
        counts: dict[str, int] = {}
        for line in path.read_text(encoding="utf-8-sig").splitlines():
            word, _, count = line.partition(" ")
            if int(count) < RARE:
                continue
            counts[word.replace("'", "")] = int(count)
        for word in SLANG:
            counts.setdefault(word, COMMON)
        counts["i"] = counts["a"] = 10**10
        return cls(counts)

    def knows(self, word: str) -> bool:
        """Whether a lower-case word, or the word without its apostrophes or possessive ending, is English."""
        bare = word.replace("'", "")
        return bare in self._counts or word.partition("'")[0] in self._counts

    def correct(self, word: str) -> str:
        """The most frequent common word one edit away, or the word itself if there is none. Lower case in and out."""
        return self._correct(word)

    def share(self, words: Iterable[str]) -> float:
        """Share of `words` (lower case) that is English, 0..1; 0 without one whole English word.

        A near miss counts half; a homograph of a frequent foreign word counts half against.
        """
        hits, near, total, homographs = 0, 0, 0, 0
        for word in words:
            if word in HOMOGRAPHS:
                homographs += 1
                continue
            total += 1
            if self.knows(word):
                hits += 1
            elif len(word) > 4 and self._counts.get(self.correct(word), 0) >= NEAR_MISS:
                near += 1
        if hits == 0:  # a near miss alone proves nothing: "danke" is near "dance"
            return 0.0
        return (hits + 0.5 * near) / (total + 0.5 * homographs)

    def _search(self, word: str) -> str:
        if not 4 <= len(word) <= 18 or not word.isascii() or not word.isalpha():
            return word
        best, best_count = word, COMMON - 1
        for candidate in _edits(word):
            count = self._counts.get(candidate, 0)
            if count > best_count:
                best, best_count = candidate, count
        return best


def _edits(word: str) -> Iterable[str]:
    """Every string one insertion, deletion, substitution or swap of neighbours away (Norvig 2007)."""
    for at in range(len(word) + 1):
        left, right = word[:at], word[at:]
        if right:
            yield left + right[1:]
        if len(right) > 1:
            yield left + right[1] + right[0] + right[2:]
        for letter in _LETTERS:
            yield left + letter + right
            if right:
                yield left + letter + right[1:]
