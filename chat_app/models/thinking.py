"""Part what a model thinks from what it says, while its output arrives.

What stands between the marks of `thinking_marks.py` is thinking. Where an output may have begun with thinking and no
mark says so, it is held back until the mark of its end, or until the output ends without one and was a reply. A mark
that ends what had passed for a reply makes thinking of all of it.
"""

import re

from heard.chat_app.common.text import has_visible
from heard.chat_app.models.records import Delta, Rethought, Thinking
from heard.chat_app.models.thinking_marks import STRIPPED_BEGIN, Kind, Mark, begun_mark, is_half_a_mark, next_mark

Item = Delta | Thinking | Rethought

THINKING_NAMES = re.compile(
    r"deepseek-r\d|deepseek-reasoner|\br1\b|qwq|qwen3(?!.*(?:instruct|coder|embed))|thinking|reasoner|reasoning|magistral|gpt-oss"
    r"|glm-(?:4\.[5-9]|5|z1)|minimax-m|kimi-k2-think|phi-4-(?:mini-)?reason|nemotron|olmo-3.*think|seed-oss|marco-o1",
    re.IGNORECASE,
)
"""Models of open weights that think in their output before they reply."""
OPENINGS = (
    "okay, so", "okay, the user", "okay, let", "okay, i ", "okay so", "ok, so", "ok, the user", "alright, so",
    "alright, the user", "alright, let", "hmm", "let me think", "let me start", "let's think", "let's see",
    "the user", "so the user", "so, the user", "we need to", "we are asked", "we have a user", "we should",
    "i need to respond", "i need to figure", "i need to think", "i should respond", "first, i need", "first, let",
    "first, the user", "thinking process", "here's a thinking process", "here is my thought", "here's my thought",
    "analysis", "commentary", "final<",
)  # fmt: skip
"""How thinking begins, in small letters."""
CHANNELS = {"analysis", "commentary", "final"}


