"""Whether somebody may go on in a study right now: it may be paused or have ended, their link may be revoked, and they
may have failed as many attention items as the study allows.

Nothing here says to a participant which item it was.
"""

import re
from datetime import UTC, datetime

from heard.chat_app.studies.assignment import FULL
from heard.chat_app.studies.study_file import StudyFile
from heard.chat_app.studies.survey import NOT_OPEN, PageRefused, Participation
from heard.db.access_links import link_id
from heard.db.desk_store import DeskStore
from heard.db.studies import ENDED, PAUSED, standstill
from heard.db.study_records import BallotRecord, VoteRecord
from heard.db.study_store import StudyStore
from heard.sentences import sentence

PAUSED_WITHIN = sentence(
    "This study is paused for now. Everything that you have judged is stored, and the same link goes on from there "
    "when the study does. Please come again later."
)
SCREENED_OUT = sentence(
    "The study ends here for you, because some of its questions were not answered as they asked for. What you have "
    "judged is stored. Thank you for your time."
)
REVOKED = sentence(
    "This link has been taken back by whoever made it, so it opens nothing any more. Ask them for a new one."
)
NO_TOKEN = sentence("This link is not whole. Open the one that you were given, as it is.")
SCREENING = (FULL, ENDED, PAUSED, SCREENED_OUT)
"""Sentences to people whom the study does not need, who go back to their panel with the code for that."""
_TOKEN = re.compile(r"k[0-9a-f]{40}")
"""An id that was made by `heard study invite`."""


async def admitted(studies: StudyStore, study: StudyFile, external: str | None) -> tuple[StudyFile, str | None]:
    """Return the study, and the id under which somebody takes part who has come with the id `external`.

    For the token of an invitation that is its link's own id, and the study has it on its list. Raises PageRefused (403)
    for an invitation that is revoked, or is for another study or for the desk, and for such an id without its token.
    """
    if link_id(external) is not None:
        raise PageRefused(403, NOT_OPEN, NO_TOKEN)
    link = None
    if external is not None and _TOKEN.fullmatch(external):
        link = await DeskStore(studies.engine).link_of_token(external)
    if link is None:
        return study, external
    if link.revoked_at is not None or link.study_id != study.id or link.role.is_staff:
        raise PageRefused(403, NOT_OPEN, REVOKED)
    allow = (*study.allow, link.external_id)
    return study.model_copy(update={"allow": allow}) if study.allow else study, link.external_id


async def check_standing(studies: StudyStore, study: StudyFile, participation: Participation | None) -> None:
    """Raise PageRefused (403) where this person cannot go on, or somebody new not begin.

    Who has judged everything gets to the last page in any case. Somebody who has just failed one attention item too
    many is screened out here.
    """
    if participation is None:
        if stopped := await _standstill(studies, study):
            raise PageRefused(403, NOT_OPEN, stopped)
        return
    enrolment = participation.enrolment
    if own := link_id(enrolment.external_id):
        link = await DeskStore(studies.engine).link(own)
        if link is None or link.revoked_at is not None:
            raise PageRefused(403, NOT_OPEN, REVOKED)
    if enrolment.completed_at is None:
        if _failed_too_often(study, participation):
            if enrolment.screened_out_at is None:
                await studies.screen_out(study.id, enrolment.participant_id, datetime.now(UTC))
            raise PageRefused(403, sentence("Thank you"), SCREENED_OUT)
        if enrolment.screened_out_at is not None:
            return  # by an answer to a question, which has a page of its own
    if participation.next is not None and (stopped := await _standstill(studies, study)):
        raise PageRefused(403, NOT_OPEN, PAUSED_WITHIN if stopped == PAUSED else stopped)


async def _standstill(studies: StudyStore, study: StudyFile) -> str | None:
    record = await studies.study(study.id)
    return standstill(record) if record else None


def _failed_too_often(study: StudyFile, participation: Participation) -> bool:
    if study.screen_out_after is None:
        return False
    return sum(_failed(ballot, vote) for ballot, vote in participation.ballots) >= study.screen_out_after


def _failed(ballot: BallotRecord, vote: VoteRecord | None) -> bool:
    """Return whether a vote on an attention item marks another source than it names, or none; as results count it."""
    if ballot.attention is None or vote is None:
        return False
    marked = next((slot.source for slot in ballot.slots if slot.position == vote.most), None)
    return marked != ballot.attention
