"""Who gets what: conditions and quotas, items and their orders, ballots for messages."""

import itertools
import json
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from heard.chat_app.studies.assignment import (
    FULL,
    NO_ITEMS,
    NO_LINK,
    NOT_LISTED,
    admission_refusal,
    choose_condition,
    draw_live,
    draw_survey,
)
from heard.chat_app.studies.study_file import StudyFile, parse_study
from heard.db.ballots import WAITING
from heard.db.errors import StudyRefused
from heard.db.quota_counts import Drawn
from heard.db.study_records import AnswerRecord, AnswerStatus, BallotRecord, EnrolmentRecord, ItemRecord

NOW = datetime(2026, 5, 1, tzinfo=UTC)
SOURCES = ("human", "alpha", "beta")


def study(**changes: object) -> StudyFile:
    values = {"id": "s", "kind": "survey", "sources": list(SOURCES), "seed": "x", "items_per_person": 4}
    return parse_study(values | changes, "test")


def item(number: int, sources: tuple[str, ...] = SOURCES, attention: str | None = None) -> ItemRecord:
    identity = f"item-{number}"
    answers = tuple(
        AnswerRecord(str(uuid.uuid4()), "s", identity, source, NOW, "text", AnswerStatus.COMPLETE) for source in sources
    )
    return ItemRecord(identity, "s", number, f"message {number}", attention, answers)


def enrolment(seed: int, condition: str | None = None) -> EnrolmentRecord:
    return EnrolmentRecord("s", f"person-{seed}", None, condition, seed, NOW)


def crowd(
    of: StudyFile, items: list[ItemRecord], people: int, conditions: Sequence[str | None] = (None,)
) -> Iterator[list[BallotRecord]]:
    """What each of so many people is given, one after the other, as the store counts them; the conditions in turn."""
    drawn: Counter[tuple[str, str | None]] = Counter()
    draw = draw_survey(of, items)
    for seed, condition in zip(range(people), itertools.cycle(conditions), strict=False):
        ballots = list(draw(enrolment(seed, condition), so_far(drawn)))
        drawn.update((ballot.item_id, ballot.condition) for ballot in ballots if ballot.item_id)
        yield ballots


def so_far(drawn: "Counter[tuple[str, str | None]]") -> Drawn:
    counting: Counter[str] = Counter()
    for (item_id, _), number in drawn.items():
        counting[item_id] += number
    return Drawn(dict(drawn), counting)


def test_items_of_people_who_went_away_are_drawn_again_and_orders_go_on() -> None:
    draw = draw_survey(study(items_per_person=2), [item(n) for n in range(1, 5)])
    gone = Drawn({(f"item-{n}", None): 1 for n in (1, 2)}, {"item-3": 1, "item-4": 1})
    ballots = draw(enrolment(1), gone)
    assert {ballot.item_id for ballot in ballots} == {"item-1", "item-2"}
    fresh = draw(enrolment(1), Drawn({}, gone.counting))
    assert [ballot.order_row for ballot in ballots] != [ballot.order_row for ballot in fresh]


def test_a_person_gets_so_many_different_items_numbered_in_their_order() -> None:
    for ballots in crowd(study(), [item(n) for n in range(1, 11)], 20):
        assert [ballot.number for ballot in ballots] == [1, 2, 3, 4]
        assert len({ballot.item_id for ballot in ballots}) == 4
        for ballot in ballots:
            assert [slot.position for slot in ballot.slots] == [1, 2, 3]
            assert {slot.source for slot in ballot.slots} == set(SOURCES)
            assert all(slot.votable and slot.reason is None for slot in ballot.slots)


def test_a_short_study_gives_all_it_has() -> None:
    ballots = draw_survey(study(items_per_person=50), [item(1), item(2)])(enrolment(1), Drawn())
    assert sorted(ballot.item_id or "" for ballot in ballots) == ["item-1", "item-2"]


