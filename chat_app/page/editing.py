"""The last message, edited: its new text is a message of its own, read for danger like any other, in its place.

The old message and its reply stay in our tables, marked; a page that is reopened does not show them.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from chainlit.session import WebsocketSession

from heard.chat_app.common.ids import is_uuid
from heard.chat_app.page.runtime import current
from heard.chat_app.page.session_choices import emitter, participant_of
from heard.db.edited_messages import OPEN_ENDS
from heard.db.errors import StoreError
from heard.db.records import MessageRecord, Outcome, ReplyRecord


async def editable(session: WebsocketSession, payload: Any) -> MessageRecord | None:
    """Return the message that the browser has edited, with its new text; None if it cannot be edited."""
    page, thread = current(), session.thread_id
    match payload:
        case {"message": {"id": str(message_id), "output": str(text)}} if is_uuid(thread):
            pass
        case _:
            return None
    services, whose = page.services, (participant_of(session), thread)
    if page.live_study is not None or whose in services.unsaved_hand_offs or page.turns.running(thread) is not None:
        return None
    try:
        if await services.store.conversation_owner(thread) != whose[0]:
            return None
        taken = [one for one in await services.store.messages(thread) if one.outcome is not Outcome.REFUSED]
    except StoreError:
        return None
    last = taken[-1] if taken else None
    if last is None or last.id != message_id or last.safety is not None or last.outcome.value not in OPEN_ENDS:
        return None
    return replace(last, text=text)


async def take_from_page(session: WebsocketSession, old: MessageRecord) -> None:
    """Take the old message and its reply from the page; notes under them the page has removed itself."""
    replies = await current().services.store.replies(session.thread_id)
    for id_ in (old.id, *([replies[old.id].id] if old.id in replies else [])):
        await emitter().delete_step({"id": id_})


async def was_replaced(thread_id: str, message_id: str) -> bool:
    """Return whether a message has been replaced: not if the new text was refused."""
    try:
        messages = await current().services.store.messages(thread_id)
    except StoreError:
        return False
    return any(message.id == message_id and message.replaced_by is not None for message in messages)


def without_replaced(
    thread: Any, replies: Mapping[str, ReplyRecord], messages: list[MessageRecord]
) -> tuple[dict[str, ReplyRecord], list[MessageRecord]]:
    """Return what a reopened page shows; the entries of the rest are taken out of the `thread`."""
    gone = {message.id for message in messages if message.replaced_by is not None}
    hidden = gone | {reply.id for message_id, reply in replies.items() if message_id in gone}
    thread["steps"] = [step for step in thread.get("steps") or [] if step["id"] not in hidden]
    kept = {message_id: reply for message_id, reply in replies.items() if message_id not in gone}
    return kept, [message for message in messages if message.id not in gone]
