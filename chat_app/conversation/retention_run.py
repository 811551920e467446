"""Delete what is older than the setting `retention_days`, in batches between which turns may write."""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from heard.db.store import Store

PAUSE_SECONDS = 0.05
"""Between two batches, so that a turn that waits for the database comes first."""

log = logging.getLogger(__name__)
log.setLevel(logging.INFO)  # these lines are the record of what was deleted, and are kept where warnings are


def cutoff(now: datetime, retention_days: int) -> datetime:
    """Return the time before which everything goes."""
    return now - timedelta(days=retention_days)


async def apply_retention(
    store: Store, retention_days: int, now: datetime, *, pause: Callable[[float], Awaitable[None]] = asyncio.sleep
) -> dict[str, int]:
    """Delete what is older, and tell the log how much. Returns the number of rows by table. Raises StoreError."""
    removed: Counter[str] = Counter()
    before = cutoff(now, retention_days)
    for person in await store.people_with_expired(before):
        whole = False
        while not whole:
            deleted = await store.delete_expired(person, before)
            removed.update(deleted.rows)
            whole = deleted.whole
            await pause(PAUSE_SECONDS)
    if removed:
        told = ", ".join(f"{rows} of {table}" for table, rows in sorted(removed.items()))
        log.info("deleted after %d days, rows: %s", retention_days, told)
    return dict(removed)
