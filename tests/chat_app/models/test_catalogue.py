"""`models.toml`: good entries become specs, and every bad one is refused with a sentence that helps."""

from pathlib import Path

import pytest

from heard.chat_app.models.catalogue import BUILT_IN, ModelsError, load_models
from heard.chat_app.models.embedded_models import CATALOGUE
from heard.chat_app.models.providers import PROVIDERS

EXAMPLE = Path(__file__).parents[3] / "models.example.toml"
KEY = "sk-abcdefghijklmnopqrstuvwxyz123456"


def load(folder: Path, text: str) -> dict[str, object]:
    path = folder / "models.toml"
    path.write_text(text, encoding="utf-8")
    return dict(load_models(path))


def test_without_a_file_there_are_the_built_in_models(tmp_path: Path) -> None:
    for path in (None, tmp_path / "models.toml"):
        specs = load_models(path)
        assert list(specs) == [*CATALOGUE, "echo"]
        assert specs["smollm2"].provider == "embedded"
        assert specs["smollm2"].context_tokens == 2048


def test_an_entry_is_one_line(tmp_path: Path) -> None:
    specs = load(
        tmp_path,
        'qwen-7b = { provider = "openai", model = "qwen2.5-7b-instruct", base_url = "http://127.0.0.1:8001/v1/", '
        'key_env = "QWEN_KEY", label = "Qwen", temperature = 1, seed = 3, context_tokens = 32768 }',
    )
    assert list(specs) == [*CATALOGUE, "echo", "qwen-7b"]
    spec = load_models(tmp_path / "models.toml")["qwen-7b"]
    assert (spec.id, spec.provider, spec.model) == ("qwen-7b", "openai", "qwen2.5-7b-instruct")
    assert (spec.base_url, spec.key_env, spec.label) == ("http://127.0.0.1:8001/v1", "QWEN_KEY", "Qwen")
    assert (spec.temperature, spec.seed, spec.context_tokens) == (1.0, 3, 32768)


def test_a_table_will_do_too(tmp_path: Path) -> None:
    specs = load(tmp_path, '["gpt-4.1"]\nprovider = "openai"\nmodel = "gpt-4.1"\nkey_env = "OPENAI_API_KEY"\n')
    assert "gpt-4.1" in specs
    spec = load_models(tmp_path / "models.toml")["gpt-4.1"]
    assert (spec.base_url, spec.label) == ("https://api.openai.com/v1", "gpt-4.1")


def test_a_built_in_model_may_be_tuned_and_doubled(tmp_path: Path) -> None:
    load(
        tmp_path,
        "smollm2 = { temperature = 0.3, sampling = { top_p = 0.5 } }\n"
        'calm = { provider = "embedded", temperature = 0 }',
    )
    specs = load_models(tmp_path / "models.toml")
    assert specs["smollm2"].temperature == 0.3
    assert specs["smollm2"].sampling == {"top_p": 0.5}
    assert specs["smollm2"].label == BUILT_IN["smollm2"].label
    assert (specs["calm"].id, specs["calm"].provider, specs["calm"].temperature) == ("calm", "embedded", 0.0)
    assert BUILT_IN["smollm2"].temperature == 0.2


def test_an_embedded_entry_names_a_model_of_the_catalogue_a_file_or_one_of_the_hub(tmp_path: Path) -> None:
    load(
        tmp_path,
        'plain = { provider = "embedded" }\n'
        'warm = { provider = "embedded", model = "qwen2.5-1.5b-instruct", temperature = 1, context_tokens = 2048 }\n'
        'mine = { provider = "embedded", file = "ggufs/mine.gguf", context_tokens = 8192 }\n'
        'theirs = { provider = "embedded", repo = "team/models@v2", file = "m-q4.gguf", label = "Theirs" }',
    )
    specs = load_models(tmp_path / "models.toml", CATALOGUE["qwen2.5-coder-1.5b-instruct"])
    assert (specs["plain"].model, specs["plain"].context_tokens) == ("Qwen2.5-Coder-1.5B-Instruct", 4096)
    assert (specs["warm"].model, specs["warm"].temperature) == ("Qwen2.5-1.5B-Instruct", 1.0)
    assert (specs["warm"].context_tokens, specs["warm"].tiny) == (2048, False)
    mine, theirs = specs["mine"], specs["theirs"]
    assert (mine.file, mine.repo, mine.context_tokens) == (str(tmp_path / "ggufs" / "mine.gguf"), None, 8192)
    assert (theirs.file, theirs.repo, theirs.model) == ("m-q4.gguf", "team/models@v2", "m-q4")
    assert specs["smollm2"].tiny
    assert not mine.tiny


