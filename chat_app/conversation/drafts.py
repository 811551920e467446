"""What a turn has generated so far: drafts with their times, counts and scores, and which of them stands in the end."""

import time
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from heard.chat_app.common.text import readable
from heard.chat_app.conversation.events import TurnRequest
from heard.chat_app.models.records import Delta, ModelSpec, StreamItem, Usage
from heard.db.records import DraftRecord, DraftStatus, ReplyRecord, ScoreRecord, StepRecord
from heard.prompts.records import Prompt
from heard.scorer.records import EmpathyScore


@dataclass(slots=True)
class Drafts:
    """The generations of one turn, in order. At most one is open; `end` is harmless when none is."""

    ended: list[DraftRecord] = field(default_factory=list)
    usage: Usage | None = None
    """Token counts of the open draft, once the model has given them."""
    stand_in: ModelSpec | None = None
    """The model that writes in place of the one that was asked for, once that has failed."""
    fallback_for: str | None = None
    """The name of the one that was asked for, where there is a stand-in."""
    policy: str | None = None
    """The policy of writing again that these drafts follow, by its file's name."""
    steps: list[StepRecord] = field(default_factory=list)
    """Hidden calls made for the open draft, or for the one that comes next, which takes them when it ends."""
    values: dict[str, str] | None = None
    """What fills the strategy's variables; None until all its steps have ended."""
    _step: str | None = None
    """The step whose text arrives, while the draft that it belongs to is open."""
    _open: DraftRecord | None = None
    _pieces: list[str] = field(default_factory=list)
    _began: float = 0.0
    _first: float | None = None

    def begin(self, model: ModelSpec, prompt: Prompt, number: int, guidance: str | None) -> None:
        """Open a draft; its times count from here. A draft that a step has opened begins again, with its own prompt."""
        self._step, self._pieces, self._first, self.usage, self._began = None, [], None, None, time.perf_counter()
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
                "max_tokens": prompt.max_tokens,
            },
            first_token_seconds=None,
            total_seconds=0.0,
            prompt_tokens=None,
            completion_tokens=None,
            error=None,
            score=None,
            created_at=datetime.now(UTC),
            fallback_for=self.fallback_for,
        )

    @property
    def begun(self) -> bool:
        """Whether the open draft has any text."""
        return self._open is not None and bool(self._pieces)

    def begin_step(self, model: ModelSpec, prompt: Prompt, name: str) -> None:
        """Open the call of a step. Until the draft's own call, the first draft is described by the newest of them."""
        self.begin(model, prompt, 1, None)
        self._step = name

    def end_step(self) -> str:
        """Turn the open step into a record; its text without the white space around it."""
        assert self._open is not None
        assert self._step is not None
        text = readable("".join(self._pieces))
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
        self._step, self._pieces, self._first, self.usage, self._began = None, [], None, None, time.perf_counter()
        return text.strip()

    def take(self, item: StreamItem) -> None:
        """Take what a model's stream gives for the open draft, or for its open step."""
        match item:
            case Delta(piece):
                self.add(piece)
            case Usage():
                self.usage = item

    def add(self, text: str) -> None:
        """Take a piece of the text of the open draft, or of its open step."""
        if self._first is None:
            self._first = time.perf_counter() - self._began
        self._pieces.append(text)

    def end(self, status: DraftStatus, error: str | None = None) -> None:
        """Turn the open draft, if there is one, into a record."""
        if self._open is None:
            return
        if self._step is not None:
            self.end_step()  # what had arrived of it is kept
        draft = replace(
            self._open,
            text=readable("".join(self._pieces)),
            status=status,
            first_token_seconds=self._first,
            total_seconds=time.perf_counter() - self._began,
            prompt_tokens=self.usage.prompt_tokens if self.usage else None,
            completion_tokens=self.usage.completion_tokens if self.usage else None,
            error=error,
            cut=self.usage.cut if self.usage else False,
            steps=tuple(self.steps),
        )
        self._open, self.steps = None, []
        self.ended.append(draft)

    def rate(self, score: EmpathyScore) -> None:
        """Give the newest draft its score."""
        self.ended[-1] = replace(self.ended[-1], score=score_record(score))

    @property
    def complete(self) -> list[DraftRecord]:
        """The drafts that came whole."""
        return [draft for draft in self.ended if draft.status is DraftStatus.COMPLETE]

    def judged(self) -> tuple[DraftRecord, ...]:
        """All drafts with the best whole one kept: by Empathy, the earlier on a tie; without a whole one, the last."""
        if not self.ended:
            return ()
        kept = max(self.complete, key=_rank, default=self.ended[-1])
        return tuple(replace(draft, kept=draft is kept) for draft in self.ended)

    def reply(self, request: TurnRequest) -> ReplyRecord | None:
        """The drafts as the reply of a turn; None before the first has ended."""
        drafts = self.judged()
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


def _rank(draft: DraftRecord) -> float:
    # A draft that could not be scored ranks below every score: it is kept only if there is nothing better.
    return draft.score.empathy if draft.score and draft.score.empathy is not None else 0.0


def draft_values(draft: DraftRecord) -> dict[str, Any]:
    """A draft as JSON values, under its own names; `draft_of` is the way back."""
    return asdict(draft) | {"status": draft.status.value, "created_at": draft.created_at.isoformat()}


def draft_of(values: Mapping[str, Any]) -> DraftRecord:
    """The draft that `draft_values` wrote."""
    told = {
        "status": DraftStatus(values["status"]),
        "score": ScoreRecord(**values["score"]) if values["score"] else None,
        "created_at": datetime.fromisoformat(values["created_at"]),
        "steps": tuple(StepRecord(**step) for step in values.get("steps", ())),
    }
    return DraftRecord(**{**values, **told})


def score_record(score: EmpathyScore) -> ScoreRecord:
    """A score as it is stored."""
    return ScoreRecord(
        status=score.status.value,
        reason=score.reason,
        cognitive=score.cognitive,
        emotional=score.emotional,
        behavioral=score.behavioral,
        empathy=score.empathy,
        head_name=score.head_name,
        head_sha256=score.head_sha256,
        encoder_sha256=score.encoder_sha256,
        details=score.details,
    )
