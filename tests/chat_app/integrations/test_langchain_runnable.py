"""The scorer in LangChain chains: the real scorer, LangChain's own runnables, and no model but the echo."""

import asyncio
import threading
import time
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableLambda, RunnablePassthrough

from heard.chat_app.integrations.langchain_runnable import EmpathyRunnable, RunnableInputError
from heard.chat_app.integrations.open_scorer import open_scorer
from heard.chat_app.models.downloads import Weights
from heard.chat_app.models.echo_chat import OPENING, EchoChat
from heard.scorer.records import EmpathyScore, ScoreStatus
from heard.scorer.score_json import as_json
from tests.journeys.talking import COMING_BACK, CRISIS

WARM = "I am so sorry, that sounds exhausting. I am here with you. What would help you most right now?"


@pytest.fixture(scope="module")
def scorer(weights: Weights) -> EmpathyRunnable:
    return EmpathyRunnable.load()


def test_it_gives_what_the_scorer_gives(scorer: EmpathyRunnable) -> None:
    seeker = "I failed my exam."
    score = scorer.invoke({"seeker": seeker, "reply": WARM})
    assert isinstance(score, EmpathyScore)
    assert score == open_scorer().score(seeker, WARM)
    assert scorer.invoke(WARM) == open_scorer().score("", WARM)


@pytest.mark.parametrize(
    "given",
    [
        AIMessage(WARM),
        AIMessage([{"type": "text", "text": WARM}]),
        {"reply": WARM},
        {"reply": AIMessage(WARM)},
        {"seeker": HumanMessage(""), "reply": AIMessage(WARM)},
    ],
)
def test_texts_and_messages_are_the_same(scorer: EmpathyRunnable, given: object) -> None:
    assert scorer.invoke(given) == scorer.invoke(WARM)  # type: ignore[arg-type]


def test_what_was_said_before_is_looked_at(scorer: EmpathyRunnable) -> None:
    told, now, answering = COMING_BACK
    alone = {"seeker": now, "reply": AIMessage(answering)}
    assert scorer.invoke(alone).notes == ("off_topic",)
    assert scorer.invoke({**alone, "earlier": [told]}).notes == ()
    assert scorer.invoke({**alone, "earlier": [HumanMessage(told)]}).notes == ()


def test_what_cannot_be_scored_is_no_error(scorer: EmpathyRunnable) -> None:
    assert scorer.invoke("").status is ScoreStatus.EMPTY


@pytest.mark.parametrize(
    "given",
    [
        CRISIS,
        {"reply": AIMessage(CRISIS)},
        {"seeker": HumanMessage(CRISIS), "reply": WARM},
        {"seeker": "It is raining.", "reply": WARM, "earlier": [CRISIS, "It is late."]},
    ],
)
async def test_a_crisis_is_never_rated(scorer: EmpathyRunnable, given: Any) -> None:
    score = scorer.invoke(given)
    assert (score.status, score.empathy, score.intervals) == (ScoreStatus.CRISIS, None, {})
    assert await scorer.ainvoke(given) == score
    assert as_json(score) == {"id": None, "status": "crisis", "reason": score.reason, "help": "/help"}


@pytest.mark.parametrize(
    "given",
    [
        None,
        3,
        [WARM],
        {},
        {"text": WARM},
        {"reply": WARM, "other": 1},
        {"reply": None},
        {"reply": [WARM]},
        {"reply": "a", "earlier": WARM},
        {"reply": "a", "earlier": [3]},
    ],
)
def test_another_kind_of_input_is_told_in_a_sentence_without_the_text(scorer: EmpathyRunnable, given: object) -> None:
    with pytest.raises(RunnableInputError) as caught:
        scorer.invoke(given)  # type: ignore[arg-type]
    assert str(caught.value).endswith(".")
    assert "sorry" not in str(caught.value)


def test_it_composes_on_both_sides(scorer: EmpathyRunnable) -> None:
    chain = {"seeker": RunnablePassthrough(), "reply": EchoChat()} | scorer | as_json
    given = chain.invoke("I failed my exam.")
    assert given == as_json(scorer.invoke({"seeker": "I failed my exam.", "reply": f"{OPENING}I failed my exam."}))
    kept = RunnablePassthrough.assign(score=scorer).invoke({"reply": WARM})
    assert kept == {"reply": WARM, "score": scorer.invoke(WARM)}


def test_a_stream_of_pieces_is_scored_as_a_whole(scorer: EmpathyRunnable) -> None:
    chain = EchoChat() | scorer
    assert list(chain.stream("That sounds hard.")) == [scorer.invoke(f"{OPENING}That sounds hard.")]


def test_a_batch_keeps_its_order_and_a_fault_its_place(scorer: EmpathyRunnable) -> None:
    given = [WARM, "", "Ok. That happens.", WARM]
    assert scorer.batch(given) == [scorer.invoke(one) for one in given]
    mixed = scorer.batch([WARM, 3], return_exceptions=True)  # type: ignore[list-item]
    assert mixed[0] == scorer.invoke(WARM)
    assert isinstance(mixed[1], RunnableInputError)


async def test_the_event_loop_goes_on_meanwhile(scorer: EmpathyRunnable) -> None:
    long = (WARM + " ") * 80
    scoring = asyncio.create_task(scorer.abatch([long] * 3))
    longest, last = 0.0, time.perf_counter()
    while not scoring.done():
        await asyncio.sleep(0.005)
        now = time.perf_counter()
        longest, last = max(longest, now - last), now
    assert await scoring == [scorer.invoke(long)] * 3
    assert longest < 0.25
    assert await scorer.ainvoke(WARM) == scorer.invoke(WARM)


async def test_all_calls_share_one_thread(scorer: EmpathyRunnable) -> None:
    await asyncio.gather(*(scorer.ainvoke(WARM) for _ in range(8)))
    scorer.batch([WARM] * 8)
    assert sum(thread.name.startswith("empathy") for thread in threading.enumerate()) == 1


def test_callbacks_see_it_as_one_step(scorer: EmpathyRunnable) -> None:
    seen: list[object] = []
    watched = scorer.with_listeners(on_end=lambda run: seen.append(run.outputs))
    assert isinstance(watched.invoke(WARM), EmpathyScore)
    assert len(seen) == 1


def test_its_types_can_be_described(scorer: EmpathyRunnable) -> None:
    assert scorer.get_input_jsonschema()
    assert "cognitive" in str(scorer.get_output_jsonschema())
    assert (RunnableLambda(str) | scorer).get_graph().nodes
