"""What an entry of `models.toml` may say, and the sentence for a key that holds something else."""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, HttpUrl, StringConstraints, TypeAdapter

from heard.chat_app.models.env_values import PREFIX
from heard.chat_app.models.provider import Provider
from heard.chat_app.models.records import Reasoning
from heard.hints import nearest_name

VARIABLE_NAME = "^[A-Za-z_][A-Za-z0-9_]*$"
LOOKS_LIKE_A_KEY = re.compile(r"(sk|gsk|hf|AIza|xai|pplx)[-_A-Za-z0-9]{16,}")
REPOSITORY = r"^[A-Za-z0-9_.-]{1,96}/[A-Za-z0-9_.-]{1,96}(@[A-Za-z0-9_./-]{1,100})?$"
CLASS_PATH = r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)+$"
SECRET_NAMES = re.compile(r"(?:^|[-_])(?:api[-_]?key|key|token|secret|password|authorization|auth)$", re.IGNORECASE)


def _no_key(variable: str) -> str:
    if LOOKS_LIKE_A_KEY.fullmatch(variable):
        raise ValueError(
            "key_env holds what looks like a key. Put the key into an environment variable, and that variable's name "
            "here."
        )
    return variable


def _address(url: str) -> str:
    TypeAdapter(HttpUrl).validate_python(url)
    return url


def _no_secrets(values: dict[str, Any]) -> dict[str, Any]:
    """A table without keys, which stand in the environment."""
    for name, value in _texts_in(values):
        if value.startswith(PREFIX):
            if not re.fullmatch(VARIABLE_NAME, value.removeprefix(PREFIX)):
                raise ValueError(f'{name}: after "{PREFIX}" comes the name of an environment variable.')
        elif LOOKS_LIKE_A_KEY.search(value) or SECRET_NAMES.search(name):
            raise ValueError(
                f"{name} holds what looks like a key. Put the key into an environment variable, and name that: "
                f'"{PREFIX}MY_KEY".'
            )
    return values


def _texts_in(values: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Every text of a table, with its name."""
    if isinstance(values, str):
        yield name, values
    elif isinstance(values, Mapping):
        for key, value in values.items():
            yield from _texts_in(value, str(key))
    elif isinstance(values, list):
        for value in values:
            yield from _texts_in(value, name)


class Entry(BaseModel):
    """One entry of the file, whatever its provider; None is what it does not say."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    provider: str
    model: Annotated[str, StringConstraints(strip_whitespace=False, pattern=r"\S")] | None = None
    label: Annotated[str, StringConstraints(max_length=100, pattern=r"\S")] | None = None
    base_url: Annotated[str, AfterValidator(_address)] | None = None
    key_env: Annotated[str, StringConstraints(pattern=VARIABLE_NAME), AfterValidator(_no_key)] | None = None
    temperature: float | None = Field(None, ge=0, le=2, allow_inf_nan=False)
    seed: int | None = Field(None, ge=0, le=2**32 - 2)
    sampling: dict[str, Annotated[float, Field(ge=-2, le=8192)]] | None = None
    context_tokens: int | None = Field(None, ge=512)
    file: Annotated[str, StringConstraints(max_length=1000, pattern=r"\S\.gguf$")] | None = None
    repo: Annotated[str, StringConstraints(pattern=REPOSITORY)] | None = None
    reasoning: Reasoning | None = None
    thinking_tokens: int | None = Field(None, ge=0, le=1_000_000)
    length_name: Literal["max_tokens", "max_completion_tokens", "none"] | None = None
    system_role: Literal["system", "user"] | None = None
    extra_body: Annotated[dict[str, Any], AfterValidator(_no_secrets)] | None = None
    headers: Annotated[dict[str, str], AfterValidator(_no_secrets)] | None = None
    default_query: Annotated[dict[str, str], AfterValidator(_no_secrets)] | None = None
    input_price: float | None = Field(None, ge=0, allow_inf_nan=False)
    output_price: float | None = Field(None, ge=0, allow_inf_nan=False)
    class_path: Annotated[str, StringConstraints(pattern=CLASS_PATH)] | None = Field(None, alias="class")
    arguments: Annotated[dict[str, Any], AfterValidator(_no_secrets)] | None = None
    fallback: Any = None
    """Checked when all entries are known."""


KEYS = tuple(about.alias or name for name, about in Entry.model_fields.items())
"""Every key, as the file names it."""


def sentence_for(name: str, key: str, value: Any, fault: Mapping[str, Any], kind: Provider) -> str:
    """Return the sentence for what pydantic has found. A value is never repeated: it may be a key."""
    if fault["type"] == "extra_forbidden":
        if isinstance(value, Mapping):
            return f'"{key}" is a table in it. Put quotes round a name with a dot: "{name}.{key}".'
        if key in ("api_key", "key", "token"):
            return (
                f"{key} is refused, because keys do not belong in a file. Put the key into an environment variable "
                'and name that: key_env = "MY_KEY".'
            )
        return f'unknown key "{key}". {nearest_name(key, KEYS)}'
    if key != "base_url" and fault["type"] == "value_error":
        return str(fault["ctx"]["error"])
    if key == "sampling" and len(fault["loc"]) > 1:
        return f"{fault['loc'][1]} must be a number from -2 to 8192."
    return wanted(key, kind)


def wanted(key: str, kind: Provider) -> str:
    """Return what a key must hold for this provider."""
    return {
        "model": f"model is missing: {kind.example}, in quotes.",
        "label": "label must be a text of 1 to 100 characters.",
        "base_url": "base_url must be a web address such as http://127.0.0.1:8001/v1.",
        "key_env": "key_env must be the name of an environment variable (letters, digits, _), not the key.",
        "temperature": f"temperature must be a number from 0 to {kind.hottest}.",
        "seed": f"seed must be a whole number from 0 to {2**32 - 2}.",
        "sampling": "sampling must be a table such as { top_p = 0.9 }.",
        "file": "file must be a GGUF file: its path, or its name in repo; it ends in .gguf.",
        "repo": 'repo must be a repository of the Hugging Face Hub: "owner/name" or "owner/name@revision".',
        "reasoning": "reasoning must be none, low, medium or high, in quotes.",
        "thinking_tokens": "thinking_tokens must be a whole number from 0 to 1,000,000.",
        "length_name": "length_name must be max_tokens, max_completion_tokens or none, in quotes.",
        "system_role": "system_role must be system or user, in quotes.",
        "extra_body": "extra_body must be a table such as { top_a = 0.2 }.",
        "headers": 'headers must be a table of texts such as { api-key = "env:AZURE_KEY" }.',
        "default_query": 'default_query must be a table of texts such as { api-version = "2024-10-21" }.',
        "input_price": "input_price must be a number of 0 or more: what a million tokens read cost.",
        "output_price": "output_price must be a number of 0 or more: what a million tokens written cost.",
        "class": 'class must be the dotted path of a class, such as "langchain_mistralai.ChatMistralAI".',
        "arguments": 'arguments must be a table such as { model = "m", api_key = "env:MY_KEY" }.',
        "context_tokens": f"context_tokens must be a whole number from 512 to {kind.most_context}.",
    }[key]
