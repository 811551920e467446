"""What the matcher of patterns remembers of the texts that it has read."""

from threading import Lock


class SeenSets:
    """The sets of states that texts have reached so far, by number: what a lazy DFA remembers. Threads share one."""

    def __init__(self) -> None:
        self.sets: list[frozenset[int]] = [frozenset()]
        self.accepting: list[bool] = [False]
        """Whether a pattern ends with the set."""
        self.moves: list[dict[str, int]] = [{}]
        """From each set, the number of the one after a token."""
        self._numbers: dict[tuple[frozenset[int], bool], int] = {(frozenset(), False): 0}
        self._adding = Lock()

    def number_of(self, states: frozenset[int], *, accepting: bool) -> int:
        """Return the number of a set, a new one for a set that no text has reached.

        Under a lock: two threads that took the same number would each walk on through the other's set, for good.
        """
        key = (states, accepting)
        with self._adding:
            number = self._numbers.get(key)
            if number is None:
                number = len(self.sets)
                self.sets.append(states)
                self.accepting.append(accepting)
                self.moves.append({})
                self._numbers[key] = number
        return number
