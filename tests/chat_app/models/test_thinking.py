"""What a model thinks in the text of its output is told from its reply, over a real server and in any portions."""

from dataclasses import dataclass

import pytest

from heard.chat_app.models.client import Models
from heard.chat_app.models.records import (
    Delta,
    FailureKind,
    ModelFailure,
    ModelSpec,
    Rethought,
    Thinking,
    Usage,
    Waiting,
)
from tests.chat_app.models.asking import PROMPT, spec_of
from tests.servers import FOREVER, Script
from tests.wires import WIRES

WIRE = WIRES["openai"]
REPLY = "That sounds hard. I am here."
THOUGHT = "They feel low, so be warm."


@dataclass
class Heard:
    """What came of one call."""

    said: str = ""
    ever: str = ""
    """Everything that was ever passed on as the reply."""
    thought: str = ""
    usage: Usage | None = None
    failure: ModelFailure | None = None


async def hear(models: Models, spec: ModelSpec) -> Heard:
    """Ask, and part what comes."""
    heard = Heard()
    try:
        async for item in models.stream(spec, PROMPT):
            match item:
                case Delta(text):
                    assert text
                    heard.said, heard.ever = heard.said + text, heard.ever + text
                case Thinking(text):
                    heard.thought += text
                case Rethought(text):
                    assert text == heard.said
                    heard.said, heard.thought = "", heard.thought + text
                case Usage():
                    heard.usage = item
                case Waiting():
                    pass
    except ModelFailure as failure:
        heard.failure = failure
    return heard


def portions(text: str, size: int, reason: str = "stop") -> Script:
    """A whole output, so many characters at a time."""
    parts = [text[at : at + size] for at in range(0, len(text), size)]
    return WIRE.script(WIRE.opening(), *map(WIRE.piece, parts), WIRE.ending(reason))


OUTPUTS: dict[str, tuple[str, str]] = {
    # output, what of it is thinking
    "think": (f"<think>{THOUGHT}</think>{REPLY}", THOUGHT),
    "blank lines": (f"<think>\n{THOUGHT}\n</think>\n\n{REPLY}", f"\n{THOUGHT}\n"),
    "nothing thought": (f"<think>\n\n</think>\n\n{REPLY}", "\n\n"),
    "closes itself": (f"<think/>{REPLY}", ""),
    "thinking": (f"<thinking>{THOUGHT}</thinking>{REPLY}", THOUGHT),
    "thought": (f"<thought>{THOUGHT}</thought>{REPLY}", THOUGHT),
    "reasoning": (f"<reasoning>{THOUGHT}</reasoning>{REPLY}", THOUGHT),
    "reflection": (f"<reflection>{THOUGHT}</reflection>{REPLY}", THOUGHT),
    "reflection after thinking": (f"<thinking>a</thinking><reflection>b</reflection>{REPLY}", "ab"),
    "upper case": (f"<THINK>{THOUGHT}</THINK>{REPLY}", THOUGHT),
    "mixed case": (f"<Think>{THOUGHT}</tHINK>{REPLY}", THOUGHT),
    "attributes": (f'<think lang="en" x=1>{THOUGHT}</think>{REPLY}', THOUGHT),
    "an attribute with an end": (f'<think note="a > b">{THOUGHT}</think>{REPLY}', THOUGHT),
    "spaces in the mark": (f"< think >{THOUGHT}</ think >{REPLY}", THOUGHT),
    "a name before it": (f"<seed:think>{THOUGHT}</seed:think>{REPLY}", THOUGHT),
    "nested": (f"<think>a<think>b</think>c</think>{REPLY}", "abc"),
    "nested in another": (f"<thinking>a<reflection>b</reflection>c</thinking>{REPLY}", "abc"),
    "one mark too many": (f"<think>a <think> is a tag</think>{REPLY}", "a  is a tag"),
    "ends by another name": (f"<think>{THOUGHT}</thinking>{REPLY}", THOUGHT),
    "two blocks": (f"<think>a</think><think>b</think>{REPLY}", "ab"),
    "in the middle": (f"That sounds <think>{THOUGHT}</think> hard. I am here.", THOUGHT),
    "at the end": (f"{REPLY}<think>{THOUGHT}</think>", THOUGHT),
    "unclosed at the end": (f"{REPLY}<think>{THOUGHT}", THOUGHT),
    "half a mark at the end": (f"{REPLY}<think", ""),
    "an end without a beginning": (f"Okay, so the user feels low.</think>\n\n{REPLY}", "Okay, so the user feels low."),
    "the same, twice": (f"Hmm. a</think>\n{REPLY}", "Hmm. a"),
    "harmony": (
        f"<|channel|>analysis<|message|>{THOUGHT}<|end|><|start|>assistant<|channel|>final<|message|>{REPLY}<|return|>",
        THOUGHT,
    ),
    "harmony with a call": (
        f"<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>commentary to=functions.x "
        f"<|constrain|>json<|message|>b<|call|><|start|>assistant<|channel|>final<|message|>{REPLY}",
        "ab",
    ),
    "harmony without analysis": (f"<|channel|>final<|message|>{REPLY}", ""),
    "harmony without the first mark": (
        f"analysis<|message|>{THOUGHT}<|end|><|start|>assistant<|channel|>final<|message|>{REPLY}", THOUGHT,
    ),
    "harmony, its marks left out": (f"analysis{THOUGHT}assistantfinal{REPLY}", THOUGHT),
    "Magistral": (f"[THINK]{THOUGHT}[/THINK]{REPLY}", THOUGHT),
    "Kimi": (f"◁think▷{THOUGHT}◁/think▷{REPLY}", THOUGHT),
    "Command": (f"<|START_THINKING|>{THOUGHT}<|END_THINKING|><|START_RESPONSE|>{REPLY}<|END_RESPONSE|>", THOUGHT),
    "OpenThinker": (f"<|begin_of_thought|>{THOUGHT}<|end_of_thought|>{REPLY}", THOUGHT),
    "Gemma": (f"<|channel>{THOUGHT}<channel|>{REPLY}", THOUGHT),
    "escaped": (f"&lt;think&gt;{THOUGHT}&lt;/think&gt;{REPLY}", THOUGHT),
    "a wrapped reply": (f"<think>{THOUGHT}</think><answer>{REPLY}</answer>", THOUGHT),
    "begins as thinking does": (REPLY, ""),
}  # fmt: skip


