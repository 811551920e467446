"""`models.toml`: which models there are. One entry a model; those of the embedded catalogue and echo come built in.

What an entry may say is `Entry`, checked by pydantic; what a fault of each key is called stands beside it, because the
provider decides what a key may hold. A refusal names every fault of the file at once.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    HttpUrl,
    StringConstraints,
    TypeAdapter,
    ValidationError,
)

from heard.chat_app.models.adapter_files import adapter_path
from heard.chat_app.models.embedded_models import CATALOGUE, MODELS, SMOLLM2, EmbeddedModel
from heard.chat_app.models.provider import Provider
from heard.chat_app.models.providers import PROVIDERS
from heard.chat_app.models.records import ModelSpec
from heard.errors import UserError
from heard.hints import nearest_name


def _embedded_spec(model: EmbeddedModel) -> ModelSpec:
    return ModelSpec(
        id=model.name,
        provider="embedded",
        model=model.model,
        label=model.label,
        temperature=model.temperature,
        sampling=model.sampling,
        context_tokens=model.context_tokens,
        tiny=model.tiny,
        adapter=str(adapter_path(model.adapter)) if model.adapter else None,
    )


BUILT_IN = {
    **{model.name: _embedded_spec(model) for model in MODELS},
    "echo": ModelSpec(id="echo", provider="echo", model="echo", label="Echo (repeats you; for developers)"),
}
TUNABLE = ("label", "temperature", "seed", "sampling", "fallback")
"""What an entry with the name of a built-in model may change."""
VARIABLE_NAME = "^[A-Za-z_][A-Za-z0-9_]*$"
LOOKS_LIKE_A_KEY = re.compile(r"(sk|gsk|hf|AIza|xai|pplx)[-_A-Za-z0-9]{16,}")
REPOSITORY = r"^[A-Za-z0-9_.-]{1,96}/[A-Za-z0-9_.-]{1,96}(@[A-Za-z0-9_./-]{1,100})?$"
LONGEST_NAME = 60
FILE_CONTEXT_TOKENS = 4096
"""Context of a GGUF file whose entry says nothing of it."""


class ModelsError(UserError):
    """Model entries that cannot be used; `str()` names the file, the entries, every fault and the next step."""


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
    fallback: Any = None
    """Checked when all entries are known."""


def load_models(path: Path | None, embedded: EmbeddedModel = SMOLLM2) -> dict[str, ModelSpec]:
    """The built-in models, then the entries of `path` in their order. None or an absent file means the built-in ones.

    `embedded` is the model that an embedded entry means which names none. A relative `file` begins at the file's
    folder. An entry named like a built-in model may change what TUNABLE names. Raises ModelsError.
    """
    specs = dict(BUILT_IN)
    if path is None or not path.exists():
        return specs
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ModelsError(f"{path} is not valid TOML: {error}. Mend that line, or move the file away.") from error
    except OSError as error:
        raise ModelsError(f"{path} cannot be read ({error.strerror}). Make it readable, or move it away.") from error
    faults = []
    for name, values in entries.items():
        if not isinstance(values, Mapping):
            faults.append(
                f'"{name}" stands outside of a model. Write each model as one entry, as '
                'qwen = { provider = "openai", model = "qwen2.5-7b-instruct", base_url = "http://127.0.0.1:8001/v1" }.'
            )
        elif found := list(_faults(name, values)):
            faults.append(f"model {name}: {' '.join(found)}")
        else:
            specs[name] = _spec(name, values, embedded, path.parent)
    if not faults:
        faults = [f"model {name}: {fault}" for name in entries if (fault := _fallback_fault(name, specs))]
    if faults:
        raise ModelsError(f"{path}: {' '.join(faults)}")
    return specs


def _faults(name: str, values: Mapping[str, Any]) -> Iterator[str]:
    """Every fault of one entry, as a sentence each."""
    if not name.strip() or len(name) > LONGEST_NAME:
        yield f"the name must have 1 to {LONGEST_NAME} characters."
    built_in = BUILT_IN.get(name)
    provider = built_in.provider if built_in else values.get("provider")
    known = provider if isinstance(provider, str) and provider in PROVIDERS else None
    if built_in and (fixed := sorted(set(values) & set(Entry.model_fields) - set(TUNABLE))):
        yield (
            f"this name belongs to a model that comes with heard, whose {fixed[0]} is fixed ({', '.join(TUNABLE[:-1])} "
            f"and {TUNABLE[-1]} may be set). Give your entry another name."
        )
    elif provider is None:
        yield f"provider is missing. It is one of {', '.join(PROVIDERS)}."
    elif known is None:
        yield (
            f'unknown provider "{provider}". {nearest_name(str(provider), PROVIDERS)} '
            "A server that speaks OpenAI's protocol is openai, with its base_url."
        )
    kind = _narrowed(PROVIDERS[known or "openai"], built_in, values)
    faulty = set()
    try:
        Entry.model_validate({**values, "provider": kind.name})
    except ValidationError as error:
        for fault in error.errors():
            key = str(fault["loc"][0])
            if key not in faulty:
                faulty.add(key)
                yield _sentence(name, key, values[key], fault, kind)
    if known and not built_in:
        yield from _missing(values, kind)
    if known:
        yield from _misplaced({key: value for key, value in values.items() if key not in faulty}, kind)


def _narrowed(kind: Provider, built_in: ModelSpec | None, values: Mapping[str, Any]) -> Provider:
    """The provider with the longest context of the catalogue's model: all entries of one file share its engine."""
    if not kind.files or "file" in values:
        return kind
    named = next((spec for spec in BUILT_IN.values() if values.get("model") in (spec.id, spec.model)), None)
    model = built_in or named or BUILT_IN[SMOLLM2.name]
    return replace(kind, most_context=model.context_tokens)


