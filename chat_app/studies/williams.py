"""In what order answers stand on a ballot: balanced, not only random.

A Williams design (Williams 1949) is a set of orders of n things in which each stands in each place equally often and
follows each other one equally often: n orders when n is even, 2n when it is odd. Ballots go through its rows one after
the other, in blocks; which thing plays which part, and in what sequence a block's rows come, is drawn anew for each
block from a seed that is stored, so that nobody can foresee the next ballot.
"""

import random
from collections.abc import Sequence


def williams(n: int) -> list[list[int]]:
    """A Williams design for `n` things, 2 or more: rows of 0..n-1."""
    first = [0]
    low, high = 1, n - 1
    while len(first) < n:
        first.append(low if len(first) % 2 else high)
        low, high = (low + 1, high) if len(first) % 2 == 0 else (low, high - 1)
    rows = [[(part + shift) % n for part in first] for shift in range(n)]
    return rows if n % 2 == 0 else rows + [row[::-1] for row in rows]


def balanced_order(sources: Sequence[str], key: str, drawn: int) -> tuple[list[str], int, int]:
    """The order for the next ballot, its seed, and its row (0..) of the design as that seed shuffled it.

    `drawn` is how many ballots of this kind there are already; `key` names the kind and holds the study's secret seed,
    without which nobody can tell the next order. The same arguments give the same answer.
    """
    parts = sorted(sources)
    rows = williams(len(parts))
    block, place = divmod(drawn, len(rows))
    seed = random.Random(f"{key}/{block}").getrandbits(31)
    shuffled = random.Random(seed)
    shuffled.shuffle(parts)
    shuffled.shuffle(rows)
    return [parts[index] for index in rows[place]], seed, place
