"""Weights of the Hugging Face Hub, or of a folder, in this process: transformers on one thread, behind one queue.

One call at a time, because two would share the same processors and each take twice as long, and because PyTorch has one
seed for all. A model is loaded by its first call and kept.
"""

import asyncio
import concurrent.futures
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import TemplateError
from safetensors import SafetensorError

from heard.chat_app.models.hub_files import unloadable, weights_folder
from heard.chat_app.models.llama_engine import Done
from heard.chat_app.models.records import Delta, FailureKind, ModelFailure, ModelSpec
from heard.chat_app.models.waiting_queue import Ticket, WaitingQueue

log = logging.getLogger(__name__)

LOADING_ERRORS = (
    SafetensorError,
    OSError,
    ValueError,
    LookupError,
    ImportError,
    RuntimeError,
    AttributeError,
    TypeError,
    MemoryError,
)
"""Exceptions of transformers for missing, broken and unknown weights."""
WRITING_ERRORS = (RuntimeError, ValueError, LookupError, TypeError, MemoryError, TemplateError)
INTEGER_SAMPLING = ("top_k",)
"""Sampling parameters that must be integers."""


@dataclass(frozen=True, slots=True)
class _LoadedModel:
    tokenizer: Any
    model: Any
    special_tokens: tuple[str, ...]
    """The tokenizer's special tokens, such as those between speakers, which a person must not be able to type."""
    context_tokens: int
    """Most tokens of prompt and reply together."""


class _Generation:
    """A reply that is being generated: filled by the worker thread, read by the event loop."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.items: asyncio.Queue[Delta | Done | ModelFailure] = asyncio.Queue()
        self.stop = False

    def put(self, item: Delta | Done | ModelFailure) -> None:
        try:
            self.loop.call_soon_threadsafe(self.items.put_nowait, item)
        except RuntimeError:  # the loop is closed, so nobody reads on
            self.stop = True


class HubEngine:
    """All models of the provider "transformers". Call `load` before `model`, and `close` in the end."""

    def __init__(self) -> None:
        self.queue = WaitingQueue(1)
        self._worker = concurrent.futures.ThreadPoolExecutor(1, thread_name_prefix="hub")
        self._loaded: dict[str, _LoadedModel] = {}
        self._generations: set[_Generation] = set()

    async def load(self, spec: ModelSpec, token: str | None) -> None:
        """Fetch and load the weights, unless they are loaded. Takes up to minutes, and goes on if it is cancelled.

        `token` is a Hub token, for weights that require one. Raises ModelFailure (REJECTED).
        """
        if spec.model not in self._loaded:
            await asyncio.get_running_loop().run_in_executor(self._worker, self._load, spec, token)

    def model(self, spec: ModelSpec) -> "HubModel":
        """Return a loaded model. Raises KeyError if it is not loaded."""
        return HubModel(self, spec, self._loaded[spec.model])

    def release(self, ticket: Ticket) -> None:
        """Give up a ticket. The thread may be a token behind; the next call then waits for it."""
        self.queue.leave(ticket)

    def close(self) -> None:
        """Stop every reply that is being generated; the thread stops at its next token."""
        for generation in tuple(self._generations):
            generation.stop = True
        self._worker.shutdown(wait=False, cancel_futures=True)

    def submit(
        self, loaded: _LoadedModel, spec: ModelSpec, arguments: Mapping[str, Any], generation: _Generation
    ) -> None:
        """Have the thread generate one reply into `generation`."""
        self._generations.add(generation)
        try:
            self._worker.submit(self._work, loaded, spec, arguments, generation)
        except RuntimeError:  # closed since
            self._generations.discard(generation)
            raise _generation_failed(spec) from None

    def _work(
        self, loaded: _LoadedModel, spec: ModelSpec, arguments: Mapping[str, Any], generation: _Generation
    ) -> None:
        try:
            if not generation.stop:
                generation.put(_generate(loaded, spec, arguments, generation))
        except ModelFailure as failure:
            generation.put(failure)
        except WRITING_ERRORS as error:  # its text can quote the prompt
            log.warning("weights of %s: %s", spec.id, type(error).__name__)
            generation.put(_generation_failed(spec))
        finally:
            self._generations.discard(generation)

    def _load(self, spec: ModelSpec, token: str | None) -> None:
        if spec.model in self._loaded:
            return
        folder = weights_folder(spec, token)
        import torch  # after that, as both take seconds
        import transformers

        transformers.logging.set_verbosity_error()
        transformers.logging.disable_progress_bar()
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
            model = transformers.AutoModelForCausalLM.from_pretrained(
                folder, local_files_only=True, dtype="auto", use_safetensors=True
            )
            if torch.accelerator.is_available():
                model = model.to(torch.accelerator.current_accelerator())
        except LOADING_ERRORS as error:  # its text can be long, and can name folders of this machine
            log.warning("weights of %s: %s while loading", spec.id, type(error).__name__)
            raise unloadable(
                spec,
                "There is no model in its files that transformers can read, as safetensors with a tokenizer "
                f"({type(error).__name__}).",
            ) from None
        if not tokenizer.chat_template:
            raise unloadable(
                spec, 'It has no chat template, so it is none to talk to; its "Instruct" or "Chat" version may be one.'
            )
        special_tokens = tuple(token.content for token in tokenizer.added_tokens_decoder.values() if token.special)
        context_tokens = getattr(model.config.get_text_config(), "max_position_embeddings", None) or spec.context_tokens
        self._loaded[spec.model] = _LoadedModel(tokenizer, model.eval(), special_tokens, context_tokens)


@dataclass(frozen=True, slots=True)
class HubModel:
    """One loaded model, with the same `stream` as the embedded engine."""

    engine: HubEngine
    spec: ModelSpec
    loaded: _LoadedModel

    @property
    def special_tokens(self) -> tuple[str, ...]:
        """The tokenizer's special tokens."""
        return self.loaded.special_tokens

    async def stream(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        max_tokens: int,
        temperature: float,
        sampling: Mapping[str, float] | None = None,
        seed: int | None = None,
        ticket: Ticket | None = None,
        thinking: bool | None = None,
    ) -> AsyncGenerator[Delta | Done, None]:
        """Answer OpenAI-shaped messages: yield Delta+, then Done. Waits in the queue unless given an admitted ticket.
        `thinking` tells the chat template whether the model should think; None leaves that to the template.

        Closing the generator stops the thread at its next token. Raises ModelFailure: REJECTED for a prompt longer than
        the model's context window, SERVER_ERROR or CUT if generating fails.
        """
        queue = self.engine.queue
        ticket = ticket or queue.join()
        generation, begun = _Generation(), False
        arguments = {
            "messages": list(messages),
            "max_tokens": max_tokens,
            "temperature": temperature,
            "sampling": {
                name: int(value) if name in INTEGER_SAMPLING else value for name, value in (sampling or {}).items()
            },
            "seed": seed,
            "thinking": thinking,
        }
        try:
            async for _ in queue.positions(ticket):
                pass
            self.engine.submit(self.loaded, self.spec, arguments, generation)
            while not isinstance(item := await generation.items.get(), ModelFailure):
                yield item
                begun = True
                if isinstance(item, Done):
                    return
            raise ModelFailure(FailureKind.CUT, item.sentence) if begun else item
        finally:
            generation.stop = True
            queue.leave(ticket)