def test_a_fallback_may_be_named_before_its_entry(tmp_path: Path) -> None:
    load(tmp_path, 'a = { provider = "echo", fallback = "b" }\nb = { provider = "echo", fallback = "smollm2" }')
    specs = load_models(tmp_path / "models.toml")
    assert [specs[name].fallback for name in ("a", "b", "smollm2")] == ["b", "smollm2", None]


def test_the_example_file_is_good() -> None:
    specs = load_models(EXAMPLE)
    study = ("llama-3.2-3b", "gpt-4o", "claude-3.7-sonnet", "gemini-2.5-pro")
    assert [(specs[name].provider, specs[name].model, specs[name].key_env) for name in study] == [
        ("ollama", "llama3.2:3b", None),
        ("openai", "gpt-4o", "OPENAI_API_KEY"),
        ("anthropic", "claude-3-7-sonnet-20250219", "ANTHROPIC_API_KEY"),
        ("google", "gemini-2.5-pro", "GEMINI_API_KEY"),
    ]
    assert {spec.provider for spec in specs.values()} == set(PROVIDERS)


@pytest.mark.parametrize(
    ("provider", "written", "kept"),
    [
        ("anthropic", "http://x/v1/", "http://x"),
        ("google", "http://x/v1beta", "http://x"),
        ("ollama", "http://x:11434/v1", "http://x:11434"),
        ("ollama", "http://x:11434/api", "http://x:11434"),
        ("vllm", "http://x/v1", "http://x/v1"),
    ],
)
def test_an_address_may_end_in_what_the_client_adds(tmp_path: Path, provider: str, written: str, kept: str) -> None:
    load(tmp_path, f'a = {{ provider = "{provider}", model = "m", base_url = "{written}" }}')
    assert load_models(tmp_path / "models.toml")["a"].base_url == kept


