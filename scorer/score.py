"""Score a reply: the one class that the rest of the product uses."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Thread
from typing import Any

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from heard.scorer.encoder import Encoder, Tokens
from heard.scorer.english import English
from heard.scorer.errors import ScorerError
from heard.scorer.evidence import spans
from heard.scorer.head import Array, Head
from heard.scorer.other_rater import JUDGE, classifier_folder
from heard.scorer.records import COMPONENTS, HIGHEST, LOWEST, SCALES, EmpathyScore, Level, ScoreStatus, level_of
from heard.scorer.relevance import LOOKED_BACK, is_short, verdict
from heard.scorer.repeats import is_loop
from heard.scorer.shared_emotion import implied_emotion
from heard.scorer.text import LONGEST, REASONS, language_status, read
from heard.scorer.vectors import Vectors

MOST_TOKENS = 2_048
"""Longest reply in the encoder's tokens. The labels' longest replies are about as long; 99% have under 400."""

HEADS = Path(__file__).parent / "heads"
DEFAULT_HEAD = "both"
"""For counselling and everyday talk. There are "counselling", which knows nothing of everyday talk, and "everyday"."""

__all__ = ["DEFAULT_HEAD", "HEADS", "MOST_TOKENS", "Scorer", "ScorerError", "head_folder"]


def head_folder(name: str) -> Path:
    """A head's folder by its name below `scorer/heads/` (here, or of the installed package), or by a path.

    Raises ScorerError if there is none.
    """
    here = Path("scorer") / "heads"
    for folder in (HEADS / name, here / name, Path(name)):
        if (folder / "head.toml").is_file():
            return folder
    if name.startswith(JUDGE) or classifier_folder(name):
        raise ScorerError(
            f"{name} rates for heard score, heard compare and heard evaluate --data alone, and here a head of heard's "
            "own is needed. Name one as scorer_head or --head."
        )
    known = ", ".join(sorted({path.parent.name for place in (HEADS, here) for path in place.glob("*/head.toml")}))
    raise ScorerError(
        f'There is no scorer head "{name}". There are: {known or "none"}. A path to a head\'s folder works too.'
    )


@dataclass(frozen=True, slots=True)
class _Encoded:
    """A reply as the encoder sees it."""

    text: str
    tokens: Tokens
    states: Array
    projected: Array | None = None
    """See `Encoder.encode`."""


@dataclass(frozen=True, slots=True)
class Rated:
    """A score, and what the encoder saw of the reply (or why it saw nothing)."""

    score: EmpathyScore
    seen: _Encoded | ScoreStatus


class Scorer:
    """A frozen encoder and a head: text in, EmpathyScore out.

    Blocking and thread-safe: call it from a worker thread, never on an event loop. Deterministic on one machine: the
    same text gives the same numbers, alone or among others.
    """

    def __init__(self, head: Head, encoder: Encoder, vectors: Vectors | None = None) -> None:
        """`vectors` are needed by a head with `relevance`, and by no other."""
        self.head = head
        self.encoder = encoder
        self._vectors = vectors

    @property
    def vectors(self) -> Vectors | None:
        """Its sentence vectors; None of a head that needs none."""
        return self._vectors

    def encoder_for(self, folder: Path, sha256: str, layers: tuple[float, ...]) -> Encoder:
        """An encoder for another classifier: this scorer's where it is the same one with the same layers, else the one
        in `folder`. Raises ScorerError."""
        own = self.head.file
        if (own.encoder_sha256, tuple(own.layers)) == (sha256, layers):
            return self.encoder
        return Encoder.load(folder, layers, sha256=sha256)

    @classmethod
    def load(cls, head: Path, encoder: Path, *, threads: int = 1) -> "Scorer":
        """Open the head and the encoder in these folders; both are checked by sha256.

        The first call with an encoder writes its ONNX graph beside it. Raises ScorerError with a sentence for a folder
        that is missing, damaged, or not the encoder that the head was trained on.
        """
        opened = Head.load(head)
        layers, sha256 = opened.file.layers, opened.file.encoder_sha256
        # Here, not within the first reply; beside the encoder, whose files are read without the interpreter.
        words = Thread(target=English.load)
        words.start()
        frozen = Encoder.load(encoder, layers, threads=threads, sha256=sha256, projection=opened.projection)
        words.join()
        # The head's products are small: with more threads numpy's BLAS mostly waits, and its idle threads spin on the
        # core that the chat model needs. For the whole process, since the libraries know no narrower limit.
        threadpool_limits(1, user_api="blas")
        vectors = None
        if opened.relevance is not None:
            vectors = Vectors.load(frozen, encoder, layers, threads=threads)
            opened.relevance.check_width(vectors.width, frozen.width)
        scorer = cls(opened, frozen, vectors)
        scorer.score("", "Warm up.")
        return scorer

    def score(self, seeker: str, reply: str, earlier: Sequence[str] = ()) -> EmpathyScore:
        """Rate `reply` on 1..3, or say why it cannot be rated. Never raises on any strings.

        `seeker` is what was answered; it may be empty. `earlier` is what the same person wrote before, the newest last:
        a reply may come back to it. A reply that mostly repeats the message, that belongs to another one or that takes
        good news for bad is noted and rated lower (`scorer/parrot.py`, `scorer/relevance.py`). The head itself reads
        the reply alone: with the seeker's words as a pair the measured error was greater (.249 against .237).
        """
        return self.rated(seeker, reply, earlier).score

    def score_as_written(self, reply: str) -> EmpathyScore:
        """Rate `reply` on 1..3 without repairing it first and without asking whether it can be scored: as a scorer that
        has neither would, such as the founding study's. For measuring what the repair is for, and for nothing else.

        No message is looked at, so nothing is noted. A text without a token, or with too many, has no score.
        """
        text = " ".join(reply.encode("utf-8", "replace").decode().split())
        seen = self._encoded(text) if text else ScoreStatus.EMPTY
        if isinstance(seen, ScoreStatus):
            return self._unscored(seen)
        facets = self.head.facets(seen.states, seen.projected)
        score = self._result(ScoreStatus.SCORED, map(float, self.head.components(facets)), None)
        perceived = self.head.perceived(facets)
        return replace(score, perceived=None if perceived is None else float(perceived))

    def explain(self, seeker: str, reply: str, earlier: Sequence[str] = ()) -> EmpathyScore:
        """The same score with its `evidence`: the words of `reply` that carried each component (`scorer/evidence.py`).

        No words where there is no score, where a component is low (nothing carried it), and with a head that cannot
        say.
        """
        return self.evidenced(self.rated(seeker, reply, earlier), reply)

    def rated(self, seeker: str, reply: str, earlier: Sequence[str] = ()) -> "Rated":
        """The score as `score` gives it, and what `evidenced` needs: for whoever shows the numbers first."""
        seen = self._encode(reply)
        return Rated(self._rate(seeker, reply, seen, earlier), seen)

    def evidenced(self, rated: "Rated", reply: str) -> EmpathyScore:
        """`rated.score` with its evidence; `reply` is the one that was rated."""
        score, seen = rated.score, rated.seen
        if isinstance(seen, ScoreStatus) or score.empathy is None:  # what the encoder saw may still not be scored
            return replace(score, evidence=dict.fromkeys(COMPONENTS, ()))
        by_token = self.head.contributions(seen.states, seen.projected)[self.encoder.rows(len(seen.tokens.ids))]
        found = spans(by_token, seen.tokens, reply, seen.text)
        shown = {name: () if level_of(getattr(score, name)) is Level.LOW else found[name] for name in COMPONENTS}
        return replace(score, evidence=shown)

    def _encode(self, reply: str) -> "_Encoded | ScoreStatus":
        """What the encoder sees of a reply, or why it sees nothing."""
        reading = read(reply)
        if not reading.text:
            return reading.status
        return self._encoded(reading.text)

    def _encoded(self, text: str) -> "_Encoded | ScoreStatus":
        if len(text) > LONGEST:
            return ScoreStatus.TOO_LONG
        tokens = self.encoder.tokens(text)
        if len(tokens.ids) > MOST_TOKENS:
            return ScoreStatus.TOO_LONG
        return _Encoded(text, tokens, *self.encoder.encode(tokens.ids))

    def _rate(self, seeker: str, reply: str, seen: "_Encoded | ScoreStatus", earlier: Sequence[str]) -> EmpathyScore:
        status = language_status(seeker, seen if isinstance(seen, ScoreStatus) else ScoreStatus.SCORED)
        if status is not ScoreStatus.SCORED or isinstance(seen, ScoreStatus):
            return self._unscored(status)
        facets = self.head.facets(seen.states, seen.projected)
        faults = self.head.faults(facets)
        if ScoreStatus.INCOHERENT in faults or is_loop(seen.text):
            return self._unscored(ScoreStatus.INCOHERENT)
        note, factor = verdict(seeker, reply, self._doubts(seeker, seen, earlier))
        components = LOWEST + factor * (self.head.components(facets) - LOWEST)
        perceived = self.head.perceived(facets)
        if perceived is not None:
            perceived = LOWEST + factor * (perceived - LOWEST)
        score = self._result(ScoreStatus.SCORED, map(float, components), None)
        return replace(
            score,
            perceived=None if perceived is None else float(perceived),
            notes=(*([note] if note else []), *faults),
            intervals=self._intervals(components, perceived),
        )

    def _doubts(self, seeker: str, seen: "_Encoded", earlier: Sequence[str]) -> dict[str, float]:
        if self.head.relevance is None or self._vectors is None or not seeker:
            return {}
        answered = (seeker, *reversed(earlier[-LOOKED_BACK + 1 :]))
        own = self._vectors.of_states(seen.states, len(seen.tokens.ids))
        messages = [self._vectors.of_message(text) for text in answered]
        return self.head.relevance.doubts(seen.text, own, messages, short=is_short(seeker))

    def _intervals(self, components: Array, perceived: Array | None) -> dict[str, tuple[float, float]]:
        middles = zip([*components, components.mean()], self.head.file.half_widths, strict=False)
        found = dict(zip(SCALES, middles, strict=False))
        if perceived is not None:
            found["perceived"] = (perceived, self.head.file.perceived[-1])
        return {
            name: (max(LOWEST, float(middle) - width), min(HIGHEST, float(middle) + width))
            for name, (middle, width) in found.items()
        }

    def misreads(self, seeker: str, reply: str) -> float:
        """How surely a reply shares joy in what reads as bad news, or sorrow at good: below 0 not at all, at 1 as in
        one or two of a hundred replies that do fit.

        -inf for a reply that shares neither, and with a head that does not mark replies. Never raises on any strings.
        """
        reading = read(reply)
        if self.head.relevance is None or implied_emotion(reading.text) not in ("joy", "sorrow"):
            return -math.inf
        seen = self._encode(reply)
        return self._doubts(seeker, seen, ()).get("misread", -math.inf) if isinstance(seen, _Encoded) else -math.inf

    def score_many(self, pairs: Sequence[tuple[str, str]]) -> list[EmpathyScore]:
        """`score` for each (seeker, reply), in order."""
        return [self.score(seeker, reply) for seeker, reply in pairs]

    def _unscored(self, status: ScoreStatus) -> EmpathyScore:
        return self._result(status, [None] * len(COMPONENTS), REASONS[status])

    def _result(self, status: ScoreStatus, components: Iterable[float | None], reason: str | None) -> EmpathyScore:
        numbers: dict[str, Any] = dict(zip(COMPONENTS, components, strict=True))
        return EmpathyScore(
            status,
            **numbers,
            reason=reason,
            head_name=self.head.name,
            head_sha256=self.head.file.weights_sha256,
            encoder_sha256=self.encoder.sha256,
        )
