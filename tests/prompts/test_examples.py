"""The example exchanges: those that come with heard, files of one's own, and their place in a prompt."""

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from heard.chat_app.safety import crisis_check
from heard.prompts.build import build_prompt, for_step, reply_calls
from heard.prompts.example_files import Example, ExampleTurn
from heard.prompts.files import PromptFileError
from heard.prompts.history import estimate_tokens, exchanges_included, prompt_tokens
from heard.prompts.library import PromptLibrary
from heard.prompts.records import Persona, Prompt

DEBRIS = re.compile(r"[#*_`<>{}\[\]|\\]|https?:|[\u2600-\u27bf\U0001f000-\U0001faff\ufe0f]|(?i:sorry for your loss)")
"""Nothing that a reply is made of: marks of a hashtag, a stage direction, a list or a template, and emojis."""
CLAIMS = re.compile(
    r"\bas a (?:human|person|mother|father|woman|man|fellow)\b|\bI(?:'m| am) (?:a )?human\b"
    r"|\bI(?:'ve| have) been there\b|\bI remember (?:when|my)\b|\bwhen I was\b|\bmy own\b"
    r"|\bI (?:also )?(?:went through|grew up|lost my)\b"
    r"|\bmy (?:mother|mum|dad|father|wife|husband|son|daughter|kids|children|garden|kettle|childhood|friends?)\b"
    r"|\bI love you\b|\bI(?:'ll| will) (?:call|text|ring|meet|visit|remember|phone)\b|\b\d+ ?mg\b",
    re.IGNORECASE,
)
"""What an AI may not say of itself, nor promise, nor prescribe."""
EXAMPLE = Example("grief", (ExampleTurn("my dog died", "Oh no. What was he like?"), ExampleTurn("silly", "A clown.")))
OTHER = Example("good news", (ExampleTurn("i passed", "You did it!"),))


@pytest.fixture(scope="module")
def library() -> PromptLibrary:
    return PromptLibrary.load()


def said(prompt: Prompt) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in prompt.messages]


# Those that come with heard


def test_there_are_enough_for_every_persona_and_a_third_have_several_turns(library: PromptLibrary) -> None:
    every = [example for examples in library.examples.values() for example in examples]
    assert len(every) >= 1500
    assert sum(len(example.turns) > 1 for example in every) >= len(every) / 3
    shown = {persona.id: persona.examples for persona in library.personas.values()}
    assert shown == {"listener": 2, "coach": 2, "neighbour": 2, "quiet": 2, "study": 0}
    assert set(library.examples) == {name for name, number in shown.items() if number}
    for name, examples in library.examples.items():
        assert len(examples) >= 300, name
        kinds = Counter(example.kind for example in examples)
        assert len(kinds) == 15, name
        assert min(kinds.values()) >= 5, name


def test_no_two_of_a_persona_begin_alike(library: PromptLibrary) -> None:
    for name, examples in library.examples.items():
        first = [example.turns[0].said.casefold() for example in examples]
        assert len(set(first)) == len(first), name
        openings = Counter(
            " ".join(turn.reply.casefold().split()[:4]) for example in examples for turn in example.turns
        )
        assert openings.most_common(1)[0][1] <= 6, (name, openings.most_common(3))


def test_no_reply_has_debris_or_claims_what_an_ai_has_not(library: PromptLibrary) -> None:
    replies = [turn.reply for examples in library.examples.values() for one in examples for turn in one.turns]
    assert len(replies) > 2000
    assert [reply for reply in replies if DEBRIS.search(reply)] == []
    assert [reply for reply in replies if CLAIMS.search(reply)] == []
    assert [reply for reply in replies if reply.count("?") > 2 or len(reply.split()) > 60] == []
    assert all(reply[-1] in '.!?"' for reply in replies)


@pytest.mark.parametrize("reply", ["Call me #1!", "*nods* I see.", "Well done \U0001f389", "Sorry for your loss."])
def test_debris_would_be_seen(reply: str) -> None:
    assert DEBRIS.search(reply)


