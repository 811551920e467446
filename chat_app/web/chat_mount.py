"""Chainlit mounted at `/chat`: its page's security policy, its login tokens and its open sessions."""

import base64
import hashlib
import os
import re
from pathlib import Path

from fastapi import FastAPI

from heard.chat_app.conversation.running_turns import RunningTurns
from heard.chat_app.page.chainlit_patches import dismiss_sessions, leave_out_telemetry, serve_own_page

TARGET = Path(__file__).parents[1] / "page" / "app.py"


def mount_chat(app: FastAPI, message_limit: int) -> str:
    """Mount Chainlit at `/chat` and return the Content-Security-Policy that fits its page."""
    leave_out_telemetry()
    from chainlit.config import APP_ROOT
    from chainlit.utils import mount_chainlit

    if os.environ["CHAINLIT_APP_ROOT"] != APP_ROOT:
        raise RuntimeError(f"Chainlit was imported too early: it reads its settings in {APP_ROOT}.")
    mount_chainlit(app=app, target=str(TARGET), path="/chat")
    return policy_for(serve_own_page(message_limit)("/chat"))


def policy_for(html: str) -> str:
    """The policy of the chat's page: own host only, its inline scripts by hash.

    `unsafe-eval` is needed because Chainlit compiles the elements of `public/elements/` in the browser, and inline
    styles because its component library sets them.
    """
    scripts = re.findall(r"<script>(.*?)</script>", html, flags=re.DOTALL)
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode('utf-8')).digest()).decode('ascii')}'"
        for script in scripts
    )
    return (
        f"default-src 'self'; script-src 'self' 'unsafe-eval' {hashes}; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; "
        "object-src 'none'; frame-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )


class ChatTokens:
    """Chainlit's login tokens (JWT, HS256, with the secret that `create_app` derives)."""

    def owner(self, token: str) -> str | None:
        """The participant in a token, or None when it is not valid."""
        from chainlit.auth.jwt import decode_jwt
        from jwt import InvalidTokenError

        try:
            return decode_jwt(token).identifier
        except (InvalidTokenError, KeyError, TypeError):
            return None

    def make(self, participant_id: str) -> str:
        """A token for a participant, valid for Chainlit's `user_session_timeout`."""
        from chainlit.auth.jwt import create_jwt
        from chainlit.user import User

        return create_jwt(User(identifier=participant_id, display_name="You"))


class ChatSessions:
    """The open chats: their turns run in our hub, their pages hang on Chainlit's sockets."""

    def __init__(self, turns: RunningTurns) -> None:
        self._turns = turns

    async def stop(self, participant_id: str) -> None:
        """Stop a participant's running replies, and return when what had arrived is stored."""
        await self._turns.stop_participant(participant_id)

    async def dismiss(self, participant_id: str) -> None:
        """Tell a participant's pages to load anew, and forget their sessions without another write."""
        await dismiss_sessions(participant_id)
