"""heard's score card under the replies of another Chainlit app.

    @cl.on_message
    @score_replies
    async def answer(message: cl.Message) -> None:
        await cl.Message("That sounds so hard. What happened?").send()

Import it at the top of the app: from then on that app's server hands out the card's two files itself (`card_files.py`),
so nothing is copied into its `public/` folder. Scores are shown and nothing else: neither stored nor logged here.

It is no crisis service. An exchange that reads like a crisis gets a card without a score, and what such a message is
answered with stays the app's own matter (`crisis_check.check`, `handoff.handoff` and `handoff_pages.as_markdown` of
`heard.chat_app.safety` can be used for it).
"""

import asyncio
import inspect
import itertools
import uuid
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache, wraps
from typing import Any, ParamSpec

import chainlit as cl
from chainlit.chat_context import chat_context
from chainlit.server import app as chainlit_server
from chainlit.session import WebsocketSession

from heard.chat_app.integrations.card_files import ELEMENT, STYLESHEET, hand_out
from heard.chat_app.integrations.open_scorer import open_scorer
from heard.chat_app.page import score_card
from heard.chat_app.safety import crisis_check
from heard.chat_app.safety.assessment import assess
from heard.scorer.relevance import LOOKED_BACK
from heard.scorer.score import Scorer

CRISIS = "This exchange reads like a crisis, and that is not rated. Please talk to people who can help, now."

P = ParamSpec("P")
_thread = ThreadPoolExecutor(1, thread_name_prefix="score-card")
"""Ratings one after the other, off the event loop."""

hand_out(chainlit_server)


@cache
def _scorer() -> Scorer:
    return open_scorer()


def score_replies(answer: Callable[P, Any]) -> Callable[P, Coroutine[Any, Any, None]]:
    """Decorate the function under `@cl.on_message`: what it sends gets a card each, when it has returned.

    Opens the scorer now, so that a fault shows when the app starts and not under the first reply: SettingsError,
    WeightsError or ScorerError, each with a plain sentence.
    """
    _scorer()

    @wraps(answer)
    async def scored(*args: P.args, **kwargs: P.kwargs) -> None:
        known = {message.id for message in chat_context.get()}
        result = answer(*args, **kwargs)
        if inspect.isawaitable(result):
            await result
        for message in chat_context.get():
            if message.id not in known and message.type == "assistant_message" and message.content.strip():
                await show_score(message)

    return scored


async def show_score(reply: cl.Message, seeker: str | None = None) -> None:
    """Rate a message that has been sent and put the card under it; a second call changes the card.

    seeker: what it answers; by default the last thing that the person wrote before it. Does nothing where there is no
    page to show a card on (Slack, Discord, Teams). The first call of all opens the scorer, as `score_replies` does.
    """
    if not isinstance(cl.context.session, WebsocketSession):
        return
    *earlier, asked = _said_before(reply) if seeker is None else [seeker]
    props = await asyncio.get_running_loop().run_in_executor(_thread, _props, asked, reply.content, earlier)
    element: Any = cl.CustomElement(name=ELEMENT, props=props, id=str(uuid.uuid5(uuid.NAMESPACE_URL, reply.id)))
    await element.send(for_id=reply.id)


def _said_before(reply: cl.Message) -> list[str]:
    """The person's messages before `reply`, the one that it answers last; [""] when they have not said anything."""
    messages = list(itertools.takewhile(lambda message: message.id != reply.id, chat_context.get()))
    return [message.content for message in messages if message.type == "user_message"] or [""]


def _props(seeker: str, reply: str, earlier: Sequence[str]) -> dict[str, Any]:
    if assess(seeker).crisis or crisis_check.check(reply).crisis:
        score = replace(_scorer().explain("", ""), reason=CRISIS)
    else:
        told = [text for text in earlier[-LOOKED_BACK + 1 :] if not assess(text).crisis]
        score = _scorer().explain(seeker, reply, told)
    return {**score_card.card_props(score, reply), "stylesheet": STYLESHEET}
