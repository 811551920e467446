"""From the exception of a failed model call to a plain sentence. The provider's own text is never part of it."""

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field

import httpx2

from heard.chat_app.models.http_status import HttpStatusError
from heard.chat_app.models.providers import PROVIDERS
from heard.chat_app.models.records import FailureKind, ModelFailure, ModelSpec
from heard.chat_app.models.reply_ends import withheld

SERVER_DOWN_KINDS = (FailureKind.UNREACHABLE, FailureKind.SERVER_ERROR, FailureKind.SILENT)
"""Failures that mean the server is down. All others are for the caller to fix, or show that the server answers."""
NO_QUOTA_CODES = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "insufficient_balance"}
NO_QUOTA_WORDS = re.compile(
    r"insufficient[ _](?:quota|balance|credit|fund)|credit balance is too low|run out of credit", re.IGNORECASE
)
"""Of a server that has no code for it."""
FILTER_CODES = {"content_filter", "responsibleaipolicyviolation", "content_policy_violation", "data_inspection_failed"}
"""A prompt that a safety filter has not let through."""
TOO_LONG_CODES = {"context_length_exceeded", "string_above_max_length", "exceed_context_size_error"}
SERVER_ERRORS = (
    httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError,
    ValueError, TypeError, AttributeError, LookupError,  # what LangChain raises on an answer that is not the protocol
)  # fmt: skip


def provider_errors(spec: ModelSpec) -> tuple[type[Exception], ...]:
    """Return the exceptions that a call to this model may raise. A client library's own count once it is imported."""
    return (HttpStatusError, *_own_errors(spec), *_loaded(("httpx:HTTPError", "httpx:StreamError")), *SERVER_ERRORS)


def _own_errors(spec: ModelSpec) -> tuple[type[Exception], ...]:
    return _loaded(PROVIDERS[spec.provider].errors)


def _loaded(names: tuple[str, ...]) -> tuple[type[Exception], ...]:
    """Return the classes named "module:Class" whose modules are imported."""
    parted = (name.split(":") for name in names)
    return tuple(getattr(sys.modules[module], name) for module, name in parted if module in sys.modules)


@dataclass(slots=True)
class AttemptError(Exception):
    """A failed attempt of a call, with what decides whether there is another one."""

    failure: ModelFailure
    may_retry: bool = False
    """Whether it may pass by itself: the server was unreachable, busy or had an internal error."""
    retry_after: float | None = None
    """Seconds of the server's Retry-After, if it sent one."""
    said: str = field(default="", repr=False)
    """The server's own words, not cleaned of anything yet."""


def attempt_error(error: BaseException, spec: ModelSpec, *, has_text: bool) -> AttemptError:
    """Return the AttemptError for an exception of `provider_errors`; `has_text` says whether a token had arrived."""
    if isinstance(error, ModelFailure):
        return AttemptError(error, may_retry=not has_text and error.kind is FailureKind.UNREACHABLE)
    if has_text:
        return AttemptError(stream_cut(spec))
    chain = list(_chain(error))
    for link in chain:
        if isinstance(link, HttpStatusError):
            return _status_error(link, spec)
    if (status := next((found for link in chain if (found := _foreign_status(link))), None)) is not None:
        return _status_error(HttpStatusError(status, None), spec)
    if any(isinstance(link, (httpx2.HTTPError, *_loaded(("httpx:HTTPError",)), OSError)) for link in chain):
        return AttemptError(_unreachable(spec), may_retry=True)
    garbled = any(isinstance(link, json.JSONDecodeError) for link in chain)
    if not garbled and isinstance(error, _own_errors(spec)):
        return AttemptError(_server_error(spec, None), may_retry=True)  # an error event within a stream
    if garbled or type(error) is not ValueError:
        return AttemptError(
            ModelFailure(
                FailureKind.SERVER_ERROR,
                f'The server of "{spec.label}" did not answer in {PROVIDERS[spec.provider].protocol}. Check its '
                "provider and base_url in models.toml or choose another model.",
            )
        )
    return AttemptError(empty_reply(spec))  # LangChain's ValueError for a stream without a single chunk


