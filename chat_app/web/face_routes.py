"""The personas' pictures, at the addresses where the chat's page looks for avatars and for icons of its menu."""

from fastapi import APIRouter
from fastapi.responses import Response

from heard.chat_app.page.faces import FACE, picture_of
from heard.chat_app.web.dependencies import SiteDep

router = APIRouter()


@router.get(f"/chat/avatars/{FACE}{{persona_id}}")
@router.get(f"/chat/public/avatars/{FACE}{{persona_id}}")
async def picture(persona_id: str, site: SiteDep) -> Response:
    """A persona's picture. The same for everybody, and of nobody who writes here, so it needs no consent."""
    found = picture_of(persona_id, site.services.library, site.surveys.live)
    return Response(found.content, media_type=found.media_type)
