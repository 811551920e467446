"""The boundary between our callbacks and Chainlit, which sends the text of an exception to the browser."""

import logging
import secrets
from collections.abc import Awaitable, Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec

import chainlit as cl

from heard.chat_app.page import wording
from heard.chat_app.page.session_choices import current_session, look_for_study

P = ParamSpec("P")
log = logging.getLogger("heard.chat_app.page.app")


def guarded(callback: Callable[P, Awaitable[None]]) -> Callable[P, Coroutine[Any, Any, None]]:
    """Wrap a callback so that no exception reaches Chainlit, which would send its text to the browser, SQL included."""

    @wraps(callback)
    async def safe(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            await look_for_study(current_session())
            await callback(*args, **kwargs)
        except Exception as error:  # noqa: BLE001 - the boundary named above
            reference = secrets.token_hex(4)
            log.error("page failed, reference %s: %s", reference, type(error).__name__)
            await send_notice(wording.crash_text(reference))

    return safe


async def send_notice(sentence: str) -> None:
    """Send a sentence of the program itself."""
    said: Any = cl.Message(content=sentence, author=wording.SYSTEM_AUTHOR, metadata={"avatarName": wording.AVATAR})
    await said.send()
