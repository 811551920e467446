"""What about the answers of a file may tell them apart, or leaves nothing to judge: length, doubles, missing ends."""

from collections.abc import Sequence
from itertools import combinations

from heard.chat_app.studies.broken_ends import breaks_off
from heard.chat_app.studies.item_drafts import ItemDraft
from heard.chat_app.studies.text_features import count_words

LONG_WORDS = 500
"""A longer answer is told: it is about the most that an arm may write (640 tokens)."""
ALIKE = 0.8
"""Two answers with this share of common runs of three words, 0..1, are nearly the same."""
_MOST_LISTED = 5


def notices(drafts: Sequence[ItemDraft], unit: str = "line") -> list[str]:
    """Return a sentence for very long answers, one for items with two answers that are nearly the same, and one for
    answers that end in mid-sentence.

    `unit` is what the file has lines of. Takes time in proportion to the texts.
    """
    long = [draft.line for draft in drafts for text in draft.answers.values() if count_words(text) > LONG_WORDS]
    alike = [
        draft.line
        for draft in drafts
        if any(likeness(one, other) >= ALIKE for one, other in combinations(draft.answers.values(), 2))
    ]
    told = []
    if long:
        one = len(long) == 1
        told.append(
            f"{len(long):,} answer{' is' if one else 's are'} longer than {LONG_WORDS} words ({_places(long, unit)}): "
            "nobody may read them, and their length tells who wrote them."
        )
    if alike:
        one = len(alike) == 1
        told.append(
            f"{len(alike):,} item{' has' if one else 's have'} two answers that are nearly the same "
            f"({_places(alike, unit)}): there is little to choose between."
        )
    broken = [draft.line for draft in drafts for text in draft.answers.values() if breaks_off(text)]
    if broken:
        one = len(broken) == 1
        told.append(
            f"{len(broken):,} answer{' ends' if one else 's end'} in mid-sentence ({_places(broken, unit)}): people "
            "would mark the break and not the answer. Look at them, and mend or leave out what was cut."
        )
    return told


def likeness(one: str, other: str) -> float:
    """Return the share of runs of three words that two texts have in common, 0..1, of all that either has.

    Capitals and punctuation do not count; of texts that are shorter than three words the whole is one run.
    """
    first, second = _runs(one), _runs(other)
    return len(first & second) / len(first | second)


def _runs(text: str) -> set[tuple[str, ...]]:
    words = "".join(char if char.isalnum() else " " for char in text.casefold().replace("’", "").replace("'", ""))
    listed = words.split()
    return {tuple(listed[place : place + 3]) for place in range(max(1, len(listed) - 2))}


def _places(lines: Sequence[int], unit: str) -> str:
    listed = list(dict.fromkeys(lines))
    shown = ", ".join(map(str, listed[:_MOST_LISTED]))
    more = len(listed) - _MOST_LISTED
    return f"{unit}{'s' * (len(listed) > 1)} {shown}{f' and {more:,} more' if more > 0 else ''}"
