"""The desk on a real database: who came, exclusions, links with a role, and what an erasure leaves."""

from dataclasses import replace
from pathlib import Path

import pytest

from heard.chat_app.results.records import VoteFilter
from heard.chat_app.results.selection import EXCLUSION_REASONS, select_votes
from heard.chat_app.studies.exclusion_rules import RuleError, caught, parse_rule
from heard.chat_app.studies.people_table import people_csv, sorted_people, to_pay_csv
from heard.db.desk_records import Actor, Role
from heard.db.desk_store import DeskStore
from heard.db.errors import StudyRefused
from heard.db.store import Store
from heard.db.study_records import AnswerStatus, Choice, EnrolmentRecord, StudyKind
from heard.db.transaction import run_sql
from heard.db.vote_reads import read_votes
from tests.db.conftest import Make
from tests.db.studying import Studying

LEAD = Actor("Ada")
LONG = 6
"""Items of the survey, of which the last one asks about attention."""


@pytest.fixture
def url(each_url: str) -> str:
    return each_url


@pytest.fixture
async def studying(store: Store, make: Make) -> Studying:
    made = Studying(store, make)
    items = made.items(number=LONG)
    items[-1] = replace(items[-1], attention="human")
    leaking = replace(items[0].answers[1], leak=["signature"], status=AnswerStatus.COMPLETE)
    items[0] = replace(items[0], answers=(items[0].answers[0], leaking, items[0].answers[2]))
    await made.studies.save_study(made.study(), items)
    return made


async def came(studying: Studying, external: str | None, *, votes: int = LONG, **fields: object) -> str:
    """Somebody who has voted on the first `votes` ballots, with these values in each vote, and who is at the end."""
    person, make = await studying.agree(), studying.make
    items = await studying.studies.items("blind")
    await studying.studies.enrol(
        EnrolmentRecord("blind", person, external, None, 3, make.now),
        lambda _: None,
        lambda enrolled, _: [
            replace(studying.ballot("blind", person, place, item), attention=item.attention)
            for place, item in enumerate(items, 1)
        ],
    )
    for ballot, _ in (await studying.studies.ballots_of_person("blind", person))[:votes]:
        await studying.studies.vote(studying.cast(ballot, **fields))  # type: ignore[arg-type]
    if votes == LONG:
        await studying.studies.complete("blind", person, None, make.now)
    return person


async def test_how_each_person_took_part(studying: Studying) -> None:
    desk = DeskStore(studying.store.engine)
    good = await came(studying, "anna", seconds=9.0)
    fast = await came(studying, "=cmd", most=3, least=1, seconds=1.0, width_class="phone")
    half = await came(studying, None, votes=2, choice=Choice.SAME, most=None, least=None)
    one, two, three = await desk.people("blind")
    assert [one.participant_id, two.participant_id, three.participant_id] != []
    found = {person.participant_id: person for person in (one, two, three)}
    assert (found[good].judged, found[good].given, found[good].median_seconds) == (LONG, LONG, 9.0)
    assert (found[good].attention_passed, found[good].attention_failed, found[good].attention_open) == (1, 0, 0)
    assert (found[fast].attention_passed, found[fast].attention_failed) == (0, 1)
    assert (found[fast].same_place, found[fast].least_seconds, found[fast].devices) == (1.0, 1.0, ("phone",))
    assert (found[half].judged, found[half].attention_open, found[half].same_share) == (2, 1, 1.0)
    assert (found[half].completed_at, found[half].same_place, found[half].leaks) == (None, None, 1)
    assert all(person.research for person in found.values())
    assert await desk.person("blind", fast) == found[fast]
    assert await desk.person("blind", "nobody") is None
    await studying.agree(half, research=False)
    assert [person.research for person in await desk.people("blind") if person.participant_id == half] == [False]
    shortest = sorted_people(found.values(), "median_seconds", descending=False)
    assert [person.participant_id for person in shortest] == [fast, half, good]
    assert "\n'=cmd,finished," in to_pay_csv(found.values())
    assert half not in to_pay_csv(found.values())
    assert half in people_csv(found.values())


