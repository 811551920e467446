"""Every model call that goes well or wrong, against a real server on loopback."""

import asyncio
import email.utils
import logging
import os
import ssl
import time
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from heard.chat_app.models.client import LONGEST_RETRY_AFTER, Models
from heard.chat_app.models.records import Delta, FailureKind, ModelSpec, Usage
from heard.prompts.records import Prompt, PromptMessage
from tests import servers
from tests.chat_app.models import asking
from tests.chat_app.models.asking import PROMPT, SECRET, ask
from tests.servers import Script, ScriptedServer
from tests.wires import WIRES

spec_of = partial(asking.spec_of, WIRES["openai"])


async def test_a_whole_reply_streams_with_its_counts(models: Models) -> None:
    with ScriptedServer(servers.reply("That sounds hard.")) as server:
        text, usage, failure = await ask(models, spec_of(server, temperature=0.3, seed=5, sampling={"top_p": 0.8}))
    assert (text, usage, failure) == ("That sounds hard.", Usage(7, 3), None)
    (body,) = server.requests
    assert body["messages"] == [
        {"role": "system", "content": "Be kind."}, {"role": "user", "content": f"I feel low, {SECRET}."},
    ]  # fmt: skip
    assert (body["model"], body["temperature"], body["seed"], body["max_tokens"]) == ("scripted", 0.3, 5, 40)
    assert body["top_p"] == 0.8
    assert body["stream"] is True


