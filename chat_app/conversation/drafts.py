"""The drafts of one turn while they are written: texts, times, token counts, scores, and which one is kept."""

import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from heard.chat_app.common.text import clean_unicode
from heard.chat_app.conversation.events import TurnRequest
from heard.chat_app.conversation.thinking_step import ThinkingNotes
from heard.chat_app.models.records import Delta, ModelSpec, Rethought, StreamItem, Usage
from heard.chat_app.safety.reply_guard import Caught
from heard.db.records import AskedBy, DraftRecord, DraftStatus, ReplyRecord, ScoreRecord, StepRecord
from heard.prompts.records import Prompt, PromptMessage, Watched
from heard.scorer.records import READINGS, EmpathyScore

FIXED_TEXT = "fixed text"
"""The model's name of a draft that no model wrote."""
NOT_REWRITTEN = "not_rewritten"
"""In a score's details: why the policy wrote nothing again, where its number is missing."""
MISFITS = {"off_topic", "misread"}
"""The scorer's notes on a reply that does not answer its message. It is kept only if every draft has one."""


@dataclass(slots=True)
class Drafts:
    """The drafts of one turn, in order. At most one is open; `end` does nothing if none is."""

    ended: list[DraftRecord] = field(default_factory=list)
    usage: Usage | None = None
    """Token counts of the open draft, once the model has reported them."""
    fallback: ModelSpec | None = None
    """The model that writes in place of the requested one, once that has failed."""
    fallback_for: str | None = None
    """Name of the requested model, where a fallback writes."""
    policy: str | None = None
    """File name of the rewrite policy that these drafts follow."""
    watches: Watched = "empathy"
    """The number of a score that the policy watches, and by which the best draft is kept."""
    steps: list[StepRecord] = field(default_factory=list)
    """Hidden calls for the open draft or the next one; they are stored with it when it ends."""
    variables: dict[str, str] | None = None
    """Values of the strategy's variables; None until all its steps have ended."""
    _step: str | None = None
    """Name of the hidden step whose text is arriving, if any."""
    guard: bool = True
    """Whether the guard reads these drafts."""
    asked_by: AskedBy | None = None
    """Who asked for the first of these, where the reply has drafts already."""
    _open: DraftRecord | None = None
    _pieces: list[str] = field(default_factory=list)
    _began: float = 0.0
    _first: float | None = None
    _thinking: ThinkingNotes = field(default_factory=ThinkingNotes)

    def begin(self, model: ModelSpec, prompt: Prompt, number: int, guidance: str | None) -> None:
        """Open a draft and start its clock. A draft that a hidden step has opened is replaced."""
        self._keep_thinking()  # of a model that failed, and whose fallback begins now
        self._start_clock()
        self._open = DraftRecord(
            id=str(uuid.uuid4()),
            number=number,
            text="",
            status=DraftStatus.COMPLETE,
            kept=False,
            guidance=guidance,
            prompt_sha256=prompt.sha256,
            model=model.id,
            parameters={
                "model": model.model,
                "temperature": model.temperature,
                "seed": model.seed,
                **model.sampling,
                **({"reasoning": model.reasoning} if model.reasoning is not None else {}),
                **({"thinking_tokens": model.thinking_tokens} if model.thinking_tokens else {}),
                **({"extra_body": model.extra_body} if model.extra_body else {}),
                "max_tokens": prompt.max_tokens,
                "examples": prompt.examples,
            },
            first_token_seconds=None,
            total_seconds=0.0,
            prompt_tokens=None,
            completion_tokens=None,
            error=None,
            score=None,
            created_at=datetime.now(UTC),
            fallback_for=self.fallback_for,
            asked_by=AskedBy.POLICY if self.complete else None if self.ended else self.asked_by,
        )

    def begin_fixed(self, text: str, number: int, guidance: str | None) -> None:
        """Open a draft that no model writes, with its text."""
        prompt = Prompt((PromptMessage("assistant", text),), max_tokens=0)
        self.begin(ModelSpec(FIXED_TEXT, FIXED_TEXT, FIXED_TEXT, FIXED_TEXT), prompt, number, guidance)
        self.add_text(text)

    @property
    def begun(self) -> bool:
        """Whether the model has written anything of the open draft."""
        return self._open is not None and self._first is not None

    def begin_step(self, model: ModelSpec, prompt: Prompt, name: str) -> None:
        """Open the call of a hidden step, whose model and prompt the first draft has until its own call begins."""
        self.begin(model, prompt, 1, None)
        self._step = name

    def end_step(self) -> str:
        """Turn the open step into a record. Returns its text, stripped."""
        assert self._open is not None
        assert self._step is not None
        text = clean_unicode("".join(self._pieces))
        self._keep_thinking()
        step = StepRecord(
            name=self._step,
            text=text,
            prompt_sha256=self._open.prompt_sha256,
            model=self._open.model,
            max_tokens=self._open.parameters["max_tokens"],
            first_token_seconds=self._first,
            total_seconds=time.perf_counter() - self._began,
            prompt_tokens=self.usage.prompt_tokens if self.usage else None,
            completion_tokens=self.usage.completion_tokens if self.usage else None,
            cut=self.usage.cut if self.usage else False,
        )
        self.steps.append(step)
        self._start_clock()
        return text.strip()

    def _start_clock(self) -> None:
        self._step, self._pieces, self._first, self.usage = None, [], None, None
        self._began, self._thinking = time.perf_counter(), ThinkingNotes()

    def _keep_thinking(self) -> None:
        """Keep what the model has thought in the open call as a hidden step."""
        if self._open is None:
            return
        step = self._thinking.step(
            model=self._open.model,
            prompt_sha256=self._open.prompt_sha256,
            max_tokens=self._open.parameters["max_tokens"],
            of=self._step,
        )
        self._thinking = ThinkingNotes()
        if step is not None:
            self.steps.append(step)

    def note_item(self, item: StreamItem) -> None:
        """Note the time of the first text, the thinking, and the counts, of an item whose text may not count yet."""
        self._thinking.note(item)
        match item:
            case Rethought():
                self._pieces, self._first = [], None
            case Delta():
                if self._first is None:
                    self._first = time.perf_counter() - self._began
            case Usage():
                self.usage = item

    def add_item(self, item: StreamItem) -> None:
        """Add an item of the model's stream to the open step."""
        self.note_item(item)
        if isinstance(item, Delta):
            self.add_text(item.text)

    def add_text(self, text: str) -> None:
        """Append text to the open draft, or to its open step."""
        if text:
            self._pieces.append(text)

    def end(
        self,
        status: DraftStatus,
        error: str | None = None,
        *,
        caught: Caught | None = None,
        ended_by: str | None = None,
    ) -> None:
        """Turn the open draft into a record; does nothing if none is open."""
        if self._open is None:
            return
        if self._step is not None:
            self.end_step()  # what had arrived of it is kept
        self._keep_thinking()
        draft = replace(
            self._open,
            text=clean_unicode("".join(self._pieces)),
            status=status,
            first_token_seconds=self._first,
            total_seconds=time.perf_counter() - self._began,
            prompt_tokens=self.usage.prompt_tokens if self.usage else None,
            completion_tokens=self.usage.completion_tokens if self.usage else None,
            error=error,
            cut=self.usage.cut if self.usage else False,
            steps=tuple(self.steps),
            caught=caught.kind if caught else None,
            caught_by=caught.by if caught else None,
            ended_by=ended_by,
        )
        self._open, self.steps = None, []
        self.ended.append(draft)

    def set_score(self, score: EmpathyScore) -> None:
        """Set the score of the newest draft. Its details say so if the policy watches a number that it lacks."""
        record = score_record(score)
        if score.empathy is not None and watched(self.watches, record) is None:
            record = replace(record, details={**score.details, NOT_REWRITTEN: self._unwatched()})
        self.ended[-1] = replace(self.ended[-1], score=record)

    def _unwatched(self) -> str:
        return f"The policy {self.policy} watches the number {self.watches}, which this head does not give."

    @property
    def complete(self) -> list[DraftRecord]:
        """The drafts with status COMPLETE."""
        return [draft for draft in self.ended if draft.status is DraftStatus.COMPLETE]

    def with_best_kept(self) -> tuple[DraftRecord, ...]:
        """Return all drafts with one marked as kept: of the complete ones the best by fit and then by the number that
        the policy watches, the earlier on a tie; if none is complete, the last."""
        if not self.ended:
            return ()
        kept = max(self.complete, key=partial(_rank, self.watches), default=self.ended[-1])
        return tuple(replace(draft, kept=draft is kept) for draft in self.ended)

    def reply_record(self, request: TurnRequest) -> ReplyRecord | None:
        """Return the drafts as the reply to a turn; None before the first has ended."""
        drafts = self.with_best_kept()
        if not drafts:
            return None
        return ReplyRecord(
            id=request.reply_id,
            message_id=request.message_id,
            persona=request.persona.id,
            strategy=request.strategy.id,
            drafts=drafts,
            created_at=drafts[0].created_at,
            policy=self.policy,
        )


