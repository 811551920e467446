"""One answer of a study: written like a chat's reply, and described as a vote for it may have to be explained.

Both kinds of study use it: `heard study generate` for the items of a survey, and live ballots for each arm. The model
is the arm's own and never another, because a fallback would be judged under the wrong name.
"""

import random
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial

from heard.chat_app.conversation.answer_request import AnswerRequest, History
from heard.chat_app.conversation.context_window import common_history
from heard.chat_app.conversation.drafting import write_drafts
from heard.chat_app.conversation.drafts import Drafts, draft_to_json
from heard.chat_app.conversation.rewriting import policy_in_force
from heard.chat_app.conversation.services import Services
from heard.chat_app.models.records import ModelFailure, ModelSpec
from heard.chat_app.safety import crisis_check
from heard.chat_app.studies.leaks import leaks_in
from heard.chat_app.studies.study_file import Arm, StudyFile, StudyFileError
from heard.chat_app.studies.text_features import formatting_of, words_of_text
from heard.db.records import DraftRecord, DraftStatus
from heard.db.study_records import AnswerRecord, AnswerStatus
from heard.hints import nearest_name
from heard.prompts.build import build_prompt
from heard.prompts.history import Exchange, TokenCounter
from heard.prompts.library import PromptLibrary
from heard.prompts.records import Persona, Prompt, Strategy

MOST_TOKENS = 640
"""Of one answer: the founding study's bound. A persona may set less."""
CRISIS = "The message is a crisis, so no model was asked."


async def write_answer(
    services: Services,
    study: StudyFile,
    arm: Arm,
    message: str,
    history: History,
    answer: AnswerRecord,
    made: Drafts | None = None,
) -> AnswerRecord:
    """`answer` as it came out: COMPLETE with all its columns, or FAILED with the plain sentence and what had arrived.

    `history` holds earlier (message, reply) pairs, oldest first. Times, tokens and score are those of the draft shown;
    every draft is in `drafts` (`draft_to_json`). Nothing is stored here. A cancellation passes
    through: the caller then has the PENDING `answer` as it was, and for `stopped` the drafts in `made`. Raises
    StudyFileError for an arm that names no persona, strategy or model there is (see `check_arms`).
    """
    check_arms(study, services, (arm,))
    answer = replace(answer, improve_assigned=_assigned(study, answer))
    if crisis_check.check(message).crisis:
        return _failed(arm, answer, Drafts(), CRISIS)
    improve = study.auto_improve == "on" or bool(answer.improve_assigned)
    persona = services.library.personas[arm.persona]
    made = Drafts() if made is None else made
    try:
        asked = AnswerRequest(
            persona=_bounded(persona),
            strategy=services.library.strategies[arm.strategy],
            model=services.models.specs[arm.model],
            history=history,
            text=message,
            policy=policy_in_force(services, improve, services.settings.auto_improve_threshold),
        )
        async with aclosing(write_drafts(services, asked, made)) as events:
            async for _ in events:
                pass
    except ModelFailure as failure:
        made.end(DraftStatus.BROKEN, failure.sentence)
        if not made.complete:
            return _failed(arm, answer, made, failure.sentence)
        # A rewrite that broke costs nothing: the earlier whole draft stands.
    return _complete(services, arm, answer, made)


async def history_of_all(
    services: Services, study: StudyFile, message: str, history: Sequence[Exchange]
) -> list[Exchange]:
    """The earlier turns that every arm of a live study gets: those that fit all of their prompts, a rewrite's too.

    An arm that names something that is not there has no say; `write_answer` tells of it.
    """
    library, specs = services.library, services.models.specs
    guidance = max(library.guidance.values(), key=len)

    def build(persona: Persona, strategy: Strategy, spec: ModelSpec, count: TokenCounter) -> Prompt:
        return build_prompt(
            _bounded(persona),
            strategy,
            history,
            message,
            guidance=guidance,
            context_tokens=spec.context_tokens,
            count=count,
        )

    builds = [
        (specs[arm.model], partial(build, library.personas[arm.persona], library.strategies[arm.strategy]))
        for arm in study.arms
        if arm.persona in library.personas and arm.strategy in library.strategies and arm.model in specs
    ]
    return await common_history(services.models, [(spec, partial(make, spec)) for spec, make in builds], history)


