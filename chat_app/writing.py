"""The drafts of one answer: prompt, model, score, and once more while the score is low.

    build the prompt -> stream -> score -> (name the weakest component, write again) -> ...

Chat turns and the answers of studies are written here alike. Nothing here knows about safety or storing: a caller asks
only for what is no crisis.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from chat_app.drafts import Drafts
from chat_app.records import Delta, DraftStarted, ModelSpec, Scored, Token, TurnEvent, Usage, Waiting, Whole
from chat_app.services import Services
from chat_app.window import fitted
from db.records import DraftStatus
from prompts.build import build_prompt
from prompts.history import Counter
from prompts.records import Persona, Prompt, Strategy
from scorer.records import EmpathyScore
from scorer.score import Rated

MOST_DRAFTS = 3
"""The first draft and at most two rewrites."""

History = Sequence[tuple[str, str]]
"""Earlier (message, reply) pairs, oldest first."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What one answer is made from."""

    persona: Persona
    strategy: Strategy
    model: ModelSpec
    history: History
    text: str
    """The message to answer."""
    improve_below: float | None
    """Empathy on 1..3 under which a draft is written again, or None for one draft only."""
    summary: str | None = None
    """Of what was told between the first turn of the history and the others."""


async def write_drafts(services: Services, asked: Asked, made: Drafts) -> AsyncGenerator[TurnEvent, None]:
    """Generate, score, and write again while the score is low. Fills `made` as it goes: a Stop loses nothing.

    Raises ModelFailure; the open draft is then still open in `made`.
    """
    guidance: str | None = None
    for number in range(1, MOST_DRAFTS + 1):
        yield DraftStarted(number, guidance)
        async with aclosing(_generate(services, asked, number, guidance, made)) as pieces:
            async for piece in pieces:
                yield piece
        yield Whole()
        rated = await _rate(services, asked.text, made)
        yield Scored(number, rated.score)
        # The numbers are on the page before the words behind them are sought: a person waits for the first.
        await _explain(services, rated, made)
        guidance = _weakness(asked, rated.score)
        if guidance is None:
            return


async def _generate(
    services: Services, asked: Asked, number: int, guidance: str | None, made: Drafts
) -> AsyncGenerator[TurnEvent, None]:
    """One draft, from its prompt to its end."""

    def build(count: Counter) -> Prompt:
        return build_prompt(
            asked.persona,
            asked.strategy,
            asked.history,
            asked.text,
            guidance=services.library.guidance[guidance] if guidance else None,
            summary=asked.summary,
            context_tokens=asked.model.context_tokens,
            count=count,
        )

    made_to_fit = await fitted(services.models, asked.model, build)
    made.begin(asked.model, made_to_fit.prompt, number, guidance)
    made_to_fit.check()
    async with aclosing(services.models.stream(asked.model, made_to_fit.prompt)) as stream:
        async for item in stream:
            match item:
                case Delta(piece):
                    made.add(piece)
                    yield Token(piece)
                case Waiting():
                    yield item
                case Usage():
                    made.usage = item
    made.end(DraftStatus.COMPLETE)


async def _rate(services: Services, message: str, made: Drafts) -> Rated:
    """The score of the draft that has just ended."""
    loop = asyncio.get_running_loop()
    rated = await loop.run_in_executor(services.scoring, services.scorer.rated, message, made.ended[-1].text)
    made.rate(rated.score)
    return rated


async def _explain(services: Services, rated: Rated, made: Drafts) -> None:
    """The same score with its evidence."""
    loop, written = asyncio.get_running_loop(), made.ended[-1].text
    made.rate(await loop.run_in_executor(services.scoring, services.scorer.evidenced, rated, written))


def _weakness(asked: Asked, score: EmpathyScore) -> str | None:
    """The component that a further draft aims at; None when this one is good enough, or has no score."""
    if asked.improve_below is None or score.empathy is None or score.empathy >= asked.improve_below:
        return None
    return score.weakest
