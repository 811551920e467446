"""What `heard study import --dry-run` shows of a file: its first items, and how long its texts are."""

from statistics import median

from heard.chat_app.studies.study_items import Items
from heard.chat_app.studies.text_features import count_words
from heard.db.study_records import ItemRecord
from heard.scorer.csv_rows import printable

MOST_SHOWN = 3
"""Most items that are shown."""
LONGEST_SHOWN = 80
"""Most characters of a text that are shown."""


def preview(read: Items) -> list[str]:
    """Return the lines: the encoding, the beginnings of the first items, the words of messages and answers."""
    lines = [f"Encoding: {read.encoding}"]
    for place, item in list(zip(read.places, read.items, strict=True))[:MOST_SHOWN]:
        lines += [f"{place}:", *_texts(item)]
    words = {"message": [count_words(item.message) for item in read.items]}
    for item in read.items:
        for answer in item.answers:
            if answer.text:
                words.setdefault(answer.source, []).append(count_words(answer.text))
    lines += [f"{printable(what)}: {_lengths(counts)}" for what, counts in words.items() if counts]
    return lines


def _lengths(counts: list[int]) -> str:
    if len(set(counts)) == 1:
        return f"{len(counts):,} text{'s' * (len(counts) != 1)} of {counts[0]:,} word{'s' * (counts[0] != 1)}"
    return f"{len(counts):,} texts of {min(counts):,} to {max(counts):,} words, median {median(counts):,.0f}"


def _texts(item: ItemRecord) -> list[str]:
    written = [(answer.source, answer.text or "(still to be written)") for answer in item.answers]
    attention = [("attention", item.attention)] if item.attention else []
    return [
        f"  {printable(what)}: {_beginning(text)}" for what, text in [("message", item.message), *written, *attention]
    ]


def _beginning(text: str) -> str:
    plain = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return plain if len(plain) <= LONGEST_SHOWN else f"{plain[:LONGEST_SHOWN]}..."
