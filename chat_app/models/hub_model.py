"""Weights of the Hugging Face Hub, or of a folder, in this process: transformers behind one thread and one line.

One call at a time, because two would share the same arithmetic and each take twice as long, and because PyTorch has one
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
from heard.chat_app.models.waiting_queue import Ticket, WaitingLine

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
"""What transformers makes of missing, broken and unknown weights."""
WRITING_ERRORS = (RuntimeError, ValueError, LookupError, TypeError, MemoryError, TemplateError)
WHOLE = ("top_k",)
"""Sampling parameters that must be whole numbers."""


@dataclass(frozen=True, slots=True)
class _Loaded:
    tokenizer: Any
    model: Any
    marks: tuple[str, ...]
    """The model's own marks of who speaks, which a person must not be able to type."""
    room: int
    """Most tokens of prompt and reply together."""


class _Call:
    """A reply in the making: filled by the worker thread, read by the event loop."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.items: asyncio.Queue[Delta | Done | ModelFailure] = asyncio.Queue()
        self.stop = False

    def hand_over(self, item: Delta | Done | ModelFailure) -> None:
        try:
            self.loop.call_soon_threadsafe(self.items.put_nowait, item)
        except RuntimeError:  # the loop is closed, so nobody reads on
            self.stop = True


class HubEngine:
    """Every model of the provider "transformers". Cheap to make; `load` before `model`, and `close` in the end."""

    def __init__(self) -> None:
        self.line = WaitingLine(1)
        self._worker = concurrent.futures.ThreadPoolExecutor(1, thread_name_prefix="hub")
        self._loaded: dict[str, _Loaded] = {}
        self._calls: set[_Call] = set()

    async def load(self, spec: ModelSpec, token: str | None) -> None:
        """Fetch and load the weights, unless they are loaded. It can take minutes, and goes on when it is cancelled.

        `token` is the Hub's, for weights that want one. Raises ModelFailure (rejected), with a sentence.
        """
        if spec.model not in self._loaded:
            await asyncio.get_running_loop().run_in_executor(self._worker, self._load, spec, token)

    def model(self, spec: ModelSpec) -> "HubModel":
        """A loaded model. Raises KeyError for one that is not."""
        return HubModel(self, spec, self._loaded[spec.model])

    def give_up(self, ticket: Ticket) -> None:
        """Leave the line. The thread may be a token behind; the next call then waits for it."""
        self.line.leave(ticket)

    def close(self) -> None:
        """End what is being written; the thread stops at its next token."""
        for call in tuple(self._calls):
            call.stop = True
        self._worker.shutdown(wait=False, cancel_futures=True)

    def submit(self, loaded: _Loaded, spec: ModelSpec, given: Mapping[str, Any], call: _Call) -> None:
        """Let the thread write one reply into `call`."""
        self._calls.add(call)
        try:
            self._worker.submit(self._work, loaded, spec, given, call)
        except RuntimeError:  # closed since
            self._calls.discard(call)
            raise _stopped(spec) from None

    def _work(self, loaded: _Loaded, spec: ModelSpec, given: Mapping[str, Any], call: _Call) -> None:
        try:
            if not call.stop:
                call.hand_over(_write(loaded, spec, given, call))
        except ModelFailure as failure:
            call.hand_over(failure)
        except WRITING_ERRORS as error:  # its text can quote the prompt
            log.warning("weights of %s: %s", spec.id, type(error).__name__)
            call.hand_over(_stopped(spec))
        finally:
            self._calls.discard(call)

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
        marks = tuple(token.content for token in tokenizer.added_tokens_decoder.values() if token.special)
        room = getattr(model.config.get_text_config(), "max_position_embeddings", None) or spec.context_tokens
        self._loaded[spec.model] = _Loaded(tokenizer, model.eval(), marks, room)


@dataclass(frozen=True, slots=True)
class HubModel:
    """One loaded model, with the same `stream` as the embedded engine."""

    engine: HubEngine
    spec: ModelSpec
    loaded: _Loaded

    @property
    def marks(self) -> tuple[str, ...]:
        """The model's own marks of who speaks."""
        return self.loaded.marks

    async def stream(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        max_tokens: int,
        temperature: float,
        sampling: Mapping[str, float] | None = None,
        seed: int | None = None,
        ticket: Ticket | None = None,
    ) -> AsyncGenerator[Delta | Done, None]:
        """Answer OpenAI-shaped messages: Delta+, then Done. Waits in the line unless it is given an admitted ticket.

        Closing the generator stops the thread at its next token. Raises ModelFailure: REJECTED for a prompt that is
        longer than the model can read, SERVER_ERROR or CUT when the arithmetic fails.
        """
        line = self.engine.line
        ticket = ticket or line.join()
        call, begun = _Call(), False
        given = {
            "messages": list(messages),
            "max_tokens": max_tokens,
            "temperature": temperature,
            "sampling": {name: int(value) if name in WHOLE else value for name, value in (sampling or {}).items()},
            "seed": seed,
        }
        try:
            async for _ in line.places(ticket):
                pass
            self.engine.submit(self.loaded, self.spec, given, call)
            while not isinstance(item := await call.items.get(), ModelFailure):
                yield item
                begun = True
                if isinstance(item, Done):
                    return
            raise ModelFailure(FailureKind.CUT, item.sentence) if begun else item
        finally:
            call.stop = True
            line.leave(ticket)