def guard_action(drafts: Sequence[DraftRecord], *, guard: bool) -> str:
    """Return what the guard did to a reply: "off", "fixed", "rewritten" or "passed"."""
    if not guard:
        return "off"
    kept = next((draft for draft in drafts if draft.kept), None)
    if kept is not None and kept.model == FIXED_TEXT:
        return "fixed"
    return "rewritten" if any(draft.caught for draft in drafts) else "passed"


def watched(watches: Watched, score: ScoreRecord | None) -> float | None:
    """Return the number of a score that a policy watches, 1..3; None without one."""
    value: float | None = getattr(score, watches, None)
    return value


def _rank(watches: Watched, draft: DraftRecord) -> tuple[bool, float]:
    # A draft that could not be scored ranks below every score: it is kept only if there is nothing better.
    notes = (draft.score.details or {}).get("notes", ()) if draft.score else ()
    return not set(notes) & MISFITS, watched(watches, draft.score) or 0.0


def draft_to_json(draft: DraftRecord) -> dict[str, Any]:
    """Return a draft as JSON values by field name; `draft_from_json` is the inverse."""
    return asdict(draft) | {"status": draft.status.value, "created_at": draft.created_at.isoformat()}


def draft_from_json(values: Mapping[str, Any]) -> DraftRecord:
    """Return the draft that `draft_to_json` wrote."""
    parsed = {
        "status": DraftStatus(values["status"]),
        "score": ScoreRecord(**values["score"]) if values["score"] else None,
        "created_at": datetime.fromisoformat(values["created_at"]),
        "steps": tuple(StepRecord(**step) for step in values.get("steps", ())),
    }
    return DraftRecord(**{**values, **parsed})


def score_record(score: EmpathyScore) -> ScoreRecord:
    """Return a score as it is stored."""
    return ScoreRecord(
        status=score.status.value,
        reason=score.reason,
        **{name: getattr(score, name) for name in READINGS},
        head_name=score.head_name,
        head_sha256=score.head_sha256,
        encoder_sha256=score.encoder_sha256,
        details=score.details,
    )
