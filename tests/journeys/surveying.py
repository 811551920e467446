"""A survey in a real database whose sources have names that stand nowhere else, and a detector that looks for them."""

import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from heard.chat_app.common.settings import Settings
from heard.chat_app.studies.study_file import definition_of, parse_study
from heard.db.engine import create_engine
from heard.db.records import ScoreRecord
from heard.db.study_records import AnswerRecord, AnswerStatus, ItemRecord, StudyRecord
from heard.db.study_store import StudyStore

SOURCES = ("zanzibar", "quagmire", "flinders", "mulberry", "palimpsest")
SECRETS = ("okapi-9b", "brunhilde", "tarantella", "1.3713", "0.4242", "velociraptor")
"""Model, persona, strategy, a score, a time and a draft's words, in every answer."""
CODE = "CODE-7Q4"
BACK = "https://recruiter.example/complete?cc=7Q4"
VALUES: dict[str, Any] = {
    "id": "blind", "kind": "survey", "title": "Kind words", "introduction": "Please **read** <i>slowly</i>.",
    "completion_code": CODE, "completion_url": BACK,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Study:
    """What was written, and how to find it in bytes."""

    name: str
    items: tuple[ItemRecord, ...] = field(repr=False)

    @property
    def secrets(self) -> dict[str, str]:
        """Everything that may not be known before the vote, by what it is called in a failure."""
        names = {name: name for name in (*SOURCES, *SECRETS)}
        return names | {a.id: f"id of {a.source}" for item in self.items for a in item.answers}

    def found(self, sent: bytes) -> set[str]:
        """The secrets in what was sent, whatever their case."""
        low = sent.lower()
        return {what for secret, what in self.secrets.items() if secret.lower().encode() in low}

    def source(self, text: str) -> str:
        """Who wrote an answer that stands on a page."""
        return next(a.source for item in self.items for a in item.answers if a.text == text)


def answer(study: str, item: str, number: int, source: str, place: int) -> AnswerRecord:
    """One answer whose words name no source."""
    score = ScoreRecord("scored", None, 1.3713, 2.0, 2.0, 1.7904, "default", "a" * 64, "b" * 64)
    return AnswerRecord(
        id=str(uuid.uuid4()), study_id=study, item_id=item, source=source, created_at=datetime.now(UTC),
        text=f"Reply number {number} in wording {place}, with some comfort.", status=AnswerStatus.COMPLETE,
        human=source == "flinders", persona="brunhilde", strategy="tarantella", model="okapi-9b",
        prompt_sha256="c" * 64, first_token_seconds=0.4242, total_seconds=0.4242,
        drafts=[{"text": "velociraptor"}], score=score,
    )  # fmt: skip


async def make(
    studies: StudyStore, *, items: int = 3, sources: int = 5, attention: bool = False, **values: Any
) -> Study:
    """Write a survey; `values` go over the study's file."""
    file = parse_study(VALUES | values, "the test's study")
    definition, digest = definition_of(file)
    made = []
    for number in range(1, items + 1):
        item = str(uuid.uuid4())
        answers = tuple(
            answer(file.id, item, number, name, place) for place, name in enumerate(SOURCES[:sources], 1)
        )  # fmt: skip
        told = SOURCES[0] if attention and number == items else None
        made.append(ItemRecord(item, file.id, number, f"Message number {number}, a sad one.", told, answers))
    await studies.save_study(StudyRecord(file.id, file.kind, definition, digest, datetime.now(UTC)), made)
    return Study(file.id, tuple(made))


async def make_in(data_dir: Path, **values: Any) -> Study:
    """`make` in the database of a running program."""
    engine = create_engine(Settings(data_dir=data_dir).database)
    try:
        return await make(StudyStore(engine), **values)
    finally:
        await engine.dispose()
