"""Write one answer of a study: like a chat's reply, and with all that may have to explain a vote for it.

Both kinds of study use it: `heard study generate` for the items of a survey, and live ballots for each arm. Only the
arm's own model may answer, because a fallback would be judged under the wrong name.
"""

import asyncio
import random
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial

from heard.chat_app.conversation.answer_request import AnswerRequest, History
from heard.chat_app.conversation.context_window import common_history
from heard.chat_app.conversation.drafting import write_drafts
from heard.chat_app.conversation.drafts import Drafts, draft_to_json, guard_action
from heard.chat_app.conversation.rewriting import policy_in_force
from heard.chat_app.conversation.services import Services
from heard.chat_app.models.records import ModelFailure, ModelSpec
from heard.chat_app.safety.assessment import assess
from heard.chat_app.studies.broken_ends import BROKE_OFF, breaks_off
from heard.chat_app.studies.leaks import leaks_in
from heard.chat_app.studies.study_file import Arm, StudyFile, StudyFileError
from heard.chat_app.studies.text_features import count_formatting, count_words
from heard.db.records import DraftRecord, DraftStatus
from heard.db.study_records import AnswerRecord, AnswerStatus
from heard.hints import nearest_name
from heard.prompts.build import build_prompt
from heard.prompts.history import Exchange, TokenCounter
from heard.prompts.library import PromptLibrary
from heard.prompts.policy_files import OFF
from heard.prompts.records import Persona, Prompt, Strategy

MOST_TOKENS = 640
"""Token limit of one answer, that of the founding study. A persona may set less."""
CRISIS = "The message is a crisis, so no model was asked."


async def write_answer(
    services: Services,
    study: StudyFile,
    arm: Arm,
    message: str,
    history: History,
    answer: AnswerRecord,
    drafts: Drafts | None = None,
    *,
    room: int = 1,
) -> AnswerRecord:
    """Return `answer` COMPLETE with all its columns, or FAILED with a plain sentence and what had arrived.

    An answer that its token limit has cut off in mid-sentence is FAILED with BROKE_OFF; `room` multiplies the limit.
    `history` holds earlier (message, reply) pairs, oldest first. Times, tokens and score are those of the kept draft;
    the record's `drafts` has them all (`draft_to_json`). Nothing is stored here. On a cancellation, which is passed on,
    `drafts` holds what had arrived, for `stopped_answer`. Raises StudyFileError for an arm that names a persona,
    strategy or model that does not exist (see `check_arms`).
    """
    check_arms(study, services, (arm,))
    answer = replace(answer, improve_assigned=_trial_assignment(study, answer))
    if (await asyncio.to_thread(assess, message)).crisis:
        return _failed_answer(arm, answer, Drafts(), CRISIS)
    improve = study.auto_improve == "on" or bool(answer.improve_assigned)
    persona = services.library.personas[arm.persona]
    drafts = Drafts() if drafts is None else drafts
    try:
        request = AnswerRequest(
            persona=_with_token_limit(persona, room),
            strategy=services.library.strategies[arm.strategy],
            model=services.models.specs[arm.model],
            history=history,
            text=message,
            policy=services.library.policies[arm.policy]
            if arm.policy
            else policy_in_force(services, improve, services.settings.auto_improve_threshold),
            guard=study.guard,
            examples=arm.examples,
        )
        async with aclosing(write_drafts(services, request, drafts)) as events:
            async for _ in events:
                pass
    except ModelFailure as failure:
        drafts.end(DraftStatus.BROKEN, failure.sentence)
        if not drafts.complete:
            return _failed_answer(arm, answer, drafts, failure.sentence)
        # A rewrite that broke costs nothing: the earlier complete draft is kept.
    # In a thread: looking for leaks in a long answer takes some milliseconds.
    return await asyncio.to_thread(_completed_answer, services, arm, answer, drafts)


