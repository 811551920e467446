"""`POST /vote` over HTTP: what it takes, what it refuses with which words, and what it tells after the vote."""

import json
import math
import re
import sqlite3
import uuid
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from heard.chat_app.common.identity import COUNTRY_COOKIE
from heard.chat_app.conversation.drafts import draft_to_json
from heard.chat_app.studies.continuation import reply_from_vote
from heard.chat_app.studies.votes import BROKEN, LONGEST_REASON, STORED
from heard.chat_app.web.vote_routes import UNKNOWN_VISITOR
from heard.db.records import PastTurn
from heard.db.store import Store
from heard.db.study_records import WIDTHS, AnswerStatus, BallotRecord, Choice, StudyKind
from heard.db.voting import FINAL, MOST_SECONDS, NO_CONSENT, NO_SUCH_TIME, NOT_WHOLE, NOT_YOURS
from tests.db.conftest import Make
from tests.db.processes import holding
from tests.db.studying import Studying
from tests.journeys.web import BROWSER, HERE, SECRET_WORDS, Web, built, store

__all__ = ["store"]  # a fixture
ARMS = [{"name": name, "persona": "listener", "model": f"model-of-{name}"} for name in ("left", "right")]


@pytest.fixture
async def web(tmp_path: Path, store: Store) -> AsyncIterator[Web]:
    made = built(tmp_path, store)
    async with made.client:
        await made.answer(research="yes")
        yield made


@pytest.fixture
async def s(web: Web) -> Studying:
    return Studying(web.store, Make(), reveal=True)


@pytest.fixture
async def ballot(s: Studying, web: Web) -> BallotRecord:
    await s.survey()
    return (await s.enrolled(web.participant))[0]


def call(ballot: BallotRecord, /, **fields: Any) -> dict[str, Any]:
    """A whole and sensible vote; the clicks of all such calls are the same one."""
    return {
        "ballot": ballot.id, "choice": "ranked", "most": "A", "least": "B", "reason": "It listens.", "seconds": 3.5,
        "width": "phone", "request": "5f0c1b1e-7a53-4a8e-9d7e-0a4b5c6d7e8f", **fields,
    }  # fmt: skip


async def post(web: Web, payload: object, **headers: str) -> httpx.Response:
    body = json.dumps(payload)  # NaN and the like are written as Python reads them again
    return await web.client.post("/vote", content=body, headers={**HERE, "content-type": "application/json", **headers})


async def refused(web: Web, payload: object, status: int, sentence: str) -> None:
    """The answer has this status and these words, and no vote is stored."""
    answer = await post(web, payload)
    assert answer.status_code == status, answer.text
    told = answer.json()
    assert told.keys() == {"status", "sentence"}
    assert told["status"] == "refused"
    assert sentence in told["sentence"]
    assert SECRET_WORDS not in answer.text
    assert web.rows().get("vote", 0) == 0


def votes(web: Web, columns: str = "choice, most, least, reason, seconds, width_class, changes") -> list[Any]:
    with closing(sqlite3.connect(web.settings.data_dir / "heard.db")) as database:
        return database.execute(f"SELECT {columns} FROM vote").fetchall()  # noqa: S608 - names of columns


# --- taken ----------------------------------------------------------------------------------------------------------


async def all_but(s: Studying, web: Web, ballot: BallotRecord) -> None:
    """Votes on the person's other ballots, so that the one on this is their last."""
    for other, _ in await s.studies.ballots_of_person(ballot.study_id, web.participant):
        if other.id != ballot.id:
            await s.studies.vote(s.cast(other, None, None, choice=Choice.SAME))


