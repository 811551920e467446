"""The figures of one source's replies, by the names of their rows.

Shares have intervals of 95% that allow for the turns of a talk being alike (`results/clustered.py`).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import mean, median

from heard.chat_app.results.clustered import clustered_mean, clustered_share
from heard.chat_app.results.display import MISSING, counts, interval, percent
from heard.chat_app.voice.faults import REPEAT, UNFINISHED, FaultKind, fault_kinds
from heard.chat_app.voice.judging import Judged, RawDraft
from heard.chat_app.voice.records import Said, Shown
from heard.scorer.records import READINGS, SCALES
from heard.scorer.shared_emotion import EXPECTED

Rows = dict[str, str]
"""The name of a figure -> the figure as text."""
NEWS = {"good": "sorrow", "bad": "joy"}
"""News, and the tone that is its opposite."""


@dataclass(frozen=True, slots=True)
class VoiceFigures:
    """The figures of one source."""

    source: str
    shown: Rows
    """Of the replies as a person reads them."""
    raw: Rows
    """Of the drafts as the model wrote them; empty for replies that were written elsewhere."""
    course: Rows
    """Of the run: times and paces."""
    by_kind: Rows
    """Replies without any fault, by kind of message."""
    faulty: dict[str, list[str]]
    """The messages whose reply has a fault, by kind of fault."""


def figures_of(source: str, said: Sequence[Said], judged: Sequence[Judged], of: int, guard: bool) -> VoiceFigures:
    """Return the figures of a source. `said` are its replies and hand-offs, `judged` its replies; the set has `of`
    messages. `guard` says whether a guard has read them."""
    faulty: dict[str, list[str]] = {}
    for one in judged:
        for kind in (*one.faults, *(f"guard: {kind}" for kind in one.guard)):
            faulty.setdefault(kind, []).append(one.said.reply.name)
    kinds = dict.fromkeys(one.said.conversation.kind for one in judged)
    return VoiceFigures(
        source=source,
        shown=_shown(said, judged, of, guard),
        raw=_raw([(one, draft) for one in judged for draft in one.drafts]),
        course=_course(said, judged),
        by_kind={kind: _faultless([one for one in judged if one.said.conversation.kind == kind]) for kind in kinds},
        faulty=faulty,
    )


def _shown(said: Sequence[Said], judged: Sequence[Judged], of: int, guard: bool) -> Rows:
    rows = {
        "replies": f"{len(judged)} of {of}",
        "handed off to people and numbers": str(sum(one.reply.shown is Shown.HANDOFF for one in said)),
        "texts that no model wrote": str(sum(one.fixed for one in judged)),
    }
    for kind in fault_kinds():
        asked = [one for one in judged if not (kind.only_without_death and one.said.conversation.death)]
        rows[_row_name(kind)] = _share(asked, [kind.name in one.faults for one in asked])
    rows["says a sentence twice"] = _share(judged, [REPEAT in one.faults for one in judged])
    rows["whole last sentence"] = _share(judged, [UNFINISHED not in one.faults for one in judged])
    rows["length within the persona's bounds"] = _share(judged, [one.within_bounds for one in judged])
    again = _share(judged, [bool(one.guard) for one in judged])
    rows["caught by the guard when it reads it again"] = again if guard else "no guard"
    for news, opposite in NEWS.items():
        asked = [one for one in judged if one.said.conversation.mood == news]
        rows[f"{news} news met as {news}"] = _share(asked, [one.tone == EXPECTED[news] for one in asked])
        rows[f"{news} news met with {opposite} alone"] = _share(asked, [one.tone == opposite for one in asked])
    for name in READINGS:
        scored = [one for one in judged if name in one.scores]
        if scored or name in SCALES:  # not every head was taught more than the rubric
            rows[f"{name.capitalize()}, mean of 1 to 3"] = _mean(scored, [one.scores[name] for one in scored])
    return rows


def _raw(drafts: Sequence[tuple[Judged, RawDraft]]) -> Rows:
    if not drafts:
        return {}
    of = [one for one, _ in drafts]
    rows = {"drafts": str(len(drafts))}
    for kind in fault_kinds():
        asked = [pair for pair in drafts if not (kind.only_without_death and pair[0].said.conversation.death)]
        rows[_row_name(kind)] = _share([one for one, _ in asked], [kind.name in draft.faults for _, draft in asked])
    rows["says a sentence twice"] = _share(of, [REPEAT in draft.faults for _, draft in drafts])
    rows["no whole last sentence, or cut off"] = _share(of, [UNFINISHED in draft.faults for _, draft in drafts])
    rows["nothing left to show"] = _share(of, [draft.empty for _, draft in drafts])
    rows["caught by the guard"] = _share(of, [draft.caught is not None for _, draft in drafts])
    caught = Counter(draft.caught for _, draft in drafts if draft.caught)
    rows |= {f"caught: {kind}": f"{number} of {len(drafts)}" for kind, number in caught.most_common()}
    ended = Counter(draft.ended_by for _, draft in drafts if draft.ended_by)
    rows |= {f"ended by: {cause}": f"{number} of {len(drafts)}" for cause, number in ended.most_common()}
    return rows


def _course(said: Sequence[Said], judged: Sequence[Judged]) -> Rows:
    rows: Rows = {}
    first = sorted(one.reply.first_word_seconds for one in said if one.reply.first_word_seconds is not None)
    if first:
        rows["seconds to the first word, median"] = f"{median(first):.2f}"
        rows["seconds to the first word, nine of ten within"] = f"{_nine_of_ten(first):.2f}"
    whole = sorted(one.reply.seconds for one in said if one.reply.seconds is not None and one.reply.drafts)
    if whole:
        rows["seconds to the end of the turn, median"] = f"{median(whole):.2f}"
    paces = [pace for one in judged for draft in one.drafts if (pace := draft.tokens_a_second) is not None]
    if paces:
        rows["tokens a second of a draft, median"] = f"{median(paces):.1f}"
    written = [len(one.drafts) for one in judged if one.drafts]
    if written:
        rows["drafts of a reply, mean"] = f"{mean(written):.2f}"
    return rows


def _nine_of_ten(ordered: Sequence[float]) -> float:
    return ordered[min(len(ordered) - 1, max(0, round(0.9 * len(ordered) + 0.5) - 1))]


def _row_name(kind: FaultKind) -> str:
    return f"{kind.meaning} where nobody has died" if kind.only_without_death else kind.meaning


def _faultless(judged: Sequence[Judged]) -> str:
    return _share(judged, [not one.faults for one in judged])


def _share(judged: Sequence[Judged], marks: Sequence[bool]) -> str:
    """Return the share of the marks, each of one of the replies."""
    share = clustered_share(marks, [one.said.conversation.id for one in judged])
    if share.share is None:
        return MISSING
    return f"{percent(share.share)} ({interval(share.low, share.high)}; {counts(share)})"


def _mean(judged: Sequence[Judged], values: Sequence[float]) -> str:
    found = clustered_mean(values, [one.said.conversation.id for one in judged])
    return MISSING if found is None else f"{found[0]:.2f} ({found[1]:.2f} to {found[2]:.2f}; {len(judged)})"


def row_names(columns: Sequence[Rows]) -> list[str]:
    """Return the names of all rows, in the order of the first column that has each."""
    return list(dict.fromkeys(chain.from_iterable(columns)))
