"""Enrol a person in a study, by a link or as a walk-in, in a survey or in the chat."""

from dataclasses import replace
from datetime import UTC, datetime

from heard.chat_app.studies.assignment import admission_refusal, choose_condition, draw_survey, new_seed
from heard.chat_app.studies.study_file import StudyFile
from heard.db.errors import StudyRefused
from heard.db.study_records import EnrolmentRecord, StudyKind
from heard.db.study_store import StudyStore


async def enrol(
    studies: StudyStore,
    study: StudyFile,
    participant_id: str,
    external_id: str | None,
    texts_version: str | None = None,
) -> EnrolmentRecord:
    """Return the person's enrolment; if there is none, make it, with the ballots of a survey.

    `external_id` is from the link by which they came; None for a walk-in. `texts_version` is that of the study's texts
    that they agreed to. Raises StudyRefused with a sentence if the
    study is not open to them, full or empty, and StoreError.
    """
    enrolment = await studies.enrolment(study.id, participant_id)
    if enrolment is not None:
        return enrolment
    if sentence := admission_refusal(study, external_id):
        raise StudyRefused(sentence)
    live = study.kind is StudyKind.LIVE  # its ballots are drawn one by one, as people write
    draw_ballots = (lambda *_: ()) if live else draw_survey(study, await studies.items(study.id))
    new = EnrolmentRecord(study.id, participant_id, external_id, None, new_seed(), datetime.now(UTC))
    new = replace(new, texts_version=texts_version)
    active_since = study.active_since(new.started_at)
    enrolment, _ = await studies.enrol(new, choose_condition(study), draw_ballots, active_since)
    return enrolment
