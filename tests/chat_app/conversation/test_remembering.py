"""What a conversation remembers of a person's safety: against the real store and encoder, and a server that plays the
model and keeps what it was asked."""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from heard.chat_app.common.settings import SettingsError
from heard.chat_app.conversation import message_reading
from heard.chat_app.conversation.events import CrisisShown, Finished, Refused, TurnEvent
from heard.chat_app.conversation.turn import run_turn
from heard.chat_app.models.downloads import Weights
from heard.chat_app.safety import crisis_check
from heard.chat_app.safety.verdict import Level, SafetyVerdict
from heard.chat_app.startup import open_services
from heard.db.records import Safety
from heard.db.store import Store
from heard.prompts.safety_turn_files import load_after_handoff, load_check_in, load_recovery
from tests.chat_app.conversation.test_turn import PERSON, WARM, World, serves, world
from tests.servers import refusal, reply

__all__ = ["world"]

CRISIS = "I want to kill myself"
AFTER, CHECK_IN, RECOVERY = load_after_handoff()["en"], load_check_in()["en"], load_recovery()["en"]
Seen = list[tuple[str, tuple[str, ...], bool]]


class Talk:
    """One conversation."""

    def __init__(self, world: World, number: int = 0) -> None:
        self.world, self.id = world, f"22222222-2222-4222-8222-22222222222{number}"

    async def say(self, text: str, **changes: Any) -> TurnEvent:
        """Send a message; the last event."""
        request = self.world.request(text, **{"conversation_id": self.id, "country": "US", **changes})
        return [event async for event in run_turn(request, self.world.services)][-1]

    async def text(self, said: str, safety: Safety | None) -> str:
        """The reply to a message, which is one of a kind and never votable unless it is ordinary."""
        end = await self.say(said)
        assert isinstance(end, Finished), end
        assert (end.safety, end.votable) == (safety, safety is None), said
        return end.reply.kept.text


def seen_by(world: World) -> str:
    return str([request["messages"] for request in world.server.requests])


def of(intent: str) -> list[str]:
    words = {"{numbers}": "call 988 or text 988", "{emergency}": "call 911"}
    texts = [text.says for text in AFTER.intents[intent].texts]
    for name, value in words.items():
        texts = [text.replace(name, value) for text in texts]
    return texts


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, Level]], Seen]:
    """The one seam: what the head would say of a message. Returns what it was asked."""

    def judge_as(levels: dict[str, Level]) -> Seen:
        seen: Seen = []

        def assess(text: str, before: Sequence[str] = (), *, alert: bool = False) -> SafetyVerdict:
            seen.append((text, tuple(before), alert))
            level = levels.get(text)
            if level is None:
                return crisis_check.check(text)
            return SafetyVerdict(level, None if level is Level.RECOVERY else "suicide", reader="head")

        monkeypatch.setattr(message_reading, "assess", assess)
        return seen

    return judge_as


@serves(reply(WARM))
async def test_after_a_hand_off_what_the_person_says_is_answered_as_such(world: World) -> None:
    talk = Talk(world)
    assert isinstance(await talk.say(CRISIS), CrisisShown)
    for said, intent in (
        ("i called but hung up", "hung_up"),
        ("ok. i just feel so alone", "alone"),
        ("no", "nobody"),
        ("they put me on hold", "cut_off"),
        ("my sister is coming", "somebody"),
    ):
        assert await talk.text(said, Safety.SUPPORTED) in of(intent)
    assert world.server.requests == []
    assert await talk.text("I had a long week.", None) == WARM
    for words in (CRISIS, "hung up", "alone", "hold", "sister", "988"):
        assert words not in seen_by(world)
    rows = world.rows(
        "SELECT m.safety, r.policy, d.model, s.status FROM message m JOIN reply r ON r.message_id = m.id"
        " JOIN draft d ON d.reply_id = r.id LEFT JOIN score s ON s.draft_id = d.id ORDER BY m.position"
    )
    assert rows[:5] == [("supported", None, "fixed text", None)] * 5
    assert (rows[5][0], rows[5][2:]) == (None, ("scripted", "scored"))


@serves(reply(WARM))
async def test_never_the_same_text_twice_in_a_row_and_what_is_urgent_keeps_its_answer(world: World) -> None:
    talk = Talk(world)
    await talk.say(CRISIS)
    texts = [await talk.text("they put me on hold", Safety.SUPPORTED) for _ in range(9)]
    assert all(one != other for one, other in pairwise(texts))
    assert set(texts) == set(of("cut_off"))
    assert world.server.requests == []


@serves(reply(WARM))
async def test_i_am_safe_is_acknowledged_once_and_the_talk_goes_on_with_lower_thresholds(
    world: World, judged: Callable[[dict[str, Level]], Seen]
) -> None:
    seen, talk = judged({}), Talk(world)
    await talk.say("hello there")
    await talk.say(CRISIS)
    assert await talk.text("yeah, i'm safe now", Safety.SAFE) in of("safe")
    assert await talk.text("Work was a lot.", None) == WARM
    assert seen[0] == ("hello there", (), False)
    assert seen[-1] == ("Work was a lot.", (), True), "what was handed off is not read again with every next message"
    assert isinstance(await talk.say(CRISIS), CrisisShown)
    assert await talk.text("k", Safety.SUPPORTED) in of("silence")


