"""The chat page: Chainlit's callbacks. They show the events of a turn and decide nothing; `turn.py` decides.

Loaded by the server by its path (`mount_chainlit`), so it gets its services from `runtime.current()`.
"""

import asyncio
import json
import uuid
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, cast
from weakref import WeakKeyDictionary

import chainlit as cl
from chainlit.config import config
from chainlit.context import init_ws_context
from chainlit.data import get_data_layer
from chainlit.server import sio
from chainlit.session import WebsocketSession
from chainlit.types import ThreadDict

from heard.chat_app.common.background import in_background
from heard.chat_app.common.ids import is_uuid
from heard.chat_app.common.places import DISCLOSURE, in_force
from heard.chat_app.conversation.drafts import FIXED_TEXT
from heard.chat_app.conversation.events import TurnRequest
from heard.chat_app.conversation.running_turns import Events
from heard.chat_app.conversation.turn import run_turn
from heard.chat_app.page import (
    again,
    chat_settings,
    editing,
    faces,
    feedback,
    menu,
    reopen,
    retry,
    safety_page,
    wording,
)
from heard.chat_app.page.chainlit_patches import mute_profiles_warning, replace_callbacks, replace_socket_handlers
from heard.chat_app.page.chat_settings import ChoiceError, Choices
from heard.chat_app.page.data_layer import HeardDataLayer
from heard.chat_app.page.following import follow, follow_reopened, show_reopened
from heard.chat_app.page.guarding import guarded, send_notice
from heard.chat_app.page.reopen_ballots import ballot_entries
from heard.chat_app.page.runtime import current
from heard.chat_app.page.session_choices import (
    choices_of,
    current_offer,
    current_session,
    emitter,
    participant_of,
    set_choices,
    show_panel,
    visible_choices,
)
from heard.chat_app.page.talk_notes import with_notes
from heard.chat_app.safety.crisis_numbers import countries
from heard.chat_app.studies.ballot_turn import run_ballot_turn
from heard.chat_app.studies.ballot_view import entry_id
from heard.chat_app.studies.live_study import neutral_persona
from heard.db.store import StoreError
from heard.db.study_records import WIDTHS

mute_profiles_warning()

_saved: "WeakKeyDictionary[WebsocketSession, Choices]" = WeakKeyDictionary()
_widths: "WeakKeyDictionary[WebsocketSession, str]" = WeakKeyDictionary()


# --- who, and with what ---------------------------------------------------------------------------------------------


@cl.data_layer
def data_layer() -> HeardDataLayer:
    """Return Chainlit's data layer on our database."""
    services = current().services
    return HeardDataLayer(services.store, services.reading, services.settings.message_limit)


@cl.header_auth_callback
async def participant(headers: Mapping[str, str]) -> cl.User | None:
    """Return the visitor of the signed cookie; None without consent to the chat."""
    page = current()
    participant_id = page.identity.participant_from_headers(headers)
    if participant_id is None:
        return None
    consent = await page.services.store.latest_consent(participant_id)
    return cl.User(identifier=participant_id, display_name="You") if consent and consent.chat else None


@cl.set_chat_profiles
async def personas(user: cl.User | None) -> list[cl.ChatProfile]:
    """Return a chat profile for each persona on a person's menu, in its order."""
    on_menu = await menu.personas_for(user.identifier if user else "")
    return [
        cl.ChatProfile(
            name=persona.id,
            display_name=persona.name,
            markdown_description=wording.introduction(
                persona, (DISCLOSURE, *in_force(current().services.settings).persona)
            ),
            icon=faces.icon_of(persona, current().live_study),
            default=place == 0,
            starters=[cl.Starter(label=starter.label, message=starter.message) for starter in persona.starters],
        )
        for place, persona in enumerate(on_menu)
    ]


# --- settings -------------------------------------------------------------------------------------------------------


@guarded
async def on_settings(values: dict[str, Any]) -> None:
    """Apply the panel's values from the next message on; refuse invalid ones with a sentence."""
    session = current_session()
    try:
        set_choices(session, chat_settings.updated_choices(choices_of(session), values, current_offer()))
    except ChoiceError as refusal:
        await emitter().send_toast(str(refusal), "error")
        await show_panel(session)
    # Chainlit has already put the browser's raw values here, and would write them down.
    session.chat_settings = visible_choices(session)
    save_choices(session)
    await safety_page.show_bar(session)


def save_choices(session: WebsocketSession) -> None:
    """Store persona and choices with the conversation, so that they are kept when it is reopened."""
    chosen = choices_of(session)
    layer = cast(Any, get_data_layer)()
    if session.has_first_interaction and _saved.get(session) != chosen:
        _saved[session] = chosen
        metadata = {"chat_profile": session.chat_profile, "chat_settings": visible_choices(session)}
        in_background(layer.update_thread(thread_id=session.thread_id, metadata=metadata))