@pytest.mark.parametrize(
    "reply", ["As a mother, I know.", "I've been there.", "I'll call you.", "Take 400 mg.", "My son too."]
)
def test_a_claim_would_be_seen(reply: str) -> None:
    assert CLAIMS.search(reply)


def test_no_message_is_one_that_never_reaches_a_model(library: PromptLibrary) -> None:
    messages = [turn.said for examples in library.examples.values() for one in examples for turn in one.turns]
    assert [text for text in messages if crisis_check.check(text).crisis] == []


# Files of one's own


def own(folder: Path, text: str, persona: str = "name: A\ndescription: b\nsystem: c\nexamples: 2\n") -> Path:
    for part, content in (("personas", persona), ("examples", text)):
        (folder / part).mkdir(exist_ok=True)
        (folder / part / "mine.yaml").write_text(content, encoding="utf-8")
    return folder


GOOD = "- kind: a\n  turns:\n  - said: hi\n    reply: Hello.\n  - said: and you\n    reply: Glad to listen.\n"


def test_a_folder_of_ones_own_has_its_examples_beside_heards(tmp_path: Path, library: PromptLibrary) -> None:
    found = PromptLibrary.load(own(tmp_path, GOOD))
    assert (found.personas["mine"].examples, found.personas["mine"].examples_of) == (2, "mine")
    assert [example.exchanges for example in found.examples["mine"]] == [
        [("hi", "Hello."), ("and you", "Glad to listen.")]
    ]
    assert found.examples["quiet"] == library.examples["quiet"]


