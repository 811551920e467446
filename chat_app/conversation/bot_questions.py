"""Whether a message is a question about the bot ("are you real", "who reads this"), and which.

Precise before complete: a message counts only if each of its clauses is such a question, so that one which also tells
something of the person goes to the model. A clause is one that the file has word for word, or one that passes the rules
of `_may_ask` and is near a phrasing of the file by the frozen encoder's sentence vectors, nearer than to any message
that only looks alike (`others` in prompts/bot_questions.yaml).

The numbers were chosen on one half of tests/bot_questions and measured on the other (docs/prompts.md).
"""

import threading
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from heard.chat_app.conversation.question_text import Clause, ClauseReader
from heard.chat_app.safety.nearest_phrasing import NearestPhrasing
from heard.prompts.bot_answer_files import BotAnswers, bot_question_words
from heard.scorer.phrase_index import LazyPhraseIndex
from heard.scorer.vectors import Vectors

MOST_CLAUSES = 4
MOST_INTENTS = 2
"""Questions that are answered together; a message with more of them goes to the model."""
LONGEST_CLAUSE = 16
"""Words."""
NEAR_QUESTION, AHEAD_QUESTION = 0.55, 0.03
"""Of a question: the least cosine to a phrasing, and by how much it is nearer to that than to other messages."""
NEAR_SAYING, AHEAD_SAYING = 0.72, 0.1
"""Of what has not the form of a question, such as "you are a bot"."""
PER_UNKNOWN_WORD = 0.02
"""What is added to both for each word that no phrasing has."""
NEAR_UNNAMED = 0.8
"""The least cosine of a clause that names neither the bot nor a topic."""

_VERBS = frozenset({"are", "can", "could", "did", "do", "does", "have", "is", "will", "would"})
_SUBJECTS = frozenset({"anyone", "i", "it", "someone", "there", "this", "we", "you"})


class _Matcher:
    """The phrasings of one file of answers, made ready."""

    def __init__(self, answers: BotAnswers, make_index: Callable[[list[str]], LazyPhraseIndex]) -> None:
        """The index is made for the first clause that the rules leave open, or by `near.prepare`."""
        self.answers = answers
        self._words = bot_question_words()
        texts = [(name, text) for name, intent in answers.intents.items() for text in intent.phrasings]
        self._reader = ClauseReader(self._words, [text for _, text in texts] + list(self._words.others))
        phrasings: dict[Clause, str] = {}
        for name, text in texts:
            for clause in self._reader.clauses(text):
                phrasings.setdefault(clause, name)
        others = {clause for text in self._words.others for clause in self._reader.clauses(text)}
        self._phrasings = phrasings
        self._known = frozenset(word for clause in phrasings for word in clause)
        self.near = NearestPhrasing(
            {" ".join(clause): name for clause, name in phrasings.items()}, map(" ".join, others), make_index
        )

    def intents(self, text: str, *, opening: bool) -> tuple[str, ...]:
        clauses = self._reader.clauses(text)
        if len(clauses) > 1:  # "i want it gone, how?"
            clauses = [clause for clause in clauses if len(clause) > 1 or clause[0] not in self._words.question_words]
        if not 0 < len(clauses) <= MOST_CLAUSES or any(not self._may_ask(clause) for clause in clauses):
            return ()
        if not opening and not any(self._named(clause) for clause in clauses):
            return ()  # "is it free" may be about what was talked of before
        found = [self._intent(clause) for clause in clauses]
        named = tuple(dict.fromkeys(intent for intent in found if intent is not None))
        return named if None not in found and len(named) <= MOST_INTENTS else ()

    def _may_ask(self, clause: Clause) -> bool:
        """Return whether the rules leave it open that a clause is a question about the bot."""
        if clause in self._phrasings:
            return True
        if len(clause) > LONGEST_CLAUSE or self._words.others_named & {*clause}:
            return False
        return self._about_the_bot(clause) or not self._words.own_words & {*clause}

    def _named(self, clause: Clause) -> bool:
        return bool((self._words.bot_words | {"name"}) & {*clause}) or clause[0] == "who"

    def _about_the_bot(self, clause: Clause) -> bool:
        """Return whether a clause has a word of the bot or of a topic, beside words of the person's own."""
        words, own = {*clause}, self._words.own_words & {*clause}
        if _is_question(clause, self._words.question_words):
            return bool(
                words & (self._words.bot_words | self._words.topics) or (words & self._words.people and not own)
            )
        return bool(words & (self._words.bot_words - {"this"} if own else self._words.bot_words | self._words.topics))

    def _intent(self, clause: Clause) -> str | None:
        if clause in self._phrasings:
            return self._phrasings[clause]
        intent, nearest, ahead = self.near.nearest(" ".join(clause))
        if not self._about_the_bot(clause) and nearest < NEAR_UNNAMED:
            return None
        asked = _is_question(clause, self._words.question_words)
        near, lead = (NEAR_QUESTION, AHEAD_QUESTION) if asked else (NEAR_SAYING, AHEAD_SAYING)
        doubt = PER_UNKNOWN_WORD * sum(word not in self._known for word in clause)
        if nearest < near + doubt or ahead < lead + doubt:
            return None
        return intent


class BotQuestions:
    """Recognises questions about the bot. Blocking: call it from a worker thread; threads may share it."""

    def __init__(self, vectors: Callable[[], Vectors], cache_dir: Path) -> None:
        """`vectors` gives those of the encoder that comes with heard; asked for at the first message.

        In `cache_dir` the phrasings' vectors are kept for the next process.
        """
        self._open = vectors
        self._path = cache_dir / "bot-questions" / "phrasings.npz"
        self._matcher: _Matcher | None = None
        self._making = threading.Lock()

    def intents(self, text: str, answers: BotAnswers, *, opening: bool) -> tuple[str, ...]:
        """Return the intents of `answers` that a message asks for, in its order; () for a message for the model.

        `opening` says that nothing was said before it. Without `prepare`, and after an edit of the file, the first
        message that may ask something waits for it. Raises ScorerError if the encoder cannot be opened.
        """
        return self._ready(answers).intents(text, opening=opening)

    def prepare(self, answers: BotAnswers) -> None:
        """Read all phrasings: some seconds, or a tenth of one where they are in the cache. Raises ScorerError."""
        self._ready(answers).near.prepare()

    def _ready(self, answers: BotAnswers) -> _Matcher:
        with self._making:
            if self._matcher is None or self._matcher.answers is not answers:
                self._matcher = _Matcher(answers, self._make_index)
            return self._matcher

    def _make_index(self, lines: list[str]) -> LazyPhraseIndex:
        return LazyPhraseIndex(self._open, lines, self._path)


def _is_question(clause: Clause, question_words: frozenset[str]) -> bool:
    return clause[0] in question_words or any(
        verb in _VERBS and subject in _SUBJECTS for verb, subject in pairwise(clause)
    )
