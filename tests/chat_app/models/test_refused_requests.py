"""A request that a server refuses: its own reason, cleaned, and no guess at one."""

import logging

import pytest

from heard.chat_app.models.client import Models
from heard.chat_app.models.records import FailureKind
from heard.chat_app.models.server_reason import LONGEST, cleaned
from heard.prompts.records import Prompt, PromptMessage
from tests.chat_app.models.asking import PROMPT, SECRET, ask, spec_of
from tests.servers import FOREVER, Script
from tests.wires import WIRES, Wire

REASON = "Unsupported value: 'temperature' does not support 0.7 with this model."
OPENAI = WIRES["openai"]


@pytest.fixture(params=WIRES)
def wire(request: pytest.FixtureRequest) -> Wire:
    return WIRES[request.param]


async def test_the_server_s_own_reason_is_in_the_failure_and_in_the_log(
    wire: Wire, models: Models, caplog: pytest.LogCaptureFixture
) -> None:
    with wire.server(wire.refusal(400, REASON)) as server:
        _, _, failure = await ask(models, spec_of(wire, server))
    assert failure is not None
    assert (failure.kind, failure.reason, len(server.requests)) == (FailureKind.REJECTED, REASON, 1)
    assert REASON in caplog.text
    assert "status 400" in failure.sentence
    assert REASON not in failure.sentence
    assert "too long" not in failure.sentence


async def test_a_reason_has_no_key_and_no_word_of_the_prompt(
    wire: Wire, models: Models, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("SCRIPTED_KEY", "my-plain-key-7")
    talk = Prompt(
        (PromptMessage("system", "Be kind."), PromptMessage("user", "Annabel left, and my number is 5550188.")), 40
    )
    told = (
        "Invalid 'messages[1].content': 'Annabel left, and my number is 5550188.' is not supported; key "
        "my-plain-key-7, also sk-abcdefghijkl1234, Bearer abc.def, user_annabel and ANNABEL"
    )
    with wire.server(wire.refusal(400, told)) as server:
        _, _, failure = await ask(models, spec_of(wire, server, key_env="SCRIPTED_KEY"), talk)
    assert failure is not None
    assert failure.reason is not None
    for part in (failure.reason, caplog.text):
        for secret in ("nnabel", "left", "5550188", "plain-key", "sk-abc", "abc.def"):
            assert secret not in part.casefold(), part
    assert "Invalid 'messages[1].content':" in failure.reason
    assert "is not supported" in failure.reason


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("model 'gpt-9' does not exist", "model 'gpt-9' does not exist"),
        ("max_tokens: must be less than 4096", "max_tokens: must be less than 4096"),
        (f"got {SECRET}", "got …"), (f"got {SECRET[:12]} and more", "got … and more"), (SECRET, None), ("", None),
        ("I feel low, you see", "…, you see"),
        ("see https://x.example/keys?key=abc", "see https://x.example/keys"),
        ("mail ann@example.org", "mail …"),
        ("x" * 2000, "x" * LONGEST),
        ("Ich fühle mich 我很难过", "Ich fühle mich 我很难过"),
    ],
)  # fmt: skip
def test_cleaning(said: str, kept: str | None) -> None:
    assert cleaned(said, [message.content for message in PROMPT.messages], []) == kept


def test_words_of_other_scripts_are_left_out_in_part_too() -> None:
    assert cleaned("value 难过极了", ["我很难过"], []) == "value …"
    assert cleaned("value мамою", ["я с мамою"], []) == "value …"


def test_plain_words_in_a_row_as_in_the_prompt_are_left_out() -> None:
    said = cleaned("bad: the model is not your user, see", ["I said the model is not your user"], [])
    assert said == "bad: …, see"


QUOTA = {
    "OpenAI": (429, {"error": {"message": "You exceeded your current quota.", "code": "insufficient_quota"}}),
    "by type": (429, {"error": {"message": "No.", "type": "insufficient_quota", "code": None}}),
    "DeepSeek": (402, {"error": {"message": "Insufficient Balance"}}),
    "Anthropic": (400, {"type": "error", "error": {"message": "Your credit balance is too low to access the API."}}),
    "without JSON": (402, "Payment required"),
}


@pytest.mark.parametrize("name", QUOTA)
async def test_an_account_without_quota_is_not_tried_again(models: Models, name: str) -> None:
    import json

    status, body = QUOTA[name]
    script = Script((json.dumps(body).encode(),), status=status, headers={"content-type": "application/json"})
    with OPENAI.server(script) as server:
        _, _, failure = await ask(models, spec_of(OPENAI, server))
    assert failure is not None
    assert (failure.kind, len(server.requests)) == (FailureKind.NO_QUOTA, 1)
    assert "no quota or credit left" in failure.sentence


async def test_too_many_requests_are_tried_again_as_before(models: Models) -> None:
    with OPENAI.server(OPENAI.refusal(429, "You exceeded your current quota, per minute.", 0.01)) as server:
        _, _, failure = await ask(models, spec_of(OPENAI, server))
    assert failure is not None
    assert (failure.kind, len(server.requests)) == (FailureKind.BUSY, 3)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("content_filter", "A safety filter"),
        ("context_length_exceeded", "is longer than"),
        ("other", "its reason is in"),
    ],
)
async def test_what_a_code_says_is_no_guess(models: Models, code: str, words: str) -> None:
    script = Script((f'{{"error": {{"message": "m", "code": "{code}"}}}}'.encode(),), status=400)
    with OPENAI.server(script) as server:
        _, _, failure = await ask(models, spec_of(OPENAI, server))
    assert failure is not None
    assert words in failure.sentence


@pytest.mark.parametrize(
    "steps", [(b"<html>x</html>",), (b"\xff\xfe",), (b'{"error": ', FOREVER), (b"x" * 1_000_000,), (b"[]",), ()]
)
async def test_a_reason_that_is_none(models: Models, steps: tuple[bytes | float, ...]) -> None:
    with OPENAI.server(Script(steps, status=400)) as server:
        _, _, failure = await ask(models, spec_of(OPENAI, server))
    assert failure is not None
    assert (failure.kind, failure.reason) == (FailureKind.REJECTED, None)