def _generate(loaded: _LoadedModel, spec: ModelSpec, arguments: Mapping[str, Any], generation: _Generation) -> Done:
    """Generate one reply, in the worker thread."""
    import torch
    from transformers import StoppingCriteriaList, TextStreamer

    tokenizer, model = loaded.tokenizer, loaded.model
    prompt = _tokenise(tokenizer, arguments["messages"], arguments["thinking"]).to(model.device)
    read = prompt["input_ids"].shape[1]
    most = min(arguments["max_tokens"], loaded.context_tokens - read)
    if most < 1:
        raise ModelFailure(
            FailureKind.REJECTED,
            f'This conversation is longer than "{spec.label}" can read ({loaded.context_tokens} tokens). Start a new '
            "chat, or choose a model with more room.",
        )
    streamer = TextStreamer(tokenizer, skip_prompt=True, skip_special_tokens=True)
    streamer.on_finalized_text = lambda text, stream_end=False: generation.put(Delta(text)) if text else None

    def stopped(tokens: Any, scores: Any, **_: Any) -> Any:
        return torch.full((tokens.shape[0],), generation.stop, dtype=torch.bool, device=tokens.device)

    if arguments["seed"] is not None:
        torch.manual_seed(arguments["seed"])
    samples = arguments["temperature"] > 0
    parameters = {"temperature": arguments["temperature"], **arguments["sampling"]} if samples else {}
    with torch.inference_mode():
        whole = model.generate(
            **prompt,
            max_new_tokens=most,
            do_sample=samples,
            **parameters,
            pad_token_id=tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id,
            streamer=streamer,
            stopping_criteria=StoppingCriteriaList([stopped]),
        )
    written = whole.shape[1] - read
    ends = model.generation_config.eos_token_id
    ended = int(whole[0, -1]) in (ends if isinstance(ends, list) else [ends])
    return Done("stop" if ended or written < most else "length", read, written)


def _tokenise(tokenizer: Any, messages: list[dict[str, Any]], thinking: bool | None) -> Any:
    """Return the prompt in the model's chat template. Where that has no system message, it begins the first message."""
    how = {"add_generation_prompt": True, "return_tensors": "pt", "return_dict": True}
    if thinking is not None:
        how["enable_thinking"] = thinking
    try:
        return tokenizer.apply_chat_template(messages, **how)
    except TemplateError:
        if len(messages) < 2 or messages[0]["role"] != "system":
            raise
        system, first, *rest = messages
        first = {**first, "content": f"{system['content']}\n\n{first['content']}"}
        return tokenizer.apply_chat_template([first, *rest], **how)


def _generation_failed(spec: ModelSpec) -> ModelFailure:
    return ModelFailure(
        FailureKind.SERVER_ERROR,
        f'"{spec.label}" stopped, perhaps for want of memory. Send the message again, or choose a smaller model.',
    )