async def test_rules_catch_whom_they_name(studying: Studying) -> None:
    desk = DeskStore(studying.store.engine)
    await came(studying, "anna", seconds=9.0, most=1)
    bad = await came(studying, "bob", most=3, least=1, seconds=2.0)
    away = await came(studying, "carl", votes=1)
    people = await desk.people("blind")
    assert set(caught(parse_rule("fast=3s"), people)) == {bad}
    assert set(caught(parse_rule("fast=2"), people)) == set()
    assert set(caught(parse_rule("attention"), people)) == {bad}
    assert set(caught(parse_rule("unfinished"), people)) == {away}
    assert len(caught(parse_rule("straight-lining=90%"), people)) == 2  # anna too: her fixture always marks A
    assert set(caught(parse_rule("leaks=100%"), people)) == {away}
    assert caught(parse_rule("attention"), people)[bad] == "Failed 1 of 1 attention items."
    assert str(parse_rule(" FAST = 2.5 s")) == "fast=2.5s"
    assert str(parse_rule("same")) == "same=90%"
    for wrong in ("fsat=3s", "fast=", "fast=0", "fast=-3", "fast=3%", "same=101%", "unfinished=1", ""):
        with pytest.raises(RuleError):
            parse_rule(wrong)


async def test_the_excluded_are_in_no_result_and_every_vote_is_accounted_for(studying: Studying) -> None:
    desk, engine = DeskStore(studying.store.engine), studying.store.engine
    await came(studying, "anna")
    bob = await came(studying, "bob", most=3, least=1)
    carl = await came(studying, "carl", most=3, least=1)
    dora = await came(studying, "dora", most=2, least=1)
    await studying.agree(dora, research=False)
    everybody = {bob: "Fast.", dora: "Fast."}
    assert set(await desk.exclude("blind", everybody, "fast=3s", LEAD)) == {bob, dora}
    assert await desk.exclude("blind", everybody, "fast=3s", LEAD) == []
    read = await read_votes(engine, "blind", rows=True)
    _, counted = select_votes(read.counts, VoteFilter(passed_attention=True))
    reasons = {name: getattr(counted, name) for name in EXCLUSION_REASONS}
    assert (counted.rows, counted.kept + sum(reasons.values())) == (4 * LONG, 4 * LONG)
    assert (reasons["no_consent"], reasons["excluded_people"]) == (LONG, LONG)  # each vote once, consent first
    assert reasons["failed_attention"] == LONG - 1  # carl's, whose attention item counts as one
    assert len(set(read.rows.person)) == 2
    assert len(read.rows.failing) == 1
    assert await desk.exclude("blind", {carl: "Came twice."}, None, LEAD) == [carl]
    assert await desk.include("blind", [bob], "The rule was too strict.", LEAD) == 1
    assert await desk.include("blind", [bob], "Again.", LEAD) == 0
    _, counted = select_votes((await read_votes(engine, "blind")).counts, VoteFilter())
    assert counted.excluded_people == LONG
    (lifted,) = await desk.exclusions_of("blind", bob)
    assert (lifted.rule, lifted.made_by, lifted.lifted_by) == ("fast=3s", "Ada", "Ada")
    assert lifted.lifted_reason == "The rule was too strict."
    assert await desk.exclude("blind", {bob: "Fast."}, "fast=3s", LEAD) == []  # what a lead decided stays decided
    (again,) = [person for person in await desk.people("blind") if person.participant_id == bob]
    assert (again.excluded, again.lifted_rules) == (False, ("fast=3s",))
    assert bob not in caught(parse_rule("fast=3s"), [again])
    assert [line.did for line in await desk.log("blind", 9, bob)] == [
        "included again",
        "excluded by the rule fast=3s",
    ]


