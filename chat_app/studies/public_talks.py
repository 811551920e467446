"""Whole talks in public sets: their turns, and the first exchange that stands by itself."""

import json
from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from heard.chat_app.studies.text_features import count_words


class Turn(NamedTuple):
    """What one of the two said."""

    seeker: bool
    """Whether the one who seeks help said it."""
    text: str


def first_exchange(turns: Sequence[Turn], fewest_words: int) -> tuple[str, str] | None:
    """Return the first message of the seeker with so many words and the answer to it, or None.

    What one of them said in several turns on end is one message.
    """
    runs = [
        (seeker, "\n".join(turn.text.strip() for turn in said if turn.text.strip()))
        for seeker, said in groupby(turns, key=lambda turn: turn.seeker)
    ]
    for (seeker, message), (_, answer) in pairwise(runs):
        if seeker and answer and count_words(message) >= fewest_words:
            return message, answer
    return None


def turns_in(
    cell: str, speaker_keys: Sequence[str], text_keys: Sequence[str], speakers: Mapping[str, bool]
) -> list[Turn] | None:
    """Return the turns of a talk that is a list of objects in JSON; None if it is something else.

    `speakers` says of each name whether it is the seeker's; turns of others, such as a system's, are left out.
    """
    try:
        listed = json.loads(cell)
    except (ValueError, RecursionError):
        return None
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        return None
    turns = []
    for one in listed:
        speaker = next((one[key] for key in speaker_keys if isinstance(one.get(key), str)), "").strip().lower()
        text = next((one[key] for key in text_keys if isinstance(one.get(key), str)), "")
        if speaker in speakers:
            turns.append(Turn(speakers[speaker], text))
    return turns