GOOD = 'provider = "openai", model = "m"'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"a = {{ {GOOD}, temprature = 1 }}", 'model a: unknown key "temprature". Did you mean temperature?'),
        (f'a = {{ {GOOD}, base-url = "http://x/v1" }}', "Did you mean base_url?"),
        (f"a = {{ {GOOD}, zzz = 1 }}", "There are: provider, model"),
        ('a = { provider = "opnai", model = "m" }', 'unknown provider "opnai". Did you mean openai?'),
        ('a = { provider = "groq", model = "m" }', "A server that speaks OpenAI's protocol is openai"),
        ('a = { provider = "vllm", model = "m" }', "base_url is missing"),
        ('a = { provider = "ollama", model = "m", base_url = "127.0.0.1:11434" }', "must be a web address"),
        ('a = { provider = "anthropic", model = "m" }', "key_env is missing"),
        ('a = { provider = "google", model = "m" }', 'such as key_env = "GEMINI_API_KEY"'),
        ('a = { provider = "anthropic", model = "m", key_env = "K", temperature = 1.5 }', "a number from 0 to 1"),
        ('a = { provider = "anthropic", model = "m", key_env = "K", seed = 1 }', "seed has no meaning for provider"),
        ('a = { provider = "ollama", model = "m", sampling = { min_p = 0.1 } }', 'unknown sampling parameter "min_p"'),
        ('a = { model = "m" }', "provider is missing"),
        ('a = { provider = "openai" }', "model is missing"),
        ('a = { provider = "openai", model = "" }', "model is missing"),
        ('a = { provider = "openai", model = 7 }', "model is missing"),
        (f'a = {{ {GOOD}, base_url = "localhost:8001/v1" }}', "must be a web address"),
        (f'a = {{ {GOOD}, base_url = "http://x:port/v1" }}', "must be a web address"),
        (f"a = {{ {GOOD}, base_url = 5 }}", "must be a web address"),
        (f"a = {{ {GOOD}, temperature = 2.1 }}", "temperature must be a number from 0 to 2"),
        (f"a = {{ {GOOD}, temperature = nan }}", "temperature must be a number from 0 to 2"),
        (f"a = {{ {GOOD}, temperature = true }}", "temperature must be a number from 0 to 2"),
        (f'a = {{ {GOOD}, temperature = "0.5" }}', "temperature must be a number from 0 to 2"),
        (f"a = {{ {GOOD}, sampling = 0.9 }}", "sampling must be a table"),
        (f"a = {{ {GOOD}, sampling = {{ top_P = 0.9 }} }}", 'unknown sampling parameter "top_P". Did you mean top_p?'),
        (f'a = {{ {GOOD}, sampling = {{ top_p = "x" }} }}', "top_p must be a number"),
        (f"a = {{ {GOOD}, seed = 1.5 }}", "seed must be a whole number"),
        (f"a = {{ {GOOD}, seed = -1 }}", "seed must be a whole number"),
        (f"a = {{ {GOOD}, context_tokens = 10 }}", "context_tokens must be a whole number"),
        ('a = { provider = "embedded", context_tokens = 8192 }', "from 512 to 2048"),
        ('a = { provider = "embedded", model = "smolm2" }', 'no embedded model "smolm2". Did you mean smollm2?'),
        ('a = { provider = "embedded", model = "smollm2", file = "a.gguf" }', "model and file name two models"),
        ('a = { provider = "embedded", repo = "team/models" }', "file is missing: the name of the .gguf file"),
        ('a = { provider = "embedded", repo = "models", file = "a.gguf" }', "repo must be a repository of the Hugging"),
        ('a = { provider = "embedded", file = "a.bin" }', "it ends in .gguf"),
        ('a = { provider = "embedded", key_env = "K" }', "key_env has no meaning for provider embedded"),
        (f'a = {{ {GOOD}, file = "a.gguf" }}', "file has no meaning for provider openai"),
        ('qwen2-5 = { provider = "echo", repo = "a/b" }', "repo has no meaning for provider echo"),
        (f'a = {{ {GOOD}, label = "" }}', "label must be a text"),
        ('a = { provider = "transformers" }', "a name of the Hugging Face Hub, or a folder with weights"),
        ('a = { provider = "transformers", model = "m", base_url = "http://x/v1" }', "base_url has no meaning"),
        (
            'a = { provider = "transformers", model = "m", sampling = { repeat_penalty = 1 } }',
            "Did you mean repetition_",
        ),
        ('a = { provider = "echo", fallback = "smolm2" }', 'fallback: no model "smolm2". Did you mean smollm2?'),
        ('a = { provider = "echo", fallback = 7 }', 'fallback: no model "7"'),
        ('a = { provider = "echo", fallback = "" }', 'fallback: no model ""'),
        ('a = { provider = "echo", fallback = "a" }', "fallback goes in a circle (a > a)"),
        (
            'a = { provider = "echo", fallback = "smollm2" }\nsmollm2 = { fallback = "b" }\n'
            'b = { provider = "echo", fallback = "smollm2" }',
            "model a: fallback goes in a circle (a > smollm2 > b > smollm2)",
        ),
        ('a = { provider = "echo", key_env = "K" }', "key_env has no meaning for provider echo"),
        ('a = { provider = "echo", base_url = "http://x/v1" }', "base_url has no meaning for provider echo"),
        ('smollm2 = { provider = "openai", model = "m" }', "this name belongs to a model that comes with heard"),
        ('gpt-4.1 = { provider = "openai", model = "m" }', 'Put quotes round a name with a dot: "gpt-4.1"'),
        ('provider = "openai"', "stands outside of a model"),
        ("a = [1, 2]", "stands outside of a model"),
        ('"" = { provider = "echo" }', "the name must have 1 to 60 characters"),
        ("a = {", "is not valid TOML"),
        ("a = { provider = 'echo' }\na = { provider = 'echo' }", "is not valid TOML"),
    ],
)
def test_a_bad_entry_is_refused_with_the_next_step(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(ModelsError) as caught:
        load(tmp_path, text)
    assert words in str(caught.value)
    assert str(tmp_path / "models.toml") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_every_fault_of_every_entry_is_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(ModelsError) as caught:
        load(
            tmp_path,
            f'a = {{ {GOOD}, temprature = 1, seed = -1, base_url = "http://x:0x" }}\n'
            'b = { provider = "anthropic", model = "m", seed = 1, temperature = 1.5 }\n'
            'c = { provider = "echo", fallback = "d" }',
        )
    first, _, second = str(caught.value).partition("model b: ")
    assert [words in first for words in ("Did you mean temperature", "seed must be", "base_url must be")] == [True] * 3
    assert [words in second for words in ("key_env is missing", "seed has no meaning", "from 0 to 1.")] == [True] * 3


@pytest.mark.parametrize("entry", [f'key_env = "{KEY}"', f'key_env = "{KEY.replace("-", "_")}"', f'api_key = "{KEY}"'])
def test_a_key_in_the_file_is_refused_and_not_repeated(tmp_path: Path, entry: str) -> None:
    with pytest.raises(ModelsError) as caught:
        load(tmp_path, f"a = {{ {GOOD}, {entry} }}")
    assert "environment variable" in str(caught.value)
    assert "abcdefghijklmnopqrstuvwxyz" not in str(caught.value)


def test_a_file_that_is_not_text_or_not_a_file(tmp_path: Path) -> None:
    path = tmp_path / "models.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ModelsError, match="not valid TOML"):
        load_models(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(ModelsError, match="cannot be read"):
        load_models(path)