@pytest.mark.parametrize("name", OUTPUTS)
async def test_thinking_is_parted_from_the_reply_in_any_portions(models: Models, name: str) -> None:
    output, thought = OUTPUTS[name]
    for size in (1, 2, 5, 1000):
        with WIRE.server(portions(output, size)) as server:
            heard = await hear(models, spec_of(WIRE, server))
        assert heard.failure is None, size
        assert (heard.said, heard.ever, heard.thought) == (REPLY, REPLY, thought), size
        assert heard.usage == Usage(7, 3)


@pytest.mark.parametrize(
    "text",
    [
        "I <3 you, and 2 < 3 > 1.", "Write <b>it</b> down.", "[this] & that &lt; more", "A thinking person reasons.",
        "Okay, so that hurts.", "Hmm. That hurts.", "The user of it is you.", "Analysis helps: try it.", "◁ ok",
        "<thinker> is no mark", "It is <|end|> good", "<answer>yes</answer>", "Hi<", "Hi [thi", "Final words.",
    ],
)  # fmt: skip
async def test_what_is_no_mark_is_the_reply(models: Models, text: str) -> None:
    for size in (1, 1000):
        with WIRE.server(portions(text, size)) as server:
            heard = await hear(models, spec_of(WIRE, server))
        assert (heard.said, heard.ever, heard.thought, heard.failure) == (text, text, "", None)


async def test_an_end_that_nothing_announced_takes_the_text_back_and_holds_the_next(models: Models) -> None:
    with WIRE.server(portions(f"They feel low.</think>{REPLY}", 4)) as server:
        spec = spec_of(WIRE, server)
        first, second = await hear(models, spec), await hear(models, spec)
    assert (first.said, first.thought, first.ever) == (REPLY, "They feel low.", f"They feel low.{REPLY}")
    assert (second.said, second.thought, second.ever) == (REPLY, "They feel low.", REPLY)


