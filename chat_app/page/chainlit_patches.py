"""All monkey patches of Chainlit (2.12.0), each with what breaks without it.

When Chainlit is updated, check this file against it: all of it depends on names that Chainlit does not promise to keep.
"""

import re
import sys
import warnings
from collections.abc import Awaitable, Callable
from types import ModuleType
from typing import Any, cast

TOO_LARGE_EVENT = "heard_too_large"
"""The event that stands in the place of a frame that was too large (`web/socket_guard.py`)."""


def leave_out_telemetry() -> None:
    """Stub the telemetry kit that Chainlit's optional Literal AI client would load. Call before importing chainlit.

    Without it: two seconds and some 60 MB more at every start (pandas included), and a library in the process that
    could send data away.
    """
    kit = ModuleType("traceloop.sdk")
    kit.Traceloop = None  # type: ignore[attr-defined]
    for name, module in (("traceloop", ModuleType("traceloop")), ("traceloop.sdk", kit)):
        sys.modules.setdefault(name, module)


def serve_own_page(message_limit: int) -> Callable[[str], str]:
    """Serve the chat's page with parts of heard's own, and without resources of other hosts.

    `message_limit` is the longest message in characters. Returns the function that makes the page for a root path.

    Without it: errors in every browser's console and a slower page, because the policy blocks fonts and style sheets of
    other hosts after the browser has looked for them; nothing on the screen when a script does not come.
    """
    import chainlit.server

    original: Callable[[str], str] = chainlit.server.get_html_template

    def own_page(root_path: str) -> str:
        return with_own_parts(clean_page(original(root_path)), root_path, message_limit)

    chainlit.server.get_html_template = own_page
    return own_page


def clean_page(html: str) -> str:
    """Return Chainlit's page without fonts, style sheets and pictures of other hosts."""
    html = re.sub(r"<link\b[^>]*\bhref=\"https?://[^>]*>", "", html)
    return re.sub(r"<meta property=\"og:(?:image|url)\"[^>]*>", "", html)


def with_own_parts(html: str, root_path: str, message_limit: int) -> str:
    """Return Chainlit's page with the limit for the input, the watchdog, and words for browsers without scripts.

    `one_socket.js` runs at once: before Chainlit's script, which like all modules waits for the end of the document.
    """
    head = (
        f'<meta name="heard:message-limit" content="{message_limit}" />'
        f'<script src="{root_path}/public/one_socket.js"></script>'
        f'<script src="{root_path}/public/watchdog.js" defer></script>'
    )
    without = '<noscript><p>The chat needs JavaScript. In danger? <a href="/help">Crisis help</a></p></noscript>'
    return html.replace("</head>", f"{head}</head>", 1).replace("</body>", f"{without}</body>", 1)


def mute_profiles_warning() -> None:
    """Ignore the warning about the coroutine of the chat profiles.

    Chainlit calls that callback in a way that cannot work inside a running loop, notices, and drops the coroutine.
    Without it: a warning in the log at every start.
    """
    warnings.filterwarnings("ignore", message="coroutine 'personas' was never awaited", category=RuntimeWarning)


def replace_callbacks(**callbacks: Callable[..., Awaitable[None]]) -> None:
    """Set Chainlit's callbacks by their names in its `CodeSettings`, without its decorators.

    Without it: `cl.on_message` wraps the call in a "run" step, which writes the person's words down a second time and
    hangs the reply below an entry that the history may lack; the other decorators unlock the input when they return,
    also in the middle of a reply.
    """
    from chainlit.config import config
    from chainlit.utils import wrap_user_function

    for name, callback in callbacks.items():
        if not hasattr(config.code, name):
            raise RuntimeError(f"This version of Chainlit knows no callback {name}.")
        setattr(config.code, name, wrap_user_function(callback))


def replace_socket_handlers(
    stop: Callable[[str], Awaitable[None]],
    edit_message: Callable[[str, Any], Awaitable[None]],
    too_large: Callable[[str], Awaitable[None]],
) -> None:
    """Replace Chainlit's handlers of the Stop button and of edited messages, and add the one of TOO_LARGE_EVENT.

    Without it: Chainlit's Stop adds a message of its own and cancels the page's task instead of the turn, so that what
    had arrived is lost; its editing puts the new text under the old id, over what was said.
    """
    from chainlit.server import sio

    sockets = cast(Any, sio)
    sockets.on("stop", stop)
    sockets.on("edit_message", edit_message)
    sockets.on(TOO_LARGE_EVENT, too_large)


async def dismiss_sessions(participant_id: str) -> None:
    """Reload a participant's pages, and drop their sessions.

    Without it: Chainlit writes the thread once more when a session with a conversation disconnects, and so brings back
    a conversation that has just been erased.
    """
    from chainlit.server import sio
    from chainlit.session import ws_sessions_id

    for session in [s for s in ws_sessions_id.values() if s.user and s.user.identifier == participant_id]:
        session.has_first_interaction = False
        session.to_clear = True
        await sio.emit("reload", {}, to=session.socket_id)
        await sio.disconnect(session.socket_id)
        ws_sessions_id.pop(session.id, None)
