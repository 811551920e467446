"""Load a GGUF file into llama.cpp: a server in this process, with its threads, slots and context as its plan says."""

import logging
import os
from pathlib import Path
from typing import Any

from heard.chat_app.models.engine_plan import EnginePlan
from heard.chat_app.models.gguf_header import GgufHeader
from heard.chat_app.models.records import FailureKind, ModelFailure
from heard.chat_app.models.thread_priority import with_low_priority_threads

log = logging.getLogger(__name__)

NATIVE_ERRORS = (RuntimeError, ValueError, TypeError, IndexError, ArithmeticError, OSError, MemoryError)
"""Exceptions that Cython makes of those of llama.cpp."""


def load_server(
    model: Path, adapter: Path | None, header: GgufHeader, plan: EnginePlan, *, label: str, api_key: str, folder: str
) -> Any:
    """Return a started and warm xllamacpp.Server. Blocks, and its loader holds the interpreter's lock.

    `adapter` is added to the model's own weights; `label` names the model in sentences; `folder` is where a slot may be
    kept while it is copied. Raises ModelFailure if this machine has no engine, the model has no chat template, or the
    file cannot be loaded.
    """
    try:
        import xllamacpp
    except ImportError:
        raise ModelFailure(
            FailureKind.UNREACHABLE,
            "This system has no embedded engine (xllamacpp is not installed). Choose another model, for example "
            "an Ollama server as an entry of models.toml.",
        ) from None
    if not header.has_template:
        raise ModelFailure(
            FailureKind.REJECTED,
            f"{model.name} has no chat template, so it is not a model to talk to. Choose one with instruct or chat in "
            "its name.",
        )
    try:
        params = _params(xllamacpp, model, plan, api_key, folder)
        if adapter is not None:
            params.lora_adapters = [xllamacpp.CommonAdapterLoraInfo(str(adapter), 1.0)]
        server = with_low_priority_threads(lambda: xllamacpp.Server(params))
        # The first call of all compiles the chat template and touches the memory, so that a person's needn't.
        hello = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 1}
        server.handle_chat_completions(hello, lambda _: False)
    except NATIVE_ERRORS as error:
        log.warning("embedded model: %s while loading", type(error).__name__)
        raise ModelFailure(
            FailureKind.UNREACHABLE,
            f"{label} cannot be loaded: {model.name} is damaged or cut short, of a kind that the engine does not know, "
            "or too large for the free memory. Run `heard models fetch`, then try again.",
        ) from None
    return server


def _params(xllamacpp: Any, model: Path, plan: EnginePlan, api_key: str, folder: str) -> Any:
    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.model_alias = {model.stem}  # else its answers name a path of this machine
    params.n_parallel = plan.slots
    params.n_ctx = plan.slots * plan.context_tokens
    params.n_batch = params.n_ubatch = plan.batch_tokens
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = plan.threads
    params.cache_ram_mib = plan.prompt_cache_mb
    modes = xllamacpp.llama_load_mode
    params.load_mode = modes.LLAMA_LOAD_MODE_MMAP if plan.mapped else modes.LLAMA_LOAD_MODE_NONE
    params.slot_save_path = folder + os.sep
    params.warmup = False  # the first call in `load_server` does that, and unlike this it lets the event loop run
    params.fit_params = False  # it would load the model twice, to see what fits a GPU
    params.verbosity = -1  # its log can hold prompts
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [api_key]
    params.ui = params.endpoint_slots = params.cors_credentials = False
    params.cors_origins = ""
    return params
