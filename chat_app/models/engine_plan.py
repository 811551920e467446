"""How an engine is set up for a model on this machine: threads follow the cores, slots and context the free memory.

Measured with Qwen2.5 1.5B (Q4_K_M) on two cores of an EPYC: two threads write 27 tokens/s and read 65, one thread 17
and 36; with another program on one of the cores, two write 9 and read 32, one 18 and 36. So a large model gets a thread
a core, for the many minutes in which nothing else runs. SmolLM2 is quick enough on one.
"""

from dataclasses import dataclass

from heard.errors import UserError

MB = 1_000_000
GB = 1000 * MB
SMALL_BYTES = 300 * MB
"""Files up to this size run on one thread."""
MOST_THREADS = 4
"""Beyond them memory is the limit of writing, and the page wants a core too."""
SHORT_CONTEXT = 2048
"""Tokens of one chat's context where memory is scarce; persona, a few turns and the reply fit into it."""
BUFFER_BYTES = 150 * MB
"""The engine's own buffers."""
RESERVE_BYTES = 500 * MB
"""Left to the rest of the machine."""


class NotEnoughMemoryError(UserError):
    """A model that does not fit; `str()` names what it needs and what is free, and the next step."""


@dataclass(frozen=True, slots=True)
class EnginePlan:
    """The settings of one engine."""

    slots: int = 4
    """Chats that are answered at once."""
    context_tokens: int = 2048
    """Context window of one slot: prompt and reply together. Its memory is taken whether it is used or not."""
    threads: int = 1
    batch_tokens: int = 64
    """Prompt tokens that are read at once. Small, so that a long prompt does not hold up other replies that are
    streaming, and so that Stop works within one such batch; larger ones are no quicker on a processor."""
    prompt_cache_mb: int = 64
    """Memory for conversations that lost their slot to another chat, so that their next prompt need not be read
    again."""
    mapped: bool = True
    """Whether the file is mapped into memory. A large model is read instead: its weights are laid out anew for the
    processor, and the mapped file would be held beside them."""


def threads_for(cores: int) -> int:
    """Return the threads of a large model: all of two cores, else all but one, at most MOST_THREADS."""
    return min(MOST_THREADS, cores if cores <= 2 else cores - 1)


def plan_engine(
    label: str, file_bytes: int, kv_bytes: int, *, context_tokens: int, memory: int, cores: int, shorten: bool = True
) -> EnginePlan:
    """Return the settings for a file of `file_bytes` whose token of context takes `kv_bytes`, with `memory` bytes free.

    `context_tokens` is what one chat should have; with `shorten`, less where memory is scarce. Then there are fewer
    slots. Raises NotEnoughMemoryError.
    """
    if file_bytes <= SMALL_BYTES:
        small = EnginePlan(context_tokens=context_tokens)
        need = file_bytes + small.slots * context_tokens * kv_bytes + BUFFER_BYTES
        if memory >= need:
            return small
        raise NotEnoughMemoryError(_sentence(label, need, memory))
    contexts = {context_tokens, min(context_tokens, SHORT_CONTEXT)} if shorten else {context_tokens}
    need = 0
    for slots in (4, 2, 1):
        for context in sorted(contexts, reverse=True):
            need = file_bytes + slots * context * kv_bytes + BUFFER_BYTES + RESERVE_BYTES
            if memory >= need:
                return EnginePlan(slots, context, threads_for(cores), prompt_cache_mb=128, mapped=False)
    raise NotEnoughMemoryError(_sentence(label, need, memory))


def _sentence(label: str, need: int, memory: int) -> str:
    return (
        f'"{label}" needs {need / GB:.1f} GB of free memory, and {memory / GB:.1f} GB are free. End other programs, or '
        "choose a smaller model."
    )
