"""Whether a message says that the chat has taken the place of people, or that somebody loves the bot.

The same reading as for questions about the bot (`bot_questions.py`): sentences that name the bot and the writer are
compared with the phrasings of prompts/safety/nudges.yaml, and with messages that only look alike. Most messages name no
bot, and are not compared at all.

The numbers were chosen on one half of tests/reliance and measured on the other (docs/places.md).
"""

import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from heard.chat_app.conversation.question_text import Clause, ClauseReader
from heard.chat_app.safety.nearest_phrasing import NearestPhrasing
from heard.prompts.bot_answer_files import bot_question_words
from heard.prompts.nudge_files import BY_WORDS, NudgeKind, Nudges
from heard.scorer.phrase_index import LazyPhraseIndex
from heard.scorer.vectors import Vectors

NEAR, AHEAD = 0.6, 0.1
"""The least cosine to a phrasing, and by how much a sentence is nearer to it than to other messages."""
SENTENCES = 8
"""Most sentences of a message that are looked at, its last ones."""
FEWEST_WORDS, MOST_WORDS = 3, 20

_BOT = frozenset({"you", "your", "bot", "chatbot", "ai", "this", "chat", "chatgpt"})
_SELF = frozenset({"i", "my", "me", "we"})
_END = re.compile(r"(?<=[.!?\n])\s+|\n")


class RelianceWords:
    """Recognises such messages. Blocking: call it from a worker thread; threads may share it."""

    def __init__(self, nudges: Nudges, vectors: Callable[[], Vectors], cache_dir: Path) -> None:
        """`vectors` gives those of the encoder that comes with heard; asked for at the first message that may count.

        In `cache_dir` the phrasings' vectors are kept for the next process.
        """
        self._nudges, self._vectors = nudges, vectors
        self._path = cache_dir / "reliance" / "phrasings.npz"
        self._making = threading.Lock()
        self._ready: tuple[ClauseReader, NearestPhrasing] | None = None

    def kind(self, text: str) -> NudgeKind | None:
        """Return the kind of note that a message asks for, or None. Raises ScorerError without an encoder."""
        reader, near = self._made()
        for sentence in _END.split(text)[-SENTENCES:]:
            for part in _parts(reader.clauses(sentence)):
                found = near.nearest(" ".join(part))
                if found.likeness >= NEAR and found.ahead >= AHEAD:
                    return NudgeKind(found.name)
        return None

    def prepare(self) -> None:
        """Read all phrasings, so that no message waits for it. Raises ScorerError."""
        self._made()[1].prepare()

    def _made(self) -> tuple[ClauseReader, NearestPhrasing]:
        with self._making:
            if self._ready is None:
                known = [(kind, text) for kind in BY_WORDS for text in self._nudges.kinds[kind].phrasings]
                reader = ClauseReader(bot_question_words(), [text for _, text in known] + list(self._nudges.others))
                phrasings = {_whole(reader, text): kind.value for kind, text in known}
                others = [_whole(reader, text) for text in self._nudges.others]
                self._ready = reader, NearestPhrasing(phrasings, others, self._make_index)
            return self._ready

    def _make_index(self, lines: list[str]) -> LazyPhraseIndex:
        return LazyPhraseIndex(self._vectors, lines, self._path)


def _whole(reader: ClauseReader, text: str) -> str:
    return " ".join(word for clause in reader.clauses(text) for word in clause)


def _parts(clauses: list[Clause]) -> Iterator[Clause]:
    """Yield the sentence as a whole, and each of its clauses, that names the bot and the writer."""
    whole = tuple(word for clause in clauses for word in clause)
    for part in dict.fromkeys((whole, *clauses)):
        if (
            FEWEST_WORDS <= len(part) <= MOST_WORDS
            and _BOT & {*part}
            and (_SELF & {*part} or part[:2] == ("you", "are"))
        ):
            yield part
