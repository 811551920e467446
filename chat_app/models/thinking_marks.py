"""The marks between what a model thinks and what it says, in the text of its output.

    <think>They sound tired.</think>That sounds hard.          a block, by any of NAMES, in any case, with attributes
    They sound tired.</think>That sounds hard.                 its beginning stood in the prompt, and is not sent
    <|channel|>analysis<|message|>...<|channel|>final<|message|>That sounds hard.       the channels of gpt-oss

A mark may come in any portions: what could be the beginning of one waits for the rest.
"""

import re
from dataclasses import dataclass
from enum import Enum, auto

NAMES = frozenset(
    {
        "think", "thinking", "thinks", "thought", "thoughts", "reason", "reasoning", "reflect", "reflection",
        "analysis", "scratchpad", "rationale", "cot", "chain_of_thought", "inner_monologue", "inner_thoughts",
        "internal_thoughts", "antthinking",
    }
)  # fmt: skip
"""Names of a tag round thinking."""
WRAPPERS = frozenset({"answer", "output", "response", "final", "final_answer"})
"""Names of a tag round the reply, which some models write after their thinking."""
LONGEST_MARK = 200


class Kind(Enum):
    """What a mark does."""

    OPEN = auto()
    """Thinking begins."""
    CLOSE = auto()
    """Thinking ends."""
    EMPTY = auto()
    """Nothing: it opens and closes itself."""
    HEADER = auto()
    """The head of a message of gpt-oss begins; the channel's name follows."""
    MESSAGE = auto()
    """The head ends, and the message begins."""
    END = auto()
    """The message ends."""
    WRAPPER = auto()
    """Stands round a reply after thinking."""


FIXED = {
    "<|channel|>": Kind.HEADER, "<|start|>": Kind.HEADER, "<|message|>": Kind.MESSAGE,
    "<|end|>": Kind.END, "<|return|>": Kind.END, "<|call|>": Kind.END,
    "[think]": Kind.OPEN, "[/think]": Kind.CLOSE, "◁think▷": Kind.OPEN, "◁/think▷": Kind.CLOSE,
    "<|begin_of_thought|>": Kind.OPEN, "<|end_of_thought|>": Kind.CLOSE,
    "<|start_thinking|>": Kind.OPEN, "<|end_thinking|>": Kind.CLOSE,
    "<|think|>": Kind.OPEN, "<|/think|>": Kind.CLOSE, "<|channel>": Kind.OPEN, "<channel|>": Kind.CLOSE,
    "<unused94>": Kind.OPEN, "<unused95>": Kind.CLOSE,
    "<|start_response|>": Kind.WRAPPER, "<|end_response|>": Kind.WRAPPER,
    "<|begin_of_solution|>": Kind.WRAPPER, "<|end_of_solution|>": Kind.WRAPPER,
    **{f"&lt;{name}&gt;": Kind.OPEN for name in NAMES}, **{f"&lt;/{name}&gt;": Kind.CLOSE for name in NAMES},
}  # fmt: skip
"""Marks that are always written alike, in small letters."""
STRIPPED_END = "assistantfinal"
"""What is left of the mark before the reply where a server leaves out the special tokens of gpt-oss."""
STRIPPED_BEGIN = re.compile(r"\s*analysis(?=[^\sa-z.,:;<|])")
_TAG = r"<\s*/?\s*(?:\w{1,12}:)?(?:" + "|".join(sorted(NAMES | WRAPPERS)) + r')\b(?:"[^"]*"|[^<>"])*>'
_FIXED = "|".join(map(re.escape, FIXED))
_MARKS = re.compile(rf"{_TAG}|{_FIXED}", re.IGNORECASE)
_STRIPPED_MARKS = re.compile(rf"{_TAG}|{_FIXED}|{STRIPPED_END}", re.IGNORECASE)
_HEAD = re.compile(r"<\s*(/?)\s*(?:\w{1,12}:)?(\w*)(.*)", re.DOTALL)
_BEGINNERS = re.compile(r"[<\[◁&]")


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark in a text."""

    kind: Kind
    start: int
    text: str


def next_mark(text: str, *, stripped: bool = False) -> Mark | None:
    """Return the first whole mark; `stripped` looks for STRIPPED_END too."""
    found = (_STRIPPED_MARKS if stripped else _MARKS).search(text)
    return Mark(_kind(found.group()), found.start(), found.group()) if found else None


def _kind(mark: str) -> Kind:
    if (fixed := FIXED.get(mark.casefold())) is not None:
        return fixed
    if mark.casefold() == STRIPPED_END:
        return Kind.CLOSE
    head = _HEAD.fullmatch(mark)
    assert head is not None
    slash, name, rest = head.groups()
    if name.casefold() in WRAPPERS:
        return Kind.WRAPPER
    if slash:
        return Kind.CLOSE
    return Kind.EMPTY if rest.removesuffix(">").rstrip().endswith("/") else Kind.OPEN


def begun_mark(text: str, *, stripped: bool = False) -> int:
    """Return where the end of `text` may be the beginning of a mark; its length if nowhere. `text` has no whole one."""
    start = max(0, len(text) - LONGEST_MARK)
    for found in _BEGINNERS.finditer(text, start):
        if _may_become_one(text[found.start() :]):
            return found.start()
    if stripped:
        for length in range(min(len(STRIPPED_END) - 1, len(text)), 0, -1):
            if STRIPPED_END.startswith(text[-length:].casefold()):
                return len(text) - length
    return len(text)


def _may_become_one(text: str) -> bool:
    small = text.casefold()
    if any(mark.startswith(small) for mark in FIXED):
        return True
    head = _HEAD.fullmatch(small)
    if head is None:
        return False
    name, rest = head.group(2), head.group(3)
    if not rest or rest == ":":
        return len(name) <= max(map(len, NAMES))
    return name in NAMES | WRAPPERS and "<" not in rest


def is_half_a_mark(text: str) -> bool:
    """Whether a reply that ends with this, which may be the beginning of a mark, has ended within one."""
    head = _HEAD.fullmatch(text)
    return text.startswith(("<|", "&lt;")) or (head is not None and head.group(2).casefold() in NAMES)
