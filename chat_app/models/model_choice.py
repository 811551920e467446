"""Which embedded model this machine runs: the best of the catalogue whose memory and disk it has, or the one named.

The choice is told in a line on standard error, with the memory and the disk that it was made by.
"""

from importlib.util import find_spec
from pathlib import Path

from rich.console import Console

from heard.chat_app.models.embedded_models import AUTO, MODELS, SMOLLM2, EmbeddedModel, catalogue_model
from heard.chat_app.models.machine import free_disk, free_memory
from heard.chat_app.models.model_download import bytes_of_disk, fetch_model, is_whole
from heard.chat_app.models.weights_folder import WeightsError, first_sentence

GB = 1_000_000_000
MB = 1_000_000
PROGRAM_BYTES = 450 * MB
"""What page and scorer take beside the engine."""
RESERVE_BYTES = 700 * MB
"""Left to the rest of the machine: a browser, and what the disk's cache needs to stay quick."""
LEAST_CONTEXT = 2048
"""Tokens of one chat; a model that cannot have them for each slot does not fit."""
LEAST_SLOTS = 4
BUFFER_BYTES = 150 * MB
"""The engine's own buffers."""


def engine_bytes(model: EmbeddedModel) -> int:
    """Return what the engine takes with this model at its least context: weights, context and buffers."""
    return (model.bytes or 0) + LEAST_SLOTS * LEAST_CONTEXT * model.kv_bytes + BUFFER_BYTES


def memory_needed(model: EmbeddedModel) -> int:
    """Return the bytes of memory that must be free before heard starts with this model."""
    return engine_bytes(model) + PROGRAM_BYTES + (0 if model.tiny else RESERVE_BYTES)


def fits(model: EmbeddedModel, memory: int) -> bool:
    """Return whether `memory` free bytes are enough."""
    return memory >= memory_needed(model)


def candidates(memory: int) -> list[EmbeddedModel]:
    """Return the models that heard may choose by itself where `memory` bytes are free: the best first, SmolLM2 last.

    On a system without the engine, where none of them answers, SmolLM2 alone.
    """
    if find_spec("xllamacpp") is None:
        return [SMOLLM2]
    return [model for model in MODELS if model.automatic and fits(model, memory)] + [SMOLLM2]


def chosen_on_disk(cache_dir: Path, embedded: str) -> EmbeddedModel:
    """Return the model that a start without any download uses.

    Raises WeightsError if it is not in the cache or its sha256 is not the right one, and UnknownModelError.
    """
    if embedded == AUTO:
        for model in candidates(free_memory()):
            if is_whole(model, cache_dir):
                return model
    model = SMOLLM2 if embedded == AUTO else catalogue_model(embedded)
    if not is_whole(model, cache_dir):
        path = model.path_in(cache_dir)
        fault = "is damaged (its sha256 is not the published one)" if path.exists() else "is missing"
        raise WeightsError(f"{path} {fault}. Run `heard models fetch` to fetch it.")
    return model


def fetch_chosen(cache_dir: Path, embedded: str, *, progress: bool = True) -> EmbeddedModel:
    """Return the model that this machine runs, with its file in the cache; see `ensure_weights`.

    Without a name, one that is on the disk is taken without asking any network, unless only SmolLM2 is and the memory
    would do for more. Raises WeightsError, and UnknownModelError.
    """
    console = Console(stderr=True, quiet=not progress)
    memory = free_memory()
    if embedded != AUTO:
        return _named(catalogue_model(embedded), cache_dir, memory, progress)
    fitting = candidates(memory)
    there = next((model for model in fitting if is_whole(model, cache_dir)), None)
    if there is not None and (not there.tiny or len(fitting) == 1):
        console.print(f"{there.model} answers: {_machine(memory, cache_dir)}.{_why_tiny(fitting)}", soft_wrap=True)
        return there
    for model in fitting:
        need, free = bytes_of_disk(model, cache_dir), free_disk(cache_dir)
        if need > free and model is not SMOLLM2:
            console.print(f"{model.model} needs {need // MB} MB of disk, and {free // MB} MB are free.", soft_wrap=True)
            continue
        if not is_whole(model, cache_dir):
            told = f"{model.model} is the best that this machine carries"
            if model is not fitting[0]:
                told = f"{model.model} comes next"
            console.print(f"{told}: {_machine(memory, cache_dir)}.{_why_tiny(fitting)}", soft_wrap=True)
        try:
            fetch_model(model, cache_dir, progress=progress)
        except WeightsError as error:
            if model is fitting[-1]:
                raise
            console.print(first_sentence(error), soft_wrap=True)
            continue
        if model is there:
            console.print(f"So {model.model} answers, which is on the disk.", soft_wrap=True)
        return model
    raise AssertionError("the last candidate is returned, or its error raised")


def _named(model: EmbeddedModel, cache_dir: Path, memory: int, progress: bool) -> EmbeddedModel:
    if not model.tiny and not fits(model, memory):
        raise WeightsError(
            f"{model.model} needs {_gb(memory_needed(model))} of free memory, and {_gb(memory)} are free. End other "
            f"programs, or set HEARD_EMBEDDED={SMOLLM2.name} (or {AUTO})."
        )
    fetch_model(model, cache_dir, progress=progress)
    return model


def _machine(memory: int, cache_dir: Path) -> str:
    return f"{_gb(memory)} of memory and {_gb(free_disk(cache_dir))} of disk are free"


def _why_tiny(fitting: list[EmbeddedModel]) -> str:
    if len(fitting) > 1:
        return ""
    least = min((model for model in MODELS if model.automatic), key=memory_needed)
    return f" The next larger model, {least.model}, needs {_gb(memory_needed(least))} of free memory."


def _gb(number: int) -> str:
    return f"{number / GB:.1f} GB"
