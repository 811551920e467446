"""The turns after a hand-off written by a larger model, where an operator allows one (`crisis_model`).

It reads these turns alone, under the prompt of prompts/safety/support_prompt.yaml. What it writes is shown when it is
whole and the guard has read it; it is never scored and never votable. Where there is nothing fit to show, or not soon
enough, the fixed turn stands.
"""

import asyncio
import logging
from contextlib import aclosing
from functools import cache

from heard.chat_app.conversation.answer_request import AnswerRequest
from heard.chat_app.conversation.drafting import write_drafts
from heard.chat_app.conversation.drafts import FIXED_TEXT, Drafts
from heard.chat_app.conversation.events import TurnRequest
from heard.chat_app.conversation.safety_texts import number_words
from heard.chat_app.conversation.services import Services
from heard.chat_app.conversation.standing import Standing
from heard.chat_app.models.records import ModelFailure
from heard.db.records import DraftStatus
from heard.prompts.policy_files import OFF
from heard.prompts.records import Persona, Strategy
from heard.prompts.safety_turn_files import SupportPrompt, load_support_prompt
from heard.prompts.variables import fill

LONGEST_WAIT = 20.0
"""Seconds for the whole text. Somebody who is not safe waits for it."""

log = logging.getLogger(__name__)


@cache
def support_prompt() -> SupportPrompt:
    """Return the prompt, read once. Raises PromptFileError."""
    return load_support_prompt()


async def supported_by_model(request: TurnRequest, services: Services, standing: Standing) -> Drafts | None:
    """Return the drafts of the setting's model, the last of them whole; None where the fixed turn is to stand.

    Never raises on a text; a cancellation is passed on.
    """
    model = services.models.specs[services.settings.crisis_model]
    prompt, drafts = support_prompt(), Drafts()
    words = number_words(services.support.of(None).texts, request.country, standing.danger)
    persona = Persona(
        id=request.persona.id,
        name=request.persona.name,
        description="",
        system=fill(prompt.system, words),
        user_template="{prompt}",
        max_tokens=prompt.max_tokens,
        order=0,
        starters=(),
    )
    answer = AnswerRequest(
        persona=persona,
        strategy=Strategy(name="", description=""),
        model=model,
        history=[(turn.message, turn.reply) for turn in standing.supported],
        text=request.text,
        policy=services.library.policies[OFF],
        examples=False,
        scored=False,
    )
    try:
        async with asyncio.timeout(LONGEST_WAIT), aclosing(write_drafts(services, answer, drafts)) as events:
            async for _ in events:
                pass
    except (ModelFailure, TimeoutError) as error:
        log.warning("the model of crisis_model gave no text: %s", type(error).__name__)
        return None
    last = drafts.ended[-1]
    whole = last.status is DraftStatus.COMPLETE and last.model != FIXED_TEXT
    return drafts if whole else None
