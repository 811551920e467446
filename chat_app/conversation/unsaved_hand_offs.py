"""Hand-offs that a person has seen and the database has not, and their place before what is said next.

A hand-off is shown before it is stored, so a person may write on while it is on its way to the database. What they
write is answered as after a hand-off, and stored after it: stored before, "I'm safe now" would be of no effect.
"""

import asyncio
from weakref import WeakValueDictionary

Whose = tuple[str, str]
"""Participant and conversation."""


class UnsavedHandOffs:
    """Hand-offs that were shown and are not in the database yet."""

    def __init__(self) -> None:
        self._messages: dict[Whose, set[str]] = {}
        self._in_turn: WeakValueDictionary[Whose, asyncio.Lock] = WeakValueDictionary()

    def __contains__(self, whose: Whose) -> bool:
        return whose in self._messages

    def add(self, whose: Whose, message_id: str) -> None:
        """Note a hand-off that is shown now."""
        self._messages.setdefault(whose, set()).add(message_id)

    def holds(self, whose: Whose, message_id: str) -> bool:
        """Whether this one is to be stored still."""
        return message_id in self._messages.get(whose, ())

    def stored(self, whose: Whose, message_id: str) -> None:
        """Note that one is in the database."""
        self._messages[whose].discard(message_id)
        if not self._messages[whose]:
            del self._messages[whose]

    def over(self, whose: Whose) -> None:
        """Note that the person has said that they are safe: none is to be stored after that."""
        self._messages.pop(whose, None)

    def in_turn(self, whose: Whose) -> asyncio.Lock:
        """Held while a hand-off is being stored, and by what must come after it: fair, so first come, first stored."""
        lock = self._in_turn.get(whose)
        if lock is None:
            lock = self._in_turn[whose] = asyncio.Lock()
        return lock
