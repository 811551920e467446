"""The scorer's page with the real scorer and a real database, in this process: what it shows, refuses and stores."""

import asyncio
import html
import re
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx
import pytest

from heard.chat_app.models.downloads import Weights
from heard.chat_app.page.score_card import score_props
from heard.chat_app.web.pages.score_view import pieces_of, strongest, view_of
from heard.chat_app.web.pages.scorer_routes import NOTE_LIMIT
from heard.db.store import Store
from heard.scorer.records import COMPONENTS, EmpathyScore, ScoreStatus, Span
from heard.scorer.score import DEFAULT_HEAD, HEADS, Scorer
from tests.journeys.web import HERE, Web, built
from tests.journeys.web import store as store

SEEKER = "I failed my exam and I feel like giving up on school."
REPLY = (
    "I am so sorry, that sounds crushing.\nAfter all that work it makes sense that you feel worn out. "
    "Would you like to talk about what happened?"
)
CRISIS = "I want to kill myself"
ATTACK = '</textarea></blockquote><script>alert(1)</script><img src=x onerror=alert(2)>" onfocus="alert(3)'


@pytest.fixture(scope="module")
def scorer(weights: Weights) -> Scorer:
    return Scorer.load(HEADS / DEFAULT_HEAD, weights.encoder)


@pytest.fixture
async def web(tmp_path: Path, store: Store, scorer: Scorer) -> AsyncIterator[Web]:
    made = built(tmp_path, store, scorer=scorer)
    async with made.client:
        yield made


async def post(web: Web, path: str = "/scorer", **fields: str) -> httpx.Response:
    return await web.client.post(path, data={"reply": REPLY, "seeker": SEEKER, **fields}, headers=HERE)


def flags(web: Web) -> list[dict[str, Any]]:
    with closing(sqlite3.connect(web.settings.data_dir / "heard.db")) as database:
        database.row_factory = sqlite3.Row
        return [dict(row) for row in database.execute("SELECT * FROM flag ORDER BY created_at")]


