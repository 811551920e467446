"""How people went through a study, in the manner of a CONSORT diagram (Schulz, Altman & Moher 2010).

Each step says how many reached it and why others did not go on, and the numbers add up: the people of a step are those
of the next and those who are named beside it. Whoever withdrew or was erased is taken out first, whenever that was,
because nothing of them is in any figure. Visits that the link did not let in are no people: see `db/flow_counts.py`.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from heard.chat_app.results.records import VoteFilter
from heard.db.flow_counts import FlowCounts, PeopleCount, flow_counts
from heard.db.study_records import FlowReason
from heard.db.study_store import StudyStore

VISITS = {
    FlowReason.DECLINED: "Declined the notice",
    FlowReason.UNDER_AGE: "Under the least age",
    FlowReason.NO_RESEARCH: "Allowed the chat and not research",
    FlowReason.NO_ID: "No id in the link",
    FlowReason.NOT_LISTED: "Id not on the list",
    FlowReason.OTHER_LINK: "Takes part under another id",
    FlowReason.IN_USE: "Id in use in another browser, or finished there",
    FlowReason.ADDRESS_LIMIT: "Too many new people from one address",
    FlowReason.FULL: "Quota full",
    FlowReason.ENDED: "Study ended",
}
"""The reasons for which visits were turned away, in words, in the order of a person's way."""

Rule = tuple[str, Callable[[PeopleCount], bool]]
"""Why people do not go on, and whether it holds of some."""


@dataclass(frozen=True, slots=True)
class Invited:
    """The ids on the study's list; `here` and `not_here` add up to `ids`."""

    ids: int
    here: int
    """People with an id of the list who are stored now."""
    not_here: int
    """Ids of nobody who is stored: they have not come, or have been erased."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step: `people` less those who left is the next step's number."""

    name: str
    people: int
    left: list[tuple[str, int]]
    """Why people did not go on, each counted once, for the first reason that holds; reasons of 0 too."""

    @property
    def on(self) -> int:
        """The number of people who went on."""
        return self.people - sum(number for _, number in self.left)


@dataclass(frozen=True, slots=True)
class Flow:
    """A study's flow."""

    study: str
    wanted: VoteFilter
    conditions: list[str]
    """All conditions of its people."""
    invited: Invited | None
    """None in a study without a list."""
    turned_away: list[tuple[str, int]]
    """Visits that were not let in, by reason, those of 0 left out; one person who comes twice counts twice."""
    steps: list[Step]
    """From the people who joined to those in the results, which is the last step."""
    began: int
    """Of the people who began to vote: `finished` and `unfinished` add up to it."""
    finished: int
    unfinished: int


async def study_flow(studies: StudyStore, study_id: str, wanted: VoteFilter, allow: Collection[str]) -> Flow:
    """Return the flow of a study with these ids on its list. Raises StoreError."""
    counts = await flow_counts(
        studies.engine,
        study_id,
        with_leaks=wanted.with_leaks,
        min_seconds=wanted.min_seconds,
        condition=wanted.condition,
    )
    return flow_of(study_id, counts, wanted, frozenset(allow))


def flow_of(study_id: str, counts: FlowCounts, wanted: VoteFilter, allow: frozenset[str]) -> Flow:
    """Return the flow of people who were counted."""
    chosen: list[Rule] = []
    if wanted.condition is not None:
        chosen.append(("In another condition than the one asked for", lambda one: one.condition != wanted.condition))
    if wanted.passed_attention:
        chosen.append(("Failed an attention item", lambda one: one.failed))
    stages: list[tuple[str, list[Rule]]] = [
        (
            "Stored",
            [
                ("Withdrew", lambda one: one.allowed_once and not one.allows),
                ("Never allowed research", lambda one: not one.allows),
            ],
        ),
        *([("Allow research", chosen)] if chosen else []),
        (
            "Counted" if chosen else "Allow research",
            [
                ("Excluded by whoever runs the study", lambda one: one.excluded),
                ("Screened out before a vote", lambda one: one.screened_out and not one.votes),
                ("Were given no ballot", lambda one: not one.ballots),
            ],
        ),
        ("Were given ballots", [("Voted on none of them", lambda one: not one.votes)]),
        ("Began to vote", [("None of their votes counts", lambda one: not one.counting)]),
        ("In the results", []),
    ]
    erased, people = counts.numbers.get(FlowReason.ERASED, 0), list(counts.people)
    steps = [Step("Agreed and joined", _total(people) + erased, [("Erased everything since", erased)])]
    began: list[PeopleCount] = []
    for name, rules in stages:
        steps.append(_step(name, people, rules))
        began = people if name == "Began to vote" else began
        people = [one for one in people if not any(holds(one) for _, holds in rules)]
    finished = _total([one for one in began if one.completed])
    return Flow(
        study=study_id,
        wanted=wanted,
        conditions=sorted({one.condition for one in counts.people if one.condition is not None}),
        invited=_invited(counts, allow),
        turned_away=[(VISITS[reason], counts.numbers[reason]) for reason in VISITS if reason in counts.numbers],
        steps=steps,
        began=_total(began),
        finished=finished,
        unfinished=_total(began) - finished,
    )


def _step(name: str, people: Sequence[PeopleCount], rules: Sequence[Rule]) -> Step:
    left = dict.fromkeys((reason for reason, _ in rules), 0)
    for one in people:
        for reason, holds in rules:
            if holds(one):
                left[reason] += one.people
                break
    return Step(name, _total(people), list(left.items()))


def _total(people: Sequence[PeopleCount]) -> int:
    return sum(one.people for one in people)


def _invited(counts: FlowCounts, allow: frozenset[str]) -> Invited | None:
    if not allow:
        return None
    here = len(allow & counts.external_ids)
    return Invited(len(allow), here, len(allow) - here)
