"""One reply judged: by patterns of its own, by the guard's reading, by the judge of tone, by the scorer, and by length.

Replies of a run and replies that were written elsewhere are judged alike.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from heard.chat_app.conversation.reply_gate import LENGTH
from heard.chat_app.conversation.sentences import SentenceSplitter
from heard.chat_app.safety.reply_guard import GuardContext, ReplyGuard
from heard.chat_app.voice.faults import REPEAT, UNFINISHED, faults_of, words_of
from heard.chat_app.voice.records import Said, Shown
from heard.db.records import DraftRecord, DraftStatus
from heard.prompts.records import Persona
from heard.scorer.records import READINGS
from heard.scorer.score import Scorer
from heard.scorer.shared_emotion import SharedEmotion, shared_emotion

FEWEST_WORDS = 4
"""Words of a reply that is long enough."""
PROMPT_QUOTED = "prompt"
"""Cause of an ending: a sentence of the prompt."""
ENDED = (DraftStatus.COMPLETE, DraftStatus.CAUGHT, DraftStatus.EMPTY)
"""Drafts that the model has ended, or that were ended because of what it wrote."""


@dataclass(frozen=True, slots=True)
class RawDraft:
    """A draft as the model wrote it."""

    faults: tuple[str, ...]
    """As `faults_of`, with what was cut away from it."""
    caught: str | None
    """The kind that the guard caught it for."""
    ended_by: str | None
    """Why it was ended before the model's own end."""
    empty: bool
    """Whether nothing was left of it."""
    tokens_a_second: float | None
    """After its first token; None where the model's server gave no count."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A reply and what is found in it."""

    said: Said
    faults: tuple[str, ...]
    """As `faults_of`."""
    guard: tuple[str, ...]
    """Kinds that the guard finds when it reads the reply as it is shown; none without a guard."""
    tone: SharedEmotion
    within_bounds: bool
    scores: Mapping[str, float]
    """By the name of each number, 1..3; empty where the reply could not be scored."""
    fixed: bool
    """Whether no model wrote it."""
    drafts: tuple[RawDraft, ...]
    """Those of models; none for a reply that was written elsewhere."""


class Judge:
    """Judges replies. Blocking: some ten milliseconds each."""

    def __init__(self, scorer: Scorer, guard: ReplyGuard | None, persona: Persona) -> None:
        self._scorer, self._guard, self._persona = scorer, guard, persona

    def judge_all(
        self, replies: Sequence[Said], models: Collection[str], progress: Callable[[int], None]
    ) -> list[Judged]:
        """Judge every reply that is one; a hand-off is none.

        `models` are the names of the run's models: a draft of another name is a fixed text. `progress` is called with
        the number of replies that are done.
        """
        found = []
        for number, said in enumerate(replies, 1):
            if said.reply.shown is Shown.REPLY:
                found.append(self._judge(said, models))
            progress(number)
        return found

    def _judge(self, said: Said, models: Collection[str]) -> Judged:
        text, kept = said.reply.text, said.reply.kept
        return Judged(
            said=said,
            faults=tuple(faults_of(text, death=said.conversation.death)),
            guard=self._read(said),
            tone=shared_emotion(text),
            within_bounds=len(words_of(text)) >= FEWEST_WORDS and self._tokens(text, kept) <= self._persona.max_tokens,
            scores=self._scores(said),
            fixed=kept is not None and kept.model not in models,
            drafts=tuple(
                _raw(draft, said.conversation.death)
                for draft in said.reply.drafts
                if draft.model in models and draft.status in ENDED
            ),
        )

    def _read(self, said: Said) -> tuple[str, ...]:
        if self._guard is None:
            return ()
        context = GuardContext(said.message, tuple(message for message, _ in said.earlier), self._persona.name)
        splitter, before, kinds = SentenceSplitter(), "", []
        for sentence in [*splitter.feed(said.reply.text), splitter.rest()]:
            if sentence.strip() and (caught := self._guard.read(context, sentence.strip(), before)):
                kinds.append(caught.kind)
            before += sentence
        return tuple(dict.fromkeys(kinds))

    def _tokens(self, text: str, kept: DraftRecord | None) -> int:
        """The model's own count where there is one, else the encoder's word pieces, which are about as many."""
        if kept is not None and kept.completion_tokens is not None:
            return kept.completion_tokens
        return len(self._scorer.encoder.ids(text))

    def _scores(self, said: Said) -> dict[str, float]:
        kept = said.reply.kept
        score = kept.score if kept is not None else None
        if kept is None:
            earlier = [message for message, _ in said.earlier]
            found = self._scorer.score(said.message, said.reply.text, earlier)
            values = {name: getattr(found, name) for name in READINGS}
        else:
            values = {name: getattr(score, name) for name in READINGS} if score is not None else {}
        return {name: value for name, value in values.items() if value is not None}


def _raw(draft: DraftRecord, death: bool) -> RawDraft:
    faults = set(faults_of(draft.text, death=death))
    if draft.status is DraftStatus.EMPTY or draft.status is DraftStatus.CAUGHT:
        faults.discard(UNFINISHED)  # it was broken off, and how it would have ended nobody knows
    if draft.cut or draft.ended_by == LENGTH:
        faults.add(UNFINISHED)
    if draft.ended_by == REPEAT:
        faults.add(REPEAT)
    elif draft.ended_by not in (None, LENGTH, PROMPT_QUOTED):
        faults.add("debris")
    tokens, first = draft.completion_tokens, draft.first_token_seconds
    writing = draft.total_seconds - first if first is not None else 0.0
    pace = tokens / writing if tokens and writing > 0 else None
    return RawDraft(tuple(faults), draft.caught, draft.ended_by, draft.status is DraftStatus.EMPTY, pace)