# --- conversations --------------------------------------------------------------------------------------------------


@guarded
async def on_chat_start() -> None:
    """Set up a new page. Chainlit may call it twice for one session, so it is idempotent."""
    session = current_session()
    if menu.persona_of(session) is None:
        await send_notice(wording.NO_PERSONA)
    await show_panel(session)
    await safety_page.show_bar(session)


@guarded
async def on_chat_resume(thread: ThreadDict) -> None:
    """Reopen a conversation of this participant (Chainlit has checked that)."""
    session, page = current_session(), current()
    stored: Any = thread.get("metadata") or {}
    metadata = json.loads(stored) if isinstance(stored, str) else stored
    await page.turns.wait_until_stored(thread["id"])
    turn = page.turns.running(thread["id"])
    try:
        replies = await page.services.store.replies(thread["id"])
        messages = await page.services.store.messages(thread["id"])
        replies, messages = editing.without_replaced(thread, replies, messages)
        messages = await asyncio.to_thread(reopen.with_dangers, messages, page.services.settings.message_limit)
        ballots = await ballot_entries(page.services, participant_of(session), thread["id"], messages, replies)
    except StoreError as fault:
        replies, messages, ballots = {}, [], {}
        await emitter().send_toast(str(fault), "error")
    # The page's history does not hold the model, our tables do.
    asides = {message.id for message in messages if message.safety}  # no model of the person's choice wrote them
    models = [
        reply.kept.model
        for message_id, reply in replies.items()
        if reply.kept.model != FIXED_TEXT and message_id not in asides
    ]
    kept = ({"model": models[-1]} if models else {}) | (metadata.get("chat_settings") or {})
    set_choices(session, chat_settings.restored_choices(choices_of(session), kept, current_offer()))
    session.chat_settings = visible_choices(session)
    profile, blind = menu.persona_of(session), neutral_persona(page.services.library)
    neutral = blind.name
    thread["metadata"] = {"chat_profile": profile.id if profile else None, "chat_settings": session.chat_settings}

    names = {key: neutral if page.live_study else one.name for key, one in page.services.library.personas.items()}
    names[blind.id] = neutral  # of fixed texts that a blind study's page has shown
    steps = reopen.merge_replies(
        cast(list[reopen.Step], thread.get("steps") or []),
        thread["id"],
        replies,
        names,
        messages=messages,
        running=turn.request.message_id if turn else None,
        country=choices_of(session).country,
        ballots=ballots,
        ballot_author=neutral,
        faces=faces.of_personas(page),
    )
    steps = with_notes(steps, thread["id"], messages, replies, page)
    chosen = choices_of(session)
    under = reopen.page_elements(
        thread["id"],
        replies,
        ballots,
        scores=chosen.live_scores,
        messages=messages,
        country=chosen.country,
        check_in=reopen.open_check_in(messages, replies) if turn is None else None,
    )
    if turn is None:
        under += retry.reopened(thread["id"], messages, replies)
    thread["elements"] = cast(Any, under)

    if turn is not None and turn.request.participant_id == participant_of(session):
        if turn.view.started:
            steps.append(reopen.running_step(turn, thread["id"], faces.of_personas(page)))
        in_background(follow_reopened(turn, session))
    in_background(show_reopened(session, feedback.StoredTalk(messages, replies, ballots)))
    thread["steps"] = cast(Any, steps)
    await show_panel(session)
    await safety_page.show_bar(session)


# --- one message ----------------------------------------------------------------------------------------------------


@guarded
async def on_message(message: cl.Message) -> None:
    """Answer one message, and return when the page shows the end of the reply."""
    await answer(message)


async def answer(message: cl.Message, *, replaces: str | None = None) -> None:
    """Answer a message, one that an edit `replaces` another with too."""
    session, page = current_session(), current()
    await feedback.fold_question(session)
    await again.fold(session)
    persona = menu.persona_of(session)  # looks for edited files, for all of this turn
    running = page.turns.running(session.thread_id)
    belongs_to_other = running is not None and running.request.participant_id != participant_of(session)
    why: str | None = None
    if persona is None:
        # Any persona will do for a refusal or a hand-off.
        persona, why = next(iter(page.services.library.personas.values())), wording.NO_PERSONA
    if belongs_to_other or not is_uuid(session.thread_id):
        why = wording.NOT_YOURS
    chosen, services = choices_of(session), page.services
    strategy = services.library.strategies.get(chosen.strategy)
    if strategy is None:
        strategy, why = next(iter(services.library.strategies.values())), why or wording.NO_STRATEGY
    request = TurnRequest(
        participant_id=participant_of(session),
        conversation_id=session.thread_id,
        message_id=message.id,
        reply_id=entry_id(message.id) if page.live_study else str(uuid.uuid4()),
        text=message.content,
        persona=persona,
        strategy=strategy,
        model=services.models.specs[chosen.model],
        live_scores=chosen.live_scores,
        auto_improve=chosen.auto_improve,
        threshold=chosen.threshold,
        country=chosen.country,
        replaces=replaces,
    )
    run: Callable[..., Events] = run_turn
    if page.live_study is not None:
        run = partial(run_ballot_turn, study=page.live_study, width_class=_widths.get(session, "desktop"))
    turn = None if why else page.turns.begin(request, partial(run, services=services))
    if turn is None:
        beside = page.turns.begin_unanswered(request, partial(run_turn, services=services, refusal=why or wording.BUSY))
        await follow(beside, session, saves_history=True)
        if running is not None and not belongs_to_other:
            # Chainlit unlocks the input when this returns, and that must not happen while the other reply is running.
            await follow(running, session, saves_history=False)
        return
    await emitter().send_window_message({"heard": "conversation", "id": session.thread_id})
    await follow(turn, session, saves_history=True)
    save_choices(session)
    if failure := await cast(Any, get_data_layer)().told_failure(session.thread_id, message.id):
        await emitter().send_toast(failure, "warning")