def _missing(values: Mapping[str, Any], kind: Provider) -> Iterator[str]:
    """What this provider needs and the entry does not say."""
    if kind.named and "model" not in values:
        yield f"model is missing: {kind.example}, in quotes."
    if kind.files:
        yield from _file_faults(values)
    if kind.served and kind.url is None and "base_url" not in values:
        yield "base_url is missing: the server's address, such as http://127.0.0.1:8001/v1."
    if kind.key_wanted and "key_env" not in values and "base_url" not in values:
        yield (
            "key_env is missing: the name of the environment variable that holds the key, such as "
            f'key_env = "{kind.key_wanted}".'
        )


def _file_faults(values: Mapping[str, Any]) -> Iterator[str]:
    """What an embedded entry says twice, by half, or of a model that there is not."""
    if "repo" in values and "file" not in values:
        yield "file is missing: the name of the .gguf file in that repository."
    if "file" in values and "model" in values:
        yield "model and file name two models. Remove one of them."
    elif isinstance(name := values.get("model"), str) and not _in_catalogue(name):
        yield f'model: no embedded model "{name}". {nearest_name(name, CATALOGUE)} Name any other GGUF file as file.'


def _in_catalogue(name: str) -> bool:
    return any(name in (model.name, model.model) for model in MODELS)


def _misplaced(values: Mapping[str, Any], kind: Provider) -> Iterator[str]:
    """What the entry says and this provider has no use for, or takes in a narrower range."""
    meaningless = {
        "base_url": not kind.served, "key_env": not kind.named, "model": not (kind.named or kind.files),
        "seed": not kind.seed, "file": not kind.files, "repo": not kind.files,
    }  # fmt: skip
    for key, is_so in meaningless.items():
        if is_so and key in values:
            yield f"{key} has no meaning for provider {kind.name}. Remove it."
    for key, most in (("temperature", kind.hottest), ("context_tokens", kind.most_context)):
        if values.get(key, 0) > most:
            yield _wanted(key, kind)
    for parameter in values.get("sampling", {}):
        if parameter not in kind.sampling:
            yield f'unknown sampling parameter "{parameter}". {nearest_name(parameter, kind.sampling)}'