async def test_an_exclusion_follows_its_person_to_another_browser(studying: Studying) -> None:
    desk = DeskStore(studying.store.engine)
    bob = await came(studying, "bob", votes=1)
    await desk.exclude("blind", {bob: "Came twice."}, None, LEAD)
    await studying.studies.release("blind", "bob", studying.make.now)
    elsewhere = await studying.agree()
    new = EnrolmentRecord("blind", elsewhere, "bob", None, 3, studying.make.now)
    await studying.studies.enrol(new, lambda _: None, lambda *_: [])
    (person,) = await desk.people("blind")
    assert (person.participant_id, person.excluded, person.judged) == (elsewhere, True, 1)


async def test_an_erased_person_leaves_no_exclusion_no_link_and_no_id_in_the_log(studying: Studying) -> None:
    desk, engine = DeskStore(studying.store.engine), studying.store.engine
    link, _ = await desk.invite("blind", Role.PARTICIPANT, "Bob from the clinic", LEAD)
    bob = await came(studying, link.external_id)
    await desk.exclude("blind", {bob: "Came twice."}, None, LEAD)
    (own,) = (await studying.store.export_participant(bob))["studies"]
    assert (own["invitation"]["name"], own["exclusions"]) == ("Bob from the clinic", [])
    await desk.end("blind", LEAD)
    (own,) = (await studying.store.export_participant(bob))["studies"]
    assert [one["reason"] for one in own["exclusions"]] == ["Came twice."]
    assert "Ada" not in str(own)
    await studying.store.erase_participant(bob)
    for table in ("exclusion", "access_link"):
        assert await run_sql(engine, f"SELECT * FROM {table}", {}) == []  # noqa: S608 - one of two names
    lines = await desk.log("blind", 9)
    assert [line.did for line in lines] == ["closed the study", "excluded by hand", lines[2].did]
    assert {line.participant_id for line in lines} == {None}


async def test_a_link_is_stored_as_a_hash_and_ends_when_it_is_revoked(studying: Studying, tmp_path: Path) -> None:
    desk = DeskStore(studying.store.engine)
    assert not await desk.any_staff()
    link, token = await desk.invite("blind", Role.RESEARCHER, "Grace", LEAD)
    assert await desk.link_of_token(token) == link
    assert await desk.link_of_token(token + "x") is None
    assert await desk.any_staff()
    stored = await run_sql(studying.store.engine, "SELECT * FROM access_link", {})
    assert token not in str(stored)
    assert await desk.revoke(link.id, LEAD) == link
    assert not await desk.any_staff()
    assert (await desk.link_of_token(token)).revoked_at is not None  # type: ignore[union-attr]
    assert await desk.revoke("nothing", LEAD) is None


async def test_a_paused_study_takes_nobody_and_goes_on(studying: Studying) -> None:
    desk = DeskStore(studying.store.engine)
    person = await came(studying, "anna", votes=1)
    await desk.pause("blind", LEAD, paused=True)
    with pytest.raises(StudyRefused, match="is paused"):
        await came(studying, "bob")
    (_, vote), (ballot, _), *_ = await studying.studies.ballots_of_person("blind", person)
    assert vote is not None
    await studying.studies.vote(studying.cast(ballot))  # it was on its way, and is not lost
    await desk.pause("blind", LEAD, paused=False)
    await came(studying, "bob")
    await desk.end("blind", LEAD)
    with pytest.raises(StudyRefused, match="has ended"):
        await desk.pause("blind", LEAD, paused=True)


async def test_a_paused_live_study_draws_no_ballot_and_keeps_the_message(studying: Studying) -> None:
    desk = DeskStore(studying.store.engine)
    await studying.studies.save_study(studying.study("talk", StudyKind.LIVE))
    person = await studying.agree()
    _, message = await studying.asked(person)
    await desk.pause("talk", LEAD, paused=True)
    with pytest.raises(StudyRefused, match="is paused"):
        await studying.live(person, message)
    await desk.pause("talk", LEAD, paused=False)
    ballot, _ = await studying.live(person, message)
    (walk_in,) = await desk.people("talk")
    assert (walk_in.participant_id, walk_in.started_at, walk_in.given) == (ballot.participant_id, None, 1)
