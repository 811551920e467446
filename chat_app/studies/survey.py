"""Survey mode: who may enter a study, where a person stands in it, and what of a ballot may be shown before the vote.

A live study has the same door, for people who come by a link: they are enrolled here, vote in the chat, and come back
for the end when they have judged as many messages as the study asks for.

The last is the point of `ShownBallot`: it has no field that could carry a source, so that no page can show one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum, auto

from heard.chat_app.common.notice import notice
from heard.chat_app.common.text import has_visible, readable
from heard.chat_app.conversation.services import Services
from heard.chat_app.safety import crisis_check
from heard.chat_app.studies.assignment import admit
from heard.chat_app.studies.enrolment import enrol
from heard.chat_app.studies.study_file import StudyFile, study_of
from heard.chat_app.studies.votes import Marks
from heard.db.errors import StudyRefused
from heard.db.study_records import (
    LETTERS,
    AnswerRecord,
    BallotRecord,
    Choice,
    EnrolmentRecord,
    StudyKind,
    VoteRecord,
)

CLOSING_LIMIT = 5_000
"""Characters of the answer to the open question."""

NO_STUDY = "There is no study at this address. Check the link for a missing or an extra letter."
OTHER_LINK = (
    "This browser takes part in this study already, under another link. Open your link in another browser or in a "
    "private window."
)
TOO_LONG = "Your answer has {length:,} characters, and {most:,} fit. Please shorten it."


class Consent(Enum):
    """What a visitor's newest answer says to a survey, which needs use and research under the notice in force."""

    MISSING = auto()
    """Not asked yet, asked under another notice, or no to all."""
    NO_RESEARCH = auto()
    GIVEN = auto()