def _write(loaded: _Loaded, spec: ModelSpec, given: Mapping[str, Any], call: _Call) -> Done:
    """One reply, in the worker thread."""
    import torch
    from transformers import StoppingCriteriaList, TextStreamer

    tokenizer, model = loaded.tokenizer, loaded.model
    prompt = _encoded(tokenizer, given["messages"]).to(model.device)
    read = prompt["input_ids"].shape[1]
    most = min(given["max_tokens"], loaded.room - read)
    if most < 1:
        raise ModelFailure(
            FailureKind.REJECTED,
            f'This conversation is longer than "{spec.label}" can read ({loaded.room} tokens). Start a new chat, or '
            "choose a model with more room.",
        )
    streamer = TextStreamer(tokenizer, skip_prompt=True, skip_special_tokens=True)
    streamer.on_finalized_text = lambda text, stream_end=False: call.hand_over(Delta(text)) if text else None

    def stopped(tokens: Any, scores: Any, **_: Any) -> Any:
        return torch.full((tokens.shape[0],), call.stop, dtype=torch.bool, device=tokens.device)

    if given["seed"] is not None:
        torch.manual_seed(given["seed"])
    warm = given["temperature"] > 0
    heat = {"temperature": given["temperature"], **given["sampling"]} if warm else {}
    with torch.inference_mode():
        whole = model.generate(
            **prompt,
            max_new_tokens=most,
            do_sample=warm,
            **heat,
            pad_token_id=tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id,
            streamer=streamer,
            stopping_criteria=StoppingCriteriaList([stopped]),
        )
    written = whole.shape[1] - read
    ends = model.generation_config.eos_token_id
    ended = int(whole[0, -1]) in (ends if isinstance(ends, list) else [ends])
    return Done("stop" if ended or written < most else "length", read, written)


def _encoded(tokenizer: Any, messages: list[dict[str, Any]]) -> Any:
    """The prompt in the model's own template. Some know no system message: it then begins the first of the person."""
    how = {"add_generation_prompt": True, "return_tensors": "pt", "return_dict": True}
    try:
        return tokenizer.apply_chat_template(messages, **how)
    except TemplateError:
        if len(messages) < 2 or messages[0]["role"] != "system":
            raise
        system, first, *rest = messages
        first = {**first, "content": f"{system['content']}\n\n{first['content']}"}
        return tokenizer.apply_chat_template([first, *rest], **how)


def _stopped(spec: ModelSpec) -> ModelFailure:
    return ModelFailure(
        FailureKind.SERVER_ERROR,
        f'"{spec.label}" stopped, perhaps for want of memory. Send the message again, or choose a smaller model.',
    )
