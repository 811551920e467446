"""Where a conversation stands: whether somebody was handed off or asked, and what of it still holds."""

from dataclasses import dataclass

from heard.db.records import Safety
from heard.db.safety_history import SafetyHistory, SafetyTurn
from heard.prompts.safety_files import GENERAL


@dataclass(frozen=True, slots=True)
class Standing:
    """What a conversation's history means for its next message."""

    history: SafetyHistory
    unsaved: bool = False
    """Whether there was a hand-off that is not in the database yet."""

    @property
    def alert(self) -> bool:
        """Whether there was a hand-off or a check-in, after which less is enough."""
        return self.unsaved or any(turn.safety is not Safety.RECOVERY for turn in self.history.turns)

    @property
    def hand_off(self) -> SafetyTurn | None:
        """The last hand-off; None where there was none."""
        return next((turn for turn in reversed(self.history.turns) if turn.handed_off), None)

    @property
    def danger(self) -> str:
        """What the last hand-off was about, whose numbers the turns after it name."""
        hand_off = self.hand_off
        return (hand_off.danger if hand_off else None) or GENERAL

    @property
    def supported(self) -> tuple[SafetyTurn, ...]:
        """The fixed turns since the last hand-off, oldest first; none while that is not stored."""
        if self.unsaved:
            return ()
        since = self.hand_off.position if self.hand_off else 0
        return tuple(turn for turn in self._of(Safety.SUPPORTED) if turn.position > since)

    @property
    def safe(self) -> bool:
        """Whether the person has said since the last hand-off that they are safe."""
        since = self.hand_off.position if self.hand_off else 0
        return any(turn.position > since for turn in self._of(Safety.SAFE))

    @property
    def handed_off(self) -> bool:
        """Whether there was a hand-off at any time."""
        after = (Safety.SUPPORTED, Safety.SAFE)
        return self.unsaved or any(turn.handed_off or turn.safety in after for turn in self.history.turns)

    @property
    def in_support(self) -> bool:
        """Whether fixed turns may still be due: after a hand-off, until the person has said that they are safe."""
        return self.unsaved or ((self.hand_off is not None or bool(self.supported)) and not self.safe)

    @property
    def checked_in(self) -> bool:
        """Whether the question was asked."""
        return bool(self._of(Safety.CHECKED_IN))

    @property
    def denied(self) -> bool:
        """Whether it was answered with no."""
        return bool(self._of(Safety.DENIED))

    @property
    def answering(self) -> bool:
        """Whether the next message answers it: the last message that was taken got the question."""
        turns = self.history.turns
        return bool(turns) and turns[-1].safety is Safety.CHECKED_IN and turns[-1].position == self.history.last

    def _of(self, safety: Safety) -> list[SafetyTurn]:
        return [turn for turn in self.history.turns if turn.safety is safety]
