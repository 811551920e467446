"""`models.toml`: which models there are. One entry a model; two come built in."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from heard.chat_app.models.llama_engine import CONTEXT_TOKENS
from heard.chat_app.models.provider import Provider
from heard.chat_app.models.providers import PROVIDERS
from heard.chat_app.models.records import ModelSpec
from heard.errors import UserError
from heard.hints import nearest_name

BUILT_IN = {
    "smollm2": ModelSpec(
        id="smollm2",
        provider="embedded",
        model="SmolLM2-135M-Instruct",
        label="SmolLM2 135M (on this machine; a small demo model)",
        # Its makers' own values, and a penalty without which so small a model goes round in circles.
        temperature=0.2,
        sampling={"top_p": 0.9, "repeat_penalty": 1.1, "repeat_last_n": 256},
        context_tokens=CONTEXT_TOKENS,
    ),
    "echo": ModelSpec(id="echo", provider="echo", model="echo", label="Echo (repeats you; for developers)"),
}

KEYS = tuple(field.name for field in fields(ModelSpec) if field.name != "id")
ENVIRONMENT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
LOOKS_LIKE_A_KEY = re.compile(r"(sk|gsk|hf|AIza|xai|pplx)[-_A-Za-z0-9]{16,}")


class ModelsError(UserError):
    """A model entry that cannot be used; `str()` names the file, the entry, the fault and the next step."""


def load_models(path: Path | None) -> dict[str, ModelSpec]:
    """The built-in models, then the entries of `path` in their order. None or an absent file means the built-in ones.

    An entry named like a built-in model may change its label, temperature, seed, sampling and fallback. Raises
    ModelsError.
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
    for name, entry in entries.items():
        specs[name] = _Entry(path, name, entry).spec()
    for name, entry in entries.items():
        _Entry(path, name, entry).check_fallback(specs)
    return specs


