"""The button under the last reply that has it written again, and what a press of it does.

Only a whole reply of a model has one, so nothing that stands where a hand-off, a fixed text or a ballot is.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from chainlit.session import WebsocketSession

from heard.chat_app.common.ids import is_uuid
from heard.chat_app.conversation.events import Finished, TurnRequest
from heard.chat_app.conversation.running_turns import RunningTurn
from heard.chat_app.conversation.writing_again import Again, write_again
from heard.chat_app.page.feedback import StoredTalk, is_models, page_action, show_action
from heard.chat_app.page.runtime import current
from heard.chat_app.page.session_choices import choices_of, current_session, emitter, participant_of
from heard.db.errors import StoreError
from heard.db.other_drafts import MOST_NUMBER
from heard.db.records import Outcome, ReplyRecord

AGAIN = "heard_again"
"""Name of the action."""
ROOM = 9
"""Numbers that one more time may take."""
NOT_THIS = "Only the last reply can be written again, and this one cannot. Send a new message instead."
GONE = "The persona, strategy or model of this reply is not here any more. Send your message again instead."
OFTEN = "This reply has been written again as often as can be kept. Send a new message instead."

_shown: "WeakKeyDictionary[WebsocketSession, str]" = WeakKeyDictionary()
"""The reply that has the button, on each page."""


async def show_after(turn: RunningTurn, session: WebsocketSession) -> None:
    """Show the button under the reply that a turn has ended with."""
    end = turn.view.end
    if current().live_study is None and isinstance(end, Finished) and end.votable and is_models(end.reply):
        await _show(session, end.reply.id)


async def show_reopened(session: WebsocketSession, talk: StoredTalk) -> None:
    """Show the button on a page that has just been reopened, unless a reply is being written."""
    page = current()
    last = last_reply(talk)
    if last is not None and page.live_study is None and page.turns.running(session.thread_id) is None:
        await _show(session, last.id)


async def fold(session: WebsocketSession) -> None:
    """Take the button from the page: the reply that has it will not be the last."""
    if (reply_id := _shown.pop(session, None)) is not None:
        await emitter().emit("remove_action", _button(reply_id))


async def redraw(session: WebsocketSession) -> None:
    """Show the button again where a page has it: after the others that were drawn anew."""
    if (reply_id := _shown.get(session)) is not None:
        await _show(session, reply_id)


def last_reply(talk: StoredTalk) -> ReplyRecord | None:
    """Return the reply that may be written again: the last one, if it may have a thumb; messages that were not taken
    do not count."""
    taken = [message for message in talk.messages if message.outcome is not Outcome.REFUSED]
    found = talk._replace(messages=taken[-1:]).rateable()
    return found[0] if found else None


async def take_again(payload: Any, follow: Callable[[RunningTurn, WebsocketSession], Awaitable[None]]) -> None:
    """Have the last reply written again and `follow` that; a sentence says why it cannot be, or was not."""
    session, page = current_session(), current()
    reply_id = payload.get("reply") if isinstance(payload, dict) else None
    if not isinstance(reply_id, str) or not is_uuid(reply_id) or not is_uuid(session.thread_id):
        return
    asked = await _request(session, reply_id)
    if isinstance(asked, str):
        await emitter().send_toast(asked, "error")
        return
    request, again = asked
    turn = page.turns.begin(request, partial(write_again, services=page.services, again=again))
    if turn is None:
        await emitter().send_toast("A reply is still being written in this conversation. Wait until it ends.", "error")
        return
    await emitter().task_start()
    try:
        await fold(session)
        await follow(turn, session)
        if again.fault:
            await emitter().send_toast(again.fault, "warning")
    finally:
        await emitter().task_end()


async def _request(session: WebsocketSession, reply_id: str) -> tuple[TurnRequest, Again] | str:
    """Return what is to be written, or the sentence that says why nothing is."""
    page, whose = current(), (participant_of(session), session.thread_id)
    services, chosen = page.services, choices_of(session)
    try:
        if await services.store.conversation_owner(whose[1]) != whose[0]:
            return NOT_THIS
        messages = [one for one in await services.store.messages(whose[1]) if one.replaced_by is None]
        replies = await services.store.replies(whose[1])
        ballots = {ballot.message_id for ballot, _ in await services.studies.ballots_of_conversation(whose[1])}
    except StoreError as error:
        return str(error)
    reply = last_reply(StoredTalk(messages, replies, {one for one in ballots if one}))
    if page.live_study is not None or whose in services.unsaved_hand_offs or reply is None or reply.id != reply_id:
        return NOT_THIS
    if len(reply.drafts) + ROOM > MOST_NUMBER:
        return OFTEN
    persona, strategy = services.library.personas.get(reply.persona), services.library.strategies.get(reply.strategy)
    model = services.models.specs.get(reply.kept.fallback_for or reply.kept.model)
    if persona is None or strategy is None or model is None:
        return GONE
    text = next(message.text for message in messages if message.id == reply.message_id)
    request = TurnRequest(
        participant_id=whose[0],
        conversation_id=whose[1],
        message_id=reply.message_id,
        reply_id=reply.id,
        text=text,
        persona=persona,
        strategy=strategy,
        model=model,
        live_scores=chosen.live_scores,
        auto_improve=chosen.auto_improve,
        threshold=chosen.threshold,
        country=chosen.country,
    )
    return request, Again(reply)


async def _show(session: WebsocketSession, reply_id: str) -> None:
    _shown[session] = reply_id
    await show_action(_button(reply_id))


def _button(reply_id: str) -> dict[str, Any]:
    tooltip = "The same settings, another draft; this one is kept in your data"
    return page_action(AGAIN, reply_id, "again", "Write another", tooltip, {"reply": reply_id}, "refresh-cw")
