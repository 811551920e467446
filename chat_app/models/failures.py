"""What a failed model call means, in a plain sentence. The provider's own text is never part of it."""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import httpx2

from heard.chat_app.models.providers import PROVIDERS
from heard.chat_app.models.records import FailureKind, ModelFailure, ModelSpec
from heard.chat_app.models.refusal import Refusal

DOWN = (FailureKind.UNREACHABLE, FailureKind.SERVER_ERROR, FailureKind.SILENT)
"""What a server that is down does. All else is for whoever called to mend, or shows that somebody is there."""
SERVER_ERRORS = (
    httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError,
    ValueError, TypeError, AttributeError, LookupError,  # what LangChain raises on an answer that is not the protocol
)  # fmt: skip


def provider_errors(spec: ModelSpec) -> tuple[type[Exception], ...]:
    """What a call to this model may raise. A client's own errors count once it is loaded (see `Models`)."""
    return (Refusal, *_own_errors(spec), *_loaded(("httpx:HTTPError", "httpx:StreamError")), *SERVER_ERRORS)


def _own_errors(spec: ModelSpec) -> tuple[type[Exception], ...]:
    return _loaded(PROVIDERS[spec.provider].errors)


def _loaded(names: tuple[str, ...]) -> tuple[type[Exception], ...]:
    """The classes named "module:Class" whose modules are loaded."""
    parted = (name.split(":") for name in names)
    return tuple(getattr(sys.modules[module], name) for module, name in parted if module in sys.modules)


@dataclass(slots=True)
class Fault(Exception):
    """A failure on its way out, with what decides about another attempt."""

    failure: ModelFailure
    may_retry: bool = False
    """It can pass by itself: the server was unreachable, busy, or had a fault of its own."""
    retry_after: float | None = None
    """Seconds that the server asked to wait, if it did."""


def fault_of(error: BaseException, spec: ModelSpec, *, begun: bool) -> Fault:
    """The fault behind an exception of `provider_errors`; `begun` says whether a token had arrived."""
    if isinstance(error, ModelFailure):
        return Fault(error, may_retry=not begun and error.kind is FailureKind.UNREACHABLE)
    if begun:
        return Fault(cut(spec))
    chain = list(_chain(error))
    for link in chain:
        if isinstance(link, Refusal):
            return _status_fault(link, spec)
    if any(isinstance(link, (httpx2.HTTPError, *_loaded(("httpx:HTTPError",)), OSError)) for link in chain):
        return Fault(_unreachable(spec), may_retry=True)
    garbled = any(isinstance(link, json.JSONDecodeError) for link in chain)
    if not garbled and isinstance(error, _own_errors(spec)):
        return Fault(_server_error(spec, None), may_retry=True)  # an error event within a stream
    if garbled or type(error) is not ValueError:
        return Fault(
            ModelFailure(
                FailureKind.SERVER_ERROR,
                f'The server of "{spec.label}" did not answer in {PROVIDERS[spec.provider].protocol}. Check its '
                "provider and base_url in models.toml or choose another model.",
            )
        )
    return Fault(empty(spec))  # LangChain's ValueError for a stream without a single chunk


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An exception and what it was raised from: clients wrap ours in their own."""
    while error is not None:
        yield error
        error = error.__cause__


def _status_fault(refusal: Refusal, spec: ModelSpec) -> Fault:
    status, wait = refusal.status, refusal.retry_after
    if status in (401, 403):
        return Fault(_bad_key(spec))
    if status == 429:
        return Fault(_busy(spec, wait), may_retry=True, retry_after=wait)
    if status >= 500:
        return Fault(_server_error(spec, status), may_retry=True, retry_after=wait)
    if status == 404 or status < 400:
        text = (
            f'The server of "{spec.label}" knows no such model or address. Check model and base_url in models.toml, '
            "or choose another model."
        )
    else:
        text = (
            f'The server of "{spec.label}" refused the request (status {status}). The conversation may be too long for '
            "it: start a new chat, or choose another model."
        )
    return Fault(ModelFailure(FailureKind.REJECTED, text))


def resting(spec: ModelSpec, seconds: float) -> ModelFailure:
    """The server has failed so often in a row that it is not asked at present."""
    when = f"in {seconds:.0f} seconds" if seconds >= 1 else "in a moment"
    return ModelFailure(
        FailureKind.RESTING,
        f'The server of "{spec.label}" has failed several times in a row and is left alone for now. Try again {when}, '
        "or choose another model.",
    )


def missing_package(spec: ModelSpec) -> ModelFailure:
    """The client library of the model's provider is not installed."""
    extra = PROVIDERS[spec.provider].extra
    return ModelFailure(
        FailureKind.NOT_INSTALLED,
        f'"{spec.label}" needs a package that is not installed. Run pip install "heard[{extra}]" and start heard '
        "again, or choose another model.",
    )