@dataclass(frozen=True, slots=True)
class _Entry:
    """One table of the file, with the words for its faults."""

    path: Path
    name: str
    values: Any

    def fault(self, text: str) -> ModelsError:
        return ModelsError(f"{self.path}: model {self.name}: {text}")

    def spec(self) -> ModelSpec:
        values = self.values
        if not isinstance(values, Mapping):
            raise ModelsError(
                f'{self.path}: "{self.name}" stands outside of a model. Write each model as one entry, as '
                'qwen = { provider = "openai", model = "qwen2.5-7b-instruct", base_url = "http://127.0.0.1:8001/v1" }.'
            )
        if not self.name.strip() or len(self.name) > 60:
            raise self.fault("the name must have 1 to 60 characters.")
        self._check_keys(values)
        built_in = BUILT_IN.get(self.name)
        if built_in is not None:
            taken = sorted(set(values) - {"label", "temperature", "seed", "sampling", "fallback"})
            if taken:
                raise self.fault(
                    f"this name belongs to a model that comes with heard, whose {taken[0]} is fixed (label, "
                    "temperature, seed, sampling and fallback may be set). Give your entry another name."
                )
            base = built_in
        else:
            base = self._base(values)
        return replace(
            base,
            **self._numbers(values, PROVIDERS[base.provider]),
            **self._label(values),
            fallback=values.get("fallback"),
        )

    def check_fallback(self, specs: Mapping[str, ModelSpec]) -> None:
        """Raise ModelsError unless the entry's fallback, and that one's in turn, lead to models and never back."""
        line, name = [self.name], specs[self.name].fallback
        while name is not None:
            if not isinstance(name, str) or name not in specs:
                if len(line) > 1:
                    return  # the fault of another entry, which is told there
                raise self.fault(f'fallback: no model "{name}". {nearest_name(str(name), specs)}')
            line.append(name)
            if name in line[:-1]:
                raise self.fault(f"fallback goes in a circle ({' > '.join(line)}). Take it out of one of them.")
            name = specs[name].fallback

    def _check_keys(self, values: Mapping[str, Any]) -> None:
        for key, value in values.items():
            if key in KEYS:
                continue
            if isinstance(value, Mapping):
                raise self.fault(f'"{key}" is a table in it. Put quotes round a name with a dot: "{self.name}.{key}".')
            if key in ("api_key", "key", "token"):
                raise self.fault(
                    f"{key} is refused, because keys do not belong in a file. Put the key into an environment variable "
                    'and name that: key_env = "MY_KEY".'
                )
            raise self.fault(f'unknown key "{key}". {nearest_name(key, KEYS)}')

    def _base(self, values: Mapping[str, Any]) -> ModelSpec:
        provider = values.get("provider")
        if provider is None:
            raise self.fault(f"provider is missing. It is one of {', '.join(PROVIDERS)}.")
        if provider not in PROVIDERS:
            raise self.fault(
                f'unknown provider "{provider}". {nearest_name(str(provider), PROVIDERS)} '
                "A server that speaks OpenAI's protocol is openai, with its base_url."
            )
        kind = PROVIDERS[provider]
        for key in (*(("base_url",) if not kind.served else ()), *(("key_env", "model") if not kind.named else ())):
            if key in values:
                raise self.fault(f"{key} has no meaning for provider {provider}. Remove it.")
        if not kind.named:
            return replace(next(s for s in BUILT_IN.values() if s.provider == provider), id=self.name, label=self.name)
        model = values.get("model")
        if not isinstance(model, str) or not model.strip():
            raise self.fault(f"model is missing: {kind.example}, in quotes.")
        key_env = self._key_env(values)
        if kind.key_wanted and key_env is None and "base_url" not in values:
            raise self.fault(
                "key_env is missing: the name of the environment variable that holds the key, such as "
                f'key_env = "{kind.key_wanted}".'
            )
        return ModelSpec(
            id=self.name,
            provider=provider,
            model=model,
            label=self.name,
            base_url=self._base_url(values, kind) if kind.served else None,
            key_env=key_env,
        )

    def _base_url(self, values: Mapping[str, Any], kind: Provider) -> str:
        url = values.get("base_url", kind.url)
        if url is None:
            raise self.fault("base_url is missing: the server's address, such as http://127.0.0.1:8001/v1.")
        try:
            parts = urlsplit(url) if isinstance(url, str) else None
            good = parts is not None and parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:  # a port that is no number
            good = False
        if not good:
            raise self.fault("base_url must be a web address such as http://127.0.0.1:8001/v1.")
        url = str(url).rstrip("/")
        for end in kind.own_path:
            url = url.removesuffix(end)
        return url

    def _key_env(self, values: Mapping[str, Any]) -> str | None:
        variable = values.get("key_env")
        if variable is None:
            return None
        # The value is not repeated: it may be the key itself.
        if not isinstance(variable, str) or not ENVIRONMENT_NAME.fullmatch(variable):
            raise self.fault("key_env must be the name of an environment variable (letters, digits, _), not the key.")
        if LOOKS_LIKE_A_KEY.fullmatch(variable):
            raise self.fault(
                "key_env holds what looks like a key. Put the key into an environment variable, and that variable's "
                "name here."
            )
        return variable

    def _label(self, values: Mapping[str, Any]) -> dict[str, Any]:
        label = values.get("label")
        if label is None:
            return {}
        if not isinstance(label, str) or not label.strip() or len(label) > 100:
            raise self.fault("label must be a text of 1 to 100 characters.")
        return {"label": label}

    def _numbers(self, values: Mapping[str, Any], kind: Provider) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if "temperature" in values:
            found["temperature"] = float(self._number(values, "temperature", 0, kind.hottest))
        if "seed" in values:
            if not kind.seed:
                raise self.fault(f"seed has no meaning for provider {values['provider']}. Remove it.")
            found["seed"] = self._number(values, "seed", 0, 2**32 - 2, whole=True)
        if "context_tokens" in values:
            found["context_tokens"] = self._number(values, "context_tokens", 512, kind.most_context, whole=True)
        if "sampling" in values:
            found["sampling"] = self._sampling(values["sampling"], kind)
        return found

    def _sampling(self, values: Any, kind: Provider) -> dict[str, float]:
        if not isinstance(values, Mapping):
            raise self.fault("sampling must be a table such as { top_p = 0.9 }.")
        for name in values:
            if name not in kind.sampling:
                raise self.fault(f'unknown sampling parameter "{name}". {nearest_name(name, kind.sampling)}')
        return {name: self._number(values, name, -2, 8192) for name in values}

    def _number(self, values: Mapping[str, Any], key: str, least: int, most: int, *, whole: bool = False) -> float:
        value = values[key]
        good = isinstance(value, int) if whole else isinstance(value, int | float)
        if not good or isinstance(value, bool) or not least <= value <= most:
            raise self.fault(f"{key} must be a {'whole ' if whole else ''}number from {least} to {most}.")
        return int(value) if whole else float(value)
