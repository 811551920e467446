"""The services that a turn uses, built by `startup.py` when the server starts and closed when it ends."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from heard.chat_app.common.fair_queue import FairQueue
from heard.chat_app.common.settings import Settings
from heard.chat_app.conversation.bot_questions import BotQuestions
from heard.chat_app.conversation.examples import ExamplePicker
from heard.chat_app.conversation.reliance import Reliance
from heard.chat_app.conversation.said_after import SupportReaders
from heard.chat_app.conversation.summary_tasks import SummaryTasks
from heard.chat_app.conversation.unsaved_hand_offs import UnsavedHandOffs
from heard.chat_app.models.client import Models
from heard.chat_app.models.local_chat import Engine
from heard.chat_app.safety.reading_queue import reading_queue
from heard.chat_app.safety.reply_guard import ReplyGuard
from heard.chat_app.safety.rising import RisingReader, rising_reader
from heard.db.store import Store
from heard.db.study_store import StudyStore
from heard.prompts.library import PromptLibrary
from heard.scorer.emotion import EmotionReader
from heard.scorer.rater import Rater
from heard.scorer.score import Scorer


@dataclass(frozen=True, slots=True)
class Services:
    """Everything that a running program shares. Tests build it with the same function as the product."""

    settings: Settings
    store: Store
    models: Models
    scorer: Scorer
    library: PromptLibrary
    engine: Engine
    studies: StudyStore
    reader: EmotionReader | None = None
    """Reads the emotion of a message, for strategies that use it; None in a process without an encoder."""
    bot_questions: BotQuestions | None = None
    """Recognises questions about the bot; None in a process that answers none."""
    guard: ReplyGuard | None = None
    """Reads what models write before anybody sees it; None in a process without an encoder."""
    examples: ExamplePicker | None = None
    """Picks the examples that go before a message; None in a process without an encoder."""
    support: SupportReaders = field(default_factory=SupportReaders)
    """Reads what people say after a hand-off."""
    rising: RisingReader = field(default_factory=rising_reader)
    """Reads what several messages say together."""
    unsaved_hand_offs: UnsavedHandOffs = field(default_factory=UnsavedHandOffs)
    reliance: Reliance | None = None
    """Gives notes towards people; None in a process without a page."""
    rater: Rater | None = None
    """Rates drafts in the scorer's place; None in a chat, which is rated by heard's own head."""
    scoring: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, thread_name_prefix="scorer"))
    """The scorer's own thread, so that scoring never waits behind other work of the default pool."""
    reading: FairQueue = field(default_factory=reading_queue)
    """Where texts of visitors are read for danger."""
    summary_tasks: SummaryTasks = field(default_factory=SummaryTasks)
