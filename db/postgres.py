"""How PostgreSQL is asked: every call has a limit, so that a server that is frozen, or a network that carries nothing
any more, ends in a sentence; and the parameters of a URL that other programs of PostgreSQL know are understood."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from sqlalchemy import event
from sqlalchemy.engine import URL, ExceptionContext
from sqlalchemy.exc import ArgumentError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from heard.db.errors import StoreError, StoreUnavailable

CONNECT_SECONDS = 5.0
"""Longest wait for a new connection, TLS and password included."""
GRACE_SECONDS = 2.0
"""By so much heard waits longer than the server itself may take, which can say more about the fault."""
KEEPALIVE_SECONDS = 30
"""Silence after which the server looks whether heard is still there; a dead program must not keep its locks."""
OURS = {
    "passfile", "sslmode", "sslcert", "sslkey", "sslrootcert", "sslcrl", "sslpassword", "ssl_min_protocol_version",
    "ssl_max_protocol_version", "target_session_attrs", "krbsrvname", "gsslib", "host", "port", "user", "password",
    "service", "servicefile",
}  # fmt: skip
"""Parameters of a URL that the driver reads as PostgreSQL's own programs do."""
FILES = {"sslcert", "sslkey", "sslrootcert", "sslcrl"}
"""Those of them that name a file."""
SETTINGS = {"options", "application_name", "search_path", "client_encoding", "timezone", "role"}
"""Those that are the server's."""
SECONDS = {"connect_timeout": "timeout", "timeout": "timeout", "command_timeout": "command_timeout"}
NUMBERS = {"prepared_statement_cache_size", "statement_cache_size", "max_cached_statement_lifetime"}
"""Those of the driver."""
PASSED_OVER = {
    "keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout", "channel_binding",
    "gssencmode", "fallback_application_name", "sslcompression", "sslsni",
}  # fmt: skip
"""Those that change nothing about what is read and written, and that the driver has no word for."""


def create_postgres(url: URL, lock_seconds: float, answer_seconds: float, options: dict[str, Any]) -> AsyncEngine:
    """Return an engine for `postgresql+asyncpg://...`. A statement waits up to `lock_seconds` for a lock and takes up
    to `answer_seconds`. Raises StoreUnavailable for a parameter that is not known, or without the driver."""
    query = {name: value if isinstance(value, str) else ",".join(value) for name, value in url.query.items()}
    own, settings, driver = _sorted(query)
    limits = {
        "lock_timeout": _milliseconds(lock_seconds),
        "statement_timeout": _milliseconds(answer_seconds),
        "idle_in_transaction_session_timeout": _milliseconds(2 * answer_seconds),
        "tcp_keepalives_idle": str(KEEPALIVE_SECONDS),
        "tcp_keepalives_interval": str(KEEPALIVE_SECONDS // 3),
        "tcp_keepalives_count": "3",
        "application_name": "heard",
    }
    driver = {"timeout": CONNECT_SECONDS, "command_timeout": answer_seconds + GRACE_SECONDS} | driver
    driver.pop("prepared_statement_cache_size", None)  # SQLAlchemy's own, which it takes from the URL
    address = url.set(drivername="postgresql", query=own).render_as_string(hide_password=False)
    try:
        connector = _connector(address, {"server_settings": limits | settings, **driver})
        engine = create_async_engine(url, connect_args={"async_creator_fn": connector}, pool_pre_ping=True, **options)
    except ArgumentError as error:
        raise StoreUnavailable(
            "The hosts in the database's address do not fit together: name each with its port. Mend `database_url`."
        ) from error
    except ModuleNotFoundError as error:
        raise StoreUnavailable("PostgreSQL needs its driver. Install it by `pip install asyncpg`.") from error
    event.listen(engine.sync_engine, "handle_error", _give_up)
    event.listen(engine.sync_engine, "invalidate", _drop)
    return engine


def _connector(address: str, arguments: dict[str, Any]) -> Callable[..., Awaitable[Any]]:
    """Return what connects by the driver's own reading of the address; SQLAlchemy's knows fewer parameters."""

    async def connect(**_: Any) -> Any:
        import asyncpg  # type: ignore[import-untyped]

        failure: StoreError
        try:
            async with asyncio.timeout(arguments["timeout"] + GRACE_SECONDS):
                return await asyncpg.connect(address, **arguments)
        except (asyncpg.InterfaceError, ValueError, TypeError) as error:
            failure = StoreUnavailable(
                "The parameters of `database_url` do not fit together, or one has a value that it cannot have "
                f"({type(error).__name__}). Mend those after the question mark."
            )
        raise failure

    return connect


def _give_up(context: ExceptionContext) -> None:
    """Give a connection up that did not answer in time, and no other one."""
    if isinstance(context.original_exception, TimeoutError):
        context.is_disconnect = True
        context.invalidate_pool_on_disconnect = False


def _drop(connection: Any, _record: object, error: BaseException | None) -> None:
    """Drop such a connection at once: to end it politely would be to wait for the server once more."""
    if isinstance(error, TimeoutError):
        connection.driver_connection.terminate()


def _sorted(query: dict[str, str]) -> tuple[dict[str, str], dict[str, str], dict[str, Any]]:
    """Return the parameters of a URL that stay in it, those of the server, and those of the driver."""
    own: dict[str, str] = {}
    settings: dict[str, str] = {}
    driver: dict[str, Any] = {}
    for name, value in query.items():
        key = "sslmode" if name == "ssl" else name  # SQLAlchemy's word for it
        if key == "sslmode" and value.lower() in ("true", "false"):
            value = "require" if value.lower() == "true" else "disable"
        if key in FILES and not Path(value).is_file():
            raise StoreUnavailable(f'There is no file "{value}", which "{name}" of `database_url` names. Mend it.')
        if key in OURS:
            own[key] = value
        elif key in SETTINGS or "." in key:
            settings[key] = value
        elif key in SECONDS or key in NUMBERS:
            driver[SECONDS.get(key, key)] = _number(key, value, float if key in SECONDS else int)
        elif key not in PASSED_OVER:
            raise StoreUnavailable(
                f'The database\'s address has the parameter "{name}", which heard does not know. Take it out of '
                "`database_url`."
            )
    return own, settings, driver


def _number(name: str, value: str, kind: Callable[[str], float]) -> float:
    try:
        number = kind(value)
    except ValueError:
        number = -1
    if not 0 <= number < 1_000_000:
        raise StoreUnavailable(f'The parameter "{name}" of `database_url` must be a number from 0 up. Mend it.')
    return number or (CONNECT_SECONDS if name in ("connect_timeout", "timeout") else number)


def _milliseconds(seconds: float) -> str:
    return str(max(1, int(seconds * 1000)))
