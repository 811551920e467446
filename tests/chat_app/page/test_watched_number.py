"""The page under a policy that watches another number than Empathy: the slider's name, and what a Stop keeps."""

from dataclasses import replace

import pytest

from heard.chat_app.conversation.events import DraftStarted, Scored, Token
from heard.chat_app.conversation.running_turns import Stopped
from heard.chat_app.page import wording
from heard.chat_app.page.settings_panel import fields
from heard.prompts.records import Watched
from tests.chat_app.page.test_page_text import CHOICES, OFFER, SCORE, view


@pytest.mark.parametrize(
    ("watches", "label"),
    [
        ("empathy", "Low means: Empathy under"),
        ("emotional", "Low means: Emotional under"),
        ("perceived", "Low means: Perceived empathy under"),
    ],
)
def test_the_slider_names_the_number_that_the_policy_watches(watches: Watched, label: str) -> None:
    offer = replace(OFFER, improve=replace(OFFER.improve, watches=watches))
    shown = {field["id"]: field for field in fields(CHOICES, offer)}
    assert shown["threshold"]["label"] == label


@pytest.mark.parametrize(("watches", "kept"), [("empathy", "first"), ("perceived", "second")])
def test_a_stop_keeps_the_best_by_the_number_that_the_policy_watches(watches: Watched, kept: str) -> None:
    first, second = replace(SCORE, perceived=1.2), replace(SCORE, cognitive=1.0, perceived=2.2)
    stopped = view(
        *(DraftStarted(1, None), Token("first"), Scored(1, first, watches)),
        *(DraftStarted(2, None), Token("second"), Scored(2, second, watches)),
        *(DraftStarted(3, None), Token("half")),
    )
    stopped.finish(Stopped())
    assert wording.reply_text(stopped) == f"{kept}\n\n{wording.STOPPED_REWRITE}"
