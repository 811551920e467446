"""Many threads share the search for words that are one slip away, and each finds what it would find alone."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from heard.scorer.disguises import speller

# Long and alike, so that measuring a distance takes many steps.
WORDS = [
    "understanding", "uncomfortable", "disappointing", "responsibility", "extraordinary", "international",
    "communication", "administration", "embarrassment", "heartbreaking", "overwhelming", "hopelessness",
    "worthlessness", "nevertheless",
]  # fmt: skip
SWAPPED = [word[:at] + word[at + 1] + word[at] + word[at + 2 :] for word in WORDS for at in range(4, len(word) - 1)]
SLIPS = [slip for slip in SWAPPED if slip not in WORDS]
ROUNDS, THREADS = 100, 8


@pytest.mark.usefixtures("eager_switches")
def test_threads_find_what_one_finds_alone() -> None:
    search = speller(dict.fromkeys(WORDS, 1))
    alone = [search(slip) for slip in SLIPS]
    assert all(alone)

    def wrong(start: int) -> list[str]:
        turned = [*range(start, len(SLIPS)), *range(start)]
        return [SLIPS[at] for _ in range(ROUNDS) for at in turned if search(SLIPS[at]) != alone[at]]

    with ThreadPoolExecutor(THREADS) as pool:
        assert [slip for found in pool.map(wrong, range(0, 13 * THREADS, 13)) for slip in found] == []