def _sentence(name: str, key: str, value: Any, fault: Mapping[str, Any], kind: Provider) -> str:
    """The sentence for what pydantic has found. A value is never repeated: it may be a key."""
    if fault["type"] == "extra_forbidden":
        if isinstance(value, Mapping):
            return f'"{key}" is a table in it. Put quotes round a name with a dot: "{name}.{key}".'
        if key in ("api_key", "key", "token"):
            return (
                f"{key} is refused, because keys do not belong in a file. Put the key into an environment variable "
                'and name that: key_env = "MY_KEY".'
            )
        return f'unknown key "{key}". {nearest_name(key, Entry.model_fields)}'
    if key == "key_env" and fault["type"] == "value_error":
        return str(fault["ctx"]["error"])
    if key == "sampling" and len(fault["loc"]) > 1:
        return f"{fault['loc'][1]} must be a number from -2 to 8192."
    return _wanted(key, kind)


def _wanted(key: str, kind: Provider) -> str:
    """What a key must hold for this provider."""
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
        "context_tokens": f"context_tokens must be a whole number from 512 to {kind.most_context}.",
    }[key]


def _spec(name: str, values: Mapping[str, Any], embedded: EmbeddedModel, folder: Path) -> ModelSpec:
    """The model of an entry without faults."""
    base = BUILT_IN.get(name)
    if base is None:
        kind = PROVIDERS[values["provider"]]
        if kind.named:
            url = values.get("base_url", kind.url)
            base = ModelSpec(
                name, kind.name, values["model"], name, _without_own_path(url, kind), values.get("key_env")
            )
        elif kind.files and "file" in values:
            base = _file_spec(name, values["file"], values.get("repo"), folder)
        else:
            wanted = values.get("model", embedded.name if kind.files else None)
            templates = (spec for spec in BUILT_IN.values() if spec.provider == kind.name)
            template = next(spec for spec in templates if wanted in (None, spec.id, spec.model))
            base = replace(template, id=name, label=name)
    tuned = {key: values[key] for key in ("label", "seed", "context_tokens", "fallback") if key in values}
    if "temperature" in values:
        tuned["temperature"] = float(values["temperature"])
    if "sampling" in values:
        tuned["sampling"] = {key: float(number) for key, number in values["sampling"].items()}
    return replace(base, **tuned)


def _file_spec(name: str, file: str, repository: str | None, folder: Path) -> ModelSpec:
    """The model of a GGUF file: one of the Hub, or one on the disk."""
    place = file if repository else str(folder / Path(file).expanduser())
    return ModelSpec(
        name, "embedded", Path(file).stem, name, context_tokens=FILE_CONTEXT_TOKENS, file=place, repo=repository
    )


def _without_own_path(url: str | None, kind: Provider) -> str | None:
    """An address without the ends that the provider's client adds by itself."""
    if url is None or not kind.served:
        return None
    url = url.rstrip("/")
    for end in kind.own_path:
        url = url.removesuffix(end)
    return url


def _fallback_fault(name: str, specs: Mapping[str, ModelSpec]) -> str | None:
    """What is wrong with the chain of fallbacks that begins at an entry: a name that is none, or a circle."""
    line, following = [name], specs[name].fallback
    while following is not None:
        if not isinstance(following, str) or following not in specs:
            if len(line) > 1:
                return None  # the fault of another entry, which is told there
            return f'fallback: no model "{following}". {nearest_name(str(following), specs)}'
        line.append(following)
        if following in line[:-1]:
            return f"fallback goes in a circle ({' > '.join(line)}). Take it out of one of them."
        following = specs[following].fallback
    return None