def test_every_item_is_drawn_equally_often() -> None:
    drawn = Counter(
        ballot.item_id for ballots in crowd(study(), [item(n) for n in range(1, 11)], 25) for ballot in ballots
    )
    assert set(drawn.values()) == {10}


def test_the_place_of_an_item_is_random() -> None:
    first = Counter(ballots[0].item_id for ballots in crowd(study(), [item(n) for n in range(1, 5)], 40))
    assert len(first) == 4


def test_every_source_stands_in_every_place_equally_often() -> None:
    places: Counter[tuple[str, int]] = Counter()
    after: Counter[tuple[str, str]] = Counter()
    for (ballot,) in crowd(study(items_per_person=1), [item(1)], 60):
        order = [slot.source for slot in ballot.slots]
        places.update((source, place) for place, source in enumerate(order))
        after.update(itertools.pairwise(order))
    assert set(places.values()) == {20}
    assert len(places) == 9
    assert set(after.values()) == {20}
    assert len(after) == 6


def test_every_condition_is_balanced_by_itself() -> None:
    """Were they counted together, two conditions in turn would each have every other row of the design only."""
    of = study(items_per_person=1, conditions=[{"name": "a"}, {"name": "b"}])
    places = Counter(
        (ballot.condition, slot.source, slot.position)
        for (ballot,) in crowd(of, [item(1)], 24, ("a", "b"))
        for slot in ballot.slots
    )
    assert len(places) == 18
    assert set(places.values()) == {4}


def test_an_item_is_counted_over_all_conditions() -> None:
    of = study(items_per_person=1, conditions=[{"name": "a"}, {"name": "b"}])
    drawn = Counter(ballot.item_id for (ballot,) in crowd(of, [item(n) for n in range(1, 4)], 12, ("a", "b", "b")))
    assert set(drawn.values()) == {4}


def test_the_same_seed_draws_the_same_and_another_one_something_else() -> None:
    items = [item(n) for n in range(1, 30)]
    draw = draw_survey(study(), items)

    def seen(seed: int) -> list[object]:
        return [(ballot.item_id, [slot.source for slot in ballot.slots]) for ballot in draw(enrolment(seed), Drawn())]

    assert seen(1) == seen(1)
    assert seen(1) != seen(2)


def test_an_attention_item_is_there_for_everybody_and_never_first() -> None:
    watch = item(99, ("lighthouse", "bakery"), "lighthouse")
    places = set()
    for ballots in crowd(study(), [item(n) for n in range(1, 11)] + [watch], 60):
        (place,) = [ballot.number for ballot in ballots if ballot.attention is not None]
        assert len(ballots) == 5
        places.add(place)
    assert places == {2, 3, 4, 5}


def test_only_whole_answers_stand_on_a_ballot() -> None:
    broken = item(1)
    broken = replace(broken, answers=(replace(broken.answers[0], status=AnswerStatus.FAILED), *broken.answers[1:]))
    lone = item(2)
    lone = replace(lone, answers=(lone.answers[0], replace(lone.answers[1], status=AnswerStatus.PENDING)))
    (ballot,) = draw_survey(study(), [broken, lone])(enrolment(1), Drawn())
    assert ballot.item_id == "item-1"
    assert {slot.source for slot in ballot.slots} == {"alpha", "beta"}
    with pytest.raises(StudyRefused, match=NO_ITEMS):
        draw_survey(study(), [lone])(enrolment(1), Drawn())


def test_a_condition_restricts_the_sources() -> None:
    two = study(conditions=[{"name": "pair", "sources": ["human", "beta"]}, {"name": "all"}])
    watch = item(99, ("alpha", "beta", "human"), "human")
    ballots = draw_survey(two, [item(1), watch])(enrolment(1, "pair"), Drawn())
    assert [len(ballot.slots) for ballot in ballots] == [2, 3]
    assert {ballot.condition for ballot in ballots} == {"pair"}
    assert len(draw_survey(two, [item(1)])(enrolment(1, "all"), Drawn())[0].slots) == 3


