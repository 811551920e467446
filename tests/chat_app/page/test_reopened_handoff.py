"""A hand-off of a reopened conversation: drawn again from the stored message, with the country that is chosen now."""

from datetime import UTC, datetime
from typing import Any

from heard.chat_app.page.reopen import hand_off_id, merge_replies, page_elements
from heard.chat_app.safety.handoff import handoff
from heard.chat_app.safety.handoff_pages import as_html, as_markdown
from heard.db.records import MessageRecord, Outcome

NOW = datetime(2026, 1, 2, tzinfo=UTC)
KEY = "9b241101-e2bb-4255-8caf-4136c566a962"


def step(key: str) -> dict[str, Any]:
    return {"id": key, "type": "user_message", "output": "hi", "parentId": "gone", "createdAt": "2026-01-01T00:00:00Z"}


def crisis(text: str = "what I wrote", **known: str) -> MessageRecord:
    return MessageRecord(KEY, "t", text, Outcome.CRISIS, NOW, **known)


def shown(message: MessageRecord, country: str | None, *steps: dict[str, Any]) -> list[dict[str, Any]]:
    return merge_replies(list(steps) or [step(KEY)], "t", {}, {}, messages=[message], country=country)


def test_one_that_the_page_s_history_lost_comes_back_once() -> None:
    first = shown(crisis(), "GB", step(KEY), step("later"))
    assert [s["id"] for s in first] == [KEY, hand_off_id(KEY), "later"]
    assert first[1]["output"] == as_markdown(handoff("GB"))
    assert [s["id"] for s in shown(crisis(), "GB", *first)] == [s["id"] for s in first]


def test_its_danger_and_its_language_are_the_stored_ones() -> None:
    message = crisis(danger="poisoning", language="fr")
    assert shown(message, "FR")[1]["output"] == as_markdown(handoff("FR", "fr", "poisoning"))
    (element,) = page_elements("t", {}, {}, scores=True, messages=[message], country="FR")
    assert element["forId"] == hand_off_id(KEY)
    assert element["props"] == {
        "html": as_html(handoff("FR", "fr", "poisoning")),
        "language": "fr",
        "danger": "poisoning",
    }


def test_one_of_before_there_were_columns_for_it_is_read_again() -> None:
    assert shown(crisis("Ich will mich umbringen"), "DE")[1]["output"] == as_markdown(handoff("DE", "de"))


def test_a_country_that_was_chosen_later_is_in_it() -> None:
    before = shown(crisis(), None)
    assert "116 123" not in before[1]["output"]
    assert "116 123" in shown(crisis(), "GB", *before)[1]["output"]


def test_an_ordinary_message_has_none() -> None:
    message = MessageRecord(KEY, "t", "hi", Outcome.ANSWERED, NOW)
    assert [s["id"] for s in shown(message, "GB")] == [KEY]
    assert page_elements("t", {}, {}, scores=True, messages=[message], country="GB") == []
