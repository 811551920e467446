"""A judge for a program without an event loop: its models get one, in a thread of their own."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Thread

from heard.chat_app.common.settings import Settings
from heard.chat_app.models.catalogue import ModelsError, load_models
from heard.chat_app.models.client import Models
from heard.chat_app.models.records import ModelSpec
from heard.chat_app.rating.llm_judge import LlmJudge
from heard.chat_app.safety.checked_score import CheckedRater
from heard.hints import nearest_name
from heard.prompts.library import PromptLibrary
from heard.scorer.other_rater import JUDGE


def judge_model(name: str, specs: Mapping[str, ModelSpec]) -> ModelSpec:
    """The model of `specs` that "judge:MODEL" names. Raises ModelsError for one that there is not."""
    model = name.removeprefix(JUDGE)
    if model not in specs:
        raise ModelsError(f'No model "{model}" that could judge. {nearest_name(model, specs)}')
    return specs[model]


@contextmanager
def opened_judge(name: str, settings: Settings) -> Iterator[CheckedRater]:
    """The judge "judge:MODEL", and its connections closed in the end.

    Raises ModelsError or PromptFileError. What it is given is checked by whatever `use_head` has put in use.
    """
    spec = judge_model(name, load_models(settings.models_file))
    instructions = PromptLibrary.load(settings.prompts_dir, settings.persona_word).judge
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever, name="judge", daemon=True)
    thread.start()
    try:
        models = asyncio.run_coroutine_threadsafe(_models(spec, settings), loop).result()
        try:
            yield CheckedRater(LlmJudge(models, spec, instructions, loop))
        finally:
            asyncio.run_coroutine_threadsafe(models.aclose(), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _models(spec: ModelSpec, settings: Settings) -> Models:
    return Models.of({spec.id: spec}, settings)
