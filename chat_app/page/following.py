"""Draw a turn on a page until it is over, and what belongs under its reply; also on a page that is opened meanwhile."""

import asyncio
from datetime import UTC, datetime

import chainlit as cl
from chainlit.session import WebsocketSession

from heard.chat_app.conversation.running_turns import RunningTurn
from heard.chat_app.page import again, faces, feedback, reopen, retry, safety_page
from heard.chat_app.page.chainlit_output import ChainlitOutput
from heard.chat_app.page.reply_renderer import ReplyRenderer
from heard.chat_app.page.runtime import current
from heard.chat_app.page.session_choices import choices_of, emitter
from heard.chat_app.page.talk_notes import TalkNotes

REOPEN_SECONDS = 0.05
"""Pause before a reopened page is drawn on: Chainlit sends the conversation right after `on_chat_resume` returns."""

_following: set[tuple[str, str]] = set()
"""(session, reply) pairs that are being drawn, so that no page gets the same token twice."""


async def follow(turn: RunningTurn, session: WebsocketSession, *, saves_history: bool, reopened: bool = False) -> None:
    """Draw a turn on a page until it is over. One page of each turn `saves_history`."""
    key = (session.id, turn.request.reply_id)
    if key in _following:
        await turn.wait()
        return
    _following.add(key)
    try:
        cards = choices_of(session).live_scores and turn.request.live_scores
        reply = cl.Message(
            content="",
            id=turn.request.reply_id,
            author=turn.request.persona.name,
            created_at=reopen.timestamp(datetime.now(UTC)),
        )
        page = ChainlitOutput(session, emitter, reply, message_id=turn.request.message_id, saves_history=saves_history)
        renderer = ReplyRenderer(page, cards=cards, reopened=reopened)
        notes = TalkNotes(turn, current(), emitter, nudges=saves_history and not reopened)
        known = faces.of_personas(current())
        async for view in turn.views():
            reply.metadata = {"avatarName": faces.face_of_turn(turn, known)}
            await notes.before(view)
            await renderer.draw(view)
        if safety_page.changes_bar(turn.view):
            await safety_page.show_bar(session)
        nudged = await notes.after()
        if not reopened:
            await retry.offer(session, turn)
        await feedback.show_after(turn, session, asks=saves_history and not nudged)  # one thing at a time
        await again.show_after(turn, session)
    finally:
        _following.discard(key)


async def follow_reopened(turn: RunningTurn, session: WebsocketSession) -> None:
    """Show the rest of a running turn on a page that was opened meanwhile."""
    await asyncio.sleep(REOPEN_SECONDS)
    await follow(turn, session, saves_history=False, reopened=True)
    await emitter().task_end()


async def show_reopened(session: WebsocketSession, talk: feedback.StoredTalk) -> None:
    """Show the buttons under the replies of a reopened page."""
    await asyncio.sleep(REOPEN_SECONDS)
    await feedback.show_reopened(session, talk)
    await again.show_reopened(session, talk)
