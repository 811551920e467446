"""Between the model and the person: hold the stream back by a sentence, and read each before it is let through.

    pieces -> whole sentences -> debris ends the reply (reply_ending.py) -> the guard reads (safety/reply_guard.py)

One gate for one draft. What it lets through, in order, is the draft's text.
"""

import asyncio
from concurrent.futures import Executor
from dataclasses import dataclass, field

from heard.chat_app.conversation.answer_request import AnswerRequest
from heard.chat_app.conversation.reply_ending import ending_of, without_opening
from heard.chat_app.conversation.sentences import SentenceSplitter, is_whole
from heard.chat_app.conversation.services import Services
from heard.chat_app.models.records import FailureKind, ModelFailure
from heard.chat_app.safety.reply_guard import Caught, GuardContext, ReplyGuard
from heard.prompts.records import Prompt

NOTHING_FIT = "mismatch"
"""Kind of the fixed text after drafts of which nothing was left: its texts ask the person to go on."""
LENGTH = "length"
"""Cause of an ending: the model's token limit."""


@dataclass(slots=True)
class ReplyGate:
    """Reads one draft. `trim` says whether debris and an unfinished end are cut away; without it, and without a guard,
    everything is let through as it comes."""

    context: GuardContext
    instructions: str
    """The system text, whose sentences a reply must not quote."""
    guard: ReplyGuard | None
    trim: bool
    executor: Executor
    """Where the guard reads: it may take some milliseconds."""
    examples: str = ""
    """The examples of the prompt, whose sentences it must not copy; set once the prompt is built."""
    caught: Caught | None = None
    """Why the draft may not be shown; its text so far is then withdrawn."""
    caught_text: str = ""
    """The sentence that was caught."""
    ended_by: str | None = None
    """Why the reply was ended before the model's own end; None where it was not."""
    sentences: list[str] = field(default_factory=list)
    """What was let through."""
    _splitter: SentenceSplitter = field(default_factory=SentenceSplitter)

    @property
    def open(self) -> bool:
        """Whether more of the model's text is wanted."""
        return self.caught is None and self.ended_by is None

    @property
    def text(self) -> str:
        """What was let through, as one text."""
        return "".join(self.sentences)

    async def feed(self, piece: str) -> str:
        """Take a piece of the model's text. Returns what may be shown now; "" while a sentence is incomplete."""
        if self.guard is None and not self.trim:
            self.sentences.append(piece)
            return piece
        return await self._let_through(self._splitter.feed(piece))

    def restart(self) -> None:
        """Forget all that was let through: it was no reply."""
        self.caught, self.caught_text, self.ended_by, self.sentences = None, "", None, []
        self._splitter = SentenceSplitter()

    async def finish(self, *, cut: bool) -> str:
        """Take the model's end; `cut` says that it came from the token limit. Returns the last that may be shown."""
        rest = self._splitter.rest()
        if not self.open:
            return ""
        if cut and self.trim and not is_whole(rest):
            if self.sentences:
                self.ended_by = LENGTH  # the sentence that the limit cut off is left out
                return ""
            rest = rest.rstrip()
        return await self._let_through([rest] if rest else [])

    async def _let_through(self, sentences: list[str]) -> str:
        shown = ""
        for sentence in sentences:
            kept, cause = sentence, None
            if self.trim:
                if not self.text.strip():
                    sentence = without_opening(sentence)
                ending = ending_of(sentence, self.sentences, self.context.message, self.instructions, self.examples)
                kept, cause = ending.kept, ending.cause
                if cause is not None and not is_whole(kept):
                    kept = ""
            if self.guard is not None and kept.strip():
                loop = asyncio.get_running_loop()
                self.caught = await loop.run_in_executor(
                    self.executor, self.guard.read, self.context, kept.strip(), self.text
                )
                if self.caught is not None:
                    self.caught_text = kept
                    break
            if kept:
                self.sentences.append(kept)
                shown += kept
            if cause is not None:
                self.ended_by = cause
                break
        return shown


def open_gate(services: Services, request: AnswerRequest) -> ReplyGate:
    """Return the gate for one draft of an answer."""
    return ReplyGate(
        _context(request),
        request.persona.system,
        services.guard if request.guard else None,
        request.persona.trim,
        services.scoring,
    )


def example_text(prompt: Prompt) -> str:
    """Return the examples of a prompt as one text."""
    after = [message for message in prompt.messages if message.role != "system"]
    return "\n".join(message.content for message in after[: 2 * prompt.examples])


def fixed_reply(services: Services, request: AnswerRequest, kind: str | None) -> str:
    """Return the text that stands where no draft may be shown; `kind` is what the last of them was caught for, None if
    nothing was left of any. Raises ModelFailure (EMPTY) where no guard reads, as nothing may be put into the model's
    mouth there."""
    if services.guard is None or not request.guard:
        raise ModelFailure(
            FailureKind.EMPTY, f"{request.model.label} wrote nothing that is fit to show. Send the message again."
        )
    return services.guard.fixed_sentence(kind or NOTHING_FIT, _context(request), request.persona.id)


def _context(request: AnswerRequest) -> GuardContext:
    return GuardContext(request.text, tuple(request.earlier), request.persona.name)
