"""Any chat model of LangChain, by the name of its class."""

import importlib
import logging
from typing import TYPE_CHECKING, Any

from heard.chat_app.models.env_values import resolved
from heard.chat_app.models.provider import NO_KEY, Call, Provider
from heard.chat_app.models.records import FailureKind, ModelFailure, ModelSpec

if TYPE_CHECKING:
    from langchain_core.language_models.chat_models import BaseChatModel

LENGTHS = ("max_tokens", "max_completion_tokens", "max_output_tokens", "num_predict", "max_new_tokens")
"""Names under which such classes take the bound of a reply."""
NAMES = ("model", "model_name", "model_id")


def chat_model(call: Call) -> "BaseChatModel":
    """Return the LangChain chat model for one call. Raises ModelFailure if there is no such class, or if it refuses its
    arguments."""
    spec, made = call.spec, _class_of(call.spec)
    arguments = resolved(spec.arguments, spec)
    offered: dict[str, Any] = {
        **{name: call.max_tokens + spec.thinking_tokens for name in _first(made, LENGTHS)},
        **({name: spec.model for name in _first(made, NAMES)} if spec.model != spec.class_path else {}),
        **({"api_key": call.key} if call.key != NO_KEY else {}),
        **({"temperature": spec.temperature} if spec.temperature is not None else {}),
    }
    try:
        chat: BaseChatModel = made(**{**offered, **arguments})
    except Exception as error:  # noqa: BLE001 - whatever such a class raises; its text may hold a key
        raise ModelFailure(
            FailureKind.REJECTED,
            f'"{spec.label}" cannot be made: {spec.class_path} refuses its arguments ({type(error).__name__}). Check '
            "arguments in models.toml.",
        ) from None
    return chat


def _class_of(spec: ModelSpec) -> Any:
    from langchain_core.language_models.chat_models import BaseChatModel

    module, _, name = (spec.class_path or "").rpartition(".")
    logging.getLogger(module.split(".")[0]).setLevel(logging.ERROR)  # its records may hold what people write
    try:
        found = getattr(importlib.import_module(module), name, None)
    except ImportError:
        raise ModelFailure(
            FailureKind.NOT_INSTALLED,
            f'"{spec.label}" needs the package of {module}, which is not installed. Install it, or mend class in '
            "models.toml.",
        ) from None
    if not (isinstance(found, type) and issubclass(found, BaseChatModel)):
        raise ModelFailure(
            FailureKind.NOT_INSTALLED,
            f'"{spec.label}": {spec.class_path} is no chat model of LangChain. Mend class in models.toml.',
        )
    return found


def _first(made: Any, names: tuple[str, ...]) -> list[str]:
    """The first of these names that the class has as an argument, if any."""
    known = {name for field, about in made.model_fields.items() for name in (field, about.alias)}
    return [name for name in names if name in known][:1]


PROVIDER = Provider(
    name="langchain",
    chat=chat_model,
    module="langchain_core.language_models.chat_models",
    errors=("builtins:Exception",),
    loggers=("langchain_core",),
    protocol="a way that LangChain understands",
    served=False,
    seed=False,
    reasons=False,
    any_class=True,
    sampling=(),
    gives_reasons=False,
)
