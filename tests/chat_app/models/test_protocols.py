"""The same cases over every provider's protocol, with its real client against a real server on loopback."""

import asyncio
import logging
import traceback
from collections.abc import Callable
from contextlib import aclosing

import pytest

from heard.chat_app.models.client import LONGEST_RETRY_AFTER, Models
from heard.chat_app.models.records import Delta, FailureKind, Usage
from heard.prompts.records import Prompt, PromptMessage
from tests.chat_app.models.asking import PROMPT, SECRET, ask, spec_of
from tests.servers import FOREVER, Cut, Script
from tests.wires import WIRES, Wire
from tests.wires.wire import between

MIXED = "Día, „früh“ 你好 😀 ok"
VARIABLES = (
    "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "GOOGLE_API_KEY", "GEMINI_API_KEY", "OLLAMA_API_KEY",
    "LANGSMITH_API_KEY", "LANGSMITH_GATEWAY_API_KEY",
)  # fmt: skip


@pytest.fixture(params=WIRES)
def wire(request: pytest.FixtureRequest) -> Wire:
    return WIRES[request.param]


async def test_a_whole_reply_streams_with_its_counts(wire: Wire, models: Models) -> None:
    talk = Prompt((*PROMPT.messages, PromptMessage("assistant", "Oh."), PromptMessage("user", "Yes.")), 40)
    with wire.server() as server:
        assert await ask(models, spec_of(wire, server), talk) == ("That sounds hard.", Usage(7, 3), None)
    (body,) = server.requests
    assert wire.said(body) == [
        ("system", "Be kind."), ("user", f"I feel low, {SECRET}."), ("assistant", "Oh."), ("user", "Yes."),
    ]  # fmt: skip


async def test_a_reply_at_its_bound_is_whole_and_marked_cut(wire: Wire, models: Models) -> None:
    with wire.server(wire.reply("That sounds", "length")) as server:
        assert await ask(models, spec_of(wire, server)) == ("That sounds", Usage(7, 3, cut=True), None)


@pytest.mark.parametrize("size", [1, 7, 1000])
async def test_bytes_may_come_in_any_portions(wire: Wire, models: Models, size: int) -> None:
    with wire.server(wire.split(MIXED, size)) as server:
        assert await ask(models, spec_of(wire, server)) == (MIXED, Usage(7, 3), None)


async def test_empty_pieces_are_passed_over(wire: Wire, models: Models) -> None:
    steps = [wire.opening(), wire.piece(""), wire.piece("So "), wire.piece(""), wire.piece("hard."), wire.ending()]
    with wire.server(wire.script(*steps)) as server:
        assert await ask(models, spec_of(wire, server)) == ("So hard.", Usage(7, 3), None)


async def test_a_hundred_thousand_characters_are_cut_at_the_bound(wire: Wire, models: Models) -> None:
    with wire.server(wire.script(wire.opening(), wire.piece("a" * 100_000), FOREVER)) as server:
        text, _, failure = await ask(models, spec_of(wire, server))
        await asyncio.to_thread(server.wait_for_disconnect)
    assert failure is not None
    assert (len(text), failure.kind) == (640, FailureKind.CUT)


async def test_a_hundred_thousand_characters_are_sent(wire: Wire, models: Models) -> None:
    long = Prompt((PromptMessage("user", "ä" * 100_000),), 40)
    with wire.server() as server:
        assert (await ask(models, spec_of(wire, server), long))[2] is None
    assert wire.said(server.requests[0]) == [("user", "ä" * 100_000)]