class Closed(Exception):
    """A survey page that does not open, with what to tell instead: an HTTP status, a title and a sentence."""

    def __init__(self, status: int, title: str, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.title, self.sentence = status, title, sentence


@dataclass(frozen=True, slots=True)
class ShownAnswer:
    """One answer as it stands on the page before the vote."""

    letter: str
    text: str
    """"" where it cannot be chosen."""
    reason: str | None
    """Why it cannot be chosen, or None."""


@dataclass(frozen=True, slots=True)
class ShownBallot:
    """All of a ballot that reaches the browser before the vote."""

    id: str
    number: int
    message: str
    answers: tuple[ShownAnswer, ...]
    asks_least: bool
    """Whether the least empathetic answer is marked too."""
    closed: str | None
    """Why nothing here can be voted on, or None."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Where an enrolled person is in a study."""

    enrolment: EnrolmentRecord
    ballots: Sequence[tuple[BallotRecord, VoteRecord | None]]
    wanted: int | None = None
    """In a live study, the messages to judge before the end; None in a survey, whose ballots are all drawn."""

    @property
    def total(self) -> int:
        """Ballots that this person is asked to vote on."""
        return len(self.ballots) if self.wanted is None else self.wanted

    @property
    def voted(self) -> int:
        """Ballots that are done with: in a survey voted on or closed; in a live study judged, which a skip is not."""
        if self.wanted is not None:
            return sum(vote is not None and vote.choice is not Choice.SKIPPED for _, vote in self.ballots)
        return sum(vote is not None or ballot.closed_reason is not None for ballot, vote in self.ballots)

    @property
    def next(self) -> int | str | None:
        """Below which address it goes on: the first ballot that waits for a vote, or the chat; None at the end."""
        if self.wanted is not None:
            return "chat" if self.voted < self.wanted else None
        waiting = (b.number for b, vote in self.ballots if vote is None and b.closed_reason is None)
        return next(waiting, None)

    def ballot(self, number: int) -> tuple[BallotRecord, VoteRecord | None] | None:
        """One ballot and its vote, or None: also for one that lies beyond the first that waits."""
        if self.wanted is not None or (isinstance(self.next, int) and number > self.next):
            return None
        return next((pair for pair in self.ballots if pair[0].number == number), None)


class Surveys:
    """Every survey of this server. All methods may raise StoreError."""

    def __init__(self, services: Services, live_study: StudyFile | None = None) -> None:
        self._store, self._studies, self._live = services.store, services.studies, live_study
        self._version = notice(services.settings.persona_word).version

    async def study(self, name: str) -> StudyFile:
        """The survey called `name`, or the live study that is on. Raises Closed (404)."""
        if self._live is not None and self._live.id == name:
            return self._live
        record = await self._studies.study(name)
        if record is None or record.kind is not StudyKind.SURVEY:
            raise Closed(404, "No such study", NO_STUDY)
        return study_of(record)

    async def consent(self, participant_id: str | None) -> Consent:
        """What a visitor has agreed to."""
        stored = await self._store.latest_consent(participant_id) if participant_id else None
        if stored is None or not stored.chat or stored.version != self._version:
            return Consent.MISSING
        return Consent.GIVEN if stored.research else Consent.NO_RESEARCH

    async def standing(self, study: StudyFile, participant_id: str) -> Standing | None:
        """Where a person is; None when not enrolled."""
        enrolment = await self._studies.enrolment(study.id, participant_id)
        if enrolment is None:
            return None
        wanted = study.items_per_person if study.kind is StudyKind.LIVE else None
        return Standing(enrolment, await self._studies.ballots_of_person(study.id, participant_id), wanted)

    async def length(self, study: StudyFile) -> int:
        """The most messages that a new person is given; attention items come on top of the study's own number."""
        if study.kind is StudyKind.LIVE:
            return study.items_per_person
        items = await self._studies.items(study.id, answers=False)
        ordinary = sum(item.attention is None for item in items)
        return min(study.items_per_person, ordinary) + len(items) - ordinary

    async def enrol(self, study: StudyFile, participant_id: str, external: str | None) -> None:
        """Give a person their ballots, once; the second time changes nothing.

        Raises Closed (403) when the study is not for them, full or empty.
        """
        try:
            await enrol(self._studies, study, participant_id, external)
        except StudyRefused as refused:
            raise Closed(403, "Not open to you", str(refused)) from None

    async def blind_view(self, ballot: BallotRecord) -> ShownBallot:
        """A ballot without its secret. Raises Closed (404) when its item is not there any more."""
        item = await self._studies.item(ballot.item_id) if ballot.item_id else None
        if item is None:
            raise Closed(404, "Not here", "There is no such page of this study any more.")
        texts = {answer.id: answer.text for answer in item.answers}
        answers = tuple(
            ShownAnswer(
                LETTERS[slot.position - 1],
                texts.get(slot.answer_id, "") if slot.votable else "",
                None if slot.votable else slot.reason or "It cannot be chosen.",
            )
            for slot in ballot.slots
        )
        return ShownBallot(ballot.id, ballot.number, item.message, answers, ballot.asks_least, ballot.closed_reason)

    async def answers(self, ballot: BallotRecord) -> list[AnswerRecord]:
        """Who wrote what, by position: for a page after the own vote only."""
        return await self._studies.answers_of(ballot.id)

    async def close(self, study: StudyFile, participant_id: str, closing: str | None) -> None:
        """Write the end of a person's survey. Raises VoteRefused while a ballot waits for a vote."""
        await self._studies.complete(study.id, participant_id, closing, datetime.now(UTC))


def check_entry(study: StudyFile, external: str | None, standing: Standing | None) -> None:
    """Raise Closed for a link that does not let this visitor in; who is enrolled already goes on without an id."""
    if standing is not None:
        if external is not None and external != standing.enrolment.external_id:
            raise Closed(409, "Already taking part", OTHER_LINK)
        return
    if sentence := admit(study, external):
        raise Closed(403, "Not open to you", sentence)


@dataclass(frozen=True, slots=True)
class Closing:
    """The answer to the open question, read."""

    text: str | None
    """What is stored; None for nothing."""
    crisis: str | None = None
    """The language of a crisis in it, at which nothing of it is stored."""
    problem: str | None = None
    """Why it cannot be taken."""


def read_closing(given: str) -> Closing:
    """Read the answer to the open question. Blocking: the crisis check of a long text takes its time."""
    text = readable(given).replace("\r\n", "\n").replace("\r", "\n").strip()
    verdict = crisis_check.check(text)
    if verdict.crisis:
        return Closing(None, crisis=verdict.language or "en")
    if len(text) > CLOSING_LIMIT:
        return Closing(None, problem=TOO_LONG.format(length=len(text), most=CLOSING_LIMIT))
    return Closing(text if has_visible(text) else None)


def marked(marks: Marks, of: str) -> str:
    """How a person marked the answer `of`, in words; "" for not at all."""
    if marks.choice != Choice.RANKED.value:
        return ""
    return "your most empathetic" if of == marks.most else "your least empathetic" if of == marks.least else ""
