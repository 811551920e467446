"""Orders of answers: balanced within each block, and the same for the same arguments."""

from collections import Counter
from itertools import pairwise

import pytest

from heard.chat_app.studies.williams import balanced_order, williams_design

NAMES = ["north", "human", "south", "west", "east"]


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_every_place_and_every_neighbour_equally_often(n: int) -> None:
    rows = williams_design(n)
    assert len(rows) == (n if n % 2 == 0 else 2 * n)
    assert all(sorted(row) == list(range(n)) for row in rows)
    places = Counter((place, thing) for row in rows for place, thing in enumerate(row))
    assert len(places) == n * n
    assert len(set(places.values())) == 1
    neighbours = Counter(pair for row in rows for pair in pairwise(row))
    assert len(neighbours) == n * (n - 1)
    assert len(set(neighbours.values())) == 1


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_every_block_of_ballots_is_balanced(n: int) -> None:
    names, size = NAMES[:n], len(williams_design(n))
    firsts = set()
    for block in range(40):
        orders = [balanced_order(names, "study/secret", block * size + place) for place in range(size)]
        assert len({seed for _, seed, _ in orders}) == 1
        assert [row for _, _, row in orders] == list(range(size))
        places = Counter((place, name) for order, _, _ in orders for place, name in enumerate(order))
        assert set(places.values()) == {size // n}
        assert len(places) == n * n
        neighbours = Counter(pair for order, _, _ in orders for pair in pairwise(order))
        assert len(neighbours) == n * (n - 1)
        assert len(set(neighbours.values())) == 1
        firsts.add(tuple(orders[0][0]))
    assert len(firsts) > 1  # blocks do not all begin alike, so nobody can foresee the next ballot


def test_the_same_arguments_give_the_same_order() -> None:
    for drawn in range(30):
        first = balanced_order(NAMES, "key", drawn)
        assert balanced_order(list(reversed(NAMES)), "key", drawn) == first
        assert 0 <= first[1] < 2**31
    assert [balanced_order(NAMES, "key", n) for n in range(30)] != [
        balanced_order(NAMES, "other", n) for n in range(30)
    ]


def test_a_count_that_stops_in_the_middle_of_a_block_is_nearly_balanced() -> None:
    orders = [balanced_order(NAMES, "key", drawn)[0] for drawn in range(1003)]
    counts = Counter((place, name) for order in orders for place, name in enumerate(order))
    assert max(counts.values()) - min(counts.values()) <= 3
