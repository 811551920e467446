"""What the mounted page works with.

Chainlit loads `app.py` by its path, as a module of its own, so nothing can be handed to it as an argument: the server
calls `install` before it mounts the page, and `app.py` asks for `current()`. Call `aclose` before the services close.
"""

from dataclasses import dataclass, field

from heard.chat_app.common.identity import Identity
from heard.chat_app.conversation.running_turns import RunningTurns
from heard.chat_app.conversation.services import Services
from heard.chat_app.studies.study_file import StudyFile


@dataclass(frozen=True, slots=True)
class Runtime:
    """The parts that the page needs, for as long as the server runs."""

    services: Services
    identity: Identity
    live_study: StudyFile | None = None
    """The live study that answers every message with a ballot; None is the ordinary chat."""
    turns: RunningTurns = field(default_factory=RunningTurns)

    async def aclose(self) -> None:
        """Stop the running turns and wait until what had arrived is stored."""
        await self.turns.aclose()


_installed: list[Runtime] = []


def install(runtime: Runtime) -> None:
    """Make `runtime` the one that the page uses; a later call replaces it (tests start several servers in a row)."""
    _installed[:] = [runtime]


def current() -> Runtime:
    """The installed runtime. Raises RuntimeError before the server has installed one."""
    if not _installed:
        raise RuntimeError("The page was mounted before heard.chat_app.page.runtime.install was called.")
    return _installed[0]