@serves(reply(WARM))
async def test_it_is_remembered_by_the_database_and_of_one_conversation_alone(world: World, weights: Weights) -> None:
    await Talk(world).say(CRISIS)
    settings = world.services.settings
    async with open_services(settings, weights) as again:
        other = World(again, world.server)
        assert await Talk(other).text("k", Safety.SUPPORTED) in of("silence")
        assert await Talk(other, number=1).text("k", None) == WARM
        history = await again.store.safety_history(Talk(other).id, "somebody else")
        assert history.turns == history.messages == ()


@serves(reply(WARM))
@pytest.mark.parametrize("answer", ["Yes", "yeah i am", "sometimes", "i don't know", CHECK_IN.affirmed.message])
async def test_yes_to_the_check_in_or_no_clear_no_is_a_hand_off(
    world: World, judged: Callable[[dict[str, Level]], Seen], answer: str
) -> None:
    judged({"what is it all for": Level.CHECK_IN})
    talk = Talk(world)
    text = await talk.text("what is it all for", Safety.CHECKED_IN)
    assert CHECK_IN.question in text
    assert "call 988 or text 988" in text
    assert isinstance(await talk.say(answer), CrisisShown)
    assert await talk.text("k", Safety.SUPPORTED) in of("silence")
    assert world.server.requests == []


@serves(reply(WARM))
@pytest.mark.parametrize("answer", ["no", "No, i'm just tired", "of course not", CHECK_IN.denied.message])
async def test_no_to_the_check_in_is_thanked_and_nobody_is_asked_twice(
    world: World, judged: Callable[[dict[str, Level]], Seen], answer: str
) -> None:
    seen = judged({"what is it all for": Level.CHECK_IN, "what is the point": Level.CHECK_IN})
    talk = Talk(world)
    await talk.text("what is it all for", Safety.CHECKED_IN)
    thanks = await talk.text(answer, Safety.DENIED)
    assert thanks in [text.replace("{numbers}", "call 988 or text 988") for text in CHECK_IN.thanks]
    assert await talk.text("what is the point", None) == WARM
    assert seen[-1][2], "thresholds stay lower"
    for words in ("all for", CHECK_IN.question, thanks, f'"{answer}"', f"'{answer}'"):
        assert words not in seen_by(world)


@serves(reply(WARM))
async def test_a_check_in_that_is_passed_over_is_no_second_question_but_a_hand_off(
    world: World, judged: Callable[[dict[str, Level]], Seen]
) -> None:
    judged({"what is it all for": Level.CHECK_IN, "what is the point": Level.CHECK_IN})
    talk = Talk(world)
    await talk.text("what is it all for", Safety.CHECKED_IN)
    assert await talk.text("my boss was loud again", None) == WARM
    assert isinstance(await talk.say("what is the point"), CrisisShown)


@serves(reply(WARM))
async def test_a_danger_long_past_is_acknowledged_and_the_talk_goes_on(
    world: World, judged: Callable[[dict[str, Level]], Seen]
) -> None:
    told = ("it was years ago, therapy helped", "i am proud of that time", "i got through it")
    judged(dict.fromkeys(told, Level.RECOVERY))
    talk = Talk(world)
    texts = [await talk.text(text, Safety.RECOVERY) for text in told]
    assert len({*texts}) == 3
    assert {*texts} <= {text.replace("{numbers}", "call 988 or text 988") for text in RECOVERY}
    assert world.server.requests == []
    assert await talk.text("My garden is in bloom.", None) == WARM
    assert "therapy" not in seen_by(world)
    standing = await world.services.store.safety_history(talk.id, PERSON)
    assert len(standing.turns) == 3


@serves(reply(WARM))
async def test_messages_that_rise_together_are_asked_about_and_then_handed_off(world: World) -> None:
    talk = Talk(world)
    assert await talk.text("i've been so depressed all winter", None) == WARM
    assert await talk.text("gave my camera away to my cousin", None) == WARM
    assert isinstance(await talk.say("called my mom to say goodbye before the weekend"), CrisisShown)
    other = Talk(world, number=1)
    await other.text("my neighbour will take the dog", None)
    await other.text("i gave my guitar to my little brother", None)
    assert CHECK_IN.question in await other.text("i feel strangely calm", Safety.CHECKED_IN)