def missing_key(spec: ModelSpec) -> ModelFailure:
    """The environment variable of the key is not set."""
    return ModelFailure(
        FailureKind.BAD_KEY,
        f'"{spec.label}" needs a key. Set the environment variable {spec.key_env} to it and start heard again, or '
        "choose another model.",
    )


def _bad_key(spec: ModelSpec) -> ModelFailure:
    if spec.key_env:
        how = f"Check the key in the environment variable {spec.key_env}"
    else:
        how = "Name the environment variable that holds its key as key_env in models.toml"
    return ModelFailure(
        FailureKind.BAD_KEY, f'The server of "{spec.label}" refused the key. {how}, or choose another model.'
    )


def _unreachable(spec: ModelSpec) -> ModelFailure:
    what = (
        "the network"
        if spec.base_url == PROVIDERS[spec.provider].url
        else "that it runs and its base_url in models.toml"
    )
    return ModelFailure(
        FailureKind.UNREACHABLE,
        f'The server of "{spec.label}" cannot be reached. Check {what}, or choose another model.',
    )


def _busy(spec: ModelSpec, wait: float | None) -> ModelFailure:
    when = f"in {wait:.0f} seconds" if wait is not None and wait >= 1 else "in a moment"
    return ModelFailure(
        FailureKind.BUSY, f'"{spec.label}" has too many requests at present. Try again {when}, or choose another model.'
    )


def _server_error(spec: ModelSpec, status: int | None) -> ModelFailure:
    shown = f" (status {status})" if status else ""
    return ModelFailure(
        FailureKind.SERVER_ERROR,
        f'The server of "{spec.label}" has a fault of its own{shown}. Try again later, or choose another model.',
    )


def silent(spec: ModelSpec, seconds: float) -> ModelFailure:
    """No first token within the limit."""
    return ModelFailure(
        FailureKind.SILENT,
        f'"{spec.label}" gave no answer within {seconds:g} seconds. Try again, or choose another model.',
    )


def cut(spec: ModelSpec) -> ModelFailure:
    """The stream ended, stalled or died in the middle."""
    return ModelFailure(
        FailureKind.CUT,
        f'The reply of "{spec.label}" broke off in the middle. Send the message again for a whole one.',
    )


def overlong(spec: ModelSpec, seconds: float) -> ModelFailure:
    """The reply is longer in coming than a whole one may be."""
    return ModelFailure(
        FailureKind.CUT,
        f'"{spec.label}" was still writing after {seconds:g} seconds, the longest that a reply may take here, so it '
        "was cut. Send the message again, or choose a faster model.",
    )


def endless(spec: ModelSpec) -> ModelFailure:
    """The server ignores the bound on the reply's length."""
    return ModelFailure(
        FailureKind.CUT,
        f'"{spec.label}" wrote far more than asked for, so its reply was cut. Try again, or choose another model.',
    )


def empty(spec: ModelSpec) -> ModelFailure:
    """A whole stream without one visible character."""
    return ModelFailure(
        FailureKind.EMPTY,
        f'"{spec.label}" sent a reply without any text. Send the message again, or choose another model.',
    )


def tools(spec: ModelSpec, *, begun: bool) -> ModelFailure:
    """The model wants a tool to be called, which nobody offered it; `begun` says whether there was text before."""
    return ModelFailure(
        FailureKind.CUT if begun else FailureKind.EMPTY,
        f'"{spec.label}" called a tool instead of answering, and there are none here. Send the message again, '
        "or choose another model.",
    )


def withheld(spec: ModelSpec, *, begun: bool) -> ModelFailure:
    """The provider's own rules ended the reply; `begun` says whether there was text before."""
    return ModelFailure(
        FailureKind.CUT if begun else FailureKind.EMPTY,
        f'The provider of "{spec.label}" withheld the reply under its own rules. Word the message anew, or choose '
        "another model.",
    )
