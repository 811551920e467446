"""One persona from its file; the fields are in docs/prompts.md."""

from collections.abc import Mapping
from pathlib import Path

from heard.prompts.character import GENDER, LEVELS, TRAITS, system_text
from heard.prompts.files import nearest
from heard.prompts.prompt_file import PromptFile
from heard.prompts.records import Persona, Starter
from heard.prompts.variables import fill

MAX_TOKENS = 640
"""The study's limit for a reply: the length of the longest human answer."""
KEYS = (
    "name", "description", "system", "voice", "background", "traits", "language", "culture", "user_template",
    "max_tokens", "order", "greeting", "starters", "persona_word",
)  # fmt: skip
_WORD = "persona_word"
_PROMPT = "prompt"


def read_persona(path: Path, word: str) -> tuple[Persona, list[str]]:
    """The persona and the faults of its file; with faults it may not be used.

    `word` replaces `{persona_word}` in every text, unless the file has a word of its own.
    """
    file = PromptFile(path, KEYS)
    word = file.text(_WORD, word)

    def told(key: str, default: str | None = "", *more: str) -> str:
        text = file.text(key, default)
        file.check_variables(key, text, (_WORD, *more))
        return fill(text, {_WORD: word})

    template = told("user_template", "{prompt}", _PROMPT)
    if template.count("{prompt}") != 1 and not file.faults:
        file.fault("user_template must hold {prompt} exactly once, where the person's words go.")
    traits = _traits(file)
    system = system_text(told("system"), told("voice"), told("background"), traits, told("language"), told("culture"))
    if not system and template == "{prompt}" and not file.faults:
        file.fault("give a system text or a user_template; with neither the model gets no persona.")
    persona = Persona(
        id=file.id,
        name=told("name", None),
        description=told("description", None),
        system=system,
        user_template=template,
        max_tokens=file.number("max_tokens", MAX_TOKENS, 1, MAX_TOKENS),
        order=file.number("order", 100, 0, 1_000_000),
        starters=_starters(file),
        greeting=told("greeting").strip(),
    )
    return persona, file.faults


def _traits(file: PromptFile) -> Mapping[str, str]:
    found = file.values.get("traits", {})
    if not isinstance(found, dict):
        file.fault("traits must hold keys such as empathic_concern.")
        return {}
    names, traits = (GENDER, *TRAITS), {}
    for name, value in found.items():
        if name not in names:
            file.fault(f'traits: unknown key "{name}". {nearest(str(name), names)}')
        elif name == GENDER:
            if isinstance(value, str) and value.strip():
                traits[name] = value.strip()
            else:
                file.fault("traits: gender must be a word.")
        elif value in LEVELS:
            traits[name] = value
        else:
            file.fault(f"traits: {name} must be low, medium or high, not {value!r}. {nearest(str(value), LEVELS)}")
    return traits


def _starters(file: PromptFile) -> tuple[Starter, ...]:
    starters = []
    for item in file.listed("starters", "label and message"):
        if isinstance(item, dict) and set(item) == {"label", "message"} and _all_texts(item):
            starters.append(Starter(item["label"], item["message"]))
        else:
            file.fault("each starter needs label and message, both texts, and nothing else.")
    return tuple(starters)


def _all_texts(item: dict[str, object]) -> bool:
    return all(isinstance(value, str) for value in item.values())
