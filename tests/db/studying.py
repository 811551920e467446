"""Studies, people in them and their ballots, with sensible fields, for tests of what may be voted."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from heard.db.records import ConsentRecord, ConversationRecord, MessageRecord
from heard.db.store import Store
from heard.db.study_records import (
    AnswerRecord,
    AnswerStatus,
    BallotRecord,
    Choice,
    EnrolmentRecord,
    ItemRecord,
    SlotRecord,
    StudyKind,
    StudyRecord,
    VoteRecord,
)
from heard.db.study_store import StudyStore
from tests.db.conftest import Make

SOURCES = ("human", "north", "south")


class Studying:
    """One survey and one live study in a store; everything is made through the store's own doors."""

    def __init__(self, store: Store, make: Make, *, mark: str = "It sounds hard", **definition: Any) -> None:
        """`definition` stands in every study's file, unless a study says otherwise."""
        self.store, self.make, self.mark, self.definition = store, make, mark, definition
        self.studies = StudyStore(store.engine)

    def study(self, name: str = "blind", kind: StudyKind = StudyKind.SURVEY, **definition: Any) -> StudyRecord:
        return StudyRecord(
            name, kind, {"id": name, "kind": kind.value, **self.definition, **definition}, "d" * 64, self.make.now
        )

    def answer(self, study: str, item: str | None, source: str, **fields: Any) -> AnswerRecord:
        answer = AnswerRecord(
            id=f"{study}/{item}/{source}" if item else self.make.id(),
            study_id=study,
            item_id=item,
            source=source,
            created_at=self.make.now,
            text=f"{self.mark}, says one of them." if item else "",
            status=AnswerStatus.COMPLETE if item else AnswerStatus.PENDING,
            model=None if source == "human" else f"model-of-{source}",
            drafts=[],
            score=self.make.score(),
        )
        return replace(answer, **fields)

    def items(self, study: str = "blind", number: int = 2, sources: Sequence[str] = SOURCES) -> list[ItemRecord]:
        return [
            ItemRecord(
                f"{study}/{place}",
                study,
                place,
                f"{self.mark} {place}",
                answers=tuple(self.answer(study, f"{study}/{place}", source) for source in sources),
            )
            for place in range(1, number + 1)
        ]

    async def agree(self, person: str | None = None, *, research: bool = True, chat: bool = True) -> str:
        """A person who has answered the notice; gives their id."""
        person = person or self.make.id()
        await self.store.save_consent(ConsentRecord(person, "1", chat, research, self.make.now))
        return person

    def ballot(self, study: str, person: str, number: int, item: ItemRecord, *broken: str) -> BallotRecord:
        """A survey's ballot in the order of the item; the answers of sources in `broken` may not be voted for."""
        slots = tuple(
            SlotRecord(place, answer.id, answer.source, answer.source not in broken, "It did not arrive.")
            for place, answer in enumerate(item.answers, 1)
        )
        return BallotRecord(
            self.make.id(), study, person, number, item.id, None, None, 7, 0, None, self.make.now, slots
        )

    async def survey(
        self, *broken: str, study: str = "blind", sources: Sequence[str] = SOURCES, number: int = 2, **definition: Any
    ) -> list[ItemRecord]:
        """Write a survey; gives its items."""
        items = self.items(study, number, sources)
        await self.studies.save_study(self.study(study, **definition), items)
        return items

    async def enrolled(
        self, person: str, *broken: str, study: str = "blind", sources: Sequence[str] = SOURCES, number: int = 2
    ) -> list[BallotRecord]:
        """A person's ballots of a survey, one for each item."""
        items = self.items(study, number, sources)
        wanted = EnrolmentRecord(study, person, None, None, 11, self.make.now)
        await self.studies.enrol(
            wanted,
            lambda _: None,
            lambda enrolled, _: [
                self.ballot(study, person, place, item, *broken) for place, item in enumerate(items, 1)
            ],
        )
        return [ballot for ballot, _ in await self.studies.ballots_of_person(study, person)]

    async def asked(self, person: str) -> tuple[ConversationRecord, MessageRecord]:
        """A stored message that waits for its answers."""
        conversation = self.make.conversation(person)
        message = self.make.message(conversation, f"{self.mark} today")
        await self.store.open_turn(conversation, message)
        return conversation, message

    async def live(
        self, person: str, message: MessageRecord, *, study: str = "talk", sources: Sequence[str] = ("left", "right")
    ) -> tuple[BallotRecord, list[AnswerRecord]]:
        """Draw the ballot for a message; its answers are still to come."""
        answers = [self.answer(study, None, source, persona="kind", strategy="plain") for source in sources]

        def drawn(_: object, number: int) -> tuple[BallotRecord, list[AnswerRecord]]:
            slots = tuple(
                SlotRecord(place, answer.id, answer.source, False, "It has not arrived yet.")
                for place, answer in enumerate(answers, 1)
            )
            ballot = BallotRecord(
                self.make.id(), study, person, number, None, message.conversation_id, message.id, 7, 0, None,
                self.make.now, slots,
            )  # fmt: skip
            return ballot, answers

        return await self.studies.draw_live(study, message, drawn), answers

    def came(self, answer: AnswerRecord, status: AnswerStatus = AnswerStatus.COMPLETE, **fields: Any) -> AnswerRecord:
        """An answer as it came out."""
        return replace(answer, status=status, text=f"{self.mark}, they say.", **fields)

    def cast(self, ballot: BallotRecord, most: int | None = 1, least: int | None = 2, **fields: Any) -> VoteRecord:
        """A vote as the page sends it."""
        choice = Choice.SAME if most is None else Choice.RANKED
        vote = VoteRecord(
            ballot.id, ballot.participant_id, choice, most, least, self.mark, 4.5, "desktop", self.make.id(),
            self.make.now,
        )  # fmt: skip
        return replace(vote, **fields)