async def test_calls_share_their_connections_and_read_no_certificates(
    models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading them takes a twentieth of a second, in which the server's event loop would stand still."""
    made: list[ssl.SSLContext] = []
    make = ssl.create_default_context
    monkeypatch.setattr(ssl, "create_default_context", lambda *a, **k: made.append(make(*a, **k)) or made[-1])
    with ScriptedServer(servers.reply("Yes.")) as server:
        for _ in range(3):
            assert (await ask(models, spec_of(server)))[0] == "Yes."
    assert len(made) == 1


async def test_the_first_words_come_before_the_last_are_written(models: Models) -> None:
    with ScriptedServer(servers.reply("one two three four", pause=0.3)) as server:
        arrived = [time.monotonic() async for item in models.stream(spec_of(server), PROMPT) if isinstance(item, Delta)]
    assert len(arrived) == 4
    assert arrived[-1] - arrived[0] > 0.5


async def test_a_reply_without_counts_is_whole(models: Models) -> None:
    with ScriptedServer(servers.reply(usage=False)) as server:
        assert await ask(models, spec_of(server)) == ("That sounds hard.", Usage(None, None), None)


async def test_a_reply_that_reached_its_bound_is_whole(models: Models) -> None:
    with ScriptedServer(servers.reply(finish="length")) as server:
        assert (await ask(models, spec_of(server)))[2] is None


FAULTS: list[tuple[str, Script, FailureKind, str, str, int]] = [
    # name, script, kind, words of the sentence, text that had arrived, requests made
    ("401", servers.refusal(401, SECRET), FailureKind.BAD_KEY, "refused the key", "", 1),
    ("403", servers.refusal(403, SECRET), FailureKind.BAD_KEY, "refused the key", "", 1),
    ("404", servers.refusal(404, SECRET), FailureKind.REJECTED, "knows no such model", "", 1),
    ("400", servers.refusal(400, SECRET), FailureKind.REJECTED, "status 400", "", 1),
    ("500", servers.refusal(500, SECRET), FailureKind.SERVER_ERROR, "fault of its own (status 500)", "", 3),
    ("503", servers.refusal(503, SECRET), FailureKind.SERVER_ERROR, "status 503", "", 3),
    ("429", servers.busy(), FailureKind.BUSY, "too many requests", "", 3),
    ("429 for long", servers.busy(LONGEST_RETRY_AFTER + 50), FailureKind.BUSY, "in 60 seconds", "", 1),
    ("error page", Script((f"<html>{SECRET}</html>".encode(),), 502, {"content-type": "text/html"}),
     FailureKind.SERVER_ERROR, "status 502", "", 3),
    ("web page", servers.web_page(SECRET), FailureKind.EMPTY, "without any text", "", 1),
    ("nothing", servers.nothing(), FailureKind.EMPTY, "without any text", "", 1),
    ("blank", servers.blank(), FailureKind.EMPTY, "without any text", "", 1),
    ("garbage", servers.garbage(), FailureKind.SERVER_ERROR, "OpenAI's protocol", "", 1),
    ("wrong shape", servers.wrong_shape(), FailureKind.SERVER_ERROR, "OpenAI's protocol", "", 1),
    ("error event", servers.error_event(SECRET), FailureKind.SERVER_ERROR, "fault of its own", "", 3),
    ("cut at once", Script((servers.Cut(),)), FailureKind.UNREACHABLE, "cannot be reached", "", 3),
    ("cut", servers.cut(), FailureKind.CUT, "broke off in the middle", "That sounds", 1),
    ("unfinished", servers.unfinished(), FailureKind.CUT, "broke off in the middle", "That sounds", 1),
    ("garbage later", servers.garbage("That sounds"), FailureKind.CUT, "broke off", "That sounds", 1),
    ("error event later", servers.error_event(SECRET, "That sounds"), FailureKind.CUT, "broke off", "That sounds", 1),
    ("giant token", servers.giant(3_000_000), FailureKind.CUT, "far more than asked", "a" * 640, 1),
]  # fmt: skip


@pytest.mark.parametrize(
    ("script", "kind", "words", "arrived", "requests"), [f[1:] for f in FAULTS], ids=[f[0] for f in FAULTS]
)
async def test_a_fault_becomes_a_plain_sentence(
    models: Models,
    caplog: pytest.LogCaptureFixture,
    script: Script,
    kind: FailureKind,
    words: str,
    arrived: str,
    requests: int,
) -> None:
    caplog.set_level(logging.DEBUG)
    with ScriptedServer(script) as server:
        text, usage, failure = await ask(models, spec_of(server))
    assert failure is not None
    assert failure.kind is kind
    assert words in failure.sentence
    assert '"Scripted"' in failure.sentence
    assert (text, usage) == (arrived, None)
    assert len(server.requests) == requests, "tried again only before the first token, and only what can pass"
    for said in (failure.sentence, caplog.text, repr(failure.__cause__)):
        assert SECRET not in said
        assert "some_error" not in said


async def test_silence_ends_at_the_limit_and_is_not_tried_again(hasty: Models) -> None:
    for script in (servers.silence(), servers.no_headers()):
        with ScriptedServer(script) as server:
            began = time.monotonic()
            text, _, failure = await ask(hasty, spec_of(server))
            assert failure is not None
            assert failure.kind is FailureKind.SILENT
            assert "within 0.6 seconds" in failure.sentence
            assert 0.5 < time.monotonic() - began < 5
            assert text == ""
            await asyncio.to_thread(server.wait_for_disconnect)
            assert len(server.requests) == 1


async def test_a_stall_in_the_middle_keeps_what_came(hasty: Models) -> None:
    with ScriptedServer(servers.stall("That sounds")) as server:
        text, _, failure = await ask(hasty, spec_of(server))
        await asyncio.to_thread(server.wait_for_disconnect)
    assert failure is not None
    assert (text, failure.kind, len(server.requests)) == ("That sounds", FailureKind.CUT, 1)


async def test_empty_chunks_do_not_hide_a_stall(hasty: Models) -> None:
    keepalive = [step for _ in range(40) for step in (servers.chunk(""), 0.1)]
    with ScriptedServer(Script((servers.ROLE, servers.chunk("That"), *keepalive))) as server:
        began = time.monotonic()
        text, _, failure = await ask(hasty, spec_of(server))
    assert failure is not None
    assert (text, failure.kind) == ("That", FailureKind.CUT)
    assert time.monotonic() - began < 3.5


async def test_a_slow_drip_is_no_stall(hasty: Models) -> None:
    with ScriptedServer(servers.reply("a b c d e f", pause=0.2)) as server:
        text, usage, failure = await ask(hasty, spec_of(server))
    assert (text, usage, failure) == ("a b c d e f", Usage(7, 6), None)


async def test_counts_that_never_come_do_not_break_a_whole_reply(hasty: Models) -> None:
    steps = (servers.ROLE, servers.chunk("Whole."), servers.chunk(finish="stop"), servers.FOREVER)
    with ScriptedServer(Script(steps)) as server:
        assert await ask(hasty, spec_of(server)) == ("Whole.", Usage(None, None), None)


@pytest.mark.parametrize("first", [servers.busy(), servers.refusal(500), Script((servers.Cut(),))])
async def test_a_fault_that_passes_is_never_seen(models: Models, first: Script) -> None:
    with ScriptedServer(first, first, servers.reply("Better now.")) as server:
        text, _, failure = await ask(models, spec_of(server))
    assert (text, failure, len(server.requests)) == ("Better now.", None, 3)


async def test_retry_after_is_honoured(models: Models) -> None:
    with ScriptedServer(servers.busy(0.7), servers.reply("Better now.")) as server:
        text, _, failure = await ask(models, spec_of(server))
    assert (text, failure) == ("Better now.", None)
    assert server.times[1] - server.times[0] >= 0.7


async def test_retry_after_may_be_a_date(models: Models) -> None:
    soon = email.utils.format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True)
    with ScriptedServer(servers.busy(soon), servers.reply("Better now.")) as server:
        assert (await ask(models, spec_of(server)))[0] == "Better now."
    assert server.times[1] - server.times[0] > 0.5


