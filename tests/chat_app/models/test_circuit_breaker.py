"""A server that is down is left alone, tried by one call after a while, and taken back when that one succeeds."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from heard.chat_app.models.circuit_breaker import (
    FAILURE_THRESHOLD,
    TRIAL_SECONDS,
    CircuitBreaker,
    CircuitBreakers,
    CoolingDown,
)
from heard.chat_app.models.client import Models
from heard.chat_app.models.records import FailureKind, ModelSpec
from tests.chat_app.models.asking import PROMPT, ask, spec_of
from tests.servers import Cut, Script, ScriptedServer, busy, garbage, refusal, reply, silence, stall
from tests.wires import WIRES

COOLDOWN = 0.6
"""Seconds; long enough for a test to call within them."""


@pytest.fixture
async def models() -> AsyncIterator[Models]:
    async with Models(
        {}, engine=None, first_token_seconds=0.4, stall_seconds=5, backoff_seconds=0.001, cooldown_seconds=COOLDOWN
    ) as ready:
        yield ready


def spec(server: ScriptedServer, **changes: object) -> ModelSpec:
    return spec_of(WIRES["openai"], server, **changes)


async def kind_of(models: Models, spec: ModelSpec) -> FailureKind | None:
    failure = (await ask(models, spec))[2]
    return failure.kind if failure else None


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (refusal(500), FailureKind.SERVER_ERROR),
        (Script((Cut(),)), FailureKind.UNREACHABLE),
        (silence(), FailureKind.SILENT),
        (garbage(), FailureKind.SERVER_ERROR),
    ],
    ids=["500", "dropped", "silent", "another protocol"],
)
async def test_a_server_that_is_down_is_asked_no_more_until_it_has_rested(
    models: Models, fault: Script, kind: FailureKind
) -> None:
    with ScriptedServer(fault) as server:
        one, other = spec(server), spec(server, id="other", label="Other")
        models.specs |= {one.id: one, other.id: other}
        for _ in range(FAILURE_THRESHOLD):
            assert models.cooling_down == ()
            assert await kind_of(models, one) is kind
        asked = len(server.requests)
        assert models.cooling_down == (one.id, other.id)
        _, _, failure = await ask(models, other)
        assert failure is not None
        assert failure.kind is FailureKind.COOLING_DOWN
        assert '"Other" has failed several times in a row and is left alone for now. Try again in' in failure.sentence
        assert len(server.requests) == asked, "not even a connection"

        await asyncio.wait_for(models.wait_for_cooldown(one), 5)
        assert await kind_of(models, one) is kind, "the one trial"
        assert await kind_of(models, one) is FailureKind.COOLING_DOWN, "which has failed, so it cools down again"

        server.scripts = (reply("Better now."),)
        await asyncio.wait_for(models.wait_for_cooldown(one), 5)
        assert (await ask(models, one))[0] == "Better now."
        assert (await ask(models, other))[0] == "Better now."
        assert models.cooling_down == ()


async def test_a_server_that_is_not_there_cools_down_and_another_does_not(models: Models) -> None:
    with ScriptedServer() as server:
        gone = spec(server)
    for _ in range(FAILURE_THRESHOLD):
        assert await kind_of(models, gone) is FailureKind.UNREACHABLE
    assert await kind_of(models, gone) is FailureKind.COOLING_DOWN
    with ScriptedServer() as other:
        assert await kind_of(models, spec(other)) is None


@pytest.mark.parametrize("fault", [refusal(401), refusal(404), refusal(400), busy(60), Script(())])
async def test_what_is_the_callers_to_mend_never_counts(models: Models, fault: Script) -> None:
    with ScriptedServer(fault) as server:
        kinds = [await kind_of(models, spec(server)) for _ in range(FAILURE_THRESHOLD + 2)]
        assert len(set(kinds)) == 1
        assert len(server.requests) == len(kinds)


async def test_a_missing_key_neither_counts_nor_proves_a_server(models: Models) -> None:
    with ScriptedServer(refusal(500)) as server:
        keyless = spec(server, key_env="A_KEY_THAT_IS_NOT_SET")
        for _ in range(FAILURE_THRESHOLD):
            assert await kind_of(models, spec(server)) is FailureKind.SERVER_ERROR
            assert await kind_of(models, keyless) is FailureKind.BAD_KEY
        assert await kind_of(models, spec(server)) is FailureKind.COOLING_DOWN


async def test_a_success_between_starts_the_count_anew(models: Models) -> None:
    with ScriptedServer() as server:
        for fault in (refusal(500), reply(), refusal(500)):
            server.scripts = (fault,)
            for _ in range(FAILURE_THRESHOLD - 1):
                assert await kind_of(models, spec(server)) is not FailureKind.COOLING_DOWN


async def test_a_reply_that_breaks_later_counts_as_answered(models: Models) -> None:
    with ScriptedServer(Script((*stall("That sounds").steps[:-1], Cut()))) as server:
        kinds = {await kind_of(models, spec(server)) for _ in range(FAILURE_THRESHOLD + 1)}
    assert kinds == {FailureKind.CUT}


async def test_whoever_is_stopped_counts_for_nothing(models: Models) -> None:
    with ScriptedServer(Script(before_headers=3600.0)) as server:
        for number in range(1, FAILURE_THRESHOLD + 2):
            async with aclosing(models.stream(spec(server), PROMPT)) as stream:
                waiting = asyncio.ensure_future(anext(stream))
                await asyncio.to_thread(server.wait_until, lambda n=number: len(server.requests) == n, "a request")
                waiting.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await waiting
        assert await kind_of(models, spec(server)) is FailureKind.SILENT


def fail(breaker: CircuitBreaker, error: BaseException) -> None:
    with pytest.raises(type(error)), breaker.guard(lambda e: isinstance(e, OSError)):
        raise error


async def test_only_one_call_at_a_time_is_the_trial() -> None:
    breaker = CircuitBreakers(failure_threshold=1, cooldown_seconds=0.0).of("http://a/v1")
    fail(breaker, OSError())
    with breaker.guard(lambda _: True):
        assert breaker.seconds_left == TRIAL_SECONDS
        with pytest.raises(CoolingDown), breaker.guard(lambda _: True):
            pass
    assert breaker.seconds_left == 0


def test_a_trial_that_is_stopped_leaves_it_to_the_next_call() -> None:
    breaker = CircuitBreakers(failure_threshold=1, cooldown_seconds=0.0).of("http://a/v1")
    fail(breaker, OSError())
    fail(breaker, asyncio.CancelledError())
    fail(breaker, OSError())
    assert breaker.seconds_left == 0, "its cool-down, of no length, is over: there was a trial"


def test_calls_under_way_do_not_prolong_a_rest_and_a_late_success_ends_it() -> None:
    breaker = CircuitBreakers(failure_threshold=1, cooldown_seconds=60.0).of("http://a/v1")
    calls = [breaker.guard(lambda _: True) for _ in range(3)]
    for call in calls:
        call.__enter__()
    assert not calls[0].__exit__(OSError, OSError(), None)
    left = breaker.seconds_left
    assert left > 0
    assert not calls[1].__exit__(OSError, OSError(), None)
    assert breaker.seconds_left <= left
    calls[2].__exit__(None, None, None)
    assert breaker.seconds_left == 0


def test_one_server_is_one_address_whatever_the_path() -> None:
    breakers = CircuitBreakers()
    assert breakers.of("http://A:1/v1") is breakers.of("http://a:1/other")
    assert breakers.of("http://a:1") is not breakers.of("http://a:2")
