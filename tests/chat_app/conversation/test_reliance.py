"""Notes towards people: by words with the real encoder, by timers with a clock that is handed in, once a day."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

from heard.chat_app.common.settings import Settings
from heard.chat_app.conversation.reliance import Reliance
from heard.chat_app.conversation.reliance_words import RelianceWords
from heard.chat_app.models.downloads import Weights
from heard.db.store import Store
from heard.prompts.nudge_files import NudgeKind, load_nudges
from heard.scorer.errors import ScorerError
from heard.scorer.vectors import Vectors
from tests.chat_app.conversation.test_bot_questions import vectors
from tests.db.conftest import Make, engine, file_url, make, path, person, store, url

__all__ = ["engine", "file_url", "make", "path", "person", "store", "url", "vectors"]  # fixtures

CASES: dict[str, list[str]] = yaml.safe_load(
    (Path(__file__).parents[2] / "reliance" / "cases.yaml").read_text(encoding="utf-8")
)
HELD_OUT = slice(1, None, 2)
NUDGES = load_nudges()
NOON = datetime(2026, 5, 31, 12, 0, tzinfo=UTC)
LEFT = "I stopped seeing my therapist because you're better."


class Clock:
    """Handed in where the time is asked for."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="session")
def words(vectors: Vectors, weights: Weights, tmp_path_factory: pytest.TempPathFactory) -> RelianceWords:
    return RelianceWords(NUDGES, lambda: vectors, tmp_path_factory.mktemp("reliance"))


def reliance(store: Store, clock: Clock, words: RelianceWords | None = None, **settings: Any) -> Reliance:
    return Reliance(NUDGES, words, store, Settings(**settings), now=clock)


def test_of_what_asks_for_a_note_most_is_found_and_of_other_messages_hardly_any(words: RelianceWords) -> None:
    """The figures of docs/places.md, on the half that chose nothing."""
    found = {kind: [words.kind(text) for text in texts[HELD_OUT]] for kind, texts in CASES.items()}
    assert sum(one is not None for one in found["replaced_people"]) >= 7
    assert sum(one is NudgeKind.REPLACED_PEOPLE for one in found["replaced_people"]) >= 7
    assert sum(one is NudgeKind.LOVE for one in found["love"]) >= 7
    assert len(found["none"]) == 20
    assert sum(one is not None for one in found["none"]) <= 1


def test_no_case_is_a_phrasing_of_the_file() -> None:
    known = {text for nudge in NUDGES.kinds.values() for text in nudge.phrasings} | {*NUDGES.others}
    assert known & {text.casefold().strip(".!") for texts in CASES.values() for text in texts} <= {"i love you"}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (LEFT, NudgeKind.REPLACED_PEOPLE),
        (
            "It was a long day. My boss shouted at me. But you are my only friend. Good night!",
            NudgeKind.REPLACED_PEOPLE,
        ),
        ("I LOVE YOU!!!", NudgeKind.LOVE),
        ("do you love me", None),
        ("I told my mum 'I love you' before she died", None),
        ("", None),
        ("?!", None),
        ("I love you " * 500, None),
        ("Je t'aime", None),
        ("\ud800 I need you to listen", None),
    ],
)
def test_single_messages(words: RelianceWords, text: str, kind: NudgeKind | None) -> None:
    assert words.kind(text) is kind


async def test_words_get_a_note_once_a_day_and_the_next_day_another_one(
    store: Store, person: str, clock: Clock, words: RelianceWords
) -> None:
    notes = reliance(store, clock, words)
    given = []
    for _ in range(9):
        note = await notes.asked_for(person, LEFT)
        assert note is not None
        assert await notes.asked_for(person, LEFT) is None, "one a day"
        assert await notes.asked_for(person, "I love you") is None, "of whatever kind"
        given.append(note)
        clock.now += timedelta(days=len(NUDGES.kinds[NudgeKind.REPLACED_PEOPLE].texts))
    assert set(given) <= {" ".join(text.split()) for text in NUDGES.kinds[NudgeKind.REPLACED_PEOPLE].texts}
    assert all(one != following for one, following in pairwise(given))
    assert await notes.asked_for(person, "My cat is ill and I am worried.") is None


async def test_a_crisis_asks_for_none_whatever_else_it_says(
    store: Store, person: str, clock: Clock, words: RelianceWords
) -> None:
    text = "You are my only friend. I want to kill myself."
    assert words.kind(text) is NudgeKind.REPLACED_PEOPLE
    assert await reliance(store, clock, words).asked_for(person, text) is None
    assert await store.nudged_on(person) is None


async def wrote(store: Store, make: Make, person: str, *ago: timedelta) -> None:
    conversation = make.conversation(person)
    for one in sorted(ago, reverse=True):
        await store.open_turn(conversation, make.message(conversation, created_at=NOON - one))


def minutes(*numbers: int) -> list[timedelta]:
    return [timedelta(minutes=number) for number in numbers]


async def test_a_long_talk_gets_one(store: Store, make: Make, person: str, clock: Clock) -> None:
    await wrote(store, make, person, *minutes(0, 25, 50, 75, 100))
    assert await reliance(store, clock).due(person) is None, "not two hours yet"
    await wrote(store, make, person, *minutes(120))
    assert await reliance(store, clock, nudge_after_minutes=0).due(person) is None
    assert await reliance(store, clock, nudge_after_minutes=121).due(person) is None
    note = await reliance(store, clock).due(person)
    assert note in [" ".join(text.split()) for text in NUDGES.kinds[NudgeKind.LONG_TALK].texts]
    assert await reliance(store, clock).due(person) is None


async def test_a_talk_with_a_break_gets_none(store: Store, make: Make, person: str, clock: Clock) -> None:
    await wrote(store, make, person, *minutes(0, 20, 40, 60, 95, 115, 130))
    assert await reliance(store, clock).due(person) is None


async def test_many_days_get_one_and_not_another_for_each_day_more(
    store: Store, make: Make, person: str, clock: Clock
) -> None:
    await wrote(store, make, person, *(timedelta(days=day) for day in range(1, 5)))
    notes = reliance(store, clock, nudge_after_days=5)
    assert await notes.due(person) is None
    await wrote(store, make, person, timedelta())
    assert await reliance(store, clock, nudge_after_days=0).due(person) is None
    assert await notes.due(person) in [" ".join(text.split()) for text in NUDGES.kinds[NudgeKind.MANY_DAYS].texts]
    for day in range(1, 5):
        await wrote(store, make, person, timedelta(days=-day))
        clock.now = NOON + timedelta(days=day)
        assert await notes.due(person) is None
    await wrote(store, make, person, timedelta(days=-5))
    clock.now = NOON + timedelta(days=5)
    assert await notes.due(person) is not None


async def test_without_an_encoder_or_a_person_nothing_is_said(
    store: Store, person: str, clock: Clock, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> Vectors:
        raise ScorerError("the encoder is gone")

    notes = reliance(store, clock, RelianceWords(NUDGES, broken, tmp_path))
    assert await notes.asked_for(person, LEFT) is None
    assert LEFT not in caplog.text
    assert "ScorerError" in caplog.text
    assert await reliance(store, clock).asked_for(person, LEFT) is None
    assert await reliance(store, clock).due("nobody") is None