async def test_a_vote_and_its_reveal(web: Web, s: Studying, ballot: BallotRecord) -> None:
    assert (await post(web, call(ballot, reason="Not the last one."))).json()["reveal"] is None
    await all_but(s, web, ballot)
    answer = await post(web, call(ballot, reason="Not the last one."))
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    told = answer.json()
    assert (told["status"], told["changes"], told["sentence"]) == ("stored", 0, STORED)
    assert [one["letter"] + "=" + one["source"] for one in told["reveal"]] == ["A=human", "B=north", "C=south"]
    assert told["reveal"][1] == {
        "letter": "B", "source": "north", "model": "model-of-north", "persona": None, "strategy": None,
        "scores": {"cognitive": 1.5, "emotional": 2.0, "behavioral": 2.5, "empathy": 2.0, "perceived": 2.4},
        "seconds": None, "improved": False,
    }  # fmt: skip
    assert ("ranked", 1, 2, "Not the last one.", 3.5, "phone", 0) in votes(web)


async def test_a_vote_after_the_reveal_is_no_blind_one(web: Web, s: Studying, ballot: BallotRecord) -> None:
    """Seen in the answer, or in another tab: either way the first vote stands, and its replay is no fault."""
    await post(web, call(ballot, choice="skipped", most=None, least=None))
    assert (await post(web, call(ballot, request=str(uuid.uuid4())))).json()["reveal"] is None
    await all_but(s, web, ballot)
    assert (await post(web, call(ballot, request=str(uuid.uuid4())))).json()["reveal"]
    changed = await post(web, call(ballot, most="C", least="A", request=str(uuid.uuid4())))
    assert changed.status_code == 409
    assert changed.json() == {"status": "refused", "sentence": FINAL}
    assert (await post(web, call(ballot, request=str(uuid.uuid4())))).status_code == 200
    assert ("ranked", 1, 2, 1) in votes(web, "choice, most, least, changes")


async def test_a_replay_and_a_change(web: Web, s: Studying) -> None:
    await s.survey(reveal=False)
    ballot = (await s.enrolled(web.participant))[0]
    first = await post(web, call(ballot))
    again = await post(web, call(ballot))
    assert again.json() == first.json()
    changed = await post(web, call(ballot, most="C", least="A", request="{0B5C6D7E-7a53-4a8e-9d7e-0a4b5c6d7e8f}"))
    assert changed.json()["changes"] == 1
    late = await post(web, call(ballot))
    assert late.json()["changes"] == 1
    assert votes(web, "most, least, changes") == [(3, 1, 1)]
    assert web.rows()["vote_change"] == 1


async def test_nothing_is_told_where_the_study_reveals_nothing(web: Web, s: Studying) -> None:
    await s.survey(reveal=False)
    ballot = (await s.enrolled(web.participant))[0]
    answer = await post(web, call(ballot))
    assert answer.json() == {"status": "stored", "changes": 0, "reveal": None, "sentence": STORED}
    assert "north" not in answer.text


async def test_a_crisis_in_the_reason_gets_numbers_and_is_not_stored(web: Web, ballot: BallotRecord) -> None:
    web.client.cookies.set(COUNTRY_COOKIE, "DE")
    told = (await post(web, call(ballot, reason="Quiero morir, no puedo mas. Voy a matarme."))).json()
    assert (told["status"], told["crisis"]) == ("stored", "es")
    assert 'href="tel:08001110111"' in told["handoff"]["html"]
    assert told["handoff"]["language"] == "es"
    assert votes(web, "choice, reason") == [("ranked", None)]
    assert "handoff" not in (await post(web, call(ballot))).json()


def test_both_pages_go_by_one_script_which_knows_the_bounds() -> None:
    """A vote must mean the same in the chat and in a survey: widths, and what is too long."""
    root = Path(__file__).parents[3]
    script = (root / "chat_app/web/pages/static/ballot.js").read_text(encoding="utf-8")
    assert re.findall(r"innerWidth < \d+ \? \"(\w+)\"", script) == list(WIDTHS[:2])
    bounds = dict(re.findall(r"^const (LONGEST_REASON|MOST_SECONDS) = ([\d_ *]+);", script, re.MULTILINE))
    assert {name: math.prod(map(int, value.split("*"))) for name, value in bounds.items()} == {
        "LONGEST_REASON": LONGEST_REASON,
        "MOST_SECONDS": MOST_SECONDS,
    }
    for view in ("chat_app/page/public/elements/HeardBallot.jsx", "chat_app/web/pages/static/survey.js"):
        text = (root / view).read_text(encoding="utf-8")
        assert "ballotOf(" in text
        assert re.findall(r"innerWidth < |fetch\(|sessionStorage|5_?000|randomUUID", text) == []


