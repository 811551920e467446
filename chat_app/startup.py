"""The composition root: builds the application's services from the settings, and closes them in the end."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from heard.chat_app.common.background import in_background
from heard.chat_app.common.places import check_names, in_force
from heard.chat_app.common.settings import Settings, SettingsError
from heard.chat_app.conversation.bot_questions import BotQuestions
from heard.chat_app.conversation.examples import ExamplePicker
from heard.chat_app.conversation.reliance import Reliance
from heard.chat_app.conversation.reliance_words import RelianceWords
from heard.chat_app.conversation.safety_turn import load_texts
from heard.chat_app.conversation.said_after import SupportReaders
from heard.chat_app.conversation.services import Services
from heard.chat_app.models.adapter_files import adapter_path
from heard.chat_app.models.client import Models, load_models
from heard.chat_app.models.downloads import Weights, check_weights
from heard.chat_app.models.engine_plan import plan_engine
from heard.chat_app.models.local_chat import Engine
from heard.chat_app.models.machine import cores, free_memory
from heard.chat_app.models.records import ModelSpec
from heard.chat_app.page.prompt_watch import record_arm_prompts
from heard.chat_app.safety import crisis_check, handoff
from heard.chat_app.safety.assessment import Assessor, use_head
from heard.chat_app.safety.crisis_numbers import hotlines
from heard.chat_app.safety.reading_queue import reading_queue
from heard.chat_app.safety.reply_guard import ReplyGuard
from heard.chat_app.safety.rising import rising_reader
from heard.chat_app.studies.live_study import configured_study
from heard.chat_app.studies.study_file import StudyFile
from heard.db.engine import create_engine, upgrade
from heard.db.store import Store
from heard.db.study_store import StudyStore
from heard.hints import nearest_name
from heard.prompts.library import PromptLibrary
from heard.prompts.nudge_files import load_nudges
from heard.prompts.policy_files import OFF
from heard.scorer.danger_head import DangerHeadFile
from heard.scorer.emotion import DEFAULT as READING
from heard.scorer.emotion import EmotionFile, EmotionReader
from heard.scorer.encoder import Encoder
from heard.scorer.guard_head import GuardHeadFile
from heard.scorer.hub import encoder_of
from heard.scorer.score import Scorer, head_folder
from heard.scorer.text_index import embedded_vectors

SCORER_THREADS = 2
"""Threads of one scoring run. A person waits for it: two threads take two thirds of one's time."""


def _with_default_model(settings: Settings, weights: Weights) -> Settings:
    """The settings with the name of the embedded model where no default model is named."""
    return settings if settings.default_model else settings.model_copy(update={"default_model": weights.model.name})


def _embedded_engine(weights: Weights) -> Engine:
    """Return the engine of the embedded model, not yet started; its context follows the free memory. Raises
    NotEnoughMemoryError."""
    model = weights.model
    plan = plan_engine(
        model.label,
        weights.chat_model.stat().st_size,
        model.kv_bytes,
        context_tokens=model.context_tokens,
        memory=free_memory(),
        cores=cores(),
    )
    adapter = adapter_path(model.adapter) if model.adapter else None
    return Engine(weights.chat_model, adapter=adapter, plan=plan, label=model.model)


def _with_context(specs: dict[str, ModelSpec], weights: Weights, context_tokens: int) -> dict[str, ModelSpec]:
    """The entries, with no longer a context than their engine has."""
    return {
        name: replace(spec, context_tokens=min(spec.context_tokens, context_tokens))
        if spec.model == weights.model.model and spec.file is None and spec.provider == "embedded"
        else spec
        for name, spec in specs.items()
    }


def _read_safety_files() -> None:
    """Read what the check and the hand-off need, so that a fault refuses the start: nothing is served unguarded."""
    crisis_check.checker()
    crisis_check.danger_checker()
    handoff.texts()
    handoff.dangers()
    hotlines()


def _checked_defaults(settings: Settings, models: dict[str, ModelSpec], library: PromptLibrary) -> None:
    if settings.default_model not in models:
        raise SettingsError(
            f'default_model: no model "{settings.default_model}". {nearest_name(settings.default_model, models)}'
        )
    if settings.default_strategy not in library.strategies:
        raise SettingsError(
            f'default_strategy: no strategy "{settings.default_strategy}". '
            f"{nearest_name(settings.default_strategy, library.strategies)}"
        )
    if settings.improve_policy not in library.policies:
        raise SettingsError(
            f'improve_policy: no policy "{settings.improve_policy}". '
            f"{nearest_name(settings.improve_policy, library.policies)}"
        )
    if settings.crisis_model and settings.crisis_model not in models:
        raise SettingsError(
            f'crisis_model: no model "{settings.crisis_model}". {nearest_name(settings.crisis_model, models)}'
        )
    if settings.crisis_model and models[settings.crisis_model].tiny:
        raise SettingsError(
            f"crisis_model: {settings.crisis_model} is known to be too small to follow a conversation. Name a larger "
            "model, or leave crisis_model empty: reviewed fixed texts then answer."
        )
    if settings.improve_policy == OFF:
        raise SettingsError(
            "improve_policy: never is what holds while auto_improve is off. Name a policy that writes again, or leave "
            "auto_improve off."
        )


