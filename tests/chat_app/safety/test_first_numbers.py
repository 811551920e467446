"""The first numbers of each country, as links that a telephone opens."""

import re

import pytest

from heard.chat_app.safety.crisis_numbers import countries
from heard.chat_app.safety.first_numbers import Contact, first_numbers


@pytest.mark.parametrize(
    ("country", "call", "text"),
    [
        ("US", Contact("988", "tel:988"), Contact("988", "sms:988")),
        ("gb ", Contact("116 123", "tel:116123"), Contact("85258", "sms:85258")),
        ("DE", Contact("0800 111 0 111", "tel:08001110111"), None),
        ("IN", Contact("14416", "tel:14416"), None),
        ("AU", Contact("13 11 14", "tel:131114"), Contact("0477 13 11 14", "sms:0477131114")),
    ],
)
def test_the_first_numbers_are_those_of_the_file(country: str, call: Contact, text: Contact | None) -> None:
    first = first_numbers(country)
    assert first is not None
    assert (first.call, first.text) == (call, text)


@pytest.mark.parametrize("country", [None, "", "XX", "all"])
def test_without_a_country_there_are_none(country: str | None) -> None:
    assert first_numbers(country) is None


def test_every_country_has_a_number_to_call_and_every_link_is_one() -> None:
    for code, name in countries():
        first = first_numbers(code)
        assert first is not None, name
        assert first.call is not None, name
        assert first.emergency
        for contact in (first.call, first.text):
            assert contact is None or re.fullmatch(r"(tel|sms):\+?\d+(\?&body=\w+)?", contact.link), contact


def test_another_service_than_text_messages_is_no_text() -> None:
    italy = first_numbers("IT")
    assert italy is not None
    assert italy.text is None, "WhatsApp"
