"""The services of the mounted page.

Chainlit loads `app.py` by its path, as a module of its own, so nothing can be passed to it as an argument: the server
calls `install` before it mounts the page, and `app.py` calls `current()`. Call `aclose` before the services close.
"""

from dataclasses import dataclass, field

from heard.chat_app.common.identity import Identity
from heard.chat_app.conversation.running_turns import RunningTurns
from heard.chat_app.conversation.services import Services
from heard.chat_app.studies.study_file import StudyFile


@dataclass(frozen=True, slots=True)
class Runtime:
    """The objects that the page uses while the server runs."""

    services: Services
    identity: Identity
    live_study: StudyFile | None = None
    """The live study that answers every message with a ballot; None in the ordinary chat."""
    turns: RunningTurns = field(default_factory=RunningTurns)

    async def aclose(self) -> None:
        """Stop the running turns, and return when what had arrived is stored."""
        await self.turns.aclose()


_installed: list[Runtime] = []


def install(runtime: Runtime) -> None:
    """Set the runtime of the page; a later call replaces it (tests start several servers in a row)."""
    _installed[:] = [runtime]


def current() -> Runtime:
    """Return the installed runtime. Raises RuntimeError if there is none."""
    if not _installed:
        raise RuntimeError("The page was mounted before heard.chat_app.page.runtime.install was called.")
    return _installed[0]
