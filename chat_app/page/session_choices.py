"""The session of a browser, and the choices that a person has made in it: what they may choose, and what holds now."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast
from weakref import WeakKeyDictionary, WeakSet

import chainlit as cl
from chainlit.input_widget import InputWidget, Select, Slider, Switch
from chainlit.session import WebsocketSession

from heard.chat_app.common.identity import country_from_headers
from heard.chat_app.page import chat_settings, settings_panel
from heard.chat_app.page.chat_settings import Choices, Offer
from heard.chat_app.page.runtime import current
from heard.chat_app.safety.crisis_numbers import countries
from heard.db.store import StoreError

WIDGETS: dict[str, Callable[..., InputWidget]] = {"select": Select, "switch": Switch, "slider": Slider}

_choices: "WeakKeyDictionary[WebsocketSession, Choices]" = WeakKeyDictionary()
_taking_part: "WeakSet[WebsocketSession]" = WeakSet()
"""Sessions of people who are in a study."""


def emitter() -> Any:
    """Return the object that sends events to this callback's browser; untyped in Chainlit."""
    return cl.context.emitter


def current_session() -> WebsocketSession:
    """Return the session of the browser that this callback serves."""
    return cast(WebsocketSession, cl.context.session)


def participant_of(session: WebsocketSession) -> str:
    """Return the id of the signed-in participant."""
    return session.user.identifier if session.user else ""


def current_offer() -> Offer:
    """Return what the settings panel offers."""
    services, blind = current().services, current().live_study is not None
    library, settings = services.library, services.settings
    improve = library.policies[settings.improve_policy]
    offered = services.models.offered
    return Offer(offered, library.strategies, dict(countries()), improve, blind, settings.research_mode)


def visible_choices(session: WebsocketSession) -> dict[str, Any]:
    """Return the present choices, as far as the page may know them."""
    return chat_settings.visible_values(choices_of(session), current_offer())


def choices_of(session: WebsocketSession) -> Choices:
    """Return the present choices of a session."""
    if session not in _choices:
        cookies = {"cookie": str(session.environ.get("HTTP_COOKIE", ""))}
        country = country_from_headers(cookies, dict(countries()), current().identity)
        page = current()
        _choices[session] = chat_settings.default_choices(
            page.services.settings, country, blind=page.live_study is not None, takes_part=session in _taking_part
        )
    return _choices[session]


async def look_for_study(session: WebsocketSession) -> None:
    """Note whether the person of a new page takes part in a study, before its choices are made.

    Asks the database only where the settings make a difference of it; a fault of it counts as "no".
    """
    services = current().services
    if session in _choices or services.settings.scores_outside_studies:
        return
    with suppress(StoreError):
        if await services.studies.takes_part(participant_of(session)):
            _taking_part.add(session)


async def show_panel(session: WebsocketSession) -> None:
    """Fill the settings panel with the present choices."""
    fields = settings_panel.fields(choices_of(session), current_offer())
    panel: Any = cl.ChatSettings([WIDGETS[field.pop("kind")](**field) for field in fields])
    await panel.send()


def set_choices(session: WebsocketSession, choices: Choices) -> None:
    """Set the choices that hold from the next message on."""
    _choices[session] = choices
