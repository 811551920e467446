"""Links with a role: made, found by their token, revoked. Inside a transaction of the caller.

A token has 20 random bytes, so that its plain sha256 is enough: nobody tries them all.
"""

import hashlib
import re
import secrets
from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncSession

from heard.db.desk_records import LINK, AccessLink, Role
from heard.db.desk_tables import AccessLinkRow

_EXTERNAL = re.compile(rf"{LINK}([0-9a-f]{{8}})")
_NAMES = [field.name for field in fields(AccessLink) if field.name != "role"]


def new_token() -> str:
    """Return a random token: "k" and 40 hex digits, which is an id of a link too, and stays itself in lower case."""
    return "k" + secrets.token_hex(20)


def digest(token: str) -> str:
    """Return the hash under which a token is stored."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def link_id(external_id: str | None) -> str | None:
    """Return the id of the link by which somebody with this external id takes part; None for another one."""
    found = _EXTERNAL.fullmatch(external_id or "")
    return found[1] if found else None


async def add(session: AsyncSession, link: AccessLink, token: str) -> None:
    """Store a link."""
    values = {name: getattr(link, name) for name in _NAMES}
    session.add(AccessLinkRow(**values, role=link.role.value, token_sha256=digest(token)))


async def of_token(session: AsyncSession, token: str) -> AccessLink | None:
    """Return the link with this token, revoked or not; None if there is none."""
    row = await session.scalar(select(AccessLinkRow).where(AccessLinkRow.token_sha256 == digest(token)))
    return _link(row) if row else None


async def of_id(session: AsyncSession, link_id: str) -> AccessLink | None:
    """Return a link, revoked or not; None if there is none."""
    row = await session.get(AccessLinkRow, link_id)
    return _link(row) if row else None


async def of_study(session: AsyncSession, study_id: str) -> list[AccessLink]:
    """Return every link of a study, oldest first."""
    query = select(AccessLinkRow).where(AccessLinkRow.study_id == study_id)
    return [_link(row) for row in await session.scalars(query.order_by(AccessLinkRow.made_at, AccessLinkRow.id))]


async def any_staff(session: AsyncSession) -> bool:
    """Return whether anybody has a link to the desk."""
    staff = AccessLinkRow.role.in_([role.value for role in Role if role.is_staff])
    query = select(AccessLinkRow.id).where(staff, AccessLinkRow.revoked_at.is_(None)).limit(1)
    return await session.scalar(query) is not None


async def revoke(session: AsyncSession, link_id: str, at: datetime) -> AccessLink | None:
    """Revoke a link for good, and return it as it was before; None if there is none."""
    row = await session.get(AccessLinkRow, link_id, with_for_update=True)
    if row is None:
        return None
    before = _link(row)
    row.revoked_at = row.revoked_at or at
    return before


async def forget(session: AsyncSession, external_ids: Sequence[str | None]) -> int:
    """Delete the links by which an erased person took part, and so their names. Returns how many."""
    ids = [link for external in external_ids if (link := link_id(external))]
    done: Any = await session.execute(delete(AccessLinkRow).where(AccessLinkRow.id.in_(ids)))
    return int(done.rowcount)


def _link(row: AccessLinkRow) -> AccessLink:
    return AccessLink(**{name: getattr(row, name) for name in _NAMES}, role=Role(row.role))
