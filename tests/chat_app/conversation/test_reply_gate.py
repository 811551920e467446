"""Whole turns through the gate, on the real store, guard and encoder: what a person reads, and what is stored of it."""

import uuid
from datetime import UTC, datetime

from heard.chat_app.conversation.drafts import FIXED_TEXT
from heard.chat_app.conversation.events import DraftStarted, Finished, Token
from heard.chat_app.studies.study_answers import write_answer
from heard.chat_app.studies.study_file import parse_study
from heard.db.study_records import AnswerRecord
from tests.chat_app.conversation.test_turn import QUESTION, World, serves, world  # noqa: F401 - the fixture
from tests.servers import reply

COFFEE = "That sounds lonely. I'd be happy to meet you for coffee tomorrow. What time suits you?"
LOVE = "I love you too!"
KIND = "Being left out of that trip must sting. Did they say why?"
DRAFTS = "SELECT number, status, kept, caught, caught_by, ended_by, guidance, text FROM draft ORDER BY number"


def shown(events: list[object]) -> str:
    """The text that is on the page in the end."""
    text = ""
    for event in events:
        if isinstance(event, DraftStarted):
            text = ""
        elif isinstance(event, Token):
            text += event.text
    return text


@serves(reply(COFFEE), reply(KIND))
async def test_what_is_caught_is_never_shown_and_written_again_with_the_reason(world: World) -> None:  # noqa: F811
    events = await world.run(world.request())
    assert "coffee" not in "".join(event.text for event in events if isinstance(event, Token))
    assert shown(list(events)) == KIND
    first, second = world.rows(DRAFTS)
    assert first[:5] == (1, "caught", 0, "contact", "rule")
    assert first[7] == "That sounds lonely. I'd be happy to meet you for coffee tomorrow."
    assert second[:4] == (2, "complete", 1, None)
    assert second[6] == "guard"
    system = [request["messages"][0]["content"] for request in world.server.requests]
    assert len(system) == 2
    assert len(system[1]) > len(system[0])
    assert world.rows("SELECT count(*) FROM score") == [(1,)]  # what nobody reads is not rated


@serves(reply(LOVE), reply(COFFEE), reply(LOVE))
async def test_after_two_tries_a_fixed_text_stands(world: World) -> None:  # noqa: F811
    events = await world.run(world.request("i love you, do you love me"))
    finished = events[-1]
    assert isinstance(finished, Finished)
    assert len(world.server.requests) == 3
    rows = world.rows("SELECT status, model, caught FROM draft ORDER BY number")
    assert [row[0] for row in rows] == ["caught", "caught", "caught", "complete"]
    assert rows[-1][1] == FIXED_TEXT
    assert finished.reply.kept.text == shown(list(events))
    assert "AI" in finished.reply.kept.text
    assert finished.reply.kept.score is None  # no model wrote it
    assert world.rows("SELECT count(*) FROM score") == [(0,)]


@serves(reply(f"{KIND} #StayStrong #Friends"))
async def test_debris_ends_the_reply_and_the_model_is_not_listened_to_any_longer(world: World) -> None:  # noqa: F811
    events = await world.run(world.request())
    assert shown(list(events)).strip() == KIND
    ((_, status, kept, _, _, ended_by, _, text),) = world.rows(DRAFTS)
    assert (status, kept, ended_by, text.strip()) == ("complete", 1, "hashtag", KIND)


@serves(reply(f"{KIND} And then I would", finish="length"))
async def test_a_reply_at_its_bound_is_cut_back_to_its_last_whole_sentence(world: World) -> None:  # noqa: F811
    events = await world.run(world.request())
    assert shown(list(events)).strip() == KIND
    assert world.rows("SELECT cut, ended_by FROM draft") == [(1, "length")]


@serves(reply("#Blessed"), reply(KIND))
async def test_a_reply_with_nothing_left_is_drawn_again(world: World) -> None:  # noqa: F811
    events = await world.run(world.request())
    assert shown(list(events)) == KIND
    assert [row[:4] for row in world.rows(DRAFTS)] == [(1, "empty", 0, None), (2, "complete", 1, None)]


@serves(reply(COFFEE))
async def test_the_founding_study_s_prompt_is_read_by_the_guard_and_not_trimmed(world: World) -> None:  # noqa: F811
    assert world.services.library.personas["study"].trim is False


async def _answer(world: World, **changes: object) -> AnswerRecord:  # noqa: F811
    arm = {"name": "a", "persona": "listener", "model": "scripted"}
    arms = [arm, {**arm, "name": "b"}]
    study = parse_study({"id": "s", "kind": "live", "arms": arms, **changes}, "s.toml")
    empty = AnswerRecord(str(uuid.uuid4()), "s", None, "a", datetime.now(UTC))
    return await write_answer(world.services, study, study.arms[0], QUESTION, (), empty)


@serves(reply(COFFEE), reply(KIND))
async def test_a_study_stores_what_the_guard_did_with_the_answer(world: World) -> None:  # noqa: F811
    answer = await _answer(world)
    assert (answer.text, answer.guard, answer.guard_kinds, answer.improved) == (KIND, "rewritten", ["contact"], False)
    assert [draft["caught"] for draft in answer.drafts] == ["contact", None]


@serves(reply(COFFEE))
async def test_a_study_may_turn_it_off(world: World) -> None:  # noqa: F811
    answer = await _answer(world, guard=False)
    assert (answer.text, answer.guard, answer.guard_kinds) == (COFFEE, "off", [])


@serves(reply(KIND))
async def test_an_answer_that_passes_says_so(world: World) -> None:  # noqa: F811
    answer = await _answer(world)
    assert (answer.text, answer.guard, answer.guard_kinds) == (KIND, "passed", [])


@serves(reply(COFFEE), reply(KIND), reply("Plans change. People go on trips."))
async def test_best_of_n_counts_a_caught_draft_and_keeps_the_best_of_the_others(world: World) -> None:  # noqa: F811
    arm = {"name": "a", "persona": "listener", "model": "scripted", "policy": "best-of-3"}
    study = parse_study({"id": "s", "kind": "live", "arms": [arm, {**arm, "name": "b"}]}, "s.toml")
    empty = AnswerRecord(str(uuid.uuid4()), "s", None, "a", datetime.now(UTC))
    answer = await write_answer(world.services, study, study.arms[0], QUESTION, (), empty)
    assert len(world.server.requests) == 3
    assert (answer.text, answer.policy, answer.guard_kinds) == (KIND, "best-of-3", ["contact"])
