"""A language model as judge: it reads one exchange and answers with numbers. What it reads may leave this machine."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing

from heard.chat_app.models.client import Models
from heard.chat_app.models.records import Delta, ModelFailure, ModelSpec, Rethought, Usage
from heard.chat_app.rating.judge_answer import UnusableAnswer, numbers_of
from heard.prompts.judge_file import JudgeInstructions, build_judge_prompt
from heard.prompts.records import Prompt
from heard.scorer.other_rater import JUDGE, Label
from heard.scorer.records import EmpathyScore, ScoreStatus
from heard.scorer.relevance import LOOKED_BACK
from heard.scorer.text import REASONS, language_status, read, visible


class LlmJudge:
    """A model of models.toml as a `Rater`, called as the chat calls it: with its limits, its breaker and its retries.

    It looks for no crisis by itself: let nobody have it but through `CheckedRater`.
    """

    def __init__(
        self, models: Models, spec: ModelSpec, instructions: JudgeInstructions, loop: asyncio.AbstractEventLoop
    ) -> None:
        """`loop` is the one that `models` belongs to. It runs in another thread than those that ask for scores."""
        self.label = Label(JUDGE + spec.id, instructions.sha256, "")
        self._models, self._spec, self._instructions, self._loop = models, spec, instructions, loop

    def score(self, seeker: str, reply: str, earlier: Sequence[str] = ()) -> EmpathyScore:
        """Rate `reply` as a `Rater` does; UNRATED where the call fails, or the answer is not the JSON asked for."""
        reading = read(reply)
        status = language_status(seeker, reading.status)
        if status in REASONS:
            return self.label.unscored(status, REASONS[status])
        before = [visible(text) for text in earlier[-LOOKED_BACK + 1 :]]
        prompt = build_judge_prompt(self._instructions, visible(seeker), reading.text, before)
        asked = asyncio.run_coroutine_threadsafe(self._ask(prompt), self._loop)
        try:
            return self.label.scored(numbers_of(asked.result()))
        except (ModelFailure, UnusableAnswer) as failure:
            return self.label.unscored(ScoreStatus.UNRATED, str(failure))

    def score_many(self, pairs: Sequence[tuple[str, str]]) -> list[EmpathyScore]:
        """`score` for each (seeker, reply), in order, one after the other."""
        return [self.score(seeker, reply) for seeker, reply in pairs]

    async def _ask(self, prompt: Prompt) -> str:
        """The model's whole answer. Raises ModelFailure, or UnusableAnswer for one that was cut."""
        pieces: list[str] = []
        async with aclosing(self._models.stream(self._spec, prompt)) as stream:
            async for item in stream:
                if isinstance(item, Delta):
                    pieces.append(item.text)
                elif isinstance(item, Rethought):
                    pieces.clear()
                elif isinstance(item, Usage) and item.cut:
                    raise UnusableAnswer(f"The judge's answer was longer than {prompt.max_tokens} tokens.")
        return "".join(pieces)