class Parsed(HTMLParser):
    """What a browser would make of the page: its tags, its fields by name, and the marked text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[str] = []
        self.fields: dict[str, str] = {}
        self.marks: list[str] = []
        self.quote = ""
        self._open: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        self.tags.append(tag)
        self.attributes += given
        if tag in ("textarea", "mark", "blockquote"):
            self._open.append((tag, given.get("name", "")))
        if tag == "mark":
            self.marks.append("")
        if tag == "input" and given.get("type") == "hidden":
            self.fields[f"hidden {given['name']}"] = given["value"]

    def handle_endtag(self, tag: str) -> None:
        if self._open and self._open[-1][0] == tag:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        for tag, name in self._open:
            if tag == "textarea":
                self.fields[name] = self.fields.get(name, "") + data
            elif tag == "mark":
                self.marks[-1] += data
            else:
                self.quote += data


# --- the score ------------------------------------------------------------------------------------------------------


async def test_four_scores_are_shown_and_nothing_is_stored(web: Web, scorer: Scorer) -> None:
    response = await post(web)
    assert response.status_code == 200
    assert "set-cookie" not in response.headers
    page = " ".join(re.sub(r"<[^>]+>", " ", response.text).split())
    props = score_props(scorer.score(SEEKER, REPLY))
    for bar in (props["empathy"], *props["bars"]):
        assert f"{bar['label']} {bar['shown']} {bar['level']}" in page
    assert f"<title>Empathy {props['empathy']['shown']}, {props['empathy']['level']} · heard</title>" in response.text
    assert "It cannot tell" in page
    assert web.rows() == {}


async def test_the_texts_stay_in_the_form_as_they_were(web: Web) -> None:
    reply = "\n  First a blank line.\r\nThen   spaces & <signs>. "
    parsed = Parsed((await post(web, reply=reply)).text)
    assert parsed.fields["reply"] == "\n" + reply.replace("\r\n", "\n")  # a browser drops the first line end itself
    assert parsed.fields["seeker"] == "\n" + SEEKER


async def test_the_evidence_is_marked_in_the_reply(web: Web, scorer: Scorer) -> None:
    score = scorer.explain(SEEKER, REPLY)
    name = strongest(score)
    assert name
    parsed = Parsed((await post(web, reply=REPLY.replace("\n", "\r\n"))).text)
    assert parsed.quote == REPLY
    assert parsed.marks == [
        REPLY[span.start : span.end] for span in sorted(score.evidence[name], key=lambda s: s.start)
    ]
    assert parsed.marks


@pytest.mark.parametrize(
    ("reply", "said"),
    [("🙂🙂", "Emoji alone"), ("Das tut mir sehr leid für dich.", "another language"), ("123 456", "no ")],
)
async def test_what_cannot_be_scored_gets_the_reason_and_no_number(web: Web, reply: str, said: str) -> None:
    response = await post(web, reply=reply)
    assert response.status_code == 200
    assert said in html.unescape(response.text)
    assert "<title>Not scored" in response.text
    assert 'class="score' not in response.text


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"reply": ""}, "There is no reply yet"),
        ({"reply": " \r\n\x00 "}, "There is no reply yet"),
        ({"reply": "word " * 1_601}, "The reply has 8,005 characters, and 8,000 fit"),
        ({"seeker": "word " * 1_601}, "The message has 8,005 characters"),
    ],
)
async def test_a_form_that_cannot_be_taken(web: Web, fields: dict[str, str], said: str) -> None:
    for path in ("/scorer", "/scorer/flag"):
        await web.answer()
        response = await post(web, path, **fields)
        assert response.status_code == 422
        assert said in response.text
        assert Parsed(response.text).fields["seeker"].lstrip() == fields.get("seeker", SEEKER)
    assert flags(web) == []


async def test_a_crowd_is_told_to_wait_and_keeps_its_text(web: Web) -> None:
    answers = await asyncio.gather(*(post(web) for _ in range(20)))
    assert {answer.status_code for answer in answers} == {200, 429}
    late = next(answer for answer in answers if answer.status_code == 429)
    assert "try again in a few seconds" in late.text
    assert Parsed(late.text).fields["reply"].lstrip("\n") == REPLY
    assert (await post(web)).status_code == 200


# --- safety ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["reply", "seeker", "note"])
@pytest.mark.parametrize("more", ["", " and on" * 2_000])
async def test_a_crisis_gets_people_and_is_neither_scored_nor_stored(
    tmp_path: Path, store: Store, place: str, more: str
) -> None:
    web = built(tmp_path, store, scorer=None)  # a scorer that is reached would be an error 500
    async with web.client:
        await web.answer(country="DE")
        before = web.rows()
        for path in ("/scorer/flag",) if place == "note" else ("/scorer", "/scorer/flag"):
            response = await post(web, path, **{place: CRISIS + more})
            assert response.status_code == 200
            assert "You matter" in response.text
            assert 'href="tel:08001110111"' in response.text
            assert CRISIS not in response.text
            assert 'id="result"' not in response.text
        assert web.rows() == before


async def test_the_hand_off_speaks_the_text_s_language(tmp_path: Path, store: Store) -> None:
    web = built(tmp_path, store, scorer=None)
    async with web.client:
        response = await post(web, reply="Ich will mich umbringen")
        assert '<section class="hh" lang="de"' in response.text
        assert "Sie sind wichtig" in response.text
        assert "You matter" not in response.text  # one language alone
        assert 'href="tel:112"' in response.text


async def test_the_region_that_the_browser_asks_for_is_offered_as_a_guess(tmp_path: Path, store: Store) -> None:
    web = built(tmp_path, store, scorer=None)
    async with web.client:
        web.client.headers["Accept-Language"] = "en-IE,en;q=0.9"
        response = await post(web, reply=CRISIS)
        assert "Ireland? (a guess from your browser)" in response.text
        assert 'href="tel:116123"' not in response.text  # offered, and not taken for it
        web.client.headers["Accept-Language"] = "tlh, en, xx-ZZ"
        assert "a guess from your browser)</button>" not in (await post(web, reply=CRISIS)).text


async def test_markup_in_any_field_stays_text(web: Web) -> None:
    await web.answer()
    plain = Parsed((await post(web, "/scorer/flag", note="plain")).text)
    reply = f"{REPLY} {ATTACK}. I hear you."
    attacked = await post(web, "/scorer/flag", reply=reply, seeker=f"{SEEKER} {ATTACK}", note=ATTACK)
    assert attacked.status_code == 200
    parsed = Parsed(attacked.text)
    assert "script" not in parsed.tags
    assert [tag for tag in parsed.tags if tag != "mark"] == [tag for tag in plain.tags if tag != "mark"]
    assert not [name for name in parsed.attributes if name.startswith("on")]
    assert (parsed.fields["note"], parsed.fields["hidden reply"]) == ("\n" + ATTACK, reply)
    assert parsed.quote == reply
    assert flags(web)[1]["reply"] == reply
    assert "script-src" not in attacked.headers["content-security-policy"]
    assert "default-src 'none'" in attacked.headers["content-security-policy"]


# --- flags ----------------------------------------------------------------------------------------------------------


async def test_a_flag_is_one_row_with_the_score_of_this_server(web: Web, scorer: Scorer) -> None:
    await web.answer()
    assert 'action="/scorer/flag#flag"' in (await post(web)).text
    response = await post(web, "/scorer/flag", note=" Why so high? ", cognitive="3", empathy="3")
    assert "<title>Flagged" in response.text
    score = scorer.score(SEEKER, REPLY)
    (row,) = flags(web)
    assert row["participant_id"] == web.participant
    assert (row["reply"], row["seeker"], row["note"], row["status"]) == (REPLY, SEEKER, "Why so high?", "scored")
    for name in (*COMPONENTS, "empathy", "head_name", "head_sha256", "encoder_sha256"):
        assert row[name] == getattr(score, name)
    await post(web, "/scorer/flag", note="")
    (again,) = flags(web)
    assert (again["id"], again["note"]) == (row["id"], None)


async def test_what_has_no_score_can_be_flagged_too(web: Web) -> None:
    await web.answer()
    await post(web, "/scorer/flag", reply="🙂🙂", seeker="")
    (row,) = flags(web)
    assert (row["status"], row["empathy"], row["seeker"]) == ("emoji_only", None, "")


async def test_without_consent_nothing_is_flagged(web: Web) -> None:
    assert "read the notice and agree" in (await post(web)).text
    response = await post(web, "/scorer/flag", note="my note")
    assert response.status_code == 403
    assert "you have not agreed" in response.text
    assert web.rows() == {}
    await web.answer()
    await web.answer(chat="no")
    assert (await post(web, "/scorer/flag")).status_code == 403
    value = web.client.cookies[web.named("heard_visitor")]
    await web.answer()
    web.client.cookies.set(web.named("heard_visitor"), value[:-8] + "AAAAAAAA")
    assert (await post(web, "/scorer/flag")).status_code in (403, 400)
    assert flags(web) == []


async def test_a_long_note_is_told_and_the_score_stays_in_view(web: Web) -> None:
    await web.answer()
    note = "x" * (NOTE_LIMIT + 1)
    response = await post(web, "/scorer/flag", note=note)
    assert response.status_code == 422
    assert "The note has 1,001 characters" in response.text
    assert Parsed(response.text).fields["note"] == "\n" + note
    assert 'id="result"' in response.text
    assert flags(web) == []


async def test_a_locked_database_is_told_and_the_score_stays_in_view(web: Web) -> None:
    await web.answer()
    with closing(sqlite3.connect(web.settings.data_dir / "heard.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        response = await post(web, "/scorer/flag", note="my note")
        other.execute("ROLLBACK")
    assert response.status_code == 503
    assert "busy" in response.text
    assert Parsed(response.text).fields["note"] == "\nmy note"
    assert 'id="result"' in response.text
    assert flags(web) == []


async def test_flags_are_in_the_export_and_go_with_the_rest(web: Web) -> None:
    await web.answer()
    await post(web, "/scorer/flag", note="zaphod")
    assert "flagged on the scorer" in (await web.client.get("/you")).text
    (given,) = (await web.client.get("/you/export")).json()["flags"]
    assert (given["note"], given["reply"], given["participant_id"]) == ("zaphod", REPLY, web.participant)
    page = await web.client.post("/you/erase", data={"sure": "yes"}, headers=HERE)
    assert '<td>flag</td><td class="number">1</td>' in page.text
    assert web.rows() == {}
    for path in web.settings.data_dir.iterdir():
        assert b"zaphod" not in path.read_bytes()


# --- pieces and ranges ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spans", "cut"),
    [
        ([], [("abcdef", "")]),
        ([Span(0, 6, 1.0)], [("abcdef", "strong")]),
        ([Span(4, 6, 0.2), Span(0, 2, 0.8)], [("ab", "strong"), ("cd", ""), ("ef", "faint")]),
        ([Span(0, 3, 0.2), Span(2, 4, 0.5)], [("abcd", "strong"), ("ef", "")]),
        ([Span(0, 2, 0.5), Span(2, 4, 1.0)], [("ab", "middle"), ("cd", "strong"), ("ef", "")]),
        ([Span(-3, 1, 0.0), Span(5, 99, 0.0), Span(3, 3, 1.0), Span(4, 2, 1.0)],
         [("a", "strong"), ("bcde", ""), ("f", "strong")]),
    ],
)  # fmt: skip
def test_a_reply_is_cut_at_the_spans(spans: Sequence[Span], cut: list[tuple[str, str]]) -> None:
    pieces = pieces_of("abcdef", spans)
    assert [(piece.text, piece.strength) for piece in pieces] == cut


def rated(**fields: Any) -> EmpathyScore:
    values = {"cognitive": 1.2, "emotional": 2.6, "behavioral": 2.6, **fields}
    return EmpathyScore(ScoreStatus.SCORED, reason=None, head_name="h", head_sha256="", encoder_sha256="", **values)


def test_ranges_and_notes_are_shown_where_the_score_has_them() -> None:
    assert {row.range for row in view_of(rated(), "words").rows} == {""}
    score = rated(intervals={"empathy": (1.8, 2.6), "cognitive": (1.0, 3.0)}, notes=("parrot",))
    view = view_of(score, "words")
    assert [(row.label, row.range, row.low, row.high) for row in view.rows[:2]] == [
        ("Empathy", "plausibly 1.8 to 2.6", 40.0, 80.0),
        ("Cognitive", "plausibly 1.0 to 3.0", 0.0, 100.0),
    ]
    assert view.rows[2].range == ""
    assert [note.endswith(".") for note in view.notes] == [True]


def test_how_people_would_call_it_is_a_sentence_where_the_score_has_it() -> None:
    assert view_of(rated(), "words").perceived == ""
    view = view_of(rated(perceived=1.2), "words")
    assert view.perceived == "People would probably call this hardly empathic (1.2)."
    assert len(view.rows) == 4


def test_the_strongest_part_is_marked_the_first_on_a_tie() -> None:
    view = view_of(rated(evidence={"cognitive": (Span(0, 1, 1.0),), "emotional": (Span(1, 2, 1.0),)}), "words")
    assert view.carried == "Emotional"
    assert [piece.text for piece in view.pieces if piece.strength] == ["o"]
    assert view_of(rated(evidence={"cognitive": (Span(0, 1, 1.0),)}), "words").carried == ""