@pytest.mark.parametrize("reveal", [None, "yes", 1, ["true"]])
async def test_nothing_is_told_by_a_study_that_does_not_plainly_say_so(web: Web, s: Studying, reveal: object) -> None:
    await s.survey(reveal=reveal)
    ballot = (await s.enrolled(web.participant))[0]
    assert (await post(web, call(ballot))).json()["reveal"] is None


@pytest.mark.parametrize("choice", ["same", "none", "skipped"])
async def test_the_other_choices(web: Web, ballot: BallotRecord, choice: str) -> None:
    answer = await post(
        web, call(ballot, choice=choice, most=None, least=None, reason=" \n", seconds=0, width="tablet")
    )
    assert answer.status_code == 200
    assert votes(web) == [(choice, None, None, None, 0.0, "tablet", 0)]


# --- refused --------------------------------------------------------------------------------------------------------

LETTER = "Choose one of A, B, C"
BAD: dict[str, tuple[dict[str, Any], int, str]] = {
    "slot Z": ({"most": "Z"}, 422, LETTER),
    "slot D of three": ({"most": "D"}, 409, LETTER),
    "a small letter": ({"least": "b"}, 422, LETTER),
    "two letters": ({"most": "AB"}, 422, LETTER),
    "no letter": ({"most": ""}, 422, LETTER),
    "a position": ({"most": 1}, 422, LETTER),
    "the same twice": ({"least": "A"}, 409, "two different ones"),
    "no least": ({"least": None}, 409, "least empathetic"),
    "no most": ({"most": None}, 409, "most empathetic"),
    "marked and the same": ({"choice": "same"}, 409, "marks no answer"),
    "no such choice": ({"choice": "stolen"}, 422, BROKEN),
    "a list for a choice": ({"choice": ["ranked"]}, 422, BROKEN),
    "negative seconds": ({"seconds": -1}, 422, NO_SUCH_TIME),
    "no number": ({"seconds": math.nan}, 422, NO_SUCH_TIME),
    "infinite": ({"seconds": math.inf}, 422, NO_SUCH_TIME),
    "huge": ({"seconds": 1e300}, 422, NO_SUCH_TIME),
    "too large for a float": ({"seconds": 10**400}, 422, NO_SUCH_TIME),
    "true": ({"seconds": True}, 422, NO_SUCH_TIME),
    "a text of seconds": ({"seconds": "3"}, 422, NO_SUCH_TIME),
    "no seconds": ({"seconds": None}, 422, NO_SUCH_TIME),
    "unknown width": ({"width": "1024x768"}, 422, BROKEN),
    "no width": ({"width": None}, 422, BROKEN),
    "no click": ({"request": SECRET_WORDS}, 422, BROKEN),
    "a number for a click": ({"request": 7}, 422, BROKEN),
    "a long reason": ({"reason": SECRET_WORDS + "x" * 100_000}, 422, "Shorten it"),
    "one character too many": ({"reason": "x" * (LONGEST_REASON + 1)}, 422, "5,001 characters, and 5,000 are allowed"),
    "a reason that is no text": ({"reason": {"a": 1}}, 422, BROKEN),
    "another key": ({"participant_id": "somebody"}, 422, BROKEN),
    "no ballot": ({"ballot": None}, 422, BROKEN),
    "no such ballot": ({"ballot": SECRET_WORDS * 100}, 410, "no such ballot"),
}