def _bounded(persona: Persona) -> Persona:
    return replace(persona, max_tokens=min(persona.max_tokens, MOST_TOKENS))


def stopped(arm: Arm, answer: AnswerRecord, made: Drafts) -> AnswerRecord:
    """`answer` as it was stopped: nothing of it is shown, and what had arrived is in its drafts."""
    made.end(DraftStatus.STOPPED)
    drafts = made.with_best_kept()
    return replace(_written(arm, answer, drafts[-1], made) if drafts else answer, status=AnswerStatus.STOPPED)


def check_arms(study: StudyFile, services: Services, arms: tuple[Arm, ...] | None = None) -> None:
    """Raise StudyFileError for the first arm (default: of all the study's) that names something that is not there."""
    check_names(study.id, study.arms if arms is None else arms, services.library, services.models.specs)


def check_names(study_id: str, arms: tuple[Arm, ...], library: PromptLibrary, specs: Mapping[str, ModelSpec]) -> None:
    """`check_arms` for a command that has no services open."""
    for arm in arms:
        for what, name, known in (
            ("persona", arm.persona, tuple(library.personas)),
            ("strategy", arm.strategy, tuple(library.strategies)),
            ("model", arm.model, tuple(specs)),
        ):
            if name not in known:
                raise StudyFileError(
                    f'study {study_id}, arm {arm.name}: no {what} "{name}". {nearest_name(name, known)}'
                )


def model_names(specs: Mapping[str, ModelSpec]) -> tuple[str, ...]:
    """Every name that the configured models go by, for `leaks_in`."""
    return tuple(name for spec in specs.values() for name in (spec.id, spec.model, spec.label))


def completed(answer: AnswerRecord, text: str, names: tuple[str, ...]) -> AnswerRecord:
    """`answer` COMPLETE with this text, and what is counted in it. For human answers as well as written ones."""
    return replace(
        answer,
        text=text,
        status=AnswerStatus.COMPLETE,
        error=None,
        characters=len(text),
        words=words_of_text(text),
        formatting=formatting_of(text),
        leak=leaks_in(text, names),
    )


def _assigned(study: StudyFile, answer: AnswerRecord) -> bool | None:
    """The coin of a trial: from the study's secret seed and what the answer is, so that a second attempt at it keeps
    its treatment and nobody can tell it in advance."""
    if study.auto_improve != "trial":
        return None
    what = f"{answer.item_id}/{answer.source}" if answer.item_id else answer.id
    return random.Random(f"{study.seed}/improve/{what}").random() < 0.5


def _complete(services: Services, arm: Arm, answer: AnswerRecord, made: Drafts) -> AnswerRecord:
    drafts = made.with_best_kept()
    kept = next(draft for draft in drafts if draft.kept)
    whole = completed(_written(arm, answer, kept, made), kept.text, model_names(services.models.specs))
    return replace(whole, score=kept.score, improved=kept.number > 1)


def _failed(arm: Arm, answer: AnswerRecord, made: Drafts, sentence: str) -> AnswerRecord:
    drafts = made.with_best_kept()
    base = _written(arm, answer, drafts[-1], made) if drafts else replace(answer, model=arm.model)
    return replace(base, status=AnswerStatus.FAILED, error=sentence)


def _written(arm: Arm, answer: AnswerRecord, kept: DraftRecord, made: Drafts) -> AnswerRecord:
    return replace(
        answer,
        persona=arm.persona,
        strategy=arm.strategy,
        model=arm.model,
        parameters=kept.parameters,
        prompt_sha256=kept.prompt_sha256,
        first_token_seconds=kept.first_token_seconds,
        total_seconds=kept.total_seconds,
        prompt_tokens=kept.prompt_tokens,
        completion_tokens=kept.completion_tokens,
        cut=kept.cut,
        policy=made.policy,
        drafts=[draft_to_json(draft) for draft in made.with_best_kept()],
    )
