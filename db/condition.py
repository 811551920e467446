"""How the database is, as its calls find it: the last fault of each engine, for whoever looks after the server."""

from weakref import WeakKeyDictionary

from sqlalchemy.ext.asyncio import AsyncEngine

from heard.db.errors import StoreDamaged, StoreError, StoreFull, StoreOutdated

LASTING = (StoreDamaged, StoreOutdated)
"""Faults that no later call disproves: a damaged file serves many calls well."""

_faults: WeakKeyDictionary[AsyncEngine, StoreError] = WeakKeyDictionary()


def last_fault(engine: AsyncEngine) -> StoreError | None:
    """Return the fault that the database has; None while it works."""
    return _faults.get(engine)


def note_fault(engine: AsyncEngine, fault: StoreError) -> None:
    """Note what a call found. A call that was refused, or that broke a rule, is no fault of the database."""
    if fault.kind not in ("", StoreError.kind) and not isinstance(_faults.get(engine), LASTING):
        _faults[engine] = fault


def note_success(engine: AsyncEngine, *, small: bool = False) -> None:
    """Note that a write was stored. A `small` one says nothing about the room for a larger one."""
    found = _faults.get(engine)
    if found is not None and not isinstance(found, LASTING) and not (small and isinstance(found, StoreFull)):
        del _faults[engine]
