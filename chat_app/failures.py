"""What a failed model call means, in a plain sentence. The provider's own text is never part of it."""

import email.utils
import json
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import httpx2

from chat_app.providers import OPENAI_URL
from chat_app.records import FailureKind, ModelFailure, ModelSpec

if TYPE_CHECKING:
    import openai

SERVER_ERRORS = (
    httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError,
    ValueError, TypeError, AttributeError, LookupError,  # what LangChain raises on an answer that is not the protocol
)  # fmt: skip


def provider_errors() -> tuple[type[Exception], ...]:
    """What a call to a server may raise. The client's own errors count once it is loaded (see `Models`)."""
    client = sys.modules.get("openai")
    return SERVER_ERRORS if client is None else (client.OpenAIError, *SERVER_ERRORS)


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
    if (client := sys.modules.get("openai")) is not None:
        if isinstance(error, client.APIStatusError):
            return _status_fault(error, spec)
        if isinstance(error, client.APIConnectionError):
            return Fault(_unreachable(spec), may_retry=True)
        if isinstance(error, client.APIError):
            return Fault(_server_error(spec, None), may_retry=True)  # an error event within a stream
    if isinstance(error, httpx2.HTTPError | OSError):
        return Fault(_unreachable(spec), may_retry=True)
    if isinstance(error, json.JSONDecodeError) or type(error) is not ValueError:
        return Fault(
            ModelFailure(
                FailureKind.SERVER_ERROR,
                f'The server of "{spec.label}" did not answer in OpenAI\'s protocol. Check its base_url in models.toml '
                "or choose another model.",
            )
        )
    return Fault(empty(spec))  # LangChain's ValueError for a stream without a single chunk


def _status_fault(error: "openai.APIStatusError", spec: ModelSpec) -> Fault:
    status = error.status_code
    if status in (401, 403):
        return Fault(_bad_key(spec))
    if status == 429:
        wait = _retry_after(error.response.headers.get("retry-after"))
        return Fault(_busy(spec, wait), may_retry=True, retry_after=wait)
    if status >= 500:
        return Fault(_server_error(spec, status), may_retry=True)
    if status == 404:
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


def _retry_after(value: str | None) -> float | None:
    """Seconds in a Retry-After header: a number or a date (RFC 9110, section 10.2.3)."""
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(value).timestamp() - time.time()
        except ValueError:
            return None
    return seconds if 0 <= seconds < 1e7 else None


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
    what = "the network" if spec.base_url == OPENAI_URL else "that it runs and its base_url in models.toml"
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
