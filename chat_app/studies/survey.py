"""Survey mode: who may enter a study, how far a person is in it, and what of a ballot may be shown before the vote.

People who come to a live study by a link enter here too: they are enrolled, vote in the chat, and come back for the
last page when they have judged as many messages as the study requires.

`BlindBallot` has no field that could hold a source, so that no page can show one before the vote.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum, auto

from heard.chat_app.common.notice import notice
from heard.chat_app.common.text import clean_unicode, has_visible
from heard.chat_app.conversation.services import Services
from heard.chat_app.safety.assessment import assess
from heard.chat_app.safety.bounded_text import bounded_text
from heard.chat_app.studies.assignment import FULL, NO_ID, NO_LINK, NOT_LISTED, admission_refusal, may_be_given
from heard.chat_app.studies.enrolment import enrol
from heard.chat_app.studies.study_file import StudyFile, study_of
from heard.chat_app.studies.study_texts import StudyTexts, texts_of
from heard.chat_app.studies.survey_words import ENGLISH, Words
from heard.db.device_change import FINISHED, USED
from heard.db.errors import StoreError, StudyRefused
from heard.db.studies import ENDED
from heard.db.study_records import (
    LETTERS,
    AnswerRecord,
    BallotRecord,
    Choice,
    EnrolmentRecord,
    FlowReason,
    QuestionAnswerRecord,
    StudyKind,
    VoteRecord,
)
from heard.sentences import said, sentence

log = logging.getLogger(__name__)

CLOSING_LIMIT = 5_000
"""Most characters of the answer to the open question."""

NO_STUDY = sentence("There is no study at this address. Check the link for a missing or an extra letter.")
OTHER_LINK = sentence(
    "This browser takes part in this study already, under another link. Open your link in another browser or in a "
    "private window."
)
TOO_BUSY = sentence("Many answers came at once, so yours was not taken. It is still here: please send it again.")
NOT_OPEN = sentence("Not open to you")
"""Title of the page that refuses somebody."""

WHY_NOT: dict[str, FlowReason] = {
    NO_ID: FlowReason.NO_ID,
    NO_LINK: FlowReason.NO_ID,
    NOT_LISTED: FlowReason.NOT_LISTED,
    FULL: FlowReason.FULL,
    ENDED: FlowReason.ENDED,
    USED: FlowReason.IN_USE,
    FINISHED: FlowReason.IN_USE,
}
"""By which reason a visit is counted that is refused with a sentence."""


class Consent(Enum):
    """A visitor's consent to a study, which needs a yes to its texts (in a live study: to the chat's notice) and to
    research."""

    MISSING = auto()
    """Not asked yet, asked under other texts, or refused."""
    NO_RESEARCH = auto()
    GIVEN = auto()


class PageRefused(Exception):
    """A survey page is not shown; instead there are an HTTP status, a title and a sentence.

    `counted` is the reason by which the study's flow counts the visit; None if it is not counted.
    """

    def __init__(self, status: int, title: str, sentence: str, counted: FlowReason | None = None) -> None:
        super().__init__(sentence)
        self.status, self.title, self.sentence, self.counted = status, title, sentence, counted


@dataclass(frozen=True, slots=True)
class BlindAnswer:
    """One answer as it is shown before the vote."""

    letter: str
    text: str
    """"" if it cannot be chosen."""
    reason: str | None
    """Why it cannot be chosen, or None."""


@dataclass(frozen=True, slots=True)
class BlindBallot:
    """All parts of a ballot that reach the browser before the vote."""

    id: str
    number: int
    message: str
    answers: tuple[BlindAnswer, ...]
    asks_least: bool
    """Whether the least empathetic answer is marked too."""
    closed: str | None
    """Why the ballot cannot be voted on, or None."""


@dataclass(frozen=True, slots=True)
class Participation:
    """The progress of an enrolled person in a study."""

    enrolment: EnrolmentRecord
    ballots: Sequence[tuple[BallotRecord, VoteRecord | None]]
    required_votes: int | None = None
    """In a live study, the number of messages to judge; None in a survey, whose ballots are all drawn."""
    answers: Sequence[QuestionAnswerRecord] = ()
    """What they have answered on question pages."""

    @property
    def total(self) -> int:
        """Number of ballots that this person has to vote on."""
        return len(self.ballots) if self.required_votes is None else self.required_votes

    @property
    def finished(self) -> bool:
        """Whether the person has cast their last vote."""
        return self.next is None

    @property
    def voted(self) -> int:
        """Number of ballots that are done: in a survey voted on or closed; in a live study voted on and not skipped."""
        if self.required_votes is not None:
            return sum(vote is not None and vote.choice is not Choice.SKIPPED for _, vote in self.ballots)
        return sum(vote is not None or ballot.closed_reason is not None for ballot, vote in self.ballots)

    @property
    def next(self) -> int | str | None:
        """The next page: the number of the first ballot that waits for a vote, or "chat"; None at the end."""
        if self.required_votes is not None:
            return "chat" if self.voted < self.required_votes else None
        waiting = (b.number for b, vote in self.ballots if vote is None and b.closed_reason is None)
        return next(waiting, None)

    def ballot(self, number: int) -> tuple[BallotRecord, VoteRecord | None] | None:
        """Return a ballot and its vote; None if there is none, if it comes after the first that waits for a vote, or if
        it was judged in another browser: an id in a link opens nobody's earlier words."""
        if self.required_votes is not None or (isinstance(self.next, int) and number > self.next):
            return None
        resumed = self.enrolment.resumed_at
        for ballot, vote in self.ballots:
            if ballot.number == number and not (resumed and vote and vote.voted_at <= resumed):
                return ballot, vote
        return None