async def test_those_who_were_sent_away_together_do_not_come_back_together() -> None:
    async with Models({}, engine=None, first_token_seconds=20, stall_seconds=20, backoff_seconds=0.5) as models:
        with ScriptedServer(*[servers.busy(0.3)] * 5, servers.reply()) as server:
            await asyncio.gather(*(ask(models, spec_of(server)) for _ in range(5)))
            waits = sorted(time - server.times[4] for time in server.times[5:])
    assert len(waits) == 5
    assert waits[0] >= 0.25, "nobody before the server said"
    assert waits[-1] - waits[0] > 0.02


async def test_the_total_counts_before_the_first_token_too() -> None:
    async with Models({}, engine=None, first_token_seconds=20, stall_seconds=20, total_seconds=0.5) as strict:
        with ScriptedServer(servers.silence()) as server:
            _, _, failure = await ask(strict, spec_of(server))
    assert failure is not None
    assert (failure.kind, "within 0.5 seconds" in failure.sentence) == (FailureKind.SILENT, True)


async def test_a_bad_retry_after_is_ignored(models: Models) -> None:
    for value in ("soon", "-5", "nan", "inf"):
        with ScriptedServer(servers.busy(value), servers.reply("Better now.")) as server:
            assert (await ask(models, spec_of(server)))[:1] == ("Better now.",)


async def test_a_server_that_is_not_there(models: Models) -> None:
    with ScriptedServer() as server:
        gone = spec_of(server)
    _, _, failure = await ask(models, gone)
    assert failure is not None
    assert failure.kind is FailureKind.UNREACHABLE
    assert "cannot be reached" in failure.sentence


async def test_a_server_that_never_stops_is_stopped(models: Models) -> None:
    with ScriptedServer(servers.endless()) as server:
        text, _, failure = await ask(models, spec_of(server))
        assert await asyncio.to_thread(server.wait_for_disconnect) < 1
    assert failure is not None
    assert failure.kind is FailureKind.CUT
    assert len(text) == 640


async def test_closing_the_generator_closes_the_connection(models: Models) -> None:
    with ScriptedServer(servers.stall("That sounds")) as server:
        async with aclosing(models.stream(spec_of(server), PROMPT)) as stream:
            assert await anext(stream) == Delta("That ")
        assert await asyncio.to_thread(server.wait_for_disconnect) < 1


