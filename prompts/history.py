"""Which earlier turns a prompt holds: the first one, a summary of what is left out, and the newest that fit.

The first turn says what brought the person here, the newest what is being talked about; the middle is what a model
misses least (Liu et al. 2024, "Lost in the middle"). Examples stand before the first turn and take only the room that
the turns leave. Pure: a counter of tokens comes from the caller.
"""

import re
from collections.abc import Callable, Iterable, Sequence

from heard.prompts.records import Prompt, PromptMessage

Exchange = tuple[str, str]
"""An earlier (message, reply); the reply is "" where nothing of it arrived."""
TokenCounter = Callable[[str], int]
"""Tokens of a text."""

MESSAGE_TOKENS = 8
"""More than any common chat template adds to one message (its role and the marks around it)."""
TEMPLATE_TOKENS = 32
"""More than it adds once: the opening of the reply, and a system text of its own where there is none."""
FIRST_SHARE = 0.5
"""Of the room for history: a first turn that takes more is left out like any other."""
LETTERS_PER_TOKEN = 3
"""Of one Latin word with the space before it: right for German or Polish under a small English vocabulary, and nearly
twice too many for English."""
SUMMARY_HEAD = "What the person has told you earlier in this conversation, in short:"

_PARAGRAPH = "\n\n"
_WORDS = re.compile(r" ?[A-Za-z]+")


def estimate_tokens(text: str) -> int:
    """Tokens of a text under a tokenizer that is not at hand: too many rather than too few.

    Letters of English words by LETTERS_PER_TOKEN, everything else by its bytes in UTF-8: no token of a byte-level
    tokenizer is shorter than a byte. Only rows of letters that are no words can have more.
    """
    words = [len(word) for word in _WORDS.findall(text)]
    others = len(text.encode("utf-8", "surrogatepass")) - sum(words)
    return others + sum(-(-word // LETTERS_PER_TOKEN) for word in words)


def token_upper_bound(texts: Iterable[str]) -> int:
    """Of messages with these texts, and whatever tokenizer and template: a bound that needs no counting."""
    return TEMPLATE_TOKENS + sum(len(text.encode("utf-8", "surrogatepass")) + MESSAGE_TOKENS for text in texts)


def prompt_tokens(messages: Iterable[PromptMessage], count: TokenCounter) -> int:
    """Of a whole prompt, template included; never less than the model will read, if `count` is never too low."""
    return TEMPLATE_TOKENS + sum(count(message.content) + MESSAGE_TOKENS for message in messages)


def exchange_tokens(exchange: Exchange, count: TokenCounter) -> int:
    """Of one earlier message and its reply."""
    return sum(count(text) + MESSAGE_TOKENS for text in exchange)


def kept_history(history: Sequence[Exchange], room: int, count: TokenCounter) -> list[Exchange]:
    """The first turn and as many of the newest, in order, as fit `room` tokens together. `history` is oldest first."""
    if not history:
        return []
    first = exchange_tokens(history[0], count)
    reserved = first if first <= room * FIRST_SHARE else 0
    left, newest = room - reserved, len(history)
    while newest > 1 and (size := exchange_tokens(history[newest - 1], count)) <= left:
        left -= size
        newest -= 1
    holds_first = reserved > 0 or (newest == 1 and first <= left)
    return [*history[: int(holds_first)], *history[newest:]]


def with_summary(head: Sequence[PromptMessage], summary: str | None) -> list[PromptMessage]:
    """The messages before the history, with the summary at the end of the system text: few templates allow a second
    one, or one further on."""
    if not summary:
        return list(head)
    section = f"{SUMMARY_HEAD}\n{summary}"
    if head and head[0].role == "system":
        return [PromptMessage("system", f"{head[0].content}\n\n{section}"), *head[1:]]
    return [PromptMessage("system", section), *head]


def kept_examples(examples: Sequence[Sequence[Exchange]], room: int, count: TokenCounter) -> list[Sequence[Exchange]]:
    """As many of the last examples, in order and each whole, as fit `room` tokens together."""
    kept: list[Sequence[Exchange]] = []
    for example in reversed(examples):
        room -= sum(exchange_tokens(pair, count) for pair in example)
        if room < 0:
            break
        kept.insert(0, example)
    return kept


def with_history(
    head: Sequence[PromptMessage],
    history: Sequence[Exchange],
    last: PromptMessage,
    *,
    summary: str | None,
    room: int,
    count: TokenCounter,
    examples: Sequence[Sequence[Exchange]] = (),
) -> tuple[list[PromptMessage], int]:
    """All messages of a prompt that takes at most `room` tokens, unless head and last alone are longer; and how many
    exchanges of them, after the system text, are examples.

    The examples give way first, the earliest of them before the others, and then the history. The summary gives way
    before the last message does.
    """
    opening = with_summary(head, summary)
    pairs = [*(pair for example in examples for pair in example), *history]
    whole = [*(message.content for message in (*opening, last)), *(text for pair in pairs for text in pair)]
    kept, shown = list(history), list(examples)
    if token_upper_bound(whole) > room:
        left = room - prompt_tokens([*opening, last], count)
        if left < 0:
            opening, left = list(head), room - prompt_tokens([*head, last], count)
        kept = kept_history(history, left, count)
        left -= sum(exchange_tokens(pair, count) for pair in kept)
        shown = kept_examples(examples, left, count) if len(kept) == len(history) else []
    before = [pair for example in shown for pair in example]
    return [*opening, *_in_turns([*before, *kept], last)], len(before)


def _in_turns(pairs: Iterable[Exchange], last: PromptMessage) -> list[PromptMessage]:
    """User and assistant by turns, as chat templates want them: a message without a reply goes before the next one, and
    only once where it was sent again."""
    said: list[PromptMessage] = []
    unanswered: list[str] = []

    def with_unanswered(content: str) -> str:
        earlier = [text for text in dict.fromkeys(unanswered) if not _holds_paragraph(content, text)]
        return _PARAGRAPH.join([*earlier, content])

    for message, reply in pairs:
        if reply:
            said += [PromptMessage("user", with_unanswered(message)), PromptMessage("assistant", reply)]
            unanswered = []
        else:
            unanswered.append(message)
    return [*said, PromptMessage(last.role, with_unanswered(last.content))]


def _holds_paragraph(content: str, text: str) -> bool:
    return f"{_PARAGRAPH}{text}{_PARAGRAPH}" in f"{_PARAGRAPH}{content}{_PARAGRAPH}"


def exchanges_included(prompt: Prompt, history: Sequence[Exchange]) -> list[bool]:
    """Of each earlier turn, whether the prompt holds it. An example with the same words is none."""
    after = sum(message.role == "system" for message in prompt.messages) + 2 * prompt.examples
    contents = [message.content for message in prompt.messages[after:]]

    def holds(message: str, reply: str) -> bool:
        if not reply:
            return any(_holds_paragraph(content, message) for content in contents[::2])
        answered = zip(contents[::2], contents[1::2], strict=False)
        return any(f"{_PARAGRAPH}{said}".endswith(f"{_PARAGRAPH}{message}") for said, told in answered if told == reply)

    return [holds(*pair) for pair in history]
