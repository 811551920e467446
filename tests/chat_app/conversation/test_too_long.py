"""A message that is too long: danger at either end is handed off, the rest is never looked at, and nothing is lost."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from heard.chat_app.common import fair_queue
from heard.chat_app.common.settings import Settings
from heard.chat_app.conversation.events import CrisisShown, Finished, Refused, TurnEvent, TurnRequest
from heard.chat_app.conversation.services import Services
from heard.chat_app.conversation.turn import run_turn
from heard.chat_app.models.downloads import Weights
from heard.chat_app.safety import crisis_check
from heard.chat_app.safety.bounded_text import ENDS
from heard.chat_app.safety.verdict import SafetyVerdict
from heard.chat_app.startup import open_services
from tests.chat_app.models.asking import message_to
from tests.servers import ScriptedServer, reply

PERSON = "11111111-1111-4111-8111-111111111111"
CRISIS = " I want to kill myself. "
FILLER = "We talked about the garden and the weather. "


@pytest.fixture
async def services(tmp_path: Path, weights: Weights) -> AsyncIterator[Services]:
    models = tmp_path / "models.toml"
    with ScriptedServer(reply("That sounds hard. What helps you?")) as server:
        models.write_text(f'scripted = {{ provider = "openai", model = "m", base_url = "{server.base_url}" }}\n')
        async with open_services(Settings(data_dir=tmp_path, models_file=models), weights) as opened:
            await opened.store.ensure_participant(PERSON)
            yield opened


def asked(services: Services, text: str) -> TurnRequest:
    return message_to(services, "scripted", text, participant_id=PERSON)


async def run(services: Services, text: str) -> tuple[list[TurnEvent], str, str]:
    """The events, the stored outcome and the stored text."""
    request = asked(services, text)
    events = [event async for event in run_turn(request, services)]
    (stored,) = await services.store.messages(request.conversation_id)
    return events, stored.outcome.value, stored.text


@pytest.mark.parametrize("length", [8_001, 30_000, 900_000])
@pytest.mark.parametrize("end", ["first", "last"])
async def test_danger_at_an_end_is_handed_off(services: Services, length: int, end: str) -> None:
    filler = (FILLER * (length // len(FILLER) + 1))[:length]
    text = CRISIS + filler if end == "first" else filler + CRISIS
    events, outcome, stored = await run(services, text)
    assert isinstance(events[0], CrisisShown)
    assert (outcome, stored) == ("crisis", text)


@pytest.mark.parametrize("words", [FILLER, "I don't want to die in a game because ", "\u200b", "a", "\ud800"])
async def test_a_long_message_is_refused_and_little_of_it_is_read(
    services: Services, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    read: list[int] = []
    rules = crisis_check.check

    def check(text: str) -> SafetyVerdict:
        read.append(len(text))
        return rules(text)

    monkeypatch.setattr(crisis_check, "check", check)
    request = asked(services, words * (900_000 // len(words)))
    events = [event async for event in run_turn(request, services)]
    assert read
    assert max(read) <= 2 * ENDS + 2
    if not isinstance(events[0], CrisisShown):
        (refused,) = events
        assert isinstance(refused, Refused)
        assert "8,000" in refused.sentence or "no visible text" in refused.sentence


async def test_long_messages_before_cost_the_next_one_no_more(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = asked(services, FILLER * 20_000)
    assert isinstance([event async for event in run_turn(long, services)][-1], Refused)
    read: list[int] = []
    rules = crisis_check.check

    def check(text: str) -> SafetyVerdict:
        read.append(len(text))
        return rules(text)

    monkeypatch.setattr(crisis_check, "check", check)
    after = message_to(
        services, "scripted", "And now it rains.", participant_id=PERSON, conversation_id=long.conversation_id
    )
    events = [event async for event in run_turn(after, services)]
    assert isinstance(events[-1], Finished)
    assert max(read) <= 2 * ENDS + 2


async def test_where_too_much_waits_the_message_is_kept_with_a_sentence(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fair_queue, "MOST_OF_ONE", 0)
    events, outcome, stored = await run(services, CRISIS)
    (refused,) = events
    assert isinstance(refused, Refused)
    assert "Crisis help" in refused.sentence
    assert (outcome, stored) == ("refused", CRISIS)
