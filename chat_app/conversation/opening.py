"""The part of a prompt that every new conversation begins with, for an engine to read before anybody has written."""

from heard.chat_app.conversation.services import Services
from heard.chat_app.models.local_chat import without_special_tokens
from heard.prompts.build import build_prompt, for_reply
from heard.prompts.example_files import always_shown


def default_opening(services: Services) -> list[dict[str, str]]:
    """Return the prompt of a new visitor's empty message, as the engine gets it: persona and strategy are the default.

    Nothing in it is of anybody.
    """
    library, settings = services.library, services.settings
    persona = next(iter(library.offered(research=settings.research_mode).values()))
    strategy = for_reply(library.strategies[settings.default_strategy], {})
    shown = persona.examples and services.engine.adapter is None  # as in `examples_for`
    examples = always_shown(library.examples.get(persona.examples_of, ())) if shown else ()
    prompt = build_prompt(persona, strategy, [], "", examples=examples)
    special = services.engine.special_tokens
    return [{"role": part.role, "content": without_special_tokens(part.content, special)} for part in prompt.messages]
