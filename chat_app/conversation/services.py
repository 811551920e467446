"""Everything a turn needs: built once by `startup.py` when the server starts, and closed when it ends."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from heard.chat_app.common.settings import Settings
from heard.chat_app.conversation.summary_tasks import Summaries
from heard.chat_app.models.client import Models
from heard.chat_app.models.local_chat import Engine
from heard.db.store import Store
from heard.db.study_store import StudyStore
from heard.prompts.library import PromptLibrary
from heard.scorer.reading import Reader
from heard.scorer.score import Scorer


@dataclass(frozen=True, slots=True)
class Services:
    """The parts of the running program. Tests build it with the same function as the product."""

    settings: Settings
    store: Store
    models: Models
    scorer: Scorer
    library: PromptLibrary
    engine: Engine
    studies: StudyStore
    reader: Reader | None = None
    """Reads a message's emotion, for the strategies that use it; None in a process without an encoder."""
    scoring: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, thread_name_prefix="scorer"))
    """Its own thread, so that a rating never waits behind other work of the default pool."""
    summaries: Summaries = field(default_factory=Summaries)
