"""The clauses of a message that may be a question about the bot, in plain spelling, without what only leads to them.

"hey, so.. r u a bot or what??" is the one clause "are you a bot". Nothing here decides; `bot_questions.py` does.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from heard.prompts.bot_answer_files import BotQuestionWords
from heard.scorer.disguises import plain_letters, speller
from heard.scorer.english import English

LONGEST = 240
"""Characters of a message that is looked at; a longer one tells something of the person."""
MOST_WORDS = 30
FEWEST_LETTERS = 4
"""Of a word that is corrected."""
FEWEST_LEFT = 2
"""Words that must be left of a clause for its ends to be cut off."""

Clause = tuple[str, ...]

_WORD = re.compile(r"[a-z0-9]+(?:'[a-z]+)*")
_ENDS = re.compile(r"[.?!;:,\n()]+|\s+-+\s+|\s*[–—]\s*")
_QUOTES = re.compile(r'"|(?<!\w)\'|\'(?!\w)')
_DRAWN_OUT = re.compile(r"([a-z])\1{2,}")
_YOU_ARE = re.compile(r"\byour (?=(?:a|an|the|just|not|only|really|actually|human|real|fake|ai|artificial)\b)")
"""After which "ur" was short for "you are"."""


def is_short(text: str) -> bool:
    """Return whether a message is short enough to be looked at. Cheap for a text of any length."""
    return len(text) <= LONGEST and len(text.split()) <= MOST_WORDS


class ClauseReader:
    """Reads messages as clauses. Immutable, so threads may share it."""

    def __init__(self, words: BotQuestionWords, questions: Iterable[str]) -> None:
        """Misspelt words are taken for words of known `questions` that they are a slip away from."""
        self._spellings = words.spellings
        self._question_words = words.question_words
        self._leads = _longest_first(words.leads)
        self._trails = _longest_first(words.trails)
        known = [word for text in questions for word in self._plain_words(text.casefold())]
        self._known = dict.fromkeys(known, 0)
        for word in known:
            self._known[word] += 1
        self._slips = speller(self._known)
        self._english = English.load()

    def clauses(self, text: str) -> list[Clause]:
        """Return the clauses of a message in which nobody is quoted; [] if it is too long, quotes or says nothing."""
        if not is_short(text):
            return []
        plain = plain_letters(text).casefold()
        if _QUOTES.search(plain):
            return []
        parts = (part for whole in _ENDS.split(plain) for part in self._joined_questions(self._corrected(whole)))
        return [clause for part in parts if (clause := self._without_ends(part))]

    def _joined_questions(self, clause: Clause) -> Iterator[Clause]:
        """Yield the parts of a clause that are joined by "and" before a question."""
        start = 0
        for at, (word, following) in enumerate(pairwise(clause)):
            if word == "and" and following in self._question_words:
                yield clause[start:at]
                start = at + 1
        yield clause[start:]

    def _plain_words(self, text: str) -> list[str]:
        words = " ".join(self._spellings.get(word, word) for word in _WORD.findall(text))
        return _YOU_ARE.sub("you are ", words).split()

    def _corrected(self, part: str) -> Clause:
        return tuple(right for word in self._plain_words(part) for right in self._correct(word).split())

    def _correct(self, word: str) -> str:
        if word in self._known:
            return word
        if _DRAWN_OUT.search(word):
            for drawn_in in (_DRAWN_OUT.sub(r"\1\1", word), _DRAWN_OUT.sub(r"\1", word)):
                meant = self._spellings.get(drawn_in, drawn_in)
                if meant in self._known or self._english.knows(drawn_in):
                    return meant
        if len(word) < FEWEST_LETTERS or self._english.spelt(word):
            return word
        found = self._slips(word)
        return found[0][0] if found else word

    def _without_ends(self, clause: Clause) -> Clause:
        while (shorter := self._without_one_end(clause)) != clause:
            clause = shorter
        return clause

    def _without_one_end(self, clause: Clause) -> Clause:
        for lead in self._leads:
            if clause == lead or (clause[: len(lead)] == lead and len(clause) - len(lead) >= FEWEST_LEFT):
                return clause[len(lead) :]
        for trail in self._trails:
            if clause[-len(trail) :] == trail and len(clause) - len(trail) >= FEWEST_LEFT:
                return clause[: -len(trail)]
        return clause


def _longest_first(phrases: Sequence[str]) -> list[Clause]:
    return sorted((tuple(phrase.split()) for phrase in phrases), key=len, reverse=True)
