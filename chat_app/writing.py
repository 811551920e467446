"""The drafts of one answer: prompt, model, score, and once more while the score is low.

    build the prompt -> stream -> score -> (name the weakest component, write again) -> ...

Chat turns and the answers of studies are written here alike. Nothing here knows about safety or storing: a caller asks
only for what is no crisis.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from chat_app.drafts import Drafts
from chat_app.records import Delta, DraftStarted, ModelSpec, Scored, Token, TurnEvent, Usage, Waiting, Whole
from chat_app.services import Services
from db.records import DraftStatus
from prompts.build import build_prompt
from prompts.records import Persona, Strategy

MOST_DRAFTS = 3
"""The first draft and at most two rewrites."""

History = Sequence[tuple[str, str]]
"""Earlier (message, reply) pairs, oldest first."""


async def write_drafts(
    services: Services,
    persona: Persona,
    strategy: Strategy,
    model: ModelSpec,
    history: History,
    text: str,
    improve_below: float | None,
    made: Drafts,
) -> AsyncGenerator[TurnEvent, None]:
    """Generate, score, and write again while the score is low. Fills `made` as it goes: a Stop loses nothing.

    `improve_below`: Empathy on 1..3 under which a draft is written again, or None for one draft only. Raises
    ModelFailure; the open draft is then still open in `made`.
    """
    guidance: str | None = None
    for number in range(1, MOST_DRAFTS + 1):
        prompt = build_prompt(
            persona,
            strategy,
            history,
            text,
            guidance=services.library.guidance[guidance] if guidance else None,
            context_tokens=model.context_tokens,
        )
        yield DraftStarted(number, guidance)
        made.begin(model, prompt, number, guidance)
        async with aclosing(services.models.stream(model, prompt)) as stream:
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
        yield Whole()
        loop, scorer, written = asyncio.get_running_loop(), services.scorer, made.ended[-1].text
        rated = await loop.run_in_executor(services.scoring, scorer.rated, text, written)
        score = rated.score
        made.rate(score)
        yield Scored(number, score)
        # The numbers are on the page before the words behind them are sought: a person waits for the first.
        made.rate(await loop.run_in_executor(services.scoring, scorer.evidenced, rated, written))
        if improve_below is None or score.empathy is None or score.empathy >= improve_below:
            return
        guidance = score.weakest
