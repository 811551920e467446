"""The study's prompt to the letter, and prompt files that are refused when they are wrong."""

from pathlib import Path

import pytest

from heard.prompts.build import build_prompt
from heard.prompts.files import PromptFileError
from heard.prompts.library import PromptLibrary
from heard.prompts.records import PromptMessage

STUDY = """You are an empathetic therapist. Provide a single thoughtful and supportive response to the patient.
- Do not include instructions, explanations, or multiple responses.
- Only provide one response as the therapist.
Patient: I feel lost.
Therapist:"""
SHARED = Path(__file__).parents[2].parent / "shared" / "study.md"


@pytest.fixture(scope="module")
def library() -> PromptLibrary:
    return PromptLibrary.load()


@pytest.mark.parametrize("word", ["supportive listener", "guide", "therapist"])
def test_the_study_persona_sends_the_published_prompt_and_nothing_else(word: str) -> None:
    library = PromptLibrary.load(persona_word=word)
    prompt = build_prompt(library.personas["study"], library.strategies["plain"], [], "I feel lost.")
    assert prompt.messages == (PromptMessage("user", STUDY),)
    assert prompt.max_tokens == 640


def test_the_text_above_is_the_one_in_the_study(library: PromptLibrary) -> None:
    if not SHARED.exists():
        pytest.skip("the founding documents are not beside this checkout")
    lines = [line.strip() for line in SHARED.read_text(encoding="utf-8").splitlines()]
    start = lines.index(
        "You are an empathetic therapist. Provide a single thoughtful and supportive response to the patient."
    )
    assert "\n".join(lines[start : start + 5]) == library.personas["study"].user_template


def test_there_are_enough_personas_and_each_has_starters(library: PromptLibrary) -> None:
    assert len(library.personas) >= 3
    assert all(persona.starters and persona.max_tokens <= 640 for persona in library.personas.values())
    assert next(iter(library.personas)) == "listener"


def test_the_persona_word_is_one_setting(library: PromptLibrary) -> None:
    other = PromptLibrary.load(persona_word="counsellor")
    assert "counsellor" in other.personas["listener"].system
    for persona in other.personas.values():
        assert "{persona_word}" not in persona.name + persona.description + persona.system
        assert "supportive listener" not in persona.name + persona.description + persona.system
    for persona in library.personas.values():
        if persona.id != "study":
            assert (
                "therapist" not in (persona.name + persona.description + persona.system + persona.user_template).lower()
            )


def test_words_that_look_like_placeholders_stay_as_they_are(library: PromptLibrary) -> None:
    text = "{prompt} {persona_word} %s {0} \\n"
    for persona in library.personas.values():
        prompt = build_prompt(persona, library.strategies["plain"], [], text)
        assert text in prompt.messages[-1].content


def test_history_strategy_and_guidance_each_change_the_fingerprint(library: PromptLibrary) -> None:
    persona, plain = library.personas["listener"], library.strategies["plain"]
    made = [
        build_prompt(persona, plain, [], "hello"),
        build_prompt(persona, plain, [], "hello "),
        build_prompt(persona, plain, [("a", "b")], "hello"),
        build_prompt(persona, library.strategies["chain-of-empathy"], [], "hello"),
        build_prompt(persona, plain, [], "hello", guidance=library.guidance["emotional"]),
        build_prompt(library.personas["coach"], plain, [], "hello"),
    ]
    assert len({prompt.sha256 for prompt in made}) == len(made)
    assert build_prompt(persona, plain, [], "hello").sha256 == made[0].sha256


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("name: A\ndescription: b\nsytem: c\n", ["bad.yaml", "sytem", "Did you mean system?"]),
        ("name: A\ndescription: b\n", ["system text or a user_template"]),
        ("description: b\nsystem: c\n", ["name is missing"]),
        ("name: [1]\ndescription: b\nsystem: c\n", ["name must be a text"]),
        ("name: A\ndescription: b\nsystem: c\nmax_tokens: 641\n", ["max_tokens", "640"]),
        ("name: A\ndescription: b\nsystem: c\nmax_tokens: true\n", ["max_tokens"]),
        ("name: A\ndescription: b\nuser_template: no slot\n", ["{prompt}"]),
        ("name: A\ndescription: b\nsystem: c\nstarters: [{label: x}]\n", ["starters.1.message is missing"]),
        ("name: A: b\n", ["bad.yaml:1: not valid YAML"]),
        ("- a list\n", ["must hold keys"]),
        ("", ["must hold keys"]),
    ],
)
def test_a_faulty_persona_is_refused_with_file_fault_and_next_step(
    folder: Path, content: str, words: list[str]
) -> None:
    (folder / "personas" / "bad.yaml").write_text(content, encoding="utf-8")
    with pytest.raises(PromptFileError) as caught:
        PromptLibrary.load(folder)
    for word in ["bad.yaml", *words]:
        assert word in str(caught.value)


def test_a_new_persona_is_one_file(folder: Path) -> None:
    (folder / "personas" / "blunt_coach.yaml").write_text("name: Blunt\ndescription: d\nsystem: Be brief.\n")
    assert PromptLibrary.load(folder).personas["blunt_coach"].system == "Be brief."


@pytest.mark.parametrize("name", ["Bad Name.yaml", "-x.yaml", "a" * 60 + ".yaml"])
def test_a_file_name_that_cannot_be_an_id_is_refused(folder: Path, name: str) -> None:
    (folder / "personas" / name).write_text("name: A\ndescription: b\nsystem: c\n")
    with pytest.raises(PromptFileError, match="file name"):
        PromptLibrary.load(folder)


def test_an_empty_folder_and_a_wrong_ending_are_refused(folder: Path) -> None:
    (folder / "personas" / "new.yml").write_text("name: A\n")
    with pytest.raises(PromptFileError, match=r"end in \.yaml"):
        PromptLibrary.load(folder)
    with pytest.raises(PromptFileError, match="holds no"):
        PromptLibrary.load(folder / "nowhere")