@pytest.mark.parametrize(
    ("fields", "number", "of"),
    [("", 0, "mine"), ("examples: 4", 4, "mine"), ("examples_of: quiet", 3, "quiet"), ("examples: 0", 0, "mine")],
)
def test_a_persona_says_how_many_and_whose(tmp_path: Path, fields: str, number: int, of: str) -> None:
    found = PromptLibrary.load(own(tmp_path, GOOD, f"name: A\ndescription: b\nsystem: c\n{fields}\n"))
    assert (found.personas["mine"].examples, found.personas["mine"].examples_of) == (number, of)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- kind: a\n  turns:\n  - said: hi\n    replay: x\n", r"mine\.yaml:4: unknown key .*Did you mean reply\?"),
        ("- kind: a\n  turns: []\n", r"mine\.yaml:2: 1\.turns is empty"),
        ("- kind: a\n  turns:\n  - said: ' '\n    reply: x\n", r"mine\.yaml:3: 1\.turns\.1\.said is empty"),
        (GOOD.replace("hi", "x" * 601), r"mine\.yaml:3: .* 1 to 600 characters, not 601"),
        (GOOD + GOOD.replace("hi", "HI"), r"exchange 2 begins with the same message as exchange 1\. Remove one"),
        ("a: b\n", r"mine\.yaml: it must be a list"),
    ],
)  # fmt: skip
def test_a_fault_names_file_and_entry(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(PromptFileError, match=words):
        PromptLibrary.load(own(tmp_path, text))


def test_a_persona_whose_examples_are_not_there_is_refused(tmp_path: Path) -> None:
    persona = "name: A\ndescription: b\nsystem: c\nexamples_of: quite\n"
    with pytest.raises(PromptFileError, match=r"mine\.yaml: there are no examples called quite\. Did you mean quiet\?"):
        PromptLibrary.load(own(tmp_path, GOOD, persona))
    with pytest.raises(PromptFileError, match=r"examples must be a whole number from 0 to 4, not 5"):
        PromptLibrary.load(own(tmp_path, GOOD, "name: A\ndescription: b\nsystem: c\nexamples: 5\n"))


def test_an_edited_file_is_taken_in_and_a_broken_one_left_out(tmp_path: Path) -> None:
    library = PromptLibrary.load(own(tmp_path, GOOD))
    own(tmp_path, GOOD.replace("Hello.", "Hello there."))
    assert library.refresh()
    assert library.examples["mine"][0].exchanges[0] == ("hi", "Hello there.")
    own(tmp_path, GOOD.replace("reply", "replay"))
    assert library.refresh()
    assert library.fault is not None
    assert library.examples["mine"][0].exchanges[0] == ("hi", "Hello there.")


# Their place in a prompt


@pytest.fixture
def quiet(library: PromptLibrary) -> Persona:
    return library.personas["quiet"]


def test_they_stand_after_the_system_text_and_before_the_history(library: PromptLibrary, quiet: Persona) -> None:
    plain, history = library.strategies["plain"], [("hello", "Hi.")]
    prompt = build_prompt(quiet, plain, history, "now", examples=(OTHER, EXAMPLE), summary="They are sad.")
    assert [text for _, text in said(prompt)][1:] == [
        "i passed", "You did it!", "my dog died", "Oh no. What was he like?", "silly", "A clown.",
        "hello", "Hi.", "now",
    ]  # fmt: skip
    assert [role for role, _ in said(prompt)] == ["system", *["user", "assistant"] * 4, "user"]
    assert said(prompt)[0][1].endswith("They are sad.")
    assert prompt.examples == 3


def test_the_prompts_sha256_covers_them(library: PromptLibrary, quiet: Persona) -> None:
    plain = library.strategies["plain"]
    without, one, two = (
        build_prompt(quiet, plain, [], "now", examples=examples)
        for examples in ((), (OTHER,), (replace(OTHER, turns=(ExampleTurn("i passed", "You made it!"),)),))
    )
    assert len({prompt.sha256 for prompt in (without, one, two)}) == 3
    assert build_prompt(quiet, plain, [], "now", examples=(replace(OTHER, kind="x"),)).sha256 == one.sha256


def test_they_give_way_first_and_each_whole(library: PromptLibrary, quiet: Persona) -> None:
    plain, history = library.strategies["plain"], [(f"message {n}", f"reply {n}") for n in range(6)]

    def of_size(context_tokens: int) -> Prompt:
        return build_prompt(
            quiet, plain, history, "now", examples=(EXAMPLE, OTHER), context_tokens=context_tokens + quiet.max_tokens
        )

    whole = prompt_tokens(of_size(8000).messages, estimate_tokens)
    assert (of_size(8000).examples, of_size(whole).examples) == (3, 3)
    seen = []
    for size in range(whole, 100, -1):
        prompt = of_size(size)
        held = exchanges_included(prompt, history)
        if prompt.examples:
            assert all(held), "no example while a turn is left out"
        seen.append((prompt.examples, sum(held)))
    assert sorted(set(seen), reverse=True)[:4] == [(3, 6), (1, 6), (0, 6), (0, 5)]
    assert seen == sorted(seen, reverse=True)
    assert said(of_size(whole - 1))[1] == ("user", "i passed"), "the nearest stays longest"


def test_an_example_is_never_taken_for_history(library: PromptLibrary, quiet: Persona) -> None:
    history = [OTHER.exchanges[0], ("x " * 3000, "y")]
    prompt = build_prompt(quiet, library.strategies["plain"], history, "now", examples=(OTHER,), context_tokens=2048)
    assert prompt.examples == 0
    assert exchanges_included(prompt, history) == [True, False]
    prompt = build_prompt(quiet, library.strategies["plain"], [], "now", examples=(OTHER,))
    assert exchanges_included(prompt, history) == [False, False]


def test_hidden_steps_have_none(library: PromptLibrary, quiet: Persona) -> None:
    calls = list(reply_calls(quiet, library.strategies["multifaceted-feedback"], "now", (OTHER,)))
    assert [prompt.examples for _, prompt, _ in calls] == [0, 0, 1]
    strategy = library.strategies["empathize-first"]
    assert build_prompt(*for_step(quiet, strategy, strategy.steps[0], {}), [], "now").examples == 0


def test_with_a_user_template_they_go_as_the_history_does(library: PromptLibrary) -> None:
    study, plain = library.personas["study"], library.strategies["plain"]
    prompt = build_prompt(study, plain, [("hello", "Hi.")], "now", examples=(OTHER,))
    assert said(prompt)[:4] == [
        ("user", "i passed"), ("assistant", "You did it!"), ("user", "hello"), ("assistant", "Hi."),
    ]  # fmt: skip
    assert said(prompt)[4][1].startswith("You are an empathetic therapist.")