async def test_cancelling_the_task_closes_the_connection(models: Models) -> None:
    for script in (servers.stall("That sounds"), servers.silence(), servers.no_headers()):
        with ScriptedServer(script) as server:
            task = asyncio.create_task(ask(models, spec_of(server)))
            await asyncio.to_thread(server.wait_until, lambda s=server: bool(s.requests), "the request")
            await asyncio.sleep(0.1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await asyncio.to_thread(server.wait_for_disconnect) < 1


async def test_a_stop_between_two_attempts_ends_the_attempts(models: Models) -> None:
    with ScriptedServer(servers.busy(5), servers.reply()) as server:
        task = asyncio.create_task(ask(models, spec_of(server)))
        await asyncio.to_thread(server.wait_until, lambda: bool(server.requests), "the request")
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(server.requests) == 1


async def test_a_key_is_read_from_its_variable(models: Models, monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedServer() as server:
        spec = spec_of(server, key_env="SCRIPTED_KEY")
        monkeypatch.delenv("SCRIPTED_KEY", raising=False)
        _, _, failure = await ask(models, spec)
        assert failure is not None
        assert failure.kind is FailureKind.BAD_KEY
        assert "SCRIPTED_KEY" in failure.sentence
        assert server.requests == []
        monkeypatch.setenv("SCRIPTED_KEY", SECRET)
        assert (await ask(models, spec))[2] is None
        assert server.headers[0]["authorization"] == f"Bearer {SECRET}"


async def test_the_key_of_one_service_goes_to_no_other(models: Models, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    with ScriptedServer() as server:
        await ask(models, spec_of(server))
        assert SECRET not in str(server.headers)


async def test_surrogate_halves_go_out_and_come_in_readable(models: Models) -> None:
    prompt = Prompt((PromptMessage("user", "low \ud83d today"),), 40)
    half = [servers.chunk("so \ud83d"), servers.chunk("\ude00 ok \udc00")]
    script = Script((servers.ROLE, *half, servers.chunk(finish="stop"), servers.DONE))
    with ScriptedServer(script) as server:
        text, _, failure = await ask(models, spec_of(server), prompt)
    assert failure is None
    assert server.requests[0]["messages"][0]["content"] == "low \ufffd today"
    assert text == "so \U0001f600 ok \ufffd"
    text.encode()


async def test_words_are_never_sent_to_a_tracing_service(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedServer(servers.refusal(404)) as tracing, ScriptedServer() as server:
        for name in ("LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2"):
            monkeypatch.setenv(name, "true")
        monkeypatch.setenv("LANGSMITH_API_KEY", "k")
        monkeypatch.setenv("LANGSMITH_ENDPOINT", tracing.base_url)
        async with Models({}, engine=None, first_token_seconds=20, stall_seconds=20) as models:
            assert (await ask(models, spec_of(server)))[2] is None
            assert os.environ["LANGSMITH_TRACING"] == "false"
        await asyncio.sleep(0.5)
        assert tracing.paths == []


async def test_echo_repeats_and_counts(models: Models) -> None:
    spec = ModelSpec(id="echo", provider="echo", model="echo", label="Echo")
    prompt = Prompt((PromptMessage("system", "Be kind."), PromptMessage("user", "one\n two <b>three</b>")), 40)
    first, again = await ask(models, spec, prompt), await ask(models, spec, prompt)
    assert first == again == ("I hear you say: one\n two <b>three</b>", Usage(5, 7), None)
    short = Prompt(prompt.messages, max_tokens=5)
    assert await ask(models, spec, short) == ("I hear you say: one\n ", Usage(5, 5, cut=True), None)


async def test_the_embedded_model_needs_an_engine(models: Models) -> None:
    spec = ModelSpec(id="smollm2", provider="embedded", model="m", label="L")
    _, _, failure = await ask(models, spec)
    assert failure is not None
    assert failure.kind is FailureKind.UNREACHABLE