def test_ids_of_ballots_tell_nothing_of_their_number() -> None:
    ids = [ballot.id for ballots in crowd(study(), [item(n) for n in range(1, 11)], 10) for ballot in ballots]
    assert len(set(ids)) == 40
    assert {uuid.UUID(one).version for one in ids} == {4}
    assert sorted(ids) != ids


def test_conditions_fill_by_their_quotas() -> None:
    of = study(conditions=[{"name": "large", "quota": 20}, {"name": "small", "quota": 10}])
    choose, people = choose_condition(of), Counter[str | None]()
    for _ in range(30):
        people[choose(people)] += 1
        if people.total() % 3 == 0:
            assert people["large"] == 2 * people["small"]
    assert people == {"large": 20, "small": 10}
    with pytest.raises(StudyRefused) as refused:
        choose(people)
    assert str(refused.value) == FULL


def test_equals_are_chosen_by_chance_and_stay_level_without_quotas() -> None:
    choose = choose_condition(study(conditions=[{"name": "a"}, {"name": "b"}]))
    assert {choose({}) for _ in range(60)} == {"a", "b"}
    assert {choose({"a": 3, "b": 2}) for _ in range(20)} == {"b"}


def test_a_study_without_conditions_and_its_own_quota() -> None:
    choose = choose_condition(study(quota=2))
    assert choose({None: 1}) is None
    with pytest.raises(StudyRefused):
        choose({None: 2})


def test_the_list_of_those_who_may_come() -> None:
    assert admission_refusal(study(), None) is None
    assert admission_refusal(study(), "anybody") is None
    closed = study(allow=["p1", "p2"])
    assert admission_refusal(closed, "p1") is None
    assert admission_refusal(closed, "p3") == NOT_LISTED
    assert admission_refusal(closed, None) == NO_LINK


ARMS = [{"name": name, "persona": "listener", "model": "echo"} for name in ("alpha", "beta", "gamma")]


def test_a_live_ballot_waits_for_every_arm() -> None:
    live = parse_study({"id": "l", "kind": "live", "seed": "x", "arms": ARMS}, "test")
    ballot, answers = draw_live(live, "p", "c", "m", None)({}, 7)
    assert (ballot.number, ballot.conversation_id, ballot.message_id, ballot.item_id) == (7, "c", "m", None)
    assert [slot.answer_id for slot in ballot.slots] == [answer.id for answer in answers]
    assert [slot.source for slot in ballot.slots] == [answer.source for answer in answers]
    assert {slot.source for slot in ballot.slots} == {"alpha", "beta", "gamma"}
    assert all(not slot.votable and slot.reason == WAITING for slot in ballot.slots)
    assert {answer.status for answer in answers} == {AnswerStatus.PENDING}
    assert {(answer.persona, answer.strategy, answer.model) for answer in answers} == {("listener", "plain", "echo")}


def test_live_orders_are_balanced_too() -> None:
    live = parse_study({"id": "l", "kind": "live", "seed": "x", "arms": ARMS}, "test")
    for condition in (None, "x"):
        draw = draw_live(live, "p", "c", "m", condition)
        ballots = [draw({condition: drawn, "other": 5}, 1)[0] for drawn in range(12)]
        assert set(Counter((slot.source, slot.position) for one in ballots for slot in one.slots).values()) == {4}


def test_a_live_condition_restricts_the_arms() -> None:
    values = {"id": "l", "kind": "live", "arms": ARMS, "conditions": [{"name": "c", "sources": ["alpha", "gamma"]}]}
    ballot, _ = draw_live(parse_study(values, "test"), "p", "c", "m", "c")({}, 1)
    assert sorted(slot.source for slot in ballot.slots) == ["alpha", "gamma"]


def test_a_reason_for_a_slot_names_no_source() -> None:
    live = parse_study({"id": "l", "kind": "live", "arms": ARMS}, "test")
    ballot, _ = draw_live(live, "p", "c", "m", None)({}, 1)
    shown = json.dumps([slot.reason for slot in ballot.slots])
    assert not any(arm["name"] in shown for arm in ARMS)