class Surveys:
    """The surveys of this server. All methods may raise StoreError."""

    def __init__(self, services: Services, live_study: StudyFile | None = None) -> None:
        self._store, self._studies, self._live = services.store, services.studies, live_study
        self._version = notice(services.settings).version
        self._texts: dict[tuple[str, str], StudyTexts] = {}

    @property
    def live(self) -> StudyFile | None:
        """The live study that is on, or None."""
        return self._live

    async def study(self, name: str) -> StudyFile:
        """Return the survey with this id, or the live study that is on. Raises PageRefused (404)."""
        if self._live is not None and self._live.id == name:
            return self._live
        record = await self._studies.study(name)
        if record is None or record.kind is not StudyKind.SURVEY:
            raise PageRefused(404, sentence("No such study"), NO_STUDY)
        return study_of(record)

    async def texts(self, study: StudyFile, participation: Participation | None = None) -> StudyTexts:
        """Return what a person of the study was told when they agreed; for somebody new what is told now."""
        version = participation.enrolment.texts_version if participation else None
        if version is None:
            record = await self._studies.study(study.id)
            version = record.texts_version if record else None
        key = (study.id, version or "")
        if version is not None and key not in self._texts:  # a version never changes
            stored = await self._studies.texts(study.id, version)
            if stored is not None:
                self._texts[key] = StudyTexts(stored)
        return self._texts.get(key) or texts_of(study)

    async def words_of_ballot(self, ballot_id: str) -> Words:
        """Return the words of the study that a ballot belongs to; English for one that cannot be found."""
        try:
            found = await self._studies.ballot(ballot_id)
            record = await self._studies.study(found[0].study_id) if found else None
            if record is None or record.kind is StudyKind.LIVE:  # the chat speaks English
                return ENGLISH
            return (await self.texts(study_of(record))).words
        except StoreError:
            return ENGLISH

    async def consent(
        self, study: StudyFile, participant_id: str | None, participation: Participation | None = None
    ) -> Consent:
        """Return what a visitor has consented to. Whoever takes part keeps the texts that they agreed to."""
        stored = await self._store.latest_consent(participant_id) if participant_id else None
        if stored is None or participant_id is None or not stored.chat:
            return Consent.MISSING
        wanted = {await self.consent_version(study), await self.consent_version(study, participation)}
        if participation is not None and participation.enrolment.texts_version is None:
            wanted.add(self._version)  # of before studies had texts
        if not wanted & await self._store.agreed_versions(participant_id):
            return Consent.MISSING
        return Consent.GIVEN if stored.research else Consent.NO_RESEARCH

    async def consent_version(self, study: StudyFile, participation: Participation | None = None) -> str:
        """Return the version that is stored with an answer to the study's consent page."""
        if study.kind is StudyKind.LIVE:
            return self._version
        return f"{study.id}.{(await self.texts(study, participation)).version}"

    async def keep_texts(self, study: StudyFile) -> StudyTexts:
        """Store the texts that somebody new is told, and return them: what a person agreed to must be there."""
        texts = await self.texts(study)
        await self._studies.keep_texts(study.id, texts.version, texts.texts, datetime.now(UTC))
        return texts

    async def participation(self, study: StudyFile, participant_id: str) -> Participation | None:
        """Return a person's progress; None if they are not enrolled."""
        enrolment = await self._studies.enrolment(study.id, participant_id)
        if enrolment is None:
            return None
        required_votes = study.items_per_person if study.kind is StudyKind.LIVE else None
        ballots = await self._studies.ballots_of_person(study.id, participant_id)
        answers = await self._studies.question_answers(study.id, participant_id) if study.questions else ()
        return Participation(enrolment, ballots, required_votes, answers)

    async def check_link(self, study: StudyFile, external: str | None, participant_id: str | None) -> None:
        """Raise PageRefused (403) if the id of a link has been used in another browser and cannot go on in this one."""
        holder = await self._studies.holder(study.id, external) if external else None
        if holder is not None and holder.participant_id != participant_id and holder.refusal:
            raise PageRefused(403, sentence("This link is in use"), holder.refusal, FlowReason.IN_USE)

    async def length(self, study: StudyFile) -> int:
        """Return the most ballots that a new person gets; attention items are added to the study's own number."""
        if study.kind is StudyKind.LIVE:
            return study.items_per_person
        items = [item for item in await self._studies.items(study.id, answers=False) if may_be_given(study, item)]
        ordinary = sum(item.attention is None for item in items)
        return min(study.items_per_person, ordinary) + len(items) - ordinary

    async def enrol(self, study: StudyFile, participant_id: str, external: str | None) -> None:
        """Enrol a person and draw their ballots; does nothing if they are enrolled.

        Raises PageRefused (403) if the study is not open to them, full or empty.
        """
        texts = await self.keep_texts(study)
        try:
            await enrol(self._studies, study, participant_id, external, texts.version)
        except StudyRefused as refused:
            raise PageRefused(403, NOT_OPEN, said(refused), WHY_NOT.get(str(refused))) from None

    async def turned_away(self, study_id: str, reason: FlowReason | None, participant_id: str | None = None) -> None:
        """Count a visit that was not let in, unless the person takes part already. A lost number stops no page."""
        try:
            if reason is None or await self._studies.study(study_id) is None:
                return
            if participant_id is None or await self._studies.enrolment(study_id, participant_id) is None:
                await self._studies.count_turned_away(study_id, reason)
        except StoreError as error:
            log.warning("A visit that a study turned away was not counted: %s", error)

    async def blind_ballot(self, ballot: BallotRecord) -> BlindBallot:
        """Return a ballot without its sources. Raises PageRefused (404) if its item does not exist any more."""
        item = await self._studies.item(ballot.item_id) if ballot.item_id else None
        if item is None:
            raise PageRefused(404, sentence("Not here"), sentence("There is no such page of this study any more."))
        texts = {answer.id: answer.text for answer in item.answers}
        answers = tuple(
            BlindAnswer(
                LETTERS[slot.position - 1],
                texts.get(slot.answer_id, "") if slot.votable else "",
                None if slot.votable else slot.reason or "",
            )
            for slot in ballot.slots
        )
        return BlindBallot(ballot.id, ballot.number, item.message, answers, ballot.asks_least, ballot.closed_reason)

    async def answers(self, ballot: BallotRecord) -> list[AnswerRecord]:
        """Return the answers with their sources, in order of position: only for a page after the person's own vote."""
        return await self._studies.answers_of(ballot.id)

    async def close(self, study: StudyFile, participant_id: str, closing: str | None) -> None:
        """Store the end of a person's survey. Raises VoteRefused while a ballot waits for a vote."""
        await self._studies.complete(study.id, participant_id, closing, datetime.now(UTC))


