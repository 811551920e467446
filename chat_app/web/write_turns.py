"""Who writes to the database on behalf of a request, so that people's writes come by turns."""

from starlette.types import ASGIApp, Receive, Scope, Send

from heard.chat_app.common.identity import Identity
from heard.chat_app.web.senders import sender_of
from heard.db.write_queue import writer


class WriteTurns:
    """What a request writes, and the tasks that it begins, takes its sender's turns (`db/write_queue.py`)."""

    def __init__(self, app: ASGIApp, *, identity: Identity) -> None:
        self.app, self.identity = app, identity

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] in ("http", "websocket"):
            writer.set(sender_of(scope, self.identity))
        await self.app(scope, receive, send)