class ThinkingFilter:
    """Parts one output. `feed` it as it arrives, then `end` it."""

    def __init__(self, *, thinks: bool) -> None:
        """`thinks` says that this model's output is known to begin with thinking, with or without a mark."""
        self.unopened = False
        """Whether thinking was ended by a mark without one that had begun it."""
        self.thought = False
        """Whether there was any thinking."""
        self._thinks = thinks
        self._rest = ""
        """What may be the beginning of a mark."""
        self._depth = 0
        self._opened = False
        self._channels = False
        """Whether the output has the channels of gpt-oss."""
        self._header: str | None = None
        self._holding: bool | None = True if thinks else None
        """Whether the text so far is held back; None while its first words are awaited."""
        self._held = ""
        self._said = ""
        """What was passed on as the reply."""
        self._after_inner: str | None = None
        """Thinking since the last mark of an end that left blocks open: the reply, if no other mark follows."""
        self._trimming = True
        self._stripped = False
        self._items: list[Item] = []

    def feed(self, text: str) -> list[Item]:
        """Take a piece of the output. Returns what is known of it now; an empty Thinking is a sign of life."""
        self._rest += text
        if not self._said and not self._opened and (found := STRIPPED_BEGIN.match(self._held + self._rest)):
            self._rest, self._held = (self._held + self._rest)[found.end() :], ""
            self._stripped, self._opened, self._depth = True, True, 1
        while (mark := next_mark(self._rest, stripped=self._stripped)) is not None:
            before, self._rest = self._rest[: mark.start], self._rest[mark.start + len(mark.text) :]
            self._add(before)
            self._pass(mark)
        cut = begun_mark(self._rest, stripped=self._stripped)
        ready, self._rest = self._rest[:cut], self._rest[cut:]
        self._add(ready)
        return self._taken()

    def note_channel(self) -> list[Item]:
        """Note that the server sends thinking apart from the text, so that none has to be looked for at its start."""
        self.thought = True
        if self._depth == 0:
            self._release()
        self._holding = False
        return self._taken()

    def end(self, *, whole: bool, cut: bool = False) -> list[Item]:
        """Take the output's end: `whole` if the model said that it is one, `cut` if it came from its bound."""
        rest, self._rest = self._rest, ""
        if not is_half_a_mark(rest):
            self._add(rest)
        after, self._after_inner = self._after_inner or "", None
        if whole and not cut and has_visible(after):
            self._think_held()
            self._say(after)
        elif self._depth or (self._holding and (not whole or (cut and self._thinks))):
            self._think_held()
            if after:
                self._think(after)
        else:
            self._release()
        return self._taken()

    def _taken(self) -> list[Item]:
        items, self._items = self._items, []
        return items

    def _add(self, text: str) -> None:
        """Take text between two marks."""
        if not text:
            return
        if self._header is not None:
            self._header += text
        elif self._depth and self._after_inner is not None:
            self._after_inner += text
            self._think("")
        elif self._depth:
            self._think(text)
        elif self._holding is False:
            self._say(text)
        else:
            self._hold(text)

    def _hold(self, text: str) -> None:
        self._held += text
        if self._holding is None and has_visible(self._held):
            begins = self._held.lstrip().casefold()
            if any(begins.startswith(opening) for opening in OPENINGS):
                self._holding = True
            elif not any(opening.startswith(begins) for opening in OPENINGS):
                self._release()
        if self._holding and has_visible(self._held):
            self._items.append(Thinking(""))

    def _release(self) -> None:
        """What was held back is the reply."""
        self._holding = False
        held, self._held = self._held, ""
        self._say(held)

    def _say(self, text: str) -> None:
        if self._trimming:
            if not self._said or self._said[-1].isspace():
                text = text.lstrip() if self.thought else text
            self._trimming = not text and self._trimming
        if text:
            self._said += text
            self._items.append(Delta(text))

    def _think(self, text: str) -> None:
        self.thought = True
        self._items.append(Thinking(text))

    def _think_held(self) -> None:
        """What was held back is thinking."""
        held, self._held = self._held, ""
        if has_visible(held):
            self._think(held)

    def _pass(self, mark: Mark) -> None:
        match mark.kind:
            case Kind.OPEN:
                self._open()
            case Kind.CLOSE:
                self._close()
            case Kind.HEADER:
                self._leave_block()
                self._channels, self._header = True, ""
            case Kind.MESSAGE if self._channels or self._held.strip().casefold() in CHANNELS:
                self._begin_message()
            case Kind.END if self._channels:
                self._leave_block()
            case Kind.EMPTY:
                self._trimming = True
            case Kind.WRAPPER if self.thought:
                self._trimming = True
            case _:
                self._add(mark.text)  # no mark of thinking here: what else ends a reply is not decided in this file

    def _open(self) -> None:
        if self._depth == 0 and not self._holding:
            self._release()
        self._opened = True
        self._depth += 1
        self._think("")

    def _close(self) -> None:
        if self._depth == 0:
            self._take_back()
            return
        if self._after_inner is not None:
            after, self._after_inner = self._after_inner, None
            self._think(after)
        self._depth -= 1
        if self._depth:
            self._after_inner = ""
        else:
            self._enter_reply()

    def _take_back(self) -> None:
        """All that had passed for the reply was thinking."""
        self.unopened = self.unopened or (not self._opened and has_visible(self._said + self._held))
        if self._said:
            self._items.append(Rethought(self._said))
            self._said = ""
        self._enter_reply()

    def _enter_reply(self) -> None:
        self._think_held()
        self.thought, self._trimming, self._holding, self._stripped = True, True, False, False

    def _leave_block(self) -> None:
        """A message of gpt-oss ends, and with it what was open in it."""
        if self._after_inner is not None:
            after, self._after_inner = self._after_inner, None
            self._think(after)
        self._depth, self._header = 0, None

    def _begin_message(self) -> None:
        if self._header is None:  # a server that has left out the mark before the channel's name
            self._header, self._held, self._channels = self._held, "", True
        name, self._header = (self._header.split() or ["final"])[0].casefold(), None
        if name not in ("final", "assistant"):
            self._open()
        elif self._opened:
            self._enter_reply()
        else:
            self._take_back()
