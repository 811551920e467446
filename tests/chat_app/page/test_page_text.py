"""What the page says in each state, what it lets a browser choose, and how a conversation looks when opened again."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from heard.chat_app.conversation.events import (
    CrisisShown,
    DraftComplete,
    DraftStarted,
    Failed,
    Finished,
    NotSaved,
    Refused,
    Scored,
    Token,
    TurnEvent,
)
from heard.chat_app.conversation.running_turns import Crashed, Stopped, TurnView
from heard.chat_app.models.records import ModelSpec, Waiting
from heard.chat_app.page import wording
from heard.chat_app.page.chat_settings import ChoiceError, Choices, Offer, restored_choices, updated_choices
from heard.chat_app.page.draft_cards import REWRITTEN
from heard.chat_app.page.reopen import merge_replies, score_cards
from heard.chat_app.page.reply_renderer import ReplyRenderer
from heard.chat_app.page.settings_panel import fields
from heard.chat_app.safety.handoff import handoff
from heard.chat_app.safety.handoff_pages import as_markdown
from heard.db.records import DraftRecord, DraftStatus, MessageRecord, Outcome, ReplyRecord, ScoreRecord
from heard.prompts.library import PromptLibrary
from heard.prompts.records import Strategy
from heard.scorer.records import EmpathyScore, ScoreStatus

SCORE = EmpathyScore(ScoreStatus.SCORED, 2.0, 1.0, 3.0, None, "default", "0" * 64, "0" * 64)
NOW = datetime(2026, 1, 2, tzinfo=UTC)
REPLY_ID = "3b241101-e2bb-4255-8caf-4136c566a962"
MESSAGE_ID = "9b241101-e2bb-4255-8caf-4136c566a962"


def draft(
    text: str, number: int = 1, *, kept: bool = True, status: str = "complete", error: str | None = None
) -> DraftRecord:
    score = ScoreRecord("scored", None, 2.0, 1.0, 3.0, 2.0, "default", "0" * 64, "0" * 64)
    return DraftRecord(
        "d", number, text, DraftStatus(status), kept, None, "0" * 64, "echo", {}, None, 0.0, None, None, error,
        score if status == "complete" else None, NOW,
    )  # fmt: skip


def reply(*drafts: DraftRecord) -> ReplyRecord:
    return ReplyRecord(REPLY_ID, MESSAGE_ID, "p", "plain", drafts, NOW)


def view(*events: TurnEvent) -> TurnView:
    made = TurnView()
    for event in events:
        made.apply(event)
    return made


@pytest.mark.parametrize(("ahead", "said"), [(1, "1 person is ahead of you"), (2, "2 people are ahead of you")])
def test_waiting_says_how_long_the_line_is(ahead: int, said: str) -> None:
    assert said in wording.reply_text(view(DraftStarted(1, None), Waiting(ahead)))


def test_a_rewrite_is_announced_above_its_growing_text() -> None:
    text = wording.reply_text(
        view(DraftStarted(1, None), Token("x"), Scored(1, SCORE), DraftStarted(2, "behavioral"), Token("new"))
    )
    assert text == "> Writing it again, with more support.\n\nnew"


@pytest.mark.parametrize(
    ("end", "shown"),
    [
        (CrisisShown(handoff("GB")), as_markdown(handoff("GB"))),
        (Refused("Too long."), "Too long."),
        (Failed("The server is silent.", ""), "The server is silent."),
        (Failed("It stopped.", "half a"), "half a\n\n> This reply broke off. It stopped."),
        (Finished(reply(draft("kept")), True), "kept"),
        (NotSaved("Not stored.", "whole", ()), "whole\n\n> Not stored."),
    ],
)
def test_every_end_has_its_words(end: TurnEvent, shown: str) -> None:
    assert wording.reply_text(view(DraftStarted(1, None), Token("half a"), end)) == shown


def test_a_stop_keeps_the_text_and_says_so() -> None:
    stopped = view(DraftStarted(1, None), Token("half a"))
    stopped.finish(Stopped())
    assert wording.reply_text(stopped) == "half a\n\n> Stopped. What had arrived is kept."
    early = TurnView()
    early.finish(Stopped())
    assert "before the reply began" in wording.reply_text(early)


def test_a_stopped_rewrite_leaves_the_whole_draft() -> None:
    stopped = view(DraftStarted(1, None), Token("whole"), Scored(1, SCORE), DraftStarted(2, None), Token("half"))
    stopped.finish(Stopped())
    assert wording.reply_text(stopped) == "whole\n\n> Writing it again was stopped; the earlier draft stands."


def test_a_fault_of_ours_names_a_number_and_keeps_the_text() -> None:
    crashed = view(DraftStarted(1, None), Token("half"))
    crashed.finish(Crashed("ab12"))
    assert wording.reply_text(crashed).startswith("half\n\n> This reply broke off.")
    assert "ab12" in wording.reply_text(crashed)


def test_a_sentence_stays_one_quotation() -> None:
    assert wording.quote("one\n\ntwo\n# three") == "> one two # three"


# Choices

OFFER = Offer(
    models={"echo": ModelSpec("echo", "echo", "echo", "Echo"), "b": ModelSpec("b", "openai", "m", "Echo")},
    strategies={"plain": Strategy(id="plain", name="Plain", description="")},
    countries={"GB": "United Kingdom"},
    improve=PromptLibrary.load().policies["below-threshold"],
    research=True,
)
CHOICES = Choices("echo", "plain", True, False, 1.7, None)


@pytest.mark.parametrize(
    "values",
    [
        {"model": "gpt-9"}, {"model": None}, {"model": ["echo"]}, {"model": {"a": 1}}, {"strategy": "../../etc/passwd"},
        {"live_scores": "yes"}, {"live_scores": 1}, {"auto_improve": None}, {"threshold": 99}, {"threshold": 0.99},
        {"threshold": float("nan")}, {"threshold": float("inf")}, {"threshold": "2"}, {"threshold": True},
        {"threshold": None},
        {"country": "XX"}, {"country": 7}, {"admin": True}, {"model": "b", "threshold": 99}, {"threshold": 10**400},
    ],
)  # fmt: skip
def test_a_value_made_up_by_the_browser_is_refused_with_a_sentence(values: dict[str, Any]) -> None:
    with pytest.raises(ChoiceError, match=r"nothing was changed"):
        updated_choices(CHOICES, values, OFFER)


@pytest.mark.parametrize("values", [None, [], "model=b", 3])
def test_something_else_than_settings_is_refused(values: Any) -> None:
    with pytest.raises(ChoiceError):
        updated_choices(CHOICES, values, OFFER)


def test_real_choices_are_taken() -> None:
    values = {"model": "b", "live_scores": False, "auto_improve": True, "threshold": 3, "country": "GB"}
    assert updated_choices(CHOICES, values, OFFER) == Choices("b", "plain", False, True, 3.0, "GB")
    assert updated_choices(replace(CHOICES, country="GB"), {"country": "all"}, OFFER).country is None


def test_choices_survive_being_stored() -> None:
    chosen = Choices("b", "plain", False, True, 2.3, "GB")
    assert restored_choices(CHOICES, json.loads(json.dumps(chosen.as_values())), OFFER) == chosen


def test_what_is_gone_since_is_left_out_and_the_rest_is_kept() -> None:
    stored = {"model": "gone", "threshold": 2.5, "slot": "A", "live_scores": False}
    assert restored_choices(CHOICES, stored, OFFER) == replace(CHOICES, threshold=2.5, live_scores=False)
    assert restored_choices(CHOICES, "nonsense", OFFER) == CHOICES


def test_the_panel_offers_what_there_is_with_the_choices_in_force() -> None:
    shown = {field["id"]: field for field in fields(replace(CHOICES, threshold=2.0), OFFER)}
    assert list(shown) == ["model", "strategy", "live_scores", "auto_improve", "threshold", "country"]
    assert shown["model"]["items"] == {"Echo (echo)": "echo", "Echo (b)": "b"}  # two of one label stay two
    assert shown["threshold"]["initial"] == 2.0
    assert shown["auto_improve"]["label"] == "Write low replies again"
    assert shown["country"]["items"] == {"All countries": "all", "United Kingdom": "GB"}


def test_the_switch_is_called_what_its_policy_is_called_and_a_policy_without_a_threshold_has_no_slider() -> None:
    best = PromptLibrary.load().policies["best-of-3"]
    shown = {field["id"]: field for field in fields(CHOICES, replace(OFFER, improve=best))}
    assert list(shown) == ["model", "strategy", "live_scores", "auto_improve", "country"]
    assert (shown["auto_improve"]["label"], shown["auto_improve"]["description"]) == (best.name, best.description)


# One reply's place


class Recorder:
    """A page that keeps what it was told."""

    def __init__(self) -> None:
        self.socket = "one"
        self.told: list[tuple[Any, ...]] = []

    async def lock_input(self) -> None:
        self.told.append(("lock_input",))

    async def show_status(self, text: str) -> None:
        self.told.append(("show_status", text))

    async def set_text(self, text: str) -> None:
        self.told.append(("set_text", text))

    async def append_text(self, piece: str) -> None:
        self.told.append(("append_text", piece))

    async def show_card(self, props: dict[str, Any]) -> None:
        self.told.append(
            ("show_card", "pending") if props.get("pending") else ("show_card", props["note"], props["improved"])
        )

    async def show_handoff(self, props: dict[str, Any]) -> None:
        self.told.append(("show_handoff", props["language"], props["danger"]))

    async def finish(self, text: str, author: str | None, *, new: bool, error: bool) -> None:
        self.told.append(("finish", text, author, new, error))


async def drawn(*events: TurnEvent, cards: bool = True) -> list[tuple[Any, ...]]:
    page, now = Recorder(), TurnView()
    renderer = ReplyRenderer(page, cards=cards)
    await renderer.draw(now)
    for event in events:
        now.apply(event)
        await renderer.draw(now)
    return page.told


async def test_a_plain_reply_is_a_place_pieces_a_card_and_an_end() -> None:
    end = Finished(reply(draft("ab")), True)
    told = await drawn(DraftStarted(1, None), Token("a"), Token("b"), DraftComplete(), Scored(1, SCORE), end)
    assert told == [
        ("show_status", ""), ("set_text", "a"), ("show_card", "pending"), ("append_text", "b"),
        ("show_card", None, False),
        ("finish", "ab", None, False, False),
    ]  # fmt: skip


async def test_the_card_comes_before_the_last_words_that_come_with_it() -> None:
    page, now = Recorder(), view(DraftStarted(1, None), Token("a"))
    renderer = ReplyRenderer(page, cards=True)
    await renderer.draw(now)
    for event in (Token("b"), DraftComplete(), Scored(1, SCORE)):
        now.apply(event)
    page.told.clear()
    await renderer.draw(now)
    assert page.told == [("show_card", None, False), ("append_text", "b")]


async def test_without_live_scores_there_is_no_card() -> None:
    told = await drawn(
        DraftStarted(1, None), Token("a"), Scored(1, SCORE), Finished(reply(draft("a")), True), cards=False
    )
    assert [what for what, *_ in told] == ["show_status", "set_text", "finish"]


@pytest.mark.parametrize(
    ("end", "author"),
    [(CrisisShown(handoff("GB", "de")), "heard safety"), (Refused("no"), "heard"), (Failed("down", ""), None)],
)
async def test_an_end_without_a_draft_is_not_the_persona_s(end: TurnEvent, author: str | None) -> None:
    last = ("finish", wording.reply_text(view(end)), author, True, isinstance(end, Failed))
    card = [("show_handoff", "de", "suicide")] if isinstance(end, CrisisShown) else []
    assert await drawn(end) == [last, *card]  # the words first, whatever becomes of the card


async def test_a_rewrite_replaces_the_text_in_place() -> None:
    end = Finished(reply(draft("b", 1, kept=False), draft("new", 2)), True)
    events = (
        DraftStarted(1, None),
        Token("b"),
        Scored(1, SCORE),
        DraftStarted(2, "emotional"),
        Token("n"),
        Token("ew"),
    )
    told = await drawn(*events, Scored(2, SCORE), end)
    note = "> Writing it again, with more warmth."
    assert told[2:] == [
        ("show_card", "pending"), ("show_card", None, False), ("show_card", note[2:], False), ("show_status", note),
        ("append_text", "\n\nn"), ("append_text", "ew"), ("show_card", None, False),
        ("finish", "new", None, False, False), ("show_card", None, REWRITTEN),
    ]  # fmt: skip


async def test_a_reconnect_locks_the_input_again_and_draws_everything_anew() -> None:
    page, now = Recorder(), view(DraftStarted(1, None), Token("a"))
    renderer = ReplyRenderer(page, cards=True)
    await renderer.draw(now)
    page.socket = "two"
    now.apply(Token("b"))  # sent to a connection that was gone
    page.told.clear()
    await renderer.draw(now)
    assert page.told == [("lock_input",), ("set_text", "ab"), ("show_card", "pending")]


async def test_a_page_opened_meanwhile_gets_all_at_once() -> None:
    page = Recorder()
    await ReplyRenderer(page, cards=True, reopened=True).draw(view(DraftStarted(1, None), Token("a"), Scored(1, SCORE)))
    assert page.told == [("lock_input",), ("set_text", "a"), ("show_card", None, False)]


# Opened again


def step(key: str, kind: str = "user_message", output: str = "hi") -> dict[str, Any]:
    return {"id": key, "type": kind, "output": output, "parentId": "gone", "createdAt": "2026-01-01T00:00:00Z"}


def test_the_stored_reply_wins_over_the_page_s_own_history() -> None:
    steps = [step(MESSAGE_ID), step("run", "run"), step(REPLY_ID, "assistant_message", "an older wording")]
    shown = merge_replies(steps, "t", {MESSAGE_ID: reply(draft("stored"))}, {"p": "P"})
    assert [(s["id"], s["output"], s["parentId"]) for s in shown] == [
        (MESSAGE_ID, "hi", None),
        (REPLY_ID, "stored", None),
    ]


def test_a_reply_that_the_page_s_history_lost_is_put_in_its_place() -> None:
    later = step("later")
    shown = merge_replies([step(MESSAGE_ID), later], "t", {MESSAGE_ID: reply(draft("stored"))}, {"p": "P"})
    assert [(s["id"], s["output"]) for s in shown] == [(MESSAGE_ID, "hi"), (REPLY_ID, "stored"), ("later", "hi")]
    assert shown[1]["name"] == "P"


@pytest.mark.parametrize(
    ("stored", "text", "error"),
    [
        (draft("half", status="broken", error="It stopped."), "half\n\n> This reply broke off. It stopped.", True),
        (draft("half", status="stopped"), "half\n\n> Stopped. What had arrived is kept.", False),
    ],
)
def test_what_is_not_whole_stays_marked(stored: DraftRecord, text: str, error: bool) -> None:
    shown = merge_replies([step(MESSAGE_ID)], "t", {MESSAGE_ID: reply(stored)}, {})
    assert (shown[1]["output"], shown[1]["isError"]) == (text, error)
    assert score_cards({MESSAGE_ID: reply(stored)}) == {}


def message(outcome: Outcome, key: str = MESSAGE_ID) -> MessageRecord:
    return MessageRecord(key, "t", "what I wrote", outcome, NOW)


@pytest.mark.parametrize(
    ("outcome", "noted"),
    [(Outcome.INTERRUPTED, True), (Outcome.PENDING, True), (Outcome.ANSWERED, False), (Outcome.REFUSED, False)],
)
def test_a_message_whose_turn_died_says_so(outcome: Outcome, noted: bool) -> None:
    shown = merge_replies([step(MESSAGE_ID)], "t", {}, {}, messages=[message(outcome)])
    assert [s["output"] for s in shown[1:]] == ["This message was not answered. Please send it again."] * noted


def test_a_message_that_is_being_answered_is_not_called_dead() -> None:
    shown = merge_replies([step(MESSAGE_ID)], "t", {}, {}, messages=[message(Outcome.PENDING)], running=MESSAGE_ID)
    assert len(shown) == 1


def test_a_message_that_the_page_s_history_lost_is_put_in_its_place() -> None:
    early, late = step("early"), step("late") | {"createdAt": "2027-01-01T00:00:00Z"}
    replies = {MESSAGE_ID: reply(draft("stored"))}
    shown = merge_replies([early, late], "t", replies, {}, messages=[message(Outcome.ANSWERED)])
    assert [s["id"] for s in shown] == ["early", MESSAGE_ID, REPLY_ID, "late"]
    assert (shown[1]["type"], shown[1]["output"]) == ("user_message", "what I wrote")
