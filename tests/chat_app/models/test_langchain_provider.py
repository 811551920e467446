"""Any chat model of LangChain by its class."""

from pathlib import Path

import pytest

from heard.chat_app.models.client import Models
from heard.chat_app.models.records import FailureKind
from tests.chat_app.models.asking import SECRET
from tests.chat_app.models.entries import entry, refusal
from tests.chat_app.models.test_thinking import Heard, hear
from tests.wires import WIRES

CLASSES = "tests.chat_app.models.scripted_classes"


def keys(text: str) -> str:
    """The keys of an entry for this provider."""
    return f'provider = "langchain"\n{text}'


async def test_a_class_is_given_what_it_has_a_name_for(
    tmp_path: Path, models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "k-7")
    for key in ('key_env = "MY_KEY"', 'arguments = { api_key = "env:MY_KEY" }'):
        spec = entry(tmp_path, keys(f'class = "{CLASSES}.Streams"\nmodel = "small"\nthinking_tokens = 60\n{key}'))
        heard = await hear(models, spec)
        assert (heard.said, heard.thought, heard.failure) == ("small, 100, k-7", "They feel", None)


async def test_arguments_come_before_what_is_offered(tmp_path: Path, models: Models) -> None:
    spec = entry(tmp_path, keys(f'class = "{CLASSES}.Streams"\narguments = {{ max_output_tokens = 9, model = "x" }}'))
    assert (await hear(models, spec)).said == "x, 9, no key"


async def test_a_class_that_cannot_stream(tmp_path: Path, models: Models) -> None:
    heard = await hear(models, entry(tmp_path, keys(f'class = "{CLASSES}.Whole"')))
    assert (heard.said, heard.thought, heard.failure) == ("All at once.", "They feel", None)


async def test_a_class_of_a_library_over_a_real_server(
    tmp_path: Path, models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "k-7")
    wire = WIRES["openai"]
    with wire.server(wire.reply("<think>a</think>That sounds hard."), wire.refusal(400, SECRET)) as server:
        arguments = f'{{ base_url = "{server.base_url}", api_key = "env:MY_KEY", max_retries = 0, streaming = true }}'
        spec = entry(tmp_path, keys(f'class = "langchain_openai.ChatOpenAI"\nmodel = "m"\narguments = {arguments}'))
        heard, refused = await hear(models, spec), await hear(models, spec)
    assert (heard.said, heard.thought, heard.failure) == ("That sounds hard.", "a", None)
    assert "temperature" not in server.requests[0]
    assert refused.failure is not None
    assert refused.failure.kind is FailureKind.REJECTED


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ('class = "no.such.Class"', FailureKind.NOT_INSTALLED, "needs the package of no.such"),
        (f'class = "{CLASSES}.NoModel"', FailureKind.NOT_INSTALLED, "is no chat model of LangChain"),
        (f'class = "{CLASSES}.Missing"', FailureKind.NOT_INSTALLED, "is no chat model of LangChain"),
        (f'class = "{CLASSES}.Streams"\narguments = {{ fails = "x" }}', FailureKind.REJECTED, "refuses its arguments"),
        (f'class = "{CLASSES}.Streams"\narguments = {{ fails = true }}', FailureKind.CUT, "broke off"),
        (f'class = "{CLASSES}.Streams"\narguments = {{ api_key = "env:GONE" }}', FailureKind.BAD_KEY, "variable GONE"),
    ],
)
async def test_what_is_wrong_is_a_sentence(
    tmp_path: Path, models: Models, caplog: pytest.LogCaptureFixture, text: str, kind: FailureKind, words: str
) -> None:
    heard: Heard = await hear(models, entry(tmp_path, keys(text)))
    assert heard.failure is not None
    assert heard.failure.kind is kind
    assert words in heard.failure.sentence
    assert SECRET not in caplog.text + heard.failure.sentence


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "class is missing"), ('class = "ChatOpenAI"', "class must be the dotted path"),
        ('class = "a.B"\narguments = 7', "arguments must be a table"),
        ('class = "a.B"\narguments = { api_key = "plain-7" }', "api_key holds what looks like a key"),
        ('class = "a.B"\nbase_url = "http://x/v1"', "base_url has no meaning for provider langchain"),
        ('class = "a.B"\nreasoning = "low"', "reasoning has no meaning for provider langchain"),
    ],
)  # fmt: skip
def test_a_bad_entry(tmp_path: Path, text: str, words: str) -> None:
    said = refusal(tmp_path, keys(text))
    assert words in said
    assert "plain-7" not in said
