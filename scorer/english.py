"""Which words are English: a frequency list, chat slang, and a speller.

Language identifiers were tried first, on short replies of the kind that a chat shows: lingua (low accuracy mode) gave
"hang in there, buddy" to Danish, py3langid gave "ok" and "Same here" to others, and the accurate modes cost 100-500 MB.
A list of English words tells English from not English better there, at 10 MB, and serves the speller too. The list is
SymSpell's (82,765 words, MIT), and so is the search for the words one slip away. Which of them was meant is chosen
here: by frequency alone, as SymSpell does, 80% of 4,232 slips came out right, and 83% by how easily fingers make each;
of 89 names and rare words in the same replies the first changed 56, and the second 14.
"""

import functools
import importlib.util
from collections.abc import Callable, Iterable
from pathlib import Path

from heard.scorer.disguises import speller

RARE = 200_000
"""Words seen less often than this (in the list's corpus of 10^12 words) are no evidence of English: many are names
or foreign. The speller leaves them as they are."""
COMMON = 2_000_000
"""The speller corrects only to words at least this frequent."""

SLANG = frozenset(
    """
    ah ahem ahh aint alot alright arent aww awww bc bday bf bff brb bro bruh btw cannot cant cmon convo couldnt cozy
    cuz da dang didnt doesnt dont dude dunno eh em emo ew fam fml fr fyi gf gimme gosh gtg gud ha hadnt haha hahaha
    hasnt havent hb hehe hes heya hm hmm hmu hon hows hrs hugs hun idc idek idk ikr ily im imho imma imo irl isnt
    itll its ive jk k kinda kk lemme lets lmao lmfao lmk lol lots luv lvl math meds meh mhm mins mm mmm mom mommy
    moms msg mum mums nah nope np nvm oh ohh ok okay okey omfg omg oof ooh op ouch outta pls plz pm ppl r rn shes
    shit shouldnt smh sorta srsly tbh tfw thats theres theyll theyre theyve tho thx til tmi tmr tn ttyl tv ty tysm u
    uber ugh uh uhh um umm ur urself wanna wasnt wed werent whats whos whove woah wont wouldnt wow wtf xo xoxo y
    yall yay yea yeah yep yes yikes yo youd youll youre youve yrs yup yw
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

FEELINGS = frozenset(
    """
    afraid alone angry anxious ashamed care caring cheer comfort cope cried crying depressed difficult enough exhausted
    family feel feeling feelings felt friend glad grief guilty happy hard hear heard heart help hope hug hurt hurting
    lonely loss lost love loved miss must overwhelmed overwhelming pain painful proud sad safe scared share shame sorry
    stress stressed strong struggle struggling stuck support talk tell tired together tough trust understand upset want
    worried worry
    """.split()  # noqa: SIM905
)
FEELING = 5
"""How much more often than on the web, where the list was counted, a reply to a person has such a word."""

_ENDINGS = ("", "s", "d", "ll", "m", "re", "t", "ve")
"""What may follow an apostrophe."""
_BRITISH = ("our", "ours", "oured", "ouring", "ourite", "ourites", "ourhood", "ourly", "lling", "lled")
_SUFFIXES = {
    "s": ("",),
    "ing": ("", "e"),
    "ings": ("", "e"),
    "ed": ("", "e"),
    "er": ("", "e"),
    "iest": ("y",),
    "ly": ("",),
    "ness": ("",),
    "able": ("", "e"),
    "ize": ("ise", ""),
    "ized": ("ised", ""),
    "izing": ("ising", ""),
}
"""An ending, and what may stand in its place in the list."""
_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_NEIGHBOURS = {row[at]: row[max(0, at - 1) : at] + row[at + 1 : at + 2] for row in _ROWS for at in range(len(row))}
"""Keys beside each key."""


class English:
    """A set of English words with their frequencies. Immutable after `load`, so threads may share it."""

    def __init__(self, counts: dict[str, int], rare: frozenset[str] = frozenset()) -> None:
        self._counts = counts
        self._rare = rare
        self._correct = functools.lru_cache(maxsize=20_000)(self._search)

    @classmethod
    @functools.cache
    def load(cls) -> "English":
        """Read the packaged list once per process (about 60 ms, 10 MB)."""
        package = importlib.util.find_spec("symspellpy")  # its list, without the speller, which few texts need
        assert package is not None
        assert package.origin is not None
        path = Path(package.origin).parent / "frequency_dictionary_en_82_765.txt"
        counts: dict[str, int] = {}
        rare: set[str] = set()
        for line in path.read_text(encoding="utf-8-sig").splitlines():
            word, _, count = line.partition(" ")
            if int(count) < RARE:
                rare.add(word)
                continue
            bare = word.replace("'", "")  # "we'll" is rarer than "well", and must not take its place
            counts[bare] = max(int(count), counts.get(bare, 0))
            if len(bare) > 5 and bare.endswith(_BRITISH):  # the list is British
                counts.setdefault(bare.replace("our", "or").replace("lling", "ling").replace("lled", "led"), int(count))
        for word in SLANG:
            counts.setdefault(word, COMMON)
        counts["i"] = counts["a"] = 10**10
        return cls(counts, frozenset(rare))

    def knows(self, word: str) -> bool:
        """Whether a lower-case word, or the word without its apostrophes or possessive ending, is English."""
        return self.frequency(word) > 0

    def frequency(self, word: str) -> int:
        """How often a word was seen in the list's corpus of 10^12; 0 for one that `knows` does not know."""
        if found := self._counts.get(word):
            return found
        stem, _, ending = word.partition("'")
        return self._counts.get(word.replace("'", "")) or (self._counts.get(stem, 0) if ending in _ENDINGS else 0)

    def spelt(self, word: str) -> bool:
        """Whether a lower-case word is rightly spelt: known, rare, or a common one with an ordinary ending
        ("ghosted")."""
        if self.knows(word) or word in self._rare:
            return True
        for ending, others in _SUFFIXES.items():
            stem = word.removesuffix(ending)
            if stem != word and any(self._counts.get(stem + other, 0) >= COMMON for other in others if len(stem) > 3):
                return True
        return False

    def correct(self, word: str, *, surely: bool = False) -> str:
        """The likeliest common word one slip away, or the word itself if there is none. Lower case in and out.

        With `surely` the word must be a very frequent one: for what may be a name.
        """
        found = self._correct(word)
        return word if surely and self._counts.get(found, 0) < NEAR_MISS else found

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

    @functools.cached_property
    def _slips(self) -> Callable[[str], list[tuple[str, int]]]:
        """The search among the common words, made ready for the first misspelt one (60 ms, 8 MB)."""
        expected = {word: count * (FEELING if word in FEELINGS else 1) for word, count in self._counts.items()}
        return speller({word: count for word, count in expected.items() if count >= COMMON})

    def _search(self, word: str) -> str:
        if not 3 <= len(word) <= 18 or not word.isascii() or not word.isalpha():
            return word
        best, best_value = word, 0.0
        for meant, count in self._slips(word):
            weight = _ease(word, meant)
            # Three letters are near too many words: only "teh" for "the" is plain.
            if len(word) == 3 and (count < NEAR_MISS or weight < 1):
                continue
            if count * weight > best_value:
                best, best_value = meant, count * weight
        return best


def _ease(slip: str, word: str) -> float:
    """How easily fingers make the slip for the word, 0..1, where one is a letter more, less, other or swapped.

    A wrong first letter is rare.
    """
    at = next((at for at, (a, b) in enumerate(zip(slip, word, strict=False)) if a != b), min(len(slip), len(word)))
    first = 1.0 if at else 0.1
    if len(slip) > len(word):
        return 1.0 if at and slip[at] == slip[at - 1] else 0.3 * first
    if len(slip) < len(word):
        return 0.6 * first
    if slip[at] == word[at + 1 : at + 2] and slip[at + 1 :][:1] == word[at]:
        return 1.0 if at else 0.5
    return (0.5 if word[at] in _NEIGHBOURS[slip[at]] else 0.1) * first
