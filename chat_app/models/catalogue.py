"""`models.toml`: which models there are. One entry a model; those of the embedded catalogue and echo come built in.

What an entry may say, and what a fault of each key is called, stands in `model_entry.py`; here is what a provider makes
of it. A refusal names every fault of the file at once.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from heard.chat_app.models.accepted import default_room, default_system_role, default_temperature
from heard.chat_app.models.adapter_files import adapter_path
from heard.chat_app.models.embedded_models import CATALOGUE, MODELS, SMOLLM2, EmbeddedModel
from heard.chat_app.models.model_entry import KEYS, Entry, sentence_for, wanted
from heard.chat_app.models.provider import Provider
from heard.chat_app.models.providers import PROVIDERS
from heard.chat_app.models.records import ModelSpec
from heard.errors import UserError
from heard.hints import nearest_name
from heard.toml_values import TomlFault, read_values


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
TUNABLE = ("label", "temperature", "seed", "sampling", "input_price", "output_price", "fallback")
"""What an entry with the name of a built-in model may change."""
AS_IT_IS = (
    "label", "seed", "context_tokens", "fallback", "reasoning", "length_name", "system_role", "extra_body", "headers",
    "default_query", "class", "arguments",
)  # fmt: skip
"""Keys whose value is taken as it is."""
_FIELDS = {"class": "class_path"}
LONGEST_NAME = 60
LEAST_CONTEXT = 512
FILE_CONTEXT_TOKENS = 4096
"""Context of a GGUF file whose entry says nothing of it."""


class ModelsError(UserError):
    """Model entries that cannot be used; `str()` names the file, the entries, every fault and the next step."""


def load_models(path: Path | None, embedded: EmbeddedModel = SMOLLM2) -> dict[str, ModelSpec]:
    """The built-in models, then the entries of `path` in their order. None or an absent file means the built-in ones.

    `embedded` is the model that an embedded entry means which names none. A relative `file` begins at the file's
    folder. An entry named like a built-in model may change what TUNABLE names. Raises ModelsError.
    """
    specs = dict(BUILT_IN)
    if path is None or not path.exists():
        return specs
    try:
        entries = read_values(path)
    except TomlFault as error:
        raise ModelsError(str(error)) from None
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
    if built_in and (fixed := sorted(set(values) & set(KEYS) - set(TUNABLE))):
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
                yield sentence_for(name, key, values[key], fault, kind)
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
    if kind.any_class:
        if "class" not in values:
            yield 'class is missing: the dotted path of a class, such as "langchain_mistralai.ChatMistralAI".'
    elif kind.named and "model" not in values:
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
    speaks_openai = PROVIDERS["openai"].chat is kind.chat
    meaningless = {
        "base_url": not kind.served, "key_env": not kind.named, "model": not (kind.named or kind.files),
        "seed": not kind.seed, "file": not kind.files, "repo": not kind.files, "class": not kind.any_class,
        "arguments": not kind.any_class, "length_name": not speaks_openai, "reasoning": not kind.reasons,
        "thinking_tokens": not (kind.reasons or kind.any_class), "system_role": not kind.named,
        **{key: key not in kind.extras for key in ("extra_body", "headers", "default_query")},
    }  # fmt: skip
    for key, is_so in meaningless.items():
        if is_so and key in values:
            yield f"{key} has no meaning for provider {kind.name}. Remove it."
    for key, most in (("temperature", kind.hottest), ("context_tokens", kind.most_context)):
        if values.get(key, 0) > most:
            yield wanted(key, kind)
    window, room = values.get("context_tokens"), values.get("thinking_tokens", 0)
    if window is not None and window - room < LEAST_CONTEXT:
        yield f"thinking_tokens leave no room for the talk: at least {LEAST_CONTEXT} of context_tokens must be left."
    for parameter in values.get("sampling", {}):
        if parameter not in kind.sampling:
            yield f'unknown sampling parameter "{parameter}". {nearest_name(parameter, kind.sampling)}'


def _spec(name: str, values: Mapping[str, Any], embedded: EmbeddedModel, folder: Path) -> ModelSpec:
    """The model of an entry without faults."""
    base = built_in = BUILT_IN.get(name)
    if base is None:
        kind = PROVIDERS[values["provider"]]
        if kind.named:
            url = _without_own_path(values.get("base_url", kind.url), kind)
            model = values.get("model", values.get("class"))
            base = ModelSpec(name, kind.name, model, name, url, values.get("key_env"))
            warmth = default_temperature(kind.name, model, url, values.get("reasoning"))
            base = replace(base, temperature=warmth, system_role=default_system_role(kind.name, model))
        elif kind.files and "file" in values:
            base = _file_spec(name, values["file"], values.get("repo"), folder)
        else:
            wanted = values.get("model", embedded.name if kind.files else None)
            templates = (spec for spec in BUILT_IN.values() if spec.provider == kind.name)
            template = next(spec for spec in templates if wanted in (None, spec.id, spec.model))
            base = replace(template, id=name, label=name)
    tuned: dict[str, Any] = {_FIELDS.get(key, key): values[key] for key in AS_IT_IS if key in values}
    for key in ("temperature", "input_price", "output_price"):
        if key in values:
            tuned[key] = float(values[key])
    if "sampling" in values:
        tuned["sampling"] = {key: float(number) for key, number in values["sampling"].items()}
    spec = replace(base, **tuned)
    if built_in:
        return spec
    room = values.get("thinking_tokens", default_room(spec, values.get("reasoning")))
    window = spec.context_tokens - (room if "context_tokens" in values else 0)
    return replace(spec, thinking_tokens=room, context_tokens=window)


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
