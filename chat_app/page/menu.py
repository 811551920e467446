"""Which personas stand in a person's menu, and which one answers."""

import logging
from collections.abc import Mapping
from typing import Any, cast

from chainlit.data import get_data_layer
from chainlit.session import WebsocketSession

from heard.chat_app.page.prompt_watch import current_prompts
from heard.chat_app.page.runtime import current
from heard.chat_app.studies.live_study import neutral_persona
from heard.db.errors import StoreError
from heard.prompts.records import Persona

log = logging.getLogger(__name__)


def offered_personas() -> Mapping[str, Persona]:
    """Return the personas that anybody may choose, by id in menu order; in blind mode the neutral one alone, so that no
    menu is shown."""
    page = current()
    library = current_prompts(page.services, page.live_study)
    neutral = neutral_persona(library)
    research = page.services.settings.research_mode
    return {neutral.id: neutral} if page.live_study else library.offered(research=research)


async def personas_for(participant_id: str) -> list[Persona]:
    """Return the personas on a person's menu: those offered, and after them those of conversations of theirs.

    Without the latter Chainlit's page goes blank where such a conversation is opened: its profile is in no list.
    """
    offered, page = offered_personas(), current()
    others = [one for id_, one in page.services.library.personas.items() if id_ not in offered]
    if page.live_study or not others or not participant_id:
        return list(offered.values())
    try:
        theirs = await cast(Any, get_data_layer)().profiles_of(participant_id)
    except StoreError as error:
        log.warning("the personas of a person's conversations could not be read: %s", type(error).__name__)
        theirs = set()
    return [*offered.values(), *(one for one in others if one.id in theirs)]


def persona_of(session: WebsocketSession) -> Persona | None:
    """Return the persona that the browser requested, or the default; None if the requested one does not exist.

    It need not be on offer: conversations that have begun with it go on.
    """
    offered = offered_personas()
    if not session.chat_profile or current().live_study:
        return next(iter(offered.values()))
    return current().services.library.personas.get(session.chat_profile)
