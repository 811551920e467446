"""The scorer as a LangChain Runnable, to stand in a chain or a graph of somebody else's.

    {"seeker": RunnablePassthrough(), "reply": prompt | model} | EmpathyRunnable.load()

A text that reads like a crisis gets the status CRISIS and no numbers, as with `heard score`; what such a message is
answered with stays the chain's own matter. What it is given goes to the callbacks and tracers of the chain, as with
every part of one.
"""

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig

from heard.chat_app.integrations.open_scorer import open_scorer
from heard.chat_app.safety.checked_score import checked_score
from heard.scorer.records import EmpathyScore
from heard.scorer.score import Scorer

Given = str | BaseMessage | Mapping[str, Any]
"""A reply as text or message; or {"seeker", "reply", "earlier"}, texts or messages, where all but the reply may be
left out. "earlier" is a list of what the seeker wrote before, the newest last."""

SHAPES = 'Give a text, a message, or {"seeker": ..., "reply": ..., "earlier": [...]} of texts or messages.'


class RunnableInputError(TypeError):
    """An input of another kind than `Given`; `str()` names the kind and never repeats the text."""


class EmpathyRunnable(Runnable[Given, EmpathyScore]):
    """Rates a reply. For plain values instead of a record, go on with `| heard.scorer.score_json.as_json`.

    All its calls, `batch` and async ones included, are rated one after the other in one thread of its own: the event
    loop is never held up, and a long batch takes no more than its share of the processor.
    """

    def __init__(self, scorer: Scorer) -> None:
        self.scorer = scorer
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="empathy")

    @classmethod
    def load(cls, head: str = "", *, threads: int = 1) -> Self:
        """Open the scorer as `open_scorer` does, with its errors. Blocking, about a second."""
        return cls(open_scorer(head, threads=threads))

    def invoke(self, input: Given, config: RunnableConfig | None = None, **kwargs: Any) -> EmpathyScore:
        """Rate one reply. Raises RunnableInputError."""
        return self._call_with_config(self._rate, input, config, **kwargs)

    async def ainvoke(self, input: Given, config: RunnableConfig | None = None, **kwargs: Any) -> EmpathyScore:
        """Rate one reply while the event loop goes on. Raises RunnableInputError."""
        return await self._acall_with_config(self._arate, input, config, **kwargs)

    def _rate(self, given: Given) -> EmpathyScore:
        return self._thread.submit(checked_score, self.scorer, *texts_of(given)).result()

    async def _arate(self, given: Given) -> EmpathyScore:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, checked_score, self.scorer, *texts_of(given))


def texts_of(given: Given) -> tuple[str, str, list[str]]:
    """(seeker, reply, earlier) in an input; the seeker is "" when it is not told. Raises RunnableInputError."""
    if not isinstance(given, Mapping):
        return "", _text(given, "The input"), []
    if "reply" not in given or not set(given) <= {"seeker", "reply", "earlier"}:
        raise RunnableInputError(f"The input has other keys than those that are known. {SHAPES}")
    earlier = given.get("earlier", [])
    if not isinstance(earlier, list):
        raise RunnableInputError(f'"earlier" is not a list. {SHAPES}')
    said = [_text(text, 'A text of "earlier"') for text in earlier]
    return _text(given.get("seeker", ""), '"seeker"'), _text(given["reply"], '"reply"'), said


def _text(value: object, what: str) -> str:
    if isinstance(value, BaseMessage):
        return str(value.text)
    if not isinstance(value, str):
        raise RunnableInputError(f"{what} is of the kind {type(value).__name__}. {SHAPES}")
    return value
