"""Reload edited prompt files without a restart: they are checked when a turn or a page begins, with no watcher thread.

While a live study runs they are not reloaded, so that an arm stays the same: the study goes on with the files as they
were when the server started, and the log says that they differ. `heard study generate` reads them once, at its start.
Files that were edited between two starts of a live study are reported at the later start, arm by arm.
"""

import hashlib
import json
import logging
from dataclasses import asdict
from typing import Any

from heard.chat_app.conversation.services import Services
from heard.chat_app.studies.study_file import Arm, StudyFile
from heard.prompts.library import PromptLibrary

OK, BROKEN, WAITING = "ok", "kept", "waiting"
"""The states in `/health`: all files are in use; an edit is broken, so the last good version is kept; edits wait for a
restart, because a live study runs. They name no file or persona, which in a study would reveal who answers."""

log = logging.getLogger(__name__)


def current_prompts(services: Services, live_study: StudyFile | None) -> PromptLibrary:
    """Return the prompts for a turn that begins now, reloaded if edited. Costs a stat of each file."""
    library = services.library
    if live_study is not None:
        if library.edited and not library.waiting:
            library.waiting = True
            log.warning(
                "prompt files have been edited; study %s goes on with those of the server's start until a restart",
                live_study.id,
            )
        return library
    if library.refresh():
        if library.fault is None:
            log.info("edited prompt files are in use")
        else:
            log.warning("edited prompt files are not in use, the last good version is: %s", library.fault)
    return library


def prompts_state(services: Services) -> str:
    """Return OK, BROKEN or WAITING, as last seen by a turn."""
    if services.library.fault is not None:
        return BROKEN
    return WAITING if services.library.waiting else OK


def record_arm_prompts(services: Services, live_study: StudyFile) -> None:
    """Record the hashes of the live study's prompts by arm, in a file of the data folder; if they are recorded already,
    log a warning for each arm whose prompts differ.
    """
    library, path = services.library, services.settings.data_dir / "study-prompts" / f"{live_study.id}.json"
    hashes = {arm.name: _prompt_hash(library, arm) for arm in live_study.arms}
    try:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(hashes), encoding="utf-8")
        before = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        log.warning("whether the prompts of study %s have changed is not known: %s", live_study.id, error)
        return
    changed = [name for name, current in hashes.items() if before.get(name) != current]
    if changed:
        log.warning(
            "the prompt files of study %s have been edited since its first start, in %s: answers from now on are of "
            "another condition. Put the earlier files back, or save the new ones under other names.",
            live_study.id,
            ", ".join(changed),
        )


def _prompt_hash(library: PromptLibrary, arm: Arm) -> str:
    """Return the sha256 of all prompt parts of an arm."""
    who, how = library.personas[arm.persona], library.strategies[arm.strategy]
    steps = [asdict(step) for step in how.steps]
    read: list[Any] = [who.system, who.user_template, who.max_tokens, how.instructions, steps, library.guidance]
    if arm.examples and who.examples:
        read += [who.examples, [asdict(example) for example in library.examples[who.examples_of]]]
    return hashlib.sha256(json.dumps(read, sort_keys=True).encode("ascii")).hexdigest()
