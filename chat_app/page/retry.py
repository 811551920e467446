"""A message that a fault left without its reply, sent once more: the button under the fault, and what it sends.

The browser only names the message. Its text comes from the page's own session or from the database.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from chainlit.session import WebsocketSession

from heard.chat_app.conversation.events import Failed, Refused, TurnRequest
from heard.chat_app.conversation.running_turns import Crashed, RunningTurn
from heard.chat_app.page.reopen import custom_element, derived_id
from heard.chat_app.page.runtime import current
from heard.chat_app.page.session_choices import emitter
from heard.db.errors import StoreError
from heard.db.records import MessageRecord, Outcome, ReplyRecord

ELEMENT = "HeardRetry"
"""File name below `public/elements/`, without its ending."""
LABEL = "Try again"
FAULTS = (Outcome.BROKEN, Outcome.INTERRUPTED, Outcome.PENDING)

_failed: "WeakKeyDictionary[WebsocketSession, TurnRequest]" = WeakKeyDictionary()
"""The newest message of a page that failed; the database may be what failed."""


async def offer(session: WebsocketSession, turn: RunningTurn) -> None:
    """Show the button under a reply that failed, and give a refused message back to the input."""
    request, page = turn.request, emitter()
    match turn.view.end:
        case Failed() | Crashed():
            _failed[session] = request
            await page.send_element(retry_element(session.thread_id, request.reply_id, request.message_id))
        case Refused():
            await page.send_window_message({"heard": "refused", "text": request.text})


def reopened(
    thread_id: str, messages: Sequence[MessageRecord], replies: Mapping[str, ReplyRecord]
) -> list[dict[str, Any]]:
    """Return the button of a reopened conversation whose last message a fault left without its reply; [] for others."""
    if not messages or messages[-1].outcome not in FAULTS:
        return []
    last = messages[-1].id
    under = replies[last].id if last in replies else derived_id(last, "interrupted")
    return [retry_element(thread_id, under, last)]


def retry_element(thread_id: str, under: str, message_id: str) -> dict[str, Any]:
    """Return the button as an element of the page, under the entry `under`; the same id every time."""
    return custom_element(
        derived_id(under, "retry"), thread_id, under, ELEMENT, {"message": message_id, "label": LABEL}
    )


async def text_to_retry(session: WebsocketSession, message_id: str) -> str | None:
    """Return the text of a message of this page's conversation that a fault left without its reply, else None."""
    kept = _failed.get(session)
    if kept is not None and kept.message_id == message_id:
        return kept.text
    try:
        messages = await current().services.store.messages(session.thread_id)
    except StoreError:
        return None
    found = (one.text for one in messages if one.id == message_id and one.outcome in FAULTS)
    return next(found, None)
