"""Random assignment: the condition of a new person, their ballots in a survey, and the ballot for a live message.

Answers and ballots have random ids, so that their order reveals no source; positions are decided by `balanced_order`
and stored with its seed.
"""

import random
import secrets
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from heard.chat_app.studies.study_file import Arm, StudyFile
from heard.chat_app.studies.williams import balanced_order
from heard.db.ballots import WAITING
from heard.db.errors import StudyRefused
from heard.db.quota_counts import Counts, Drawn
from heard.db.studies import ChooseCondition, DrawLive, DrawSurvey
from heard.db.study_records import (
    AnswerRecord,
    AnswerStatus,
    BallotRecord,
    EnrolmentRecord,
    ItemRecord,
    SlotRecord,
)
from heard.sentences import Sentence, sentence

FULL = sentence("This study has all the people that it needs. Thank you for wanting to take part.")
NOT_LISTED = sentence(
    "This study is open to invited people only, and this link is not on its list. Ask whoever sent it to you."
)
NO_LINK = sentence("This study is open to invited people only. Open the link that was sent to you.")
NO_ID = sentence(
    "This study needs a link with an id of your own, and the one that you opened has none. Open the whole link that "
    "was sent to you, or ask whoever sent it for a new one. Nothing about you was stored."
)
NO_ITEMS = sentence("This study has nothing to judge yet. Whoever runs it must add its items first.")
FEWEST_ANSWERS = 2
"""Fewest answers on a ballot."""


def new_seed() -> int:
    """Return a random seed for an `EnrolmentRecord`: 31 bits, which every database's integer holds."""
    return secrets.randbits(31)


def admission_refusal(study: StudyFile, external_id: str | None) -> Sentence | None:
    """Return why a person with this external id may not take part, as a sentence for the page; None if they may."""
    if external_id is not None:
        return None if study.admits(external_id) else NOT_LISTED
    return NO_LINK if study.allow else NO_ID if study.require_id else None


def choose_condition(study: StudyFile) -> ChooseCondition:
    """Return a function that chooses the condition of the next person; None in a study without conditions.

    It takes the one with the largest remaining share of its quota, at random among equals. A condition without a quota
    counts as large as the largest that has one, and never fills. It raises StudyRefused if the study's own quota, or
    that of every condition, is reached.
    """

    def choose(people: Counts) -> str | None:
        if study.quota is not None and sum(people.values()) >= study.quota:
            raise StudyRefused(FULL)
        if not study.conditions:
            return None
        usual = max((condition.quota or 1 for condition in study.conditions), default=1)
        left: dict[str, float] = {}
        for condition in study.conditions:
            number = people.get(condition.name, 0)
            if condition.quota is None or number < condition.quota:
                left[condition.name] = 1 - number / (condition.quota or usual)
        if not left:
            raise StudyRefused(FULL)
        most = max(left.values())
        return secrets.choice([name for name, share in left.items() if share == most])

    return choose


def draw_survey(study: StudyFile, items: Sequence[ItemRecord]) -> DrawSurvey:
    """Return a function that draws all ballots of one person.

    They are `items_per_person` items, those that the fewest people who count were given and at random among equals,
    in random order, and every attention item at a random place that is not the first.

    `items` must be loaded with their answers. Only COMPLETE answers are on a ballot, and for an ordinary item only the
    condition's; an item with fewer than two of them is never drawn, nor an
    admitted crisis without trained raters. All but the order of the answers comes from
    the enrolment's seed. The function raises StudyRefused if there is nothing to draw.
    """

    def draw(enrolment: EnrolmentRecord, drawn: Drawn) -> list[BallotRecord]:
        chance = random.Random(enrolment.seed)
        condition = study.condition(enrolment.condition)
        usable = {item.id: _usable_answers(item, condition.sources if condition else ()) for item in items}
        drawable = [item for item in items if len(usable[item.id]) >= FEWEST_ANSWERS and may_be_given(study, item)]
        ordinary = [item for item in drawable if item.attention is None]
        if not ordinary:
            raise StudyRefused(NO_ITEMS)
        chance.shuffle(ordinary)
        ordinary.sort(key=lambda item: drawn.counting.get(item.id, 0))  # a stable sort leaves the shuffle among equals
        chosen = ordinary[: study.items_per_person]
        chance.shuffle(chosen)
        for item in drawable:
            if item.attention is not None:
                chosen.insert(chance.randint(1, len(chosen)), item)
        return [
            _survey_ballot(
                study, enrolment, number, item, usable[item.id], drawn.ballots.get((item.id, enrolment.condition), 0)
            )
            for number, item in enumerate(chosen, 1)
        ]

    return draw


