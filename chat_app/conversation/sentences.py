"""Cut a text that is still arriving into sentences, so that each can be read before anybody sees it."""

import re

MOST_HELD = 300
"""Characters that are held back for the end of their sentence. A longer one is let go at its last white space: nobody
waits half a minute for a model that writes no full stops."""

_END = re.compile(
    r"[.!?…]+[\"'”’»)\]*_]*(?=\s)"  # a full stop with what closes around it; "3.5" goes on
    r"|[。！？]+[」』”]*"
    r"|\n"
)
_NO_END = re.compile(r"(?:^|[\s(])(?:Mr|Mrs|Ms|Dr|Prof|St|vs|etc|e\.g|i\.e|approx|[A-Z])\.$", re.IGNORECASE)
"""A full stop that belongs to its word. Single letters are initials."""


class SentenceSplitter:
    """Feed it pieces; it returns whole sentences, each with the white space before it, so that they join again."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> list[str]:
        """Return the sentences that `piece` completes, in order."""
        self._held += piece
        sentences = []
        while (end := self._end()) is not None:
            sentences.append(self._held[:end])
            self._held = self._held[end:]
        return sentences

    def rest(self) -> str:
        """Return what has no end yet, and forget it."""
        held, self._held = self._held, ""
        return held

    def _end(self) -> int | None:
        start = self._held[: MOST_HELD + 2]  # all that is looked at, however much came in one piece
        for found in _END.finditer(start):
            before = start[: found.end()]
            if before.strip() and not _NO_END.search(before):
                return found.end()
        if len(self._held) > MOST_HELD:
            space = self._held.rfind(" ", 1, MOST_HELD)
            return space if space > 0 else MOST_HELD
        return None


def is_whole(text: str) -> bool:
    """Return whether a text ends as a sentence does."""
    return re.search(r"[.!?…。！？][\"'”’»)\]*_」』]*\s*$", text) is not None