def _reader(scorer: Scorer, embedded: Path) -> EmotionReader:
    """Return the emotion reader; it shares the scorer's encoder if it was trained on the same encoder and layers."""
    file = EmotionFile.load(READING)
    return EmotionReader(file, _encoder(file, scorer, embedded))


def _encoder(
    file: EmotionFile | GuardHeadFile | DangerHeadFile, scorer: Scorer, embedded: Path
) -> Callable[[], Encoder]:
    """Return what gives the encoder of a classifier: the scorer's where it is the same one with the same layers."""
    return partial(scorer.encoder_for, embedded, file.encoder_sha256, file.layers)


@asynccontextmanager
async def open_services(
    settings: Settings, weights: Weights | None = None, *, serving: bool = True
) -> AsyncIterator[Services]:
    """Migrate the database, build the services, and close them in the end.

    With `serving` this is the chat's own process: turns and ballots that a process before it left unfinished are
    marked interrupted. A command that may run beside a chat passes False.

    `settings.default_model` of the services is the embedded model's name where the settings name none.

    Raises SettingsError, PlacesError, ModelsError, NotEnoughMemoryError, PromptFileError, PatternError, StudyFileError,
    WeightsError, ScorerError or StoreError, each with a plain sentence.
    """

    library = PromptLibrary.load(settings.prompts_dir, settings.persona_word)
    _read_safety_files()
    check_names(in_force(settings), {persona.id: persona.name for persona in library.personas.values()})
    weights = weights or check_weights(settings.cache_dir, settings.embedded)
    settings = _with_default_model(settings, weights)
    specs = load_models(settings.models_file, weights.model)
    _checked_defaults(settings, specs, library)
    head = head_folder(settings.scorer_head)
    embedded = weights.encoder
    scorer = Scorer.load(head, encoder_of(head, lambda: embedded), threads=SCORER_THREADS)
    reader = _reader(scorer, embedded)
    try:
        settings.data_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(
            f"The data folder {settings.data_dir} cannot be made or used ({error.strerror}). "
            "Make it writable, or set HEARD_DATA_DIR to another folder."
        ) from None
    await upgrade(settings.database)
    database = create_engine(settings.database, lock_seconds=settings.save_seconds)
    engine = _embedded_engine(weights)
    specs = _with_context(specs, weights, engine.context_tokens)
    models = Models.of(specs, settings, engine)
    store = Store(database)
    studies = StudyStore(database)
    use_head(Assessor.load(lambda file: _encoder(file, scorer, embedded)()))
    guard = ReplyGuard.load(_encoder(GuardHeadFile.load(), scorer, embedded), scorer.misreads)
    vectors = partial(embedded_vectors, embedded, scorer.vectors)
    bot_questions = BotQuestions(vectors, settings.cache_dir)
    load_texts()
    support = SupportReaders(vectors, settings.cache_dir)
    rising = rising_reader(vectors, settings.cache_dir)
    reading, nudges = reading_queue(), load_nudges()
    reliance_words = RelianceWords(nudges, vectors, settings.cache_dir)
    services = Services(
        settings,
        store,
        models,
        scorer,
        library,
        engine,
        studies,
        reader=reader,
        bot_questions=bot_questions,
        guard=guard,
        examples=ExamplePicker(vectors, settings.cache_dir),
        support=support,
        rising=rising,
        reliance=Reliance(nudges, reliance_words, store, settings, reading),
        reading=reading,
    )
    loop, summary_tasks = asyncio.get_running_loop(), services.summary_tasks

    def end_summaries(conversations: set[str]) -> None:
        loop.call_soon_threadsafe(summary_tasks.cancel, conversations)

    store.on_erased(end_summaries)
    try:
        if serving:
            await store.mark_interrupted()
            await studies.mark_interrupted()
            # Now, because the first question about the bot would wait for it.
            in_background(asyncio.to_thread(bot_questions.prepare, library.bot_answers))
            in_background(asyncio.to_thread(support.prepare))
            in_background(asyncio.to_thread(rising.prepare))
            in_background(asyncio.to_thread(reliance_words.prepare))
        yield services
    finally:
        await services.summary_tasks.aclose()
        services.scoring.shutdown(wait=False, cancel_futures=True)
        reading.close()
        await models.aclose()
        await asyncio.to_thread(engine.close)  # it waits for the model's current step
        await database.dispose()


async def open_live_study(services: Services) -> StudyFile | None:
    """Return the live study of the settings, which answers every message with a ballot; None for the ordinary chat.

    Logs a warning if its prompt files have changed since its first start. Raises SettingsError, StudyFileError or
    StoreError.
    """
    study = await configured_study(services)
    if study is not None:
        absent = sorted({arm.model for arm in study.arms} - set(services.models.offered))
        if absent:
            raise SettingsError(
                f'Study {study.id} asks the embedded model "{absent[0]}", which is not on this machine. '
                f"Run `heard models get {absent[0]}` first."
            )
        record_arm_prompts(services, study)
    return study
