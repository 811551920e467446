"""Blind mode: the live study that answers every message with a ballot, and the neutral persona of its page.

Nothing here names a source to a browser. In blind mode the study chooses persona, strategy and model, so they are
neither offered nor shown.
"""

import hashlib
import re
from pathlib import Path

from heard.chat_app.common.settings import SettingsError
from heard.chat_app.conversation.services import Services
from heard.chat_app.studies.study_answers import check_arms
from heard.chat_app.studies.study_file import (
    Arm,
    StudyFile,
    StudyFileError,
    parse_study,
    read_study_file,
    record_of,
    study_of,
)
from heard.chat_app.studies.study_texts import StudyTexts, read_texts, texts_of
from heard.db.study_records import StudyKind, StudyRecord
from heard.hints import nearest_name
from heard.prompts.library import PromptLibrary
from heard.prompts.records import Persona

_NOT_IN_NAMES = re.compile(r"[^a-z0-9_-]+")


def neutral_persona(library: PromptLibrary) -> Persona:
    """Return the persona of blind mode: the only profile, and the author of every ballot.

    Its starters are those of the first persona; they reveal nothing about who answers.
    """
    starters = next(iter(library.personas.values())).starters
    return Persona(
        id="blind",
        name="Answers",
        description="Each message gets several answers. Which one is the most empathetic?",
        system="",
        user_template="{prompt}",
        max_tokens=1,
        order=0,
        starters=starters,
    )


async def configured_study(services: Services) -> StudyFile | None:
    """Store the live study of the settings and return it; None if they name none.

    Raises SettingsError or StudyFileError for one that cannot be used, with the nearest right name. Raises StoreError,
    also if ballots of a study with this id were drawn from another file.
    """
    settings = services.settings
    if settings.blind_study and settings.blind_arms:
        raise SettingsError("blind_study and blind_arms are both set. Keep one of them.")
    if settings.blind_auto_improve != "off" and not settings.blind_arms:
        raise SettingsError(
            "blind_auto_improve goes with blind_arms, which is not set. A study's file has auto_improve of its own."
        )
    if settings.blind_arms:
        return await _store(services, study_from_arms(settings.blind_arms, settings.blind_auto_improve))
    if not settings.blind_study:
        return None
    if settings.blind_study.endswith(".toml") or "/" in settings.blind_study:
        path = Path(settings.blind_study)
        study = read_study_file(path)
        if study.kind is not StudyKind.LIVE:
            raise StudyFileError(f'{settings.blind_study}: kind is "survey", and the chat needs a "live" study.')
        return await _store(services, study, read_texts(path, study))
    return await _load_stored(services, settings.blind_study)


def study_from_arms(line: str, auto_improve: str) -> StudyFile:
    """Return a study from one line of arms. The same arguments give the same id. Raises SettingsError."""
    arms = []
    for part in line.split(","):
        names = [name.strip() for name in part.strip().split("/", 2)]
        if len(names) != 3 or not all(names):
            raise SettingsError(f'blind_arms: "{part.strip()}" is not persona/strategy/model.')
        persona, strategy, model = names
        name = _NOT_IN_NAMES.sub("-", "-".join(names).lower()).strip("-_")[:63]
        arms.append(Arm(name=name, persona=persona, strategy=strategy, model=model))
    parts = sorted("/".join((arm.persona, arm.strategy, arm.model)) for arm in arms)
    digest = hashlib.sha256("\n".join([auto_improve, "1", *parts]).encode()).hexdigest()[:12]
    values = {
        "id": f"live-{digest}",
        "kind": StudyKind.LIVE,
        "arms": [arm.model_dump() for arm in arms],
        "auto_improve": auto_improve,
        # For trying out: one message is all that a person has to judge, so each vote is told who wrote what.
        "items_per_person": 1,
        "reveal": True,
    }
    try:
        return parse_study(values, "blind_arms")
    except StudyFileError as error:
        raise SettingsError(str(error)) from None


async def _load_stored(services: Services, study_id: str) -> StudyFile:
    stored = {
        record.id: record for record in await services.studies.studies(copies=True) if record.kind is StudyKind.LIVE
    }
    if study_id not in stored:
        hint = (
            nearest_name(study_id, stored) if stored else "There is none yet: give the path of a study's file instead."
        )
        raise SettingsError(f'blind_study: no live study "{study_id}" is stored. {hint}')
    _refuse_ended(stored[study_id])
    study = study_of(stored[study_id])
    check_arms(study, services)
    return study


async def _store(services: Services, study: StudyFile, texts: StudyTexts | None = None) -> StudyFile:
    check_arms(study, services)
    stored = await services.studies.study(study.id)
    _refuse_ended(stored)
    texts = texts or texts_of(study)
    record = record_of(
        study, stored, texts.versioned
    )  # its seed is kept over a restart, so that the orders stay balanced
    if stored is not None and _same_but_order(study_of(stored), study_of(record)):
        before = study_of(stored)
        await services.studies.save_study(record_of(before, stored, texts.versioned))
        return before
    await services.studies.save_study(record)
    return study_of(record)


def _refuse_ended(stored: StudyRecord | None) -> None:
    if stored is not None and stored.ended_at is not None:
        raise SettingsError(
            f"Study {stored.id} ended on {stored.ended_at:%Y-%m-%d}, so nobody can vote in it any more. Give a new "
            "study a name of its own, or leave blind_study and blind_arms empty."
        )


def _same_but_order(one: StudyFile, other: StudyFile) -> bool:
    """Return whether two files differ at most in the order of their arms, which does not change a study."""
    arms = tuple(sorted(one.arms, key=lambda arm: arm.name))
    return one.model_copy(update={"arms": arms}) == other.model_copy(
        update={"arms": tuple(sorted(other.arms, key=lambda arm: arm.name))}
    )
