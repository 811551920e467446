"""How the server is, kept in memory so that `/health` answers at once, however busy the database or the model is."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from heard.chat_app.conversation.opening import default_opening
from heard.chat_app.conversation.services import Services
from heard.chat_app.models.models_file import ModelsFile
from heard.chat_app.page.prompt_watch import prompts_state
from heard.chat_app.safety import crisis_check
from heard.chat_app.studies.study_file import StudyFile
from heard.chat_app.web.logs import kind_and_place
from heard.db.condition import last_fault
from heard.db.errors import StoreError
from heard.db.probe import look

CHECK_SECONDS = 5.0
"""Between two looks at the database."""
FIRST_PAGE_SECONDS = 3.0
"""How long the engine waits with its loading, which holds up everything else for a second, so that the first page comes
before it. A message that is sent sooner starts it by itself."""

log = logging.getLogger(__name__)


class Health:
    """State of model, database and scorer; makes ready in the background what the first message needs, so that pages
    work meanwhile."""

    def __init__(self, services: Services, live_study: StudyFile | None = None) -> None:
        self._services, self._live_study = services, live_study
        self._model = "starting"
        self._told: str | None = None
        self._models_file = ModelsFile(services.settings.models_file)

    def state(self) -> dict[str, str]:
        """`status` is "ok", "starting" (the model still loads) or "degraded"; the others say which part.

        While `database` is "failed", `fault` says in a word what it is (`kind` of `db/errors.py`), and `sentence` what
        to do. `prompts` is "ok", "kept" (an edit is broken, so the last good version is in use) or "waiting" (edits
        wait for a restart, because a live study runs); the chat works all the same. `resting` is there while servers of
        models are left alone, and names the models (in blind mode their number). `models` is "waiting" and there while
        models.toml is another than the one that was read at the start.
        """
        fault = self._fault()
        parts = {"model": self._model, "database": "failed" if fault else "ok", "scorer": "ready"}
        failed = "failed" in parts.values()
        status = "degraded" if failed else "starting" if self._model == "starting" else "ok"
        return {
            "status": status,
            **parts,
            **({"fault": fault.kind, "sentence": str(fault)} if fault else {}),
            "prompts": prompts_state(self._services),
            **self._resting(),
            **self._edited(),
        }

    def _fault(self) -> StoreError | None:
        return last_fault(self._services.store.engine)

    def _resting(self) -> dict[str, str]:
        names = self._services.models.cooling_down
        if not names:
            return {}
        # Anybody may look here, and in blind mode the names are what people must not learn.
        return {"resting": ", ".join(names) if self._live_study is None else str(len(names))}

    def _edited(self) -> dict[str, str]:
        return {"models": "waiting"} if self._models_file.edited else {}

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Start the engine and look at the database from time to time, while the server runs."""
        tasks = [asyncio.create_task(self._start_engine()), asyncio.create_task(self._watch_database())]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _start_engine(self) -> None:
        await asyncio.sleep(FIRST_PAGE_SECONDS)
        await asyncio.to_thread(crisis_check.checker)  # else the first message or vote waits for its lexicons
        try:
            await self._services.engine.start()
            self._model = "ready"
            if self._services.engine.plan.threads > 1:  # a large model, which reads slowly
                await self._services.engine.read_opening(default_opening(self._services))
        except Exception as error:  # noqa: BLE001 - a task's boundary: other models still work, and /health tells it
            self._model = "failed"
            log.error("The embedded model did not start: %s", kind_and_place(type(error), error.__traceback__))

    async def _watch_database(self) -> None:
        while True:
            fault = await look(self._services.store.engine)
            told = str(fault) if fault else None
            if told != self._told:
                self._told = told
                log.error("%s", told) if told else log.info("The database works again.")
            self._edited()  # tells the log
            await asyncio.sleep(CHECK_SECONDS)