def _foreign_status(error: BaseException) -> int | None:
    """Return the status that an exception of a client tells whose connections are not ours."""
    for holder in (error, getattr(error, "response", None)):
        status = getattr(holder, "status_code", None)
        if isinstance(status, int) and 300 <= status < 600:
            return status
    return None


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception and its causes: client libraries wrap ours in their own."""
    while error is not None:
        yield error
        error = error.__cause__


def _status_error(error: HttpStatusError, spec: ModelSpec) -> AttemptError:
    status, wait, said = error.status, error.retry_after, error.said
    if status == 402 or said.codes & NO_QUOTA_CODES or NO_QUOTA_WORDS.search(said.message):
        return AttemptError(_no_quota(spec), said=said.message)
    if status in (401, 403):
        return AttemptError(_bad_key(spec))  # such a text is about the key
    if status == 429:
        return AttemptError(_busy(spec, wait), may_retry=True, retry_after=wait, said=said.message)
    if status >= 500:
        return AttemptError(_server_error(spec, status), may_retry=True, retry_after=wait)
    if said.codes & FILTER_CODES:
        return AttemptError(withheld(spec, has_text=False), said=said.message)
    if said.codes & TOO_LONG_CODES:
        text = (
            f'This conversation is longer than "{spec.label}" can read. Start a new chat, or choose a model with more '
            "room."
        )
    elif status == 404 or status < 400:
        text = (
            f'The server of "{spec.label}" knows no such model or address. Check model and base_url in models.toml, '
            "or choose another model."
        )
    else:
        text = (
            f'The server of "{spec.label}" refused the request (status {status}); its reason is in the log. Choose '
            "another model."
        )
    return AttemptError(ModelFailure(FailureKind.REJECTED, text), said="" if status == 404 else said.message)


def cooling_down(spec: ModelSpec, seconds: float) -> ModelFailure:
    """Return the failure of a server that has failed several times in a row and gets no calls for `seconds` more."""
    when = f"in {seconds:.0f} seconds" if seconds >= 1 else "in a moment"
    return ModelFailure(
        FailureKind.COOLING_DOWN,
        f'The server of "{spec.label}" has failed several times in a row and is left alone for now. Try again {when}, '
        "or choose another model.",
    )


def missing_package(spec: ModelSpec) -> ModelFailure:
    """Return the failure of a model whose provider's client library is not installed."""
    extra = PROVIDERS[spec.provider].extra
    return ModelFailure(
        FailureKind.NOT_INSTALLED,
        f'"{spec.label}" needs a package that is not installed. Run pip install "heard[{extra}]" and start heard '
        "again, or choose another model.",
    )


def missing_key(spec: ModelSpec) -> ModelFailure:
    """Return the failure of a model whose key's environment variable is not set."""
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


def _no_quota(spec: ModelSpec) -> ModelFailure:
    return ModelFailure(
        FailureKind.NO_QUOTA,
        f'The account behind "{spec.label}" has no quota or credit left. Add some with its provider, or choose another '
        "model.",
    )


def _server_error(spec: ModelSpec, status: int | None) -> ModelFailure:
    detail = f" (status {status})" if status else ""
    return ModelFailure(
        FailureKind.SERVER_ERROR,
        f'The server of "{spec.label}" has a fault of its own{detail}. Try again later, or choose another model.',
    )


def no_first_token(spec: ModelSpec, seconds: float) -> ModelFailure:
    """Return the failure of a reply without a first token within the limit of `seconds`."""
    return ModelFailure(
        FailureKind.SILENT,
        f'"{spec.label}" gave no answer within {seconds:g} seconds. Try again, or choose another model.',
    )


def stream_cut(spec: ModelSpec) -> ModelFailure:
    """Return the failure of a stream that ended, stalled or died in the middle."""
    return ModelFailure(
        FailureKind.CUT,
        f'The reply of "{spec.label}" broke off in the middle. Send the message again for a whole one.',
    )


def too_long(spec: ModelSpec, seconds: float) -> ModelFailure:
    """Return the failure of a reply that was not complete after the limit of `seconds`."""
    return ModelFailure(
        FailureKind.CUT,
        f'"{spec.label}" was still writing after {seconds:g} seconds, the longest that a reply may take here, so it '
        "was cut. Send the message again, or choose a faster model.",
    )


def too_many_tokens(spec: ModelSpec) -> ModelFailure:
    """Return the failure of a server that ignored the token limit."""
    return ModelFailure(
        FailureKind.CUT,
        f'"{spec.label}" wrote far more than asked for, so its reply was cut. Try again, or choose another model.',
    )


def empty_reply(spec: ModelSpec) -> ModelFailure:
    """Return the failure of a complete stream without a visible character."""
    return ModelFailure(
        FailureKind.EMPTY,
        f'"{spec.label}" sent a reply without any text. Send the message again, or choose another model.',
    )