def may_be_given(study: StudyFile, item: ItemRecord) -> bool:
    """Return whether a ballot may hold this item: a message that reads like a crisis only with trained raters."""
    return item.admitted_by is None or study.trained_raters


def draw_live(
    study: StudyFile, participant_id: str, conversation_id: str, message_id: str, condition: str | None
) -> DrawLive:
    """Return a function that draws the ballot for one message: a PENDING answer for each arm of the condition, and no
    votable slot yet."""

    def draw(drawn: Counts, number: int) -> tuple[BallotRecord, list[AnswerRecord]]:
        now = datetime.now(UTC)
        arms = {arm.name: arm for arm in arms_of(study, condition)}
        order, seed, row = _next_order(study, "live", condition, list(arms), drawn.get(condition, 0))
        answers = {
            name: AnswerRecord(
                id=str(uuid.uuid4()),
                study_id=study.id,
                item_id=None,
                source=name,
                created_at=now,
                persona=arm.persona,
                strategy=arm.strategy,
                model=arm.model,
            )
            for name, arm in arms.items()
        }
        ballot = BallotRecord(
            id=str(uuid.uuid4()),
            study_id=study.id,
            participant_id=participant_id,
            number=number,
            item_id=None,
            conversation_id=conversation_id,
            message_id=message_id,
            order_seed=seed,
            order_row=row,
            condition=condition,
            drawn_at=now,
            slots=tuple(
                SlotRecord(position, answers[name].id, name, votable=False, reason=WAITING)
                for position, name in enumerate(order, 1)
            ),
        )
        return ballot, [answers[name] for name in order]

    return draw


def arms_of(study: StudyFile, condition: str | None) -> tuple[Arm, ...]:
    """Return the arms that people in a condition judge: all of them if there is none, or if it names no sources."""
    named = study.condition(condition)
    return tuple(arm for arm in study.arms if named is None or not named.sources or arm.name in named.sources)


def _usable_answers(item: ItemRecord, sources: Sequence[str]) -> dict[str, AnswerRecord]:
    """Return an item's usable answers by source. An attention item keeps all answers, as it compares no sources."""
    allowed = () if item.attention is not None else sources
    return {
        answer.source: answer
        for answer in item.answers
        if answer.status is AnswerStatus.COMPLETE and (not allowed or answer.source in allowed)
    }


def _survey_ballot(
    study: StudyFile,
    enrolment: EnrolmentRecord,
    number: int,
    item: ItemRecord,
    answers: Mapping[str, AnswerRecord],
    drawn: int,
) -> BallotRecord:
    order, seed, row = _next_order(study, item.id, enrolment.condition, list(answers), drawn)
    return BallotRecord(
        id=str(uuid.uuid4()),
        study_id=study.id,
        participant_id=enrolment.participant_id,
        number=number,
        item_id=item.id,
        conversation_id=None,
        message_id=None,
        order_seed=seed,
        order_row=row,
        condition=enrolment.condition,
        drawn_at=datetime.now(UTC),
        slots=tuple(
            SlotRecord(position, answers[source].id, source, votable=True) for position, source in enumerate(order, 1)
        ),
        attention=item.attention,
    )


def _next_order(
    study: StudyFile, what: str, condition: str | None, sources: list[str], drawn: int
) -> tuple[list[str], int, int]:
    """Return the `balanced_order` for an item (or "live") within one condition. Conditions are compared with each
    other, so each has to be balanced by itself."""
    return balanced_order(sources, f"{study.seed}/{what}/{condition or ''}/{'/'.join(sorted(sources))}", drawn)