@guarded
async def on_window_message(data: Any) -> None:
    """Note what the page reports: the width class of a ballot, for ballots that are skipped without a click, and the
    country that a hand-off's picker chose, which is kept as if the panel had chosen it; take what a button says for the
    person."""
    match data:
        case {"heard": "width", "width": str(width)} if width in WIDTHS:
            _widths[current_session()] = width
        case {"heard": "country", "country": str(country)} if country in dict(countries()):
            await on_settings({"country": country})
            await show_panel(current_session())
        case {"heard": "ready"}:
            await safety_page.show_bar(current_session())
        case {"heard": "retry", "message": str(message_id)}:
            if (text := await retry.text_to_retry(current_session(), message_id)) is not None:
                await safety_page.say_for_person(text, on_message)
        case _ if (text := safety_page.text_of_button(data)) is not None:
            await safety_page.say_for_person(text, on_message)


@cl.action_callback(feedback.THUMB)
@guarded
async def on_thumb(action: cl.Action) -> None:
    """Take a thumb on a reply."""
    await feedback.take_thumb(action.payload)
    await again.redraw(current_session())  # behind the thumbs, where it was


@cl.action_callback(feedback.HEARD)
@guarded
async def on_felt_heard(action: cl.Action) -> None:
    """Take the answer to whether the person felt heard."""
    await feedback.take_answer(action.payload)


@cl.action_callback(again.AGAIN)
async def on_again(action: cl.Action) -> None:
    """Have the last reply written again; the press itself is answered at once."""
    in_background(write_again(action.payload))


@guarded
async def write_again(payload: Any) -> None:
    """Show the reply while it is written again. Nothing that stands once under a message is shown anew."""
    await again.take_again(payload, partial(follow, saves_history=True, reopened=True))


async def on_stop(sid: str) -> None:
    """Stop the turn of the conversation, from any page that shows it."""
    session = WebsocketSession.get(sid)
    if session is not None:
        await current().turns.stop(session.thread_id, participant_of(session))


async def on_edit(sid: str, payload: Any) -> None:
    """Send the edited text of the last message as a new one in its place. The page has removed what came after it."""
    session = WebsocketSession.get(sid)
    if session is not None:
        init_ws_context(session)
        await edit(payload)


@guarded
async def edit(payload: Any) -> None:
    """Answer the edited message, or say why it is none; where nothing was replaced, draw the page as it was."""
    session, layer = current_session(), cast(Any, get_data_layer)()
    old = await editing.editable(session, payload)
    if old is not None:
        await editing.take_from_page(session, old)
        await safety_page.say_for_person(old.text, partial(answer, replaces=old.id))
        if await editing.was_replaced(session.thread_id, old.id):
            return
    else:
        await emitter().send_toast(wording.NO_EDIT, "error")
    if is_uuid(session.thread_id) and await layer.get_thread_author(session.thread_id) == participant_of(session):
        thread = await layer.get_thread(session.thread_id)
        await on_chat_resume(thread)
        await emitter().emit("resume_thread", thread)


async def on_too_large(sid: str) -> None:
    """Say that a message never reached this server, and unlock the input."""
    sentence = wording.TOO_LARGE.format(limit=current().services.settings.message_limit)
    await cast(Any, sio).emit("toast", {"message": sentence, "type": "error"}, to=sid)
    await cast(Any, sio).emit("task_end", {}, to=sid)


replace_callbacks(
    on_message=on_message,
    on_chat_start=on_chat_start,
    on_chat_resume=on_chat_resume,
    on_settings_update=on_settings,
    on_window_message=on_window_message,
)
config.features.edit_message = current().live_study is None  # a ballot and its message stay what they were
replace_socket_handlers(on_stop, on_edit, on_too_large)
