"""What a page asks about a talk: a thumb under each reply of a model, and once whether the person felt heard.

Both are Chainlit's own buttons ("actions") and are drawn from our tables, so they stand as they were given however
often a page is opened. Chainlit's thumbs need a step around each turn, which would write the person's words down twice.
In a blind study there is neither: beside a ballot they would be a second vote.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from chainlit.session import WebsocketSession

from heard.chat_app.common.ids import is_uuid
from heard.chat_app.conversation.drafts import FIXED_TEXT
from heard.chat_app.conversation.events import Finished
from heard.chat_app.conversation.running_turns import RunningTurn
from heard.chat_app.page.reopen import Step, derived_id, reply_step, timestamp
from heard.chat_app.page.runtime import current
from heard.chat_app.page.session_choices import current_session, emitter, participant_of
from heard.chat_app.page.wording import FELT_HEARD, FELT_HEARD_THANKS, NOTE_AVATAR, SYSTEM_AUTHOR
from heard.db.errors import StoreError
from heard.db.feedback import MOST_HEARD
from heard.db.feedback_store import FeedbackStore
from heard.db.records import DraftStatus, MessageRecord, Outcome, ReplyRecord

THUMB, HEARD = "heard_thumb", "heard_felt"
"""Names of the actions."""
_THUMBS = (
    (True, "Helpful", "Marked helpful", "thumbs-up"),
    (False, "Not helpful", "Marked not helpful", "thumbs-down"),
)
_ENDS = {1: "1 not at all", MOST_HEARD: f"{MOST_HEARD} fully"}

_asked: "WeakKeyDictionary[WebsocketSession, str]" = WeakKeyDictionary()
"""The conversation whose question stands open on a page."""


def is_models(reply: ReplyRecord) -> bool:
    """Return whether a model wrote all of the reply: no fixed text, and nothing that was stopped or broke off."""
    return reply.kept.status is DraftStatus.COMPLETE and reply.kept.model != FIXED_TEXT


class StoredTalk(NamedTuple):
    """A conversation as it is stored; `replies` and `ballots` are by message id."""

    messages: Sequence[MessageRecord]
    replies: Mapping[str, ReplyRecord]
    ballots: Collection[str]

    def rateable(self) -> list[ReplyRecord]:
        """Return the replies that may have a thumb."""
        return [
            self.replies[message.id]
            for message in self.messages
            if message.id in self.replies
            and message.id not in self.ballots
            and message.outcome is Outcome.ANSWERED
            and message.safety is None
            and is_models(self.replies[message.id])
        ]


async def show_after(turn: RunningTurn, session: WebsocketSession, *, asks: bool) -> None:
    """Show what belongs under the reply that a turn has ended with; with `asks` this page may ask the question."""
    page, end, request = current(), turn.view.end, turn.request
    if page.live_study is not None or not (isinstance(end, Finished) and end.votable and is_models(end.reply)):
        return
    await _show_thumbs(end.reply.id, None)
    if not asks or request.whose in page.services.unsaved_hand_offs:
        return
    try:
        ask = await _store().ask_heard(request.participant_id, request.conversation_id, request.message_id)
    except StoreError:
        return  # it is asked after another reply
    if ask:
        await _show_question(session, request.conversation_id)


async def show_reopened(session: WebsocketSession, talk: StoredTalk) -> None:
    """Show the same on a page that has just been reopened; the question only while nothing was said after it."""
    if current().live_study is not None or not talk.messages:
        return
    thread = session.thread_id
    try:
        given, felt = await _store().thumbs(thread), await _store().felt_heard(thread)
    except StoreError:
        return  # the page has been told
    for reply in talk.rateable():
        await _show_thumbs(reply.id, given.get(reply.kept.id))
    if felt is not None and felt.answered_at is None and felt.message_id == talk.messages[-1].id:
        await _show_question(session, thread)


async def fold_question(session: WebsocketSession) -> None:
    """Take an open question from the page: whoever goes on has skipped it."""
    if (thread := _asked.pop(session, None)) is not None:
        await emitter().delete_step(_question(thread))


async def take_thumb(payload: Any) -> None:
    """Store what a thumb says, and draw it so. What does not come from a page of ours is passed over."""
    session = current_session()
    match payload:
        case {"reply": str(reply_id), "up": bool() | None as up} if is_uuid(reply_id) and is_uuid(session.thread_id):
            pass
        case _:
            return
    reply = await current().services.store.reply(reply_id)
    if current().live_study is not None or reply is None or not is_models(reply):
        return
    try:
        await _store().save_thumb(participant_of(session), session.thread_id, reply_id, up)
    except StoreError as refusal:
        await emitter().send_toast(str(refusal), "error")
        return
    await _show_thumbs(reply_id, up)


async def take_answer(payload: Any) -> None:
    """Store whether the person felt heard, and thank them; a question that is skipped goes away."""
    session = current_session()
    thread = session.thread_id
    answer: Any = payload.get("answer", False) if isinstance(payload, dict) else False
    known = answer is None or (type(answer) is int and 1 <= answer <= MOST_HEARD)
    if not known or current().live_study is not None or not is_uuid(thread):
        return
    try:
        await _store().answer_heard(participant_of(session), thread, answer)
    except StoreError as refusal:
        await emitter().send_toast(str(refusal), "error")
        return
    _asked.pop(session, None)
    for action in _answers(thread):
        await emitter().emit("remove_action", action)
    if answer is None:
        await emitter().delete_step(_question(thread))
    else:
        await emitter().update_step(_question(thread, FELT_HEARD_THANKS.format(answer=answer)))


def _store() -> FeedbackStore:
    return FeedbackStore(current().services.store.engine)


async def _show_thumbs(reply_id: str, given: bool | None) -> None:
    for up, label, pressed, icon in _THUMBS:
        payload = {"reply": reply_id, "up": None if given is up else up}
        tooltip = "Take it back" if given is up else "This reply was " + label.lower()
        await show_action(page_action(THUMB, reply_id, icon, pressed if given is up else label, tooltip, payload, icon))


async def _show_question(session: WebsocketSession, thread: str) -> None:
    _asked[session] = thread
    await emitter().send_step(_question(thread))
    for action in _answers(thread):
        await show_action(action)


async def show_action(action: dict[str, Any]) -> None:
    """Add a button to the page, or draw one that it has anew, after all others."""
    # The page adds an action that it knows a second time.
    await emitter().emit("remove_action", action)
    await emitter().emit("action", action)


def _question(thread: str, text: str = FELT_HEARD) -> Step:
    at = timestamp(datetime.now(UTC))
    step = reply_step(derived_id(thread, "felt heard"), thread, author=SYSTEM_AUTHOR, text=text, created_at=at)
    return step | {"metadata": {"avatarName": NOTE_AVATAR}}


def _answers(thread: str) -> list[dict[str, Any]]:
    under = derived_id(thread, "felt heard")
    offered: list[tuple[int | None, str, str]] = [
        (number, _ENDS.get(number, str(number)), f"{number} of {MOST_HEARD}") for number in range(1, MOST_HEARD + 1)
    ]
    offered.append((None, "Skip", "Give no answer"))
    return [page_action(HEARD, under, label, label, tooltip, {"answer": answer}) for answer, label, tooltip in offered]


def page_action(
    name: str, under: str, key: str, label: str, tooltip: str, payload: dict[str, Any], icon: str | None = None
) -> dict[str, Any]:
    """Return a button under an entry of the page; `key` tells it from the others there."""
    return {
        "id": derived_id(under, key),
        "name": name,
        "payload": payload,
        "label": label,
        "tooltip": tooltip,
        "icon": icon,
        "forId": under,
    }