@pytest.mark.parametrize("model", ["deepseek-r1:8b", "Qwen/QwQ-32B", "qwen3:4b", "Qwen3-4B-Thinking-2507", "magistral"])
async def test_a_model_that_is_known_to_think_is_never_seen_to(models: Models, model: str) -> None:
    with WIRE.server(portions(f"They feel low.</think>{REPLY}", 4), portions(REPLY, 4)) as server:
        spec = spec_of(WIRE, server, model=model)
        first, second = await hear(models, spec), await hear(models, spec)
    assert (first.said, first.thought, first.ever) == (REPLY, "They feel low.", REPLY)
    assert (second.said, second.thought) == (REPLY, ""), "and may reply without"


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ("<think>They feel", "length"), ("<think>They feel", "stop"), ("<think>a</think>", "stop"),
        ("<think>a</think>\n\n", "length"), (f"{REPLY}</think>", "stop"), ("analysisThey feel", "length"),
        ("<|channel|>analysis<|message|>They", "length"), ("<think>a<think>b</think>c", "length"),
    ],
)  # fmt: skip
async def test_a_reply_that_is_all_thinking_says_so(models: Models, output: str, reason: str) -> None:
    with WIRE.server(portions(output, 3, reason)) as server:
        heard = await hear(models, spec_of(WIRE, server))
    assert heard.failure is not None
    assert (heard.said, heard.failure.kind, len(server.requests)) == ("", FailureKind.EMPTY, 1)
    assert '"Scripted" put all that it wrote into thinking' in heard.failure.sentence
    assert "thinking_tokens" in heard.failure.sentence


async def test_a_model_that_is_known_to_think_and_is_cut_was_thinking(models: Models) -> None:
    with WIRE.server(portions("They feel low and", 3, "length")) as server:
        heard = await hear(models, spec_of(WIRE, server, model="deepseek-r1"))
    assert heard.failure is not None
    assert (heard.said, heard.thought) == ("", "They feel low and")


async def test_thinking_is_no_silence_and_no_stall(hasty: Models) -> None:
    """Longer than every limit on silence, and each pause shorter."""
    thinking = [step for word in ("They ", "feel ", "low ", "and ", "sad. ") for step in (WIRE.piece(word), 0.3)]
    for begin in ("<think>", "Okay, so "):
        steps = (WIRE.opening(), WIRE.piece(begin), *thinking, WIRE.piece(f"</think>{REPLY}"), WIRE.ending())
        with WIRE.server(WIRE.script(*steps)) as server:
            heard = await hear(hasty, spec_of(WIRE, server))
        assert (heard.said, heard.failure) == (REPLY, None)


async def test_thinking_that_stalls_or_breaks_off_is_no_reply(hasty: Models) -> None:
    for after in ((FOREVER,), ()):
        script = WIRE.script(WIRE.opening(), WIRE.piece("<think>They feel"), *after)
        with WIRE.server(script) as server:
            heard = await hear(hasty, spec_of(WIRE, server))
        assert heard.failure is not None
        assert (heard.said, heard.thought, heard.failure.kind) == ("", "They feel", FailureKind.CUT)
        assert "broke off" in heard.failure.sentence


async def test_endless_thinking_ends_with_the_time_of_a_reply() -> None:
    steps = [step for _ in range(400) for step in (WIRE.piece("hm "), 0.05)]
    async with Models({}, engine=None, first_token_seconds=9, stall_seconds=9, total_seconds=0.7) as strict:
        with WIRE.server(WIRE.script(WIRE.opening(), WIRE.piece("<think>"), *steps)) as server:
            heard = await hear(strict, spec_of(WIRE, server))
    assert heard.failure is not None
    assert "still thinking after 0.7 seconds" in heard.failure.sentence


async def test_room_for_thinking_is_no_room_for_a_longer_reply(models: Models) -> None:
    with WIRE.server(portions(f"<think>{'hm ' * 500}</think>{'word ' * 400}", 50)) as server:
        heard = await hear(models, spec_of(WIRE, server, thinking_tokens=1000))
    assert server.requests[0]["max_tokens"] == 1040
    assert heard.usage is not None
    assert heard.usage.cut
    assert 320 < len(heard.said) < 500


@pytest.mark.parametrize("name", WIRES)
async def test_marks_are_heard_over_every_protocol(models: Models, name: str) -> None:
    wire = WIRES[name]
    steps = [
        wire.opening(),
        *(wire.piece(text) for text in ("<thi", f"nk>{THOUGHT}</th", "ink>", REPLY)),
        wire.ending(),
    ]
    with wire.server(wire.script(*steps)) as server:
        heard = await hear(models, spec_of(wire, server))
    assert (heard.said, heard.ever, heard.thought, heard.failure) == (REPLY, REPLY, THOUGHT, None)
