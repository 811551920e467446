"""What the page shows of a person's safety beside the replies: the bar above the input, and the check-in's buttons.

`public/safety.js` draws the bar, `public/elements/HeardCheckIn.jsx` the buttons. A button only names itself to the
server, which says its text for the person: nothing of the text comes from the browser.
"""

import logging
import uuid
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

from chainlit.message import Message
from chainlit.session import WebsocketSession

from heard.chat_app.common.ids import is_uuid
from heard.chat_app.conversation.check_in import check_ins
from heard.chat_app.conversation.events import CrisisShown, Finished
from heard.chat_app.conversation.running_turns import TurnView
from heard.chat_app.conversation.standing import Standing
from heard.chat_app.page.reopen import timestamp
from heard.chat_app.page.runtime import current
from heard.chat_app.page.session_choices import choices_of, emitter, participant_of
from heard.chat_app.page.wording import PERSON
from heard.chat_app.safety.first_numbers import first_numbers
from heard.db.errors import StoreError
from heard.db.records import Safety
from heard.db.safety_history import SafetyHistory
from heard.prompts.safety_files import GENERAL
from heard.prompts.safety_turn_files import BarWords
from heard.prompts.variables import fill

HELP = "/help"

log = logging.getLogger(__name__)


def bar_props(words: BarWords, country: str | None, danger: str = GENERAL, *, safe: bool) -> dict[str, Any]:
    """Return what the bar shows: the country's first numbers for the danger as links, and unless `safe` the button.

    Without a country, or for one without such numbers, the link leads to the numbers of all.
    """
    first = first_numbers(country, danger)
    links = []
    if first and first.call:
        links.append({"label": fill(words.call, {"number": first.call.shown}), "href": first.call.link})
    if first and first.text:
        links.append({"label": fill(words.text, {"number": first.text.shown}), "href": first.text.link})
    return {
        "name": words.name,
        "links": links or [{"label": words.choose, "href": HELP}],
        "safe": None if safe else words.safe,
    }


def text_of_button(data: Any) -> str | None:
    """Return what a button of the page says for the person; None for anything else that a browser sends."""
    if not isinstance(data, dict) or data.get("heard") != "says":
        return None
    texts = check_ins()["en"]
    said = {
        "safe": current().services.support.of(None).texts.bar.message,
        "yes": texts.affirmed.message,
        "no": texts.denied.message,
    }
    what = data.get("what")
    return said.get(what) if isinstance(what, str) else None


def changes_bar(view: TurnView) -> bool:
    """Return whether the end of a turn brings the bar, or changes it."""
    end = view.end
    return isinstance(end, CrisisShown) or (isinstance(end, Finished) and end.safety is Safety.SAFE)


async def show_bar(session: WebsocketSession) -> None:
    """Show the bar on a page whose conversation has had a hand-off, and none on another."""
    services, whose = current().services, (participant_of(session), session.thread_id)
    unsaved = whose in services.unsaved_hand_offs
    try:
        known = is_uuid(session.thread_id)
        history = await services.store.safety_history(whose[1], whose[0]) if known else SafetyHistory()
    except StoreError as error:
        log.warning("a conversation could not be read for its bar: %s", type(error).__name__)
        history = SafetyHistory()
    standing = Standing(history, unsaved=unsaved)
    bar = None
    if standing.handed_off:
        words = services.support.of(None).texts.bar
        bar = bar_props(words, choices_of(session).country, standing.danger, safe=not standing.in_support)
    await emitter().send_window_message({"heard": "bar", "thread": session.thread_id, "bar": bar})


async def say_for_person(text: str, answer: Callable[[Message], Awaitable[None]]) -> None:
    """Say a text for the person, as if they had typed it, and `answer` it."""
    page = emitter()
    await page.task_start()
    try:
        at = timestamp(datetime.now(UTC))
        step = {
            "id": str(uuid.uuid4()),
            "name": PERSON,
            "type": "user_message",
            "output": text,
            "createdAt": at,
        }
        message = await page.process_message({"message": step, "fileReferences": []})
        await page.send_step(message.to_dict())
        await answer(message)
    finally:
        await page.task_end()