async def test_calls_that_are_no_votes(web: Web, ballot: BallotRecord) -> None:
    for fields, status, sentence in BAD.values():
        await refused(web, call(ballot, **fields), status, sentence)
    for other in (None, [], "vote", 7, [call(ballot)]):
        await refused(web, other, 400, BROKEN)
    # Nothing of it stands in the way of the vote itself, with the longest reason there may be.
    assert (await post(web, call(ballot, reason="\U0001f600" * LONGEST_REASON))).status_code == 200


async def test_bodies_that_are_no_calls(web: Web, ballot: BallotRecord) -> None:
    whole = json.dumps(call(ballot))
    for body, kind, status in (
        (whole, "text/plain", 415),
        (whole, "application/x-www-form-urlencoded", 415),
        (whole[:-1], "application/json", 400),
        ("[" * 100_000, "application/json", 400),
        ('{"seconds": ' + "9" * 10_000 + "}", "application/json", 400),
        (json.dumps(call(ballot, reason="x" * 300_000)), "application/json", 413),
    ):
        answer = await web.client.post("/vote", content=body, headers={**HERE, "content-type": kind})
        assert (answer.status_code, answer.json()["status"]) == (status, "refused")
    assert web.rows().get("vote", 0) == 0


async def test_a_vote_from_another_page(web: Web, ballot: BallotRecord) -> None:
    for origin in ("https://evil.example", "http://127.0.0.1:9000", "null"):
        assert (await post(web, call(ballot), origin=origin)).status_code == 403
    assert web.rows().get("vote", 0) == 0


async def test_nobody_without_the_cookie(web: Web, ballot: BallotRecord) -> None:
    signed = web.client.cookies.get(web.named("heard_visitor"))
    for cookie in (None, ballot.participant_id, f"{signed}x", "x" * 5000):
        web.client.cookies.clear()
        if cookie:
            web.client.cookies.set(web.named("heard_visitor"), cookie)
        await refused(web, call(ballot), 401, UNKNOWN_VISITOR)


async def test_anothers_ballot(web: Web, s: Studying) -> None:
    await s.survey()
    theirs = (await s.enrolled(await s.agree()))[0]
    await s.studies.vote(s.cast(theirs))
    answer = await post(web, call(theirs))
    assert (answer.status_code, answer.json()) == (409, {"status": "refused", "sentence": NOT_YOURS})
    assert votes(web, "changes") == [(0,)]


async def test_after_withdrawal_and_after_erasing(web: Web, s: Studying, ballot: BallotRecord) -> None:
    await web.answer(research="no")
    await refused(web, call(ballot), 409, NO_CONSENT)
    await web.answer(research="yes")
    assert (await post(web, call(ballot))).status_code == 200
    await web.store.erase_participant(ballot.participant_id)
    await refused(web, call(ballot), 410, "has been erased")


async def test_a_locked_database_is_waited_for_and_then_named(web: Web, ballot: BallotRecord) -> None:
    with holding(web.settings.data_dir / "heard.db"):
        answer = await post(web, call(ballot))
    assert answer.status_code == 503
    assert int(answer.headers["retry-after"]) > 0
    told = answer.json()["sentence"]
    assert "busy with another program" in told
    assert "still on the page" in told
    assert web.rows().get("vote", 0) == 0
    # The same click again, once the other program is done.
    assert (await post(web, call(ballot))).json()["changes"] == 0
    assert web.rows()["vote"] == 1


# --- live -----------------------------------------------------------------------------------------------------------