Faulty = Callable[[Wire], Script]
FAULTS: dict[str, tuple[Faulty, FailureKind, str, str, int]] = {
    # script, kind, words of the sentence, text that had arrived, requests made
    "401": (lambda w: w.refusal(401, SECRET), FailureKind.BAD_KEY, "refused the key", "", 1),
    "403": (lambda w: w.refusal(403, SECRET), FailureKind.BAD_KEY, "refused the key", "", 1),
    "404": (lambda w: w.refusal(404, SECRET), FailureKind.REJECTED, "knows no such model", "", 1),
    "400": (lambda w: w.refusal(400, SECRET), FailureKind.REJECTED, "status 400", "", 1),
    "429": (lambda w: w.refusal(429, SECRET), FailureKind.BUSY, "too many requests", "", 3),
    "429 for long": (
        lambda w: w.refusal(429, SECRET, LONGEST_RETRY_AFTER + 50), FailureKind.BUSY, "in 60 seconds", "", 1,
    ),
    "500": (lambda w: w.refusal(500, SECRET), FailureKind.SERVER_ERROR, "status 500", "", 3),
    "529": (lambda w: w.refusal(529, SECRET), FailureKind.SERVER_ERROR, "status 529", "", 3),
    "moved": (
        lambda w: Script((), 307, {"location": "http://127.0.0.1:9/x"}), FailureKind.REJECTED, "or address", "", 1,
    ),
    "dropped": (lambda w: w.script(Cut()), FailureKind.UNREACHABLE, "cannot be reached", "", 3),
    "cut": (lambda w: w.cut("That sounds"), FailureKind.CUT, "broke off in the middle", "That sounds", 1),
    "unfinished": (lambda w: w.begun("That sounds"), FailureKind.CUT, "broke off in the middle", "That sounds", 1),
    "error event": (
        lambda w: w.script(w.opening(), w.error_event(SECRET)), FailureKind.SERVER_ERROR, "fault of its own", "", 3,
    ),
    "error event later": (
        lambda w: w.begun("That sounds", w.error_event(SECRET)), FailureKind.CUT, "broke off", "That sounds", 1,
    ),
    "tool call": (
        lambda w: w.script(w.opening(), w.tool_call()), FailureKind.EMPTY, "called a tool instead", "", 1,
    ),
    "tool call later": (
        lambda w: w.begun("That sounds", w.tool_call()), FailureKind.CUT, "called a tool", "That sounds", 1,
    ),
    "withheld": (
        lambda w: w.script(w.opening(), w.ending("withheld")), FailureKind.EMPTY, "withheld the reply", "", 1,
    ),
    "withheld later": (
        lambda w: w.begun("That sounds", w.ending("withheld")), FailureKind.CUT, "withheld", "That sounds", 1,
    ),
    "no text": (lambda w: w.reply(""), FailureKind.EMPTY, "without any text", "", 1),
    "no text, at its bound": (lambda w: w.reply("", "length"), FailureKind.EMPTY, "without any text", "", 1),
    "blank": (lambda w: w.reply(" \n \u200b"), FailureKind.EMPTY, "without any text", "", 1),
    "nothing": (lambda w: w.script(), FailureKind.EMPTY, "without any text", "", 1),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
async def test_a_fault_becomes_a_plain_sentence(
    wire: Wire, models: Models, name: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("SCRIPTED_KEY", f"{SECRET}-key")
    script, kind, words, arrived, requests = FAULTS[name]
    with wire.server(script(wire)) as server:
        text, usage, failure = await ask(models, spec_of(wire, server, key_env="SCRIPTED_KEY"))
    assert failure is not None
    assert (failure.kind, text, usage) == (kind, arrived, None), failure.sentence
    assert words in failure.sentence
    assert '"Scripted"' in failure.sentence
    assert len(server.requests) == requests, "tried again only before the first token, and only what can pass"
    for said in (failure.sentence, caplog.text, "".join(traceback.format_exception(failure))):
        assert SECRET not in said


async def test_broken_words_of_the_protocol(wire: Wire, models: Models) -> None:
    half = wire.piece("x")[:-8] + b"\n\n"
    for script, kind in (
        (wire.script(wire.opening(), half), FailureKind.SERVER_ERROR),
        (wire.begun("That", half), FailureKind.CUT),
    ):
        with wire.server(script) as server:
            _, _, failure = await ask(models, spec_of(wire, server))
        assert failure is not None
        assert (failure.kind, len(server.requests)) == (kind, 1)


async def test_silence_ends_at_the_limit_and_is_not_tried_again(wire: Wire, hasty: Models) -> None:
    for script in (wire.script(FOREVER), wire.script(wire.opening(), FOREVER), Script(before_headers=FOREVER)):
        with wire.server(script) as server:
            text, _, failure = await ask(hasty, spec_of(wire, server))
            await asyncio.to_thread(server.wait_for_disconnect)
        assert failure is not None
        assert (text, failure.kind, len(server.requests)) == ("", FailureKind.SILENT, 1)


async def test_a_slow_drip_is_no_stall(wire: Wire) -> None:
    """Each piece is within the limits, and all of them together are not."""
    opening, *rest = wire.steps("a b c d e f")
    async with Models({}, engine=None, first_token_seconds=1.5, stall_seconds=1.5) as patient:
        with wire.server(wire.script(opening, *between(rest, 0.3))) as server:
            assert await ask(patient, spec_of(wire, server)) == ("a b c d e f", Usage(7, 3), None)


async def test_a_stall_in_the_middle_keeps_what_came(wire: Wire, hasty: Models) -> None:
    with wire.server(wire.stall("That sounds")) as server:
        text, _, failure = await ask(hasty, spec_of(wire, server))
        await asyncio.to_thread(server.wait_for_disconnect)
    assert failure is not None
    assert (text, failure.kind, len(server.requests)) == ("That sounds", FailureKind.CUT, 1)


@pytest.mark.parametrize("status", [429, 500, 529])
async def test_a_fault_that_passes_is_never_seen(wire: Wire, models: Models, status: int) -> None:
    fault = wire.refusal(status, SECRET)
    with wire.server(fault, fault, wire.reply("Better now.")) as server:
        text, _, failure = await ask(models, spec_of(wire, server))
    assert (text, failure, len(server.requests)) == ("Better now.", None, 3)


async def test_retry_after_is_honoured(wire: Wire, models: Models) -> None:
    with wire.server(wire.refusal(429, SECRET, 0.7), wire.reply("Better now.")) as server:
        text, _, failure = await ask(models, spec_of(wire, server))
    assert (text, failure) == ("Better now.", None)
    assert server.times[1] - server.times[0] >= 0.7


async def test_a_server_that_is_not_there(wire: Wire, models: Models) -> None:
    with wire.server() as server:
        gone = spec_of(wire, server)
    _, _, failure = await ask(models, gone)
    assert failure is not None
    assert failure.kind is FailureKind.UNREACHABLE


async def test_closing_the_generator_closes_the_connection(wire: Wire, models: Models) -> None:
    with wire.server(wire.stall("That sounds")) as server:
        async with aclosing(models.stream(spec_of(wire, server), PROMPT)) as stream:
            assert await anext(stream) == Delta("That ")
        assert server.disconnects or await asyncio.to_thread(server.wait_for_disconnect) < 1


async def test_cancelling_the_task_closes_the_connection(wire: Wire, models: Models) -> None:
    for script in (wire.stall("That sounds"), wire.script(FOREVER), Script(before_headers=FOREVER)):
        with wire.server(script) as server:
            task = asyncio.create_task(ask(models, spec_of(wire, server)))
            await asyncio.to_thread(server.wait_until, lambda s=server: bool(s.requests), "the request")
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.to_thread(server.wait_for_disconnect)


async def test_a_stop_in_a_long_reply_reaches_the_server_within_a_few_pieces(wire: Wire, models: Models) -> None:
    drip = between([wire.piece(f"word{number} ") for number in range(2000)], 0.01)
    with wire.server(wire.script(wire.opening(), *drip)) as server:
        async with aclosing(models.stream(spec_of(wire, server), PROMPT)) as stream:
            for _ in range(3):
                await anext(stream)
            written = server.written
        await asyncio.to_thread(server.wait_for_disconnect)
        assert server.written - written < 60


async def test_a_stop_between_two_attempts_ends_the_attempts(wire: Wire, models: Models) -> None:
    with wire.server(wire.refusal(429, SECRET, 5), wire.reply("Too late.")) as server:
        task = asyncio.create_task(ask(models, spec_of(wire, server)))
        await asyncio.to_thread(server.wait_until, lambda: server.written == 1, "the refusal")
        await asyncio.sleep(0.1)
        assert not task.done()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(server.requests) == 1


async def test_a_reply_that_takes_too_long_is_cut_and_kept(wire: Wire) -> None:
    """No limit between two pieces is reached, and the one for all of them is."""
    drip = between([wire.piece(f"word{number} ") for number in range(2000)], 0.05)
    async with Models({}, engine=None, first_token_seconds=20, stall_seconds=20, total_seconds=0.8) as strict:
        with wire.server(wire.script(wire.opening(), *drip)) as server:
            text, usage, failure = await ask(strict, spec_of(wire, server))
            await asyncio.to_thread(server.wait_for_disconnect)
    assert failure is not None
    assert (failure.kind, usage, len(server.requests)) == (FailureKind.CUT, None, 1)
    assert "still writing after 0.8 seconds, the longest that a reply may take" in failure.sentence
    assert text.startswith("word0 word1 ")


async def test_a_key_goes_where_it_belongs_and_nowhere_else(
    wire: Wire, models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in VARIABLES:
        monkeypatch.setenv(name, SECRET)
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", f"x-api-key: {SECRET}")
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
    with wire.server() as server:
        async with Models({}, engine=None, first_token_seconds=20, stall_seconds=20) as fresh:
            assert (await ask(fresh, spec_of(wire, server)))[2] is None
            assert SECRET not in str(server.headers)
            monkeypatch.setenv("SCRIPTED_KEY", "the-right-key")
            assert (await ask(fresh, spec_of(wire, server, key_env="SCRIPTED_KEY")))[2] is None
        assert wire.key_in(server.headers[1]) == "the-right-key"
        monkeypatch.delenv("SCRIPTED_KEY")
        _, _, failure = await ask(models, spec_of(wire, server, key_env="SCRIPTED_KEY"))
        assert failure is not None
        assert "Set the environment variable SCRIPTED_KEY" in failure.sentence
        assert len(server.requests) == 2
