"""The score card's two files, handed out by the server of another Chainlit app as if they lay in its `public/` folder.

Handed out and not copied: the folder stays that app's own, may be read-only, and never holds an older card than the
props fit. The element has a name of its own, so that an app may have a ScoreCard too.
"""

from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import FileResponse
from starlette.types import ASGIApp, Receive, Scope, Send

PUBLIC = Path(__file__).resolve().parents[2] / "public"
ELEMENT = "HeardScoreCard"
STYLESHEET = "/public/heard-card.css"
"""Below the app's root; the card asks for it."""
FILES = {
    f"/public/elements/{ELEMENT}.jsx": PUBLIC / "elements" / "ScoreCard.jsx",
    STYLESHEET: PUBLIC / "card.css",
}


class PluginError(Exception):
    """The card cannot be shown by this app; `str()` names the reason and the next step."""


class CardFiles:
    """Answers the addresses in FILES, below whatever root path the app has."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send a file, or pass the request on."""
        found = None
        if scope["type"] == "http" and scope["method"] in ("GET", "HEAD"):
            found = next((file for address, file in FILES.items() if scope["path"].endswith(address)), None)
        await (self.app if found is None else FileResponse(found))(scope, receive, send)


def hand_out(app: FastAPI) -> None:
    """Let Chainlit's `app` answer for the files too. A second call does nothing.

    Raises PluginError when heard was installed without the files, or the app has been started already.
    """
    missing = [file.name for file in FILES.values() if not file.is_file()]
    if missing:
        raise PluginError(
            f"This installation of heard has no {' and no '.join(missing)}. "
            "Install it from its own folder: pip install -e PATH."
        )
    # By name: Chainlit's watch mode may load this module anew, with another class.
    if any(getattr(added.cls, "__name__", "") == CardFiles.__name__ for added in app.user_middleware):
        return
    try:
        app.add_middleware(CardFiles)
    except RuntimeError as error:
        raise PluginError(
            "Chainlit has started already. Import heard.chat_app.integrations.chainlit_plugin at the top of your app."
        ) from error
