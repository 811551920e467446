"""What a message about a person's safety is answered with: a reviewed fixed text, or nothing, and the model answers.

after a hand-off -> a fixed turn by what the person says, until they say that they are safe
"no" to the check-in -> thanks; a message that asks for the check-in -> the question; a danger long past -> warmth
"""

import asyncio
from dataclasses import dataclass, replace

from heard.chat_app.conversation import check_in
from heard.chat_app.conversation.check_in import Answer, check_ins, question_text, read_answer
from heard.chat_app.conversation.events import TurnRequest
from heard.chat_app.conversation.safety_texts import given_before, least_used, number_words, recoveries
from heard.chat_app.conversation.said_after import ends_support
from heard.chat_app.conversation.services import Services
from heard.chat_app.conversation.standing import Standing
from heard.chat_app.conversation.support_model import support_prompt
from heard.chat_app.safety import crisis_check
from heard.chat_app.safety.bounded_text import bounded_text
from heard.chat_app.safety.first_numbers import first_numbers
from heard.chat_app.safety.verdict import Level, SafetyVerdict
from heard.db.records import Safety
from heard.prompts.safety_turn_files import in_language
from heard.prompts.variables import fill


def load_texts() -> None:
    """Read every text of these turns, so that a broken file is refused at the start and not found in a crisis.

    Raises PromptFileError or PatternError.
    """
    check_in.prepare()
    recoveries()
    support_prompt()
    first_numbers(None)


@dataclass(frozen=True, slots=True)
class SafetyTurnText:
    """A turn that no model of the person's choice writes."""

    text: str
    safety: Safety


async def safety_turn(
    request: TurnRequest, services: Services, verdict: SafetyVerdict, standing: Standing
) -> SafetyTurnText | None:
    """Return how a message that is no crisis is answered; None for one that is answered as any other."""
    if verdict.level is Level.NONE and not standing.in_support and not standing.answering:
        return None
    read = replace(request, text=bounded_text(request.text, services.settings.message_limit))
    return await asyncio.to_thread(_choose, read, services, verdict, standing)


def _choose(
    request: TurnRequest, services: Services, verdict: SafetyVerdict, standing: Standing
) -> SafetyTurnText | None:
    if standing.in_support:
        supported = _supported(request, services, verdict, standing)
        if supported is not None:
            return supported
    language = verdict.language
    numbers = number_words(services.support.of(language).texts, request.country)
    if standing.answering and read_answer(request.text) is Answer.NO:
        return SafetyTurnText(_another(in_language(check_ins(), language).thanks, standing, numbers), Safety.DENIED)
    if verdict.level is Level.CHECK_IN and not standing.checked_in:
        return SafetyTurnText(question_text(language, numbers["numbers"]), Safety.CHECKED_IN)
    if verdict.level is Level.RECOVERY:
        return SafetyTurnText(_another(in_language(recoveries(), language), standing, numbers), Safety.RECOVERY)
    return None


def _supported(
    request: TurnRequest, services: Services, verdict: SafetyVerdict, standing: Standing
) -> SafetyTurnText | None:
    """Return the fixed turn after a hand-off; None once there have been enough of them and nothing urgent is said."""
    hand_off = standing.hand_off
    limit = services.settings.message_limit
    language = crisis_check.check(bounded_text(hand_off.message, limit)).language if hand_off else None
    reader = services.support.of(language)
    given = [text for turn in standing.history.turns if (text := reader.text_of(turn.reply)) is not None]
    last = standing.history.turns[-1:]
    asked = reader.text_of(last[0].reply) if last else None
    intent = reader.intent(request.text, asked.asks if asked else None)
    chosen = reader.texts.intents[intent]
    grave = verdict.level is Level.CHECK_IN
    if len(standing.supported) >= services.settings.crisis_turns and not (chosen.goes_on or grave):
        return None
    says = fill(least_used(chosen.texts, given).says, number_words(reader.texts, request.country, standing.danger))
    return SafetyTurnText(says, Safety.SAFE if ends_support(intent) and not grave else Safety.SUPPORTED)


def _another(choices: tuple[str, ...], standing: Standing, numbers: dict[str, str]) -> str:
    replies = [turn.reply for turn in standing.history.turns]
    chosen = least_used(choices, given_before(choices, replies, lambda text: fill(text, numbers)))
    return fill(chosen, numbers)
