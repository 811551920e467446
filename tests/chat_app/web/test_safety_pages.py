"""Who is asked and told what before a chat: the age, the published protocol, how long things are kept."""

import re
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from heard.chat_app.common.identity import VISITOR_COOKIE
from heard.chat_app.web.pages.crisis_help import child_lines
from heard.db.store import Store
from heard.prompts.child_line_files import load_child_lines
from heard.prompts.safety_files import load_hotlines
from tests.journeys.web import BROWSER, Web, built, one_turn
from tests.journeys.web import store as store
from tests.journeys.web import web as web


def words(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", "", html).split())


async def test_somebody_younger_is_refused_kindly_with_lines_for_children_and_nothing_is_stored(web: Web) -> None:
    for pressed in ("yes", "no"):
        page = await web.answer(adult="no", chat=pressed, country="GB")
        assert page.status_code == 200
        assert "Childline" in page.text
        assert 'href="tel:08001111"' in page.text
        assert "Kids Helpline" not in page.text, "of the country that was chosen"
        assert "Nothing about you was stored" in page.text
    assert web.rows() == {}
    assert web.named(VISITOR_COOKIE) not in web.client.cookies
    assert (await web.client.get("/chat/", headers=BROWSER)).headers["location"] == "/"


async def test_without_a_country_every_child_line_is_shown(web: Web) -> None:
    page = (await web.answer(adult="no")).text
    for country in load_child_lines(load_hotlines()):
        assert country.name in page
        for line in country.lines:
            assert line.name.replace("&", "&amp;") in page
    assert [one.code for one in child_lines("US")] == ["US", ""]
    assert len(child_lines("JP")) == len(load_child_lines(load_hotlines())), "no line of its own: all of them"


async def test_somebody_who_says_so_later_is_taken_at_their_word(web: Web) -> None:
    await web.answer()
    page = await web.answer(adult="no")
    assert "Your earlier answers are taken back" in page.text
    stored = await web.store.latest_consent(web.participant)
    assert stored is not None
    assert not stored.chat
    assert web.sessions.asked == [("stop", web.participant), ("dismiss", web.participant)]


async def test_a_rule_s_age_is_asked_for(tmp_path: Path, store: Store) -> None:
    file = tmp_path / "places.toml"
    file.write_text(
        '[XA]\nname = "Somewhere"\n[[XA.rules]]\nkind = "age"\nleast = 21\nlaw = "A law"\n'
        'address = "https://law.example"\nread = 2026-11-30\nsince = 2026-01-01\nsays = "It asks."\n',
        encoding="utf-8",
    )
    made = built(tmp_path, store, places=("XA",), places_file=file)
    async with made.client:
        assert "I am 21 or older." in (await made.client.get("/")).text
        page = await made.answer(adult="")
        assert page.status_code == 422
        assert "people of 21 or older" in page.text
        assert "for people of 21 and older" in words((await made.answer(adult="no")).text)


async def test_the_protocol_is_published_to_everybody(web: Web) -> None:
    page = await web.client.get("/safety")
    assert page.status_code == 200
    told = words(page.text)
    for said in ("Before any model sees a message", "What it misses", "80 of 100", "988", "nobody reads along"):
        assert said in told
    assert "/safety" in (await web.client.get("/help")).text, "every page leads to it"
    assert "log counts" not in told
    assert web.rows() == {}


async def test_what_it_misses_is_what_was_measured() -> None:
    from heard.chat_app.web.pages.safety_routes import MEASURED

    readme = (Path(__file__).parents[2] / "safety_cases" / "README.md").read_text(encoding="utf-8")
    first = re.findall(r"recall (\d+)\.\d % \([^,]+, (\d+)", " ".join(readme.split()))
    assert [f"{percent} of 100" in MEASURED and number in MEASURED for percent, number in first] == [True, True]


async def test_the_protocol_says_what_the_rules_ask_for(tmp_path: Path, store: Store) -> None:
    made = built(
        tmp_path, store, places=("US-CA", "US-NY"), retention_days=30, operator_name="Lab", researcher_token="x" * 20
    )
    async with made.client:
        told = words((await made.client.get("/safety")).text)
    for said in ("log counts by day", "California, New York", "no legal advice", "deleted after 30 days", "Lab"):
        assert said in told
    assert "reads along" not in told


async def test_your_data_tells_when_each_conversation_goes(tmp_path: Path, store: Store) -> None:
    made = built(tmp_path, store, retention_days=30, operator_name="Lab", complaint_authority="the Data Office")
    async with made.client:
        await made.answer()
        await one_turn(store, made.participant, "private words")
        written = datetime(2026, 5, 1, 12, tzinfo=UTC)
        with closing(sqlite3.connect(tmp_path / "heard.db")) as database, database:
            database.execute("UPDATE message SET created_at = ?", (f"{written:%Y-%m-%d %H:%M:%S}.000000",))
        page = (await made.client.get("/you")).text
    told = words(page)
    assert "deleted 30 days after you wrote it" in told
    assert "1 May 2026, 1 message" in told
    assert f"on {written + timedelta(days=30):%-d %B %Y}" in told
    assert "Responsible for it is Lab." in told
    assert "You may complain to: the Data Office" in told
    assert "private words" not in page


async def test_your_data_without_the_setting(web: Web) -> None:
    await web.answer()
    await one_turn(web.store, web.participant, "private words")
    told = words((await web.client.get("/you")).text)
    assert "nothing is deleted by itself" in told
    assert "Responsible" not in told


@pytest.mark.parametrize("path", ["/", "/consent", "/safety", "/help", "/you"])
async def test_every_page_leads_to_the_protocol(web: Web, path: str) -> None:
    assert 'href="/safety"' in (await web.client.get(path)).text
