"""The identity of a visitor: a random UUID in a signed cookie, and nothing else (no login, no name, no address).

The signature (itsdangerous, HMAC) keeps one person from requesting another's data: an id that was not signed here
counts as no id at all.
"""

import hashlib
import hmac
import os
import secrets
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Any

from itsdangerous import BadSignature, URLSafeSerializer

from heard.errors import UserError

VISITOR_COOKIE = "heard_visitor"
COUNTRY_COOKIE = "heard_country"
CHAT_COOKIE = "heard_chat"
"""Chainlit's own login cookie; it may also come in pieces whose names end in `_0`, `_1` ..."""
SESSION_COOKIE = "X-Chainlit-Session-id"
COOKIE_SECONDS = 365 * 24 * 3600
"""Of the chosen country, which says nothing of the person."""

_SECRET_BYTES = 32
_SALT = "heard-visitor-1"


class IdentityError(UserError):
    """The secret of the cookies cannot be read or made; `str()` names the file and the next step."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Signs and verifies visitor ids with one secret of 32 bytes."""

    secret: bytes = field(repr=False)
    """Never shown: a representation of this object may end in a log."""

    @classmethod
    def load(cls, data_dir: Path) -> "Identity":
        """Read `data_dir/secret`, or make it atomically at the first start (mode 0600).

        Raises IdentityError if the file cannot be written or is not such a secret.
        """
        path = data_dir / "secret"
        try:
            data_dir.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                _write_once(path, secrets.token_bytes(_SECRET_BYTES))
            secret = bytes.fromhex(path.read_text(encoding="ascii").strip())
        except OSError as error:
            raise IdentityError(
                f"Cannot read or write {path} ({error.strerror}). Give this user the right to write there, "
                "or set data_dir to another folder."
            ) from error
        except ValueError as error:
            raise IdentityError(_not_a_secret(path)) from error
        if len(secret) != _SECRET_BYTES:
            raise IdentityError(_not_a_secret(path))
        return cls(secret)

    def chat_secret(self) -> str:
        """Return the key for Chainlit's own login token, 64 hex digits, derived from the secret."""
        return hmac.new(self.secret, b"chainlit-auth-1", hashlib.sha256).hexdigest()

    def cookie_name(self, name: str) -> str:
        """Return what this server calls one of its cookies: with a digest of the secret, because browsers give a
        cookie to every server on a host name, whatever its port, and two would overwrite each other's."""
        digest = hmac.new(self.secret, b"cookie-names-1", hashlib.sha256).hexdigest()
        return f"{name}_{digest[:8]}"

    def cookie(self, headers: Mapping[str, str], name: str) -> str:
        """Return the value of one of this server's cookies; "" without it. Never raises.

        Where there is none, the one of before names had a digest is taken: its signature tells whose it is.
        """
        cookies = cookies_of(headers)
        return cookies.get(self.cookie_name(name)) or cookies.get(name, "")

    def sign(self, participant_id: str) -> str:
        """Return the cookie value for a participant."""
        return self.seal(participant_id, _SALT)

    def participant(self, cookie: str | None) -> str | None:
        """Return the UUID in a cookie value; None if it is absent, tampered with or not a UUID. Never raises."""
        value = self.unseal(cookie or "", _SALT)
        try:
            return str(uuid.UUID(value)) if isinstance(value, str) else None
        except ValueError:
            return None

    def participant_from_headers(self, headers: Mapping[str, str]) -> str | None:
        """Return the participant of a request from its `cookie` header, or None. Never raises."""
        return self.participant(self.cookie(headers, VISITOR_COOKIE))

    def seal(self, value: str | int, purpose: str) -> str:
        """Return a signed cookie value, which `unseal` reads for the same purpose and with the same secret."""
        return self._serializer(purpose).dumps(value)

    def unseal(self, cookie: str, purpose: str) -> Any:
        """Return the value of a cookie made by `seal`; None if it is absent, tampered with or for another purpose.
        Never raises."""
        try:
            return self._serializer(purpose).loads(cookie)
        except (BadSignature, ValueError):  # the latter for a string that cannot be encoded
            return None

    def _serializer(self, purpose: str) -> URLSafeSerializer:
        return URLSafeSerializer(self.secret, salt=purpose, signer_kwargs={"digest_method": hashlib.sha256})


def new_participant() -> str:
    """Return a new random id (UUID 4)."""
    return str(uuid.uuid4())


def cookies_of(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the cookies of a request's headers; none for a malformed header. Never raises."""
    raw = headers.get("cookie") or headers.get("Cookie") or ""
    return dict(_pairs(raw))


def country_from_headers(
    headers: Mapping[str, str], known: Mapping[str, str], identity: Identity | None = None
) -> str | None:
    """Return the country that the person chose for crisis numbers, if it is one of `known` (ISO code to name).

    `identity` is the server's, which names the cookie; without one the name is the plain one.
    """
    code = identity.cookie(headers, COUNTRY_COOKIE) if identity else cookies_of(headers).get(COUNTRY_COOKIE, "")
    return code if code in known else None


def _pairs(raw: str) -> Iterator[tuple[str, str]]:
    # One by one, because SimpleCookie drops the whole header at the first cookie it dislikes, and cookies of other
    # programs on the same loopback name arrive here too.
    for part in raw.split(";"):
        try:
            for name, morsel in SimpleCookie(part.strip()).items():
                yield name, morsel.value
        except CookieError:
            continue


def _write_once(path: Path, secret: bytes) -> None:
    """Write a temporary file and link it into place, so that two servers that start at once share one secret."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".secret-")  # mkstemp makes it 0600
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(secret.hex() + "\n")
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(name, path)
        except FileExistsError:
            pass  # the other server was first; its secret counts
        except OSError:
            os.replace(name, path)  # a file system without hard links
            return
    finally:
        Path(name).unlink(missing_ok=True)


def _not_a_secret(path: Path) -> str:
    return (
        f"{path} does not hold a secret of this program. Move it away and start again; "
        "visitors then count as new, and can no longer reach what they stored."
    )
