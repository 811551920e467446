"""The turn of a message that speaks of a danger, and the conversation that has ended with one.

What the rules cannot read yet is read by a stand-in for `crisis_check.check`; all that follows a verdict is real.
"""

import pytest

from heard.chat_app.conversation.events import CrisisShown, Refused, TurnEvent, TurnRequest
from heard.chat_app.conversation.services import Services
from heard.chat_app.conversation.turn import run_turn
from heard.chat_app.safety import crisis_check
from heard.chat_app.safety.handoff import handoff
from heard.chat_app.safety.verdict import Danger, Level, SafetyVerdict
from heard.db.errors import StoreUnavailable
from tests.chat_app.models.asking import OTHER, PERSON, message_to
from tests.journeys.dangers import READ
from tests.servers import ScriptedServer

CHILD = "im 13 and my dad hits me"


@pytest.fixture(autouse=True)
def reader(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = crisis_check.check

    def check(text: str) -> SafetyVerdict:
        danger = READ.get(text)
        return SafetyVerdict(Level.CRISIS, danger, "en", Danger(danger), "head") if danger else rules(text)

    monkeypatch.setattr(crisis_check, "check", check)


def asked(services: Services, text: str, in_: TurnRequest | None = None, **changes: str) -> TurnRequest:
    same = {"conversation_id": in_.conversation_id} if in_ else {}
    return message_to(services, "scripted", text, **{"participant_id": PERSON, **same, **changes})


async def run(request: TurnRequest, services: Services, **how: str) -> list[TurnEvent]:
    return [event async for event in run_turn(request, services, **how)]  # type: ignore[arg-type]


@pytest.mark.parametrize(("text", "danger"), READ.items())
async def test_each_danger_has_its_hand_off_and_is_stored_with_it(
    services: Services, server: ScriptedServer, text: str, danger: str
) -> None:
    request = asked(services, text, country="GB")
    assert await run(request, services) == [CrisisShown(handoff("GB", "en", danger))]
    (stored,) = await services.store.messages(request.conversation_id)
    assert (stored.outcome.value, stored.danger, stored.language) == ("crisis", danger, "en")
    assert server.requests == []


async def test_after_a_child_nothing_is_answered_whatever_is_written(
    services: Services, server: ScriptedServer
) -> None:
    first = asked(services, CHILD, country="US")
    (shown,) = await run(first, services)
    for text in ("ok. let's talk about games", "are you real?", "", "word " * 9000):
        assert await run(asked(services, text, first, country="US"), services) == [shown]
    assert await run(asked(services, "hello", first, country="US"), services, refusal="busy") == [shown]
    assert server.requests == []
    stored = await services.store.messages(first.conversation_id)
    assert [(one.outcome.value, one.danger) for one in stored] == [("crisis", "minor")] * 6


async def test_a_crisis_in_an_ended_conversation_gets_its_own_numbers(services: Services) -> None:
    first = asked(services, CHILD)
    await run(first, services)
    later = asked(services, "I want to kill myself", first, country="US")
    assert await run(later, services) == [CrisisShown(handoff("US", "en"))]
    assert await run(asked(services, "hello", first), services) == [CrisisShown(handoff(None, "en", "minor"))]


async def test_another_conversation_and_another_person_s_go_on(services: Services, server: ScriptedServer) -> None:
    await run(asked(services, CHILD), services)
    assert not any(isinstance(one, CrisisShown) for one in await run(asked(services, "A long week."), services))
    elsewhere = asked(services, "A long week.", participant_id=OTHER)
    assert not any(isinstance(one, CrisisShown) for one in await run(elsewhere, services))
    assert len(server.requests) == 2


async def test_after_another_danger_the_conversation_goes_on(services: Services, server: ScriptedServer) -> None:
    first = asked(services, "he raped me last night")
    await run(first, services)
    await run(asked(services, "I'm safe now.", first), services)
    assert server.requests == [], "the turns after a hand-off are fixed texts"
    await run(asked(services, "Thank you. My week was hard all the same.", first), services)
    assert len(server.requests) == 1
    assert "raped" not in str(server.requests[0])


async def test_where_the_database_cannot_say_whether_it_ended_no_model_is_asked(
    services: Services, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unavailable(*_: object) -> None:
        raise StoreUnavailable

    monkeypatch.setattr(services.store, "safety_history", unavailable)
    (event,) = await run(asked(services, "A long week."), services)
    assert isinstance(event, Refused)
    assert event.sentence.endswith("Your message was not sent to the model.")
    assert server.requests == []
    (handed_off,) = await run(asked(services, CHILD), services)
    assert isinstance(handed_off, CrisisShown)
