"""The answer to a question about the bot: a fixed text of prompts/bot_answers.yaml, with the facts of this site.

In a blind study the model is not named: an answer must not tell who writes on the ballots.
"""

import asyncio
import ipaddress
import logging
import re
from enum import Enum, auto
from urllib.parse import urlsplit

from heard.chat_app.common.notice import named_operator, researchers_look
from heard.chat_app.conversation.events import TurnRequest
from heard.chat_app.conversation.question_text import is_short
from heard.chat_app.conversation.services import Services
from heard.chat_app.models.providers import PROVIDERS
from heard.chat_app.models.records import ModelSpec
from heard.db.errors import StoreError
from heard.prompts.bot_answer_files import Facts, answer_text
from heard.prompts.variables import fill
from heard.scorer.errors import ScorerError

_REMARK = re.compile(r"\s*\([^()]*\)\s*$")

log = logging.getLogger(__name__)


class Naming(Enum):
    """Whether an answer may name the model."""

    NAMED = auto()
    TOLD_LATER = auto()
    """A blind study, in which people see after their vote who wrote what."""
    UNTOLD = auto()
    """A blind study in which they never do."""


async def bot_answer(request: TurnRequest, services: Services, *, opening: bool, naming: Naming) -> str | None:
    """Return the answer to a message that is a question about the bot, as Markdown; None for any other.

    `opening` says that nothing was said before it in its conversation. Never raises on a text: where questions cannot
    be recognised, the model answers.
    """
    questions, answers = services.bot_questions, services.library.bot_answers
    if questions is None or not is_short(request.text):
        return None
    try:
        intents = await asyncio.to_thread(questions.intents, request.text, answers, opening=opening)
    except ScorerError as error:
        log.error("a message could not be read for questions about the bot: %s", type(error).__name__)
        return None
    if not intents:
        return None
    values = _values(request, services, answers.facts, naming)
    values["research"] = await _research(request, services, answers.facts)
    return answer_text(answers, intents, request.persona.id, values)


def label_of(model: ModelSpec) -> str:
    """Return a model's label without the remark in brackets at its end."""
    return _REMARK.sub("", model.label) or model.label


def runs_here(model: ModelSpec) -> bool:
    """Return whether a model runs on this site's own computer."""
    if model.base_url is None:
        return not PROVIDERS[model.provider].served
    host = urlsplit(model.base_url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _values(request: TurnRequest, services: Services, facts: Facts, naming: Naming) -> dict[str, str]:
    operator = {"operator": named_operator(services.settings) or facts.operator}
    if naming is Naming.NAMED:
        here = runs_here(request.model)
        of_model = facts.model.here if here else facts.model.elsewhere
        model = fill(of_model, {"label": label_of(request.model)})
        readers = facts.readers.here if here else facts.readers.elsewhere
        if researchers_look(services.settings):
            readers = facts.readers.blind
    else:
        model = facts.model.told_later if naming is Naming.TOLD_LATER else facts.model.untold
        readers = facts.readers.blind
    return {
        "name": request.persona.name,
        "model": model,
        "readers": fill(readers, operator),
        "stored": facts.stored,
        **operator,
    }


async def _research(request: TurnRequest, services: Services, facts: Facts) -> str:
    """Return what the person has answered about research; "" where that is not known."""
    try:
        consent = await services.store.latest_consent(request.participant_id)
    except StoreError:
        return ""
    if consent is None:
        return ""
    return facts.research.allowed if consent.research else facts.research.refused