def check_entry(study: StudyFile, external: str | None, participation: Participation | None) -> None:
    """Raise PageRefused if a link does not admit this visitor. Enrolled people may come back without an id."""
    if participation is not None:
        if external is not None and external != participation.enrolment.external_id:
            raise PageRefused(409, sentence("Already taking part"), OTHER_LINK, FlowReason.OTHER_LINK)
        return
    if refusal := admission_refusal(study, external):
        raise PageRefused(403, NOT_OPEN, refusal, WHY_NOT.get(refusal))


@dataclass(frozen=True, slots=True)
class ClosingAnswer:
    """The checked answer to the open question."""

    text: str | None
    """The text to store; None for nothing."""
    crisis: str | None = None
    """The language of a crisis in it, which is not stored."""
    problem: str | None = None
    """Why it is refused."""


def check_closing_answer(answer: str) -> ClosingAnswer:
    """Check the answer to the open question. Blocks: the crisis check of a long text takes its time."""
    text = clean_unicode(answer).replace("\r\n", "\n").replace("\r", "\n").strip()
    verdict = assess(bounded_text(text, CLOSING_LIMIT))
    if verdict.crisis:
        return ClosingAnswer(None, crisis=verdict.language or "en")
    if len(text) > CLOSING_LIMIT:
        problem = sentence(
            "Your answer has {length:,} characters, and {most:,} fit. Please shorten it.",
            length=len(text),
            most=CLOSING_LIMIT,
        )
        return ClosingAnswer(None, problem=problem)
    return ClosingAnswer(text if has_visible(text) else None)
