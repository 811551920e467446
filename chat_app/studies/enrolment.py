"""How a person comes into a study, by a link or as a walk-in, in a survey or in the chat."""

from datetime import UTC, datetime

from heard.chat_app.studies.assignment import admit, choose_condition, draw_survey, new_seed
from heard.chat_app.studies.study_file import StudyFile
from heard.db.errors import StudyRefused
from heard.db.study_records import EnrolmentRecord, StudyKind
from heard.db.study_store import StudyStore


async def enrol(studies: StudyStore, study: StudyFile, participant_id: str, external_id: str | None) -> EnrolmentRecord:
    """The person's place in the study; if it is new, made with a survey's ballots. Who has one keeps it.

    `external_id` is from the link by which they came; None for a walk-in. Raises StudyRefused with a sentence when the
    study is not for them, full or empty; StoreError.
    """
    place = await studies.enrolment(study.id, participant_id)
    if place is not None:
        return place
    if sentence := admit(study, external_id):
        raise StudyRefused(sentence)
    live = study.kind is StudyKind.LIVE  # its ballots are drawn one by one, as people write
    drawn = (lambda *_: ()) if live else draw_survey(study, await studies.items(study.id))
    wanted = EnrolmentRecord(study.id, participant_id, external_id, None, new_seed(), datetime.now(UTC))
    place, _ = await studies.enrol(wanted, choose_condition(study), drawn)
    return place
