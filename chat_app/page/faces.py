"""Which picture stands beside a reply: its persona's own where a model wrote it, the neutral one beside all else.

All else is texts that stand ready, hand-offs, refusals, and every page of a blind study, where a face could tell who
answers. No picture tells of the model.
"""

from collections.abc import Mapping

from heard.chat_app.conversation.drafts import FIXED_TEXT
from heard.chat_app.conversation.events import BallotReady, CrisisShown, Finished, Refused
from heard.chat_app.conversation.running_turns import RunningTurn
from heard.chat_app.page.chainlit_files import PUBLIC
from heard.chat_app.page.runtime import Runtime
from heard.chat_app.page.wording import AVATAR
from heard.chat_app.studies.study_file import StudyFile
from heard.db.records import ReplyRecord
from heard.prompts.library import PromptLibrary
from heard.prompts.pictures import SVG, Picture, initial_picture
from heard.prompts.records import Persona

FACE = "persona "
"""Begins the avatar of a persona, before its id. The blank keeps it apart from the avatars in `public/avatars/`."""


def of_personas(page: Runtime) -> dict[str, str]:
    """Return the avatar's name by persona id; nothing in a blind study, so that all get the neutral one."""
    return {} if page.live_study else {id_: FACE + id_ for id_ in page.services.library.personas}


def icon_of(persona: Persona, live_study: StudyFile | None) -> str:
    """Return the address of a persona's picture in the menu, below the chat's own."""
    # Chainlit puts the path that it is served at before "/public" alone.
    return f"/public/avatars/{AVATAR}.svg" if live_study else f"/public/avatars/{FACE}{persona.id}".replace(" ", "%20")


def face_of_turn(turn: RunningTurn, faces: Mapping[str, str]) -> str:
    """Return the avatar beside a turn's reply, as far as the turn has come."""
    view = turn.view
    match view.end:
        case Finished(reply, safety=safety):
            return face_of_reply(reply, faces, aside=safety is not None)
        case Refused() | CrisisShown() | BallotReady():
            return AVATAR
        case _:
            # What a model writes is scored, and a text that stands ready never is.
            return faces.get(turn.request.persona.id, AVATAR) if view.scored else AVATAR


def face_of_reply(reply: ReplyRecord, faces: Mapping[str, str], *, aside: bool) -> str:
    """Return the avatar beside a stored reply. An `aside` is one after a hand-off, which no persona gives."""
    by_model = any(draft.kept and draft.model != FIXED_TEXT for draft in reply.drafts)
    return faces.get(reply.persona, AVATAR) if by_model and not aside else AVATAR


def picture_of(persona_id: str, library: PromptLibrary, live_study: StudyFile | None) -> Picture:
    """Return a persona's picture; the neutral one for a persona that is not there, and for all in a blind study."""
    persona = None if live_study else library.personas.get(persona_id)
    return NEUTRAL if persona is None else library.pictures.get(persona_id) or initial_picture(persona)


NEUTRAL = Picture((PUBLIC / "avatars" / f"{AVATAR}.svg").read_bytes(), SVG)
