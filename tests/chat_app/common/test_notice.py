"""The notice says who runs the site where that is set, and promises only what is true there."""

import re

import pytest

from heard.chat_app.common.notice import named_operator, notice, serves_others, unfilled_notice
from heard.chat_app.common.settings import Settings

FULL = {
    "operator_name": "Empathy Lab",
    "contact": "lab@example.org",
    "purpose": "Research on kind replies.",
    "legal_basis": "your explicit consent",
    "complaint_authority": "the Data Office, Main Street 1",
    "retention_days": 30,
}


def told(**values: object) -> str:
    """The notice's words."""
    text = re.sub(r"<[^>]+>", "", str(notice(Settings(**values)).html))  # type: ignore[arg-type]
    return " ".join(text.split())


def test_who_runs_it_is_told_where_it_is_set_and_nothing_empty_otherwise() -> None:
    words = told(**FULL)
    for value in (
        "Empathy Lab",
        "lab@example.org",
        "Research on kind replies.",
        "your explicit consent",
        "Main Street 1",
    ):
        assert value in words
    assert "deleted 30 days after you wrote it" in words
    bare = told()
    for absent in ("Who runs this", "Contact", "Legal basis", "complain", "None", "deleted 0"):
        assert absent not in bare
    assert "nothing is deleted by itself" in bare
    assert "Contact: lab@example.org" in told(contact="lab@example.org")


def test_that_it_may_be_about_health_is_always_said() -> None:
    assert "GDPR, article 9" in told()


@pytest.mark.parametrize(
    "values", [{"blind_study": "talk"}, {"blind_arms": "a/b/c, d/e/f"}, {"researcher_token": "x" * 20}]
)
def test_nobody_reads_along_is_said_only_where_nobody_may(values: dict[str, object]) -> None:
    assert "nobody reads along" in told()
    assert "Whoever does research here may look" not in told()
    words = told(**values)
    assert "reads along" not in words
    assert "nobody is there to step in while you write" in words
    assert "Whoever does research here may look" in words


def test_what_the_settings_change_asks_everybody_again() -> None:
    versions = {
        notice(Settings(**values)).version  # type: ignore[arg-type]
        for values in ({}, {"contact": "x"}, {"retention_days": 1}, {"places": ("US-CA",)}, {"blind_study": "x"})
    }
    assert len(versions) == 5
    assert notice(Settings(port=1)).version == notice(Settings()).version


def test_a_place_s_sentences_stand_in_the_notice() -> None:
    assert "may not be suitable for some minors" in told(places=("US-CA",))
    assert "the protocol that the law asks for," in told(places=("US-NY",))
    assert "protocol" not in told(places=("US-UT",))


def test_markup_in_a_setting_is_text() -> None:
    assert "&lt;b&gt;" in str(notice(Settings(operator_name="<b>Lab</b>")).html)


def test_what_is_missing_where_others_write() -> None:
    assert unfilled_notice(Settings()) == []
    five = ["operator_name", "contact", "purpose", "legal_basis", "complaint_authority"]
    assert unfilled_notice(Settings(host="0.0.0.0")) == five
    assert unfilled_notice(Settings(public_host="chat.example.org", contact="x")) == [n for n in five if n != "contact"]
    assert "retention_days" in unfilled_notice(Settings(places=("EU",))), "a rule asks for it on loopback too"
    assert unfilled_notice(Settings(host="0.0.0.0", places=("EU",), **FULL)) == []  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("host", "others"),
    [("127.0.0.1", False), ("::1", False), ("localhost", False), ("0.0.0.0", True), ("::", True), ("10.0.0.5", True)],
)
def test_what_is_beyond_this_machine(host: str, others: bool) -> None:
    assert serves_others(Settings(host=host)) is others
    assert serves_others(Settings(host=host, public_host="chat.example.org"))


def test_who_is_named_to_people_who_ask() -> None:
    assert named_operator(Settings()) == ""
    assert named_operator(Settings(operator_name="Lab")) == "Lab"
    assert named_operator(Settings(operator_name="Lab", contact="a@b.org")) == "Lab (a@b.org)"
    assert named_operator(Settings(operator="the Lab", operator_name="Lab")) == "the Lab"