class Slow:
    """A store whose reading of a conversation takes its time."""

    def __init__(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        self.released, self._read = asyncio.Event(), store.safety_history
        monkeypatch.setattr(store, "safety_history", self.read)

    async def read(self, conversation_id: str, participant_id: str) -> Any:
        await self.released.wait()
        return await self._read(conversation_id, participant_id)


@serves(reply(WARM))
async def test_a_slow_database_delays_no_hand_off_and_loses_no_memory(
    world: World, monkeypatch: pytest.MonkeyPatch, judged: Callable[[dict[str, Level]], Seen]
) -> None:
    judged({"the head alone": Level.CRISIS})
    talk = Talk(world)
    await talk.say(CRISIS)
    slow = Slow(world.services.store, monkeypatch)
    for text in (CRISIS, "the head alone"):
        assert isinstance(await asyncio.wait_for(talk.say(text), 10), CrisisShown)
    waiting = asyncio.ensure_future(talk.say("k"))
    await asyncio.sleep(2 * message_reading.HISTORY_SECONDS)
    assert not waiting.done(), "no model is asked before it is known what was said"
    slow.released.set()
    end = await waiting
    assert isinstance(end, Finished)
    assert end.safety is Safety.SUPPORTED
    assert world.server.requests == []


@serves(reply(WARM))
async def test_a_hand_off_that_could_not_be_stored_is_remembered_all_the_same(world: World) -> None:
    talk = Talk(world)
    blocker = sqlite3.connect(world.path, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    assert isinstance(await talk.say(CRISIS), CrisisShown)
    blocker.execute("ROLLBACK")
    blocker.close()
    assert await talk.text("k", Safety.SUPPORTED) in of("silence")
    stored = "SELECT count(*) FROM message WHERE outcome = 'crisis'"
    for _ in range(60):
        if world.rows(stored) == [(1,)]:
            break
        await asyncio.sleep(0.1)
    assert world.rows(stored) == [(1,)], "it is stored later"
    assert await talk.text("i'm safe now", Safety.SAFE) in of("safe")
    assert await talk.text("Work was a lot.", None) == WARM


@serves(reply(WARM))
async def test_who_is_safe_before_it_could_be_stored_is_believed(world: World) -> None:
    talk = Talk(world)
    blocker = sqlite3.connect(world.path, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    await talk.say(CRISIS)
    blocker.execute("ROLLBACK")
    blocker.close()
    assert await talk.text("i'm safe now", Safety.SAFE) in of("safe")
    await asyncio.sleep(1.5)  # when it would be tried again
    assert await talk.text("Work was a lot.", None) == WARM


async def test_a_conversation_that_cannot_be_read_reaches_no_model(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: str) -> None:
        from heard.db.errors import StoreUnavailable

        raise StoreUnavailable

    monkeypatch.setattr(world.services.store, "safety_history", broken)
    assert isinstance(await Talk(world).say("hello"), Refused)
    assert isinstance(await Talk(world).say(CRISIS), CrisisShown)
    assert world.server.requests == []


@serves(reply("That was a real step, calling. Are you safe right now?"))
async def test_where_an_operator_allows_it_a_larger_model_answers_and_is_not_scored(world: World) -> None:
    talk = Talk(world)
    world.services = replace(
        world.services, settings=world.services.settings.model_copy(update={"crisis_model": "scripted"})
    )
    await talk.say("My secret garden.")
    await talk.say(CRISIS)
    world.server.requests.clear()
    text = await talk.text("i called but hung up", Safety.SUPPORTED)
    assert text == "That was a real step, calling. Are you safe right now?"
    await talk.text("ok. i just feel so alone", Safety.SUPPORTED)
    assert "hung up" in seen_by(world)
    assert "988" in seen_by(world)
    for words in (CRISIS, "secret garden"):
        assert words not in seen_by(world)
    rows = world.rows(
        "SELECT d.model, s.status FROM message m JOIN reply r ON r.message_id = m.id JOIN draft d ON d.reply_id = r.id"
        " LEFT JOIN score s ON s.draft_id = d.id WHERE m.safety = 'supported'"
    )
    assert rows == [("scripted", None)] * 2


@pytest.mark.parametrize("said", ["I am a human too and I promise to meet you.", None])
async def test_what_it_may_not_say_or_does_not_say_is_said_by_a_fixed_turn(world: World, said: str | None) -> None:
    world.server.scripts = (refusal(500),) if said is None else (reply(said),)
    world.services = replace(
        world.services, settings=world.services.settings.model_copy(update={"crisis_model": "scripted"})
    )
    talk = Talk(world)
    await talk.say(CRISIS)
    assert await talk.text("i called but hung up", Safety.SUPPORTED) in of("hung_up")
    assert world.rows("SELECT model FROM draft") == [("fixed text",)]


@pytest.mark.parametrize(("name", "fault"), [("scriptd", "Did you mean scripted"), ("smollm2", "too small")])
async def test_a_model_that_may_not_answer_is_refused_at_the_start(
    world: World, weights: Weights, name: str, fault: str
) -> None:
    settings = world.services.settings.model_copy(update={"crisis_model": name})
    with pytest.raises(SettingsError, match=fault):
        async with open_services(settings, weights):
            pass