async def shared_history(
    services: Services, study: StudyFile, message: str, history: Sequence[Exchange]
) -> list[Exchange]:
    """Return the earlier turns that every arm of a live study gets: those that fit all their prompts, with guidance.
    Examples are not counted, because they take only the room that the turns leave.

    An arm that names something that does not exist is ignored; `write_answer` raises for it.
    """
    library, specs = services.library, services.models.specs
    guidance = max(library.guidance.values(), key=len)

    def build(persona: Persona, strategy: Strategy, spec: ModelSpec, count: TokenCounter) -> Prompt:
        return build_prompt(
            _with_token_limit(persona),
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


def _with_token_limit(persona: Persona, room: int = 1) -> Persona:
    return replace(persona, max_tokens=room * min(persona.max_tokens, MOST_TOKENS))


def stopped_answer(arm: Arm, answer: AnswerRecord, drafts: Drafts) -> AnswerRecord:
    """Return `answer` STOPPED, without a text; what had arrived is in its drafts."""
    drafts.end(DraftStatus.STOPPED)
    records = drafts.with_best_kept()
    base = _with_draft_details(arm, answer, records[-1], drafts) if records else answer
    return replace(base, status=AnswerStatus.STOPPED)


def check_arms(study: StudyFile, services: Services, arms: tuple[Arm, ...] | None = None) -> None:
    """Raise StudyFileError for the first of the arms (default: all) that names something that does not exist."""
    check_names(study.id, study.arms if arms is None else arms, services.library, services.models.specs)


def check_names(study_id: str, arms: tuple[Arm, ...], library: PromptLibrary, specs: Mapping[str, ModelSpec]) -> None:
    """Check arms like `check_arms`, for a command that has no services open."""
    for arm in arms:
        for what, name, known in (
            ("persona", arm.persona, tuple(library.personas)),
            ("strategy", arm.strategy, tuple(library.strategies)),
            ("policy", arm.policy or OFF, tuple(library.policies)),
            ("model", arm.model, tuple(specs)),
        ):
            if name not in known:
                raise StudyFileError(
                    f'study {study_id}, arm {arm.name}: no {what} "{name}". {nearest_name(name, known)}'
                )


def model_names(specs: Mapping[str, ModelSpec]) -> tuple[str, ...]:
    """Return every name of the configured models, for `leaks_in`."""
    return tuple(name for spec in specs.values() for name in (spec.id, spec.model, spec.label))


def completed(answer: AnswerRecord, text: str, names: tuple[str, ...]) -> AnswerRecord:
    """Return `answer` COMPLETE with this text and the counts of it. For human answers as well as generated ones."""
    return replace(
        answer,
        text=text,
        status=AnswerStatus.COMPLETE,
        error=None,
        characters=len(text),
        words=count_words(text),
        formatting=count_formatting(text),
        leak=leaks_in(text, names),
    )


def _trial_assignment(study: StudyFile, answer: AnswerRecord) -> bool | None:
    """Return whether a trial assigns this answer to improvement; None where there is no trial.

    Decided by the study's secret seed and the answer's identity: a second attempt keeps its treatment, and nobody can
    predict it.
    """
    if study.auto_improve != "trial":
        return None
    what = f"{answer.item_id}/{answer.source}" if answer.item_id else answer.id
    return random.Random(f"{study.seed}/improve/{what}").random() < 0.5


def _completed_answer(services: Services, arm: Arm, answer: AnswerRecord, drafts: Drafts) -> AnswerRecord:
    records = drafts.with_best_kept()
    kept = next(draft for draft in records if draft.kept)
    if breaks_off(kept.text, cut=True) and kept.cut:
        return _failed_answer(arm, answer, drafts, BROKE_OFF)
    whole = completed(_with_draft_details(arm, answer, kept, drafts), kept.text, model_names(services.models.specs))
    complete = [draft for draft in records if draft.status is DraftStatus.COMPLETE]
    return replace(whole, score=kept.score, improved=kept is not complete[0])


def _failed_answer(arm: Arm, answer: AnswerRecord, drafts: Drafts, sentence: str) -> AnswerRecord:
    records = drafts.with_best_kept()
    base = _with_draft_details(arm, answer, records[-1], drafts) if records else replace(answer, model=arm.model)
    return replace(base, status=AnswerStatus.FAILED, error=sentence)


def _with_draft_details(arm: Arm, answer: AnswerRecord, kept: DraftRecord, drafts: Drafts) -> AnswerRecord:
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
        policy=drafts.policy,
        drafts=[draft_to_json(draft) for draft in drafts.with_best_kept()],
        guard=guard_action(drafts.with_best_kept(), guard=drafts.guard),
        guard_kinds=[draft.caught for draft in drafts.ended if draft.caught],
    )
