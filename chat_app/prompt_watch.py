"""Edited prompt files, taken in without a restart: looked for where a turn or a page begins, with no thread of its own.

While a live study runs they are not taken in, so that an arm stays what it was: the study goes on with the files as
they were when the server started, and the log says that they differ. `heard study generate` reads them once, at its
start.
"""

import logging

from chat_app.services import Services
from prompts.library import PromptLibrary

OK, BROKEN, WAITING = "ok", "kept", "waiting"
"""What `/health` says: all files are in use; an edit is broken, so the last good version is kept; edits wait for a
restart, because a live study runs. No name of a file or a persona: in a study they would tell who answers."""

log = logging.getLogger(__name__)


def current_prompts(services: Services) -> PromptLibrary:
    """The prompts as they hold for a turn that begins now. Costs a look at each file's entry."""
    library = services.library
    if services.blind is not None:
        if library.edited and not library.waiting:
            library.waiting = True
            log.warning(
                "prompt files have been edited; study %s goes on with those of the server's start until a restart",
                services.blind.id,
            )
        return library
    if library.refresh():
        if library.fault is None:
            log.info("edited prompt files are in use")
        else:
            log.warning("edited prompt files are not in use, the last good version is: %s", library.fault)
    return library


def prompts_state(services: Services) -> str:
    """OK, BROKEN or WAITING, as last seen by a turn."""
    if services.library.fault is not None:
        return BROKEN
    return WAITING if services.library.waiting else OK
