"""The order of the answers on a ballot: balanced, not only random.

A Williams design (Williams 1949) is a set of orders of n treatments in which each stands in each place equally often
and follows each other one equally often: n orders if n is even, 2n if it is odd. Ballots go through its rows one after
the other, in blocks. Which source is which treatment, and the sequence of the rows, is shuffled for each block with a
seed that is stored, so that nobody can predict the next ballot.
"""

import random
from collections.abc import Sequence


def williams_design(n: int) -> list[list[int]]:
    """Return a Williams design for `n` treatments, 2 or more: rows of 0..n-1."""
    first = [0]
    low, high = 1, n - 1
    while len(first) < n:
        first.append(low if len(first) % 2 else high)
        low, high = (low + 1, high) if len(first) % 2 == 0 else (low, high - 1)
    rows = [[(part + shift) % n for part in first] for shift in range(n)]
    return rows if n % 2 == 0 else rows + [row[::-1] for row in rows]


def balanced_order(sources: Sequence[str], key: str, drawn: int) -> tuple[list[str], int, int]:
    """Return the order for the next ballot, its seed, and its row (0..) of the design that the seed has shuffled.

    `drawn` is the number of ballots of this kind so far; `key` names the kind and contains the study's secret seed,
    without which nobody can predict the order. Deterministic.
    """
    parts = sorted(sources)
    rows = williams_design(len(parts))
    block, place = divmod(drawn, len(rows))
    seed = random.Random(f"{key}/{block}").getrandbits(31)
    shuffled = random.Random(seed)
    shuffled.shuffle(parts)
    shuffled.shuffle(rows)
    return [parts[index] for index in rows[place]], seed, place
