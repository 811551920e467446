"""Which examples go before a message: the exchanges of the persona's file that are nearest to it.

They are picked by the first message of a conversation and stay the same in all of it. A model reads them once then,
because an engine keeps what two prompts have in common at their beginning: the embedded one reads about fifty tokens a
second on two cores, and other examples for every message would cost seconds before every reply.
"""

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from heard.chat_app.conversation.answer_request import AnswerRequest
from heard.chat_app.models.records import FailureKind, ModelFailure
from heard.prompts.example_files import Example, always_shown
from heard.scorer.errors import ScorerError
from heard.scorer.records import ScoreStatus
from heard.scorer.text import read
from heard.scorer.text_index import TextIndex
from heard.scorer.vectors import FEWEST_WORDS, LONGEST, Vectors

BUDGET = 640
"""Characters of all near examples together: about 160 tokens of English, which the embedded model reads in 3 s.
Characters and not tokens, so that one message gets the same examples whichever model answers: the arms of a study are
compared, and a count for a server errs high by half. Whether they fit the model's window is counted in its tokens."""
MOST_TURNS = 2
"""Of one example; a longer one would push the others out."""
OPENING_WORDS = 2
"""No two replies may begin with the same words, or the model takes them for a formula."""
LENGTH_COST = 0.02
"""Of nearness for every 100 characters: of two that are about equally near the shorter one is read sooner, and leaves
room for a third."""
FURTHEST = 0.3
"""Of nearness behind the nearest: one further away has little to do with the message, and none is better."""

_WORD = re.compile(r"[\w'’]+")


class ExamplePicker:
    """Picks examples. Blocking: call it from a worker thread; threads may share it."""

    def __init__(self, vectors: Callable[[], Vectors], cache_dir: Path) -> None:
        """`vectors` are asked for at the first message; what is read of the examples is kept in `cache_dir`."""
        self._open, self._folder = vectors, cache_dir / "examples"
        self._indices: dict[str, tuple[tuple[Example, ...], TextIndex]] = {}
        self._lock = threading.Lock()

    def pick(self, name: str, examples: tuple[Example, ...], message: str, number: int) -> tuple[Example, ...]:
        """Those of the file `name` that go before every message, and at most `number` more, 0..4, that are near to this
        one: the nearest last, just before it.

        None for a message that is not English: the encoder reads English only, and English examples would draw the
        reply into that language. The first call for a file that was never read takes a second or two. Raises
        ScorerError if the encoder cannot be opened.
        """
        if number == 0 or not examples or _is_foreign(message):
            return ()
        nearness = self._index(name, examples).nearness(message)
        near = [
            place
            for place, value in enumerate(nearness)
            if value >= nearness.max() - FURTHEST and not examples[place].always
        ]
        values = {
            place: round(float(nearness[place]) - LENGTH_COST * examples[place].characters / 100, 2) for place in near
        }
        order = sorted(near, key=lambda place: (-values[place], examples[place].characters, place))
        nearest = _together([examples[place] for place in order], number)
        return (*always_shown(examples), *reversed(nearest))

    def _index(self, name: str, examples: tuple[Example, ...]) -> TextIndex:
        with self._lock:  # whoever comes while they are read waits for it, and does not read them again
            held = self._indices.get(name)
            if held is None or held[0] is not examples:
                texts, kinds = [one.turns[0].said for one in examples], [one.kind for one in examples]
                index = TextIndex.open(self._open(), texts, kinds, self._folder / f"{name}.npz")
                held = self._indices[name] = (examples, index)
            return held[1]


def _together(candidates: Sequence[Example], number: int) -> list[Example]:
    """The first `number` of the candidates that are short enough together and begin differently."""
    kept: list[Example] = []
    left, openings = BUDGET, set[tuple[str, ...]]()
    for example in candidates:
        begins = [opening(turn.reply) for turn in example.turns]
        if len(example.turns) > MOST_TURNS or example.characters > left or not openings.isdisjoint(begins):
            continue
        kept.append(example)
        left, openings = left - example.characters, {*openings, *begins}
        if len(kept) == number:
            break
    return kept


def opening(reply: str) -> tuple[str, ...]:
    """The first words of a reply, in small letters and without marks."""
    return tuple(_WORD.findall(reply.casefold())[:OPENING_WORDS])


def _is_foreign(message: str) -> bool:
    """Whether a message is in another language than English; a word or two in Latin letters may be anything."""
    start = message[:LONGEST]
    return read(start).status is ScoreStatus.NOT_ENGLISH and not (start.isascii() and len(start.split()) < FEWEST_WORDS)


def examples_for(
    picker: ExamplePicker | None, files: Mapping[str, tuple[Example, ...]], request: AnswerRequest
) -> tuple[Example, ...]:
    """The examples that go before the message of a request, picked by the conversation's first message. Blocking.

    Raises ModelFailure if the encoder cannot be opened: without them the reply would stand under another condition.
    """
    persona = request.persona
    if picker is None or not request.examples or not persona.examples or request.model.adapter is not None:
        return ()
    first = request.history[0][0] if request.history else request.text
    try:
        return picker.pick(persona.examples_of, files.get(persona.examples_of, ()), first, persona.examples)
    except ScorerError as error:
        raise ModelFailure(FailureKind.UNREACHABLE, str(error)) from None