async def live(s: Studying, web: Web, *, whole: bool = True, reveal: bool = True) -> BallotRecord:
    """A live ballot of the visitor's; each answer has two drafts, the second of which is shown."""
    await s.studies.save_study(s.study("talk", StudyKind.LIVE, arms=ARMS, reveal=reveal, items_per_person=1))
    _, message = await s.asked(web.participant)
    ballot, answers = await s.live(web.participant, message)
    make = s.make
    came = [
        s.came(
            answer,
            drafts=[
                draft_to_json(make.draft("a first try", kept=False)),
                draft_to_json(make.draft(f"words of {answer.source}", number=2, guidance="emotional")),
            ],
            improved=True,
            total_seconds=2.5,
        )
        for answer in answers
    ]
    return await s.studies.finish_ballot(ballot.id, came) if whole else ballot


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"most": "B", "least": None}, "words of right"),
        ({"choice": "same", "most": None, "least": None}, "words of left"),
        ({"choice": "skipped", "most": None, "least": None}, "words of left"),
    ],
)
async def test_a_live_vote_carries_the_conversation_on(
    web: Web, s: Studying, fields: dict[str, Any], words: str
) -> None:
    await web.answer(research="no")  # a live ballot is part of the chat
    ballot = await live(s, web)
    answer = await post(web, call(ballot, **fields))
    assert answer.status_code == 200
    told = [(one["source"], one["seconds"], one["improved"]) for one in answer.json()["reveal"] or ()]
    # Whoever skips has not judged, may still do so, and so is told nothing.
    assert told == ([] if fields.get("choice") == "skipped" else [("left", 2.5, True), ("right", 2.5, True)])
    assert ballot.conversation_id
    assert ballot.message_id
    history = await web.store.history(ballot.conversation_id)
    assert history == [PastTurn("It sounds hard today", words)]
    reply = (await web.store.replies(ballot.conversation_id))[ballot.message_id]
    assert (reply.persona, reply.strategy, len(reply.drafts)) == ("kind", "plain", 2)


async def test_a_live_ballot_on_the_way_is_not_judged(web: Web, s: Studying) -> None:
    ballot = await live(s, web, whole=False)
    await refused(web, call(ballot, choice="same", most=None, least=None), 409, NOT_WHOLE)
    assert "reply" not in web.rows()


def test_what_carries_on(s: Studying) -> None:
    items = s.items(number=1)
    survey = s.ballot("blind", "p", 1, items[0], "human")
    assert reply_from_vote(survey, s.cast(survey), items[0].answers) is None
    drafts = [draft_to_json(s.make.draft())]
    answers = [replace(answer, drafts=drafts, persona="kind", strategy="plain") for answer in items[0].answers]
    ballot = replace(survey, message_id="m")
    skipped = s.cast(ballot, None, None, choice=Choice.SKIPPED)
    first = reply_from_vote(ballot, skipped, answers)
    assert first
    assert first.message_id == "m"
    assert first.drafts == (s.make.draft(id=first.kept.id),)
    assert reply_from_vote(ballot, s.cast(ballot, 1, None), answers) is None  # not votable
    broken = replace(ballot, slots=tuple(replace(slot, votable=False) for slot in ballot.slots))
    assert reply_from_vote(broken, skipped, answers) is None
    failed = [replace(answer, drafts=[], status=AnswerStatus.FAILED) for answer in answers]
    assert reply_from_vote(ballot, skipped, failed) is None


# --- what a person is told of what is stored ------------------------------------------------------------------------


async def test_your_page_counts_votes_and_shows_no_source(web: Web, s: Studying) -> None:
    ballot = await live(s, web)
    await s.survey()
    await s.enrolled(web.participant)
    await post(web, call(ballot, least=None))
    page = (await web.client.get("/you", headers=BROWSER)).text
    assert "Ballots that you were given" in page
    assert "Your votes" in page
    told = (await web.client.get("/you/export")).json()
    by_study = {study["study"]: study["ballots"] for study in told["studies"]}
    assert by_study["talk"][0]["slots"][0]["source"] == "left"
    assert "north" not in json.dumps(by_study["blind"])


async def test_your_page_of_a_study_that_reveals_nothing(web: Web, s: Studying) -> None:
    ballot = await live(s, web, reveal=False)
    await post(web, call(ballot, least=None))
    assert (await web.client.get("/you", headers=BROWSER)).status_code == 200
    told = (await web.client.get("/you/export")).text
    assert "words of left" in told
    assert "model-of" not in told
