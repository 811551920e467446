"""A person's own data: all of it out, all of it gone, and nothing of it in the files afterwards."""

import asyncio
import json
import random
import shutil
import sqlite3
from pathlib import Path

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from heard.db.desk_records import Actor, Role
from heard.db.desk_store import DeskStore
from heard.db.engine import create_engine
from heard.db.errors import StoreGone
from heard.db.feedback_store import FeedbackStore
from heard.db.records import ConsentRecord, MessageRecord, Outcome
from heard.db.store import Store
from heard.db.study_records import QuestionAnswerRecord, StudyKind
from heard.db.transaction import run_sql
from tests.db.conftest import LOCK_SECONDS, Make
from tests.db.studying import Studying
from tests.db.test_store import count

MARK = "zaphod-beeblebrox"
TABLES = (
    "participant", "consent", "conversation", "message", "reply", "draft", "score", "summary", "flag",
    "thumb", "felt_heard",
    "users", "threads", "steps", "elements", "feedbacks",
    "enrolment", "question_answer", "ballot", "slot", "vote", "vote_change", "exclusion", "access_link",
)  # fmt: skip
"""Those that hold nothing once everybody is erased."""


async def fill(store: Store, make: Make, engine: AsyncEngine, person: str, mark: str, turns: int = 3) -> str:
    """Rows in every table, with `mark` in every text of the person's. Gives the conversation's id."""
    await store.save_consent(ConsentRecord(person, mark, True, True, make.now))
    conversation = make.conversation(person, persona=mark)
    for number in range(turns):
        message = make.message(conversation, f"{mark} {number} " + "so it goes " * 50 * number)
        await store.open_turn(conversation, message)
        drafts = (make.draft(mark * 3, kept=False), make.draft(mark, number=2, guidance=mark, parameters={mark: mark}))
        await store.close_turn(message.id, Outcome.ANSWERED, make.reply(message, *drafts, strategy=mark))
    await store.save_summary(make.summary(message, mark * 2))
    replies = await store.replies(conversation.id)
    await FeedbackStore(engine).save_thumb(person, conversation.id, replies[message.id].id, True)
    asked = "INSERT INTO felt_heard (conversation_id, participant_id, message_id, asked_at)"
    values = {"a": conversation.id, "b": person, "c": message.id}
    await run_sql(engine, f"{asked} VALUES (:a, :b, :c, CURRENT_TIMESTAMP)", values)
    await store.save_flag(make.flag(person, seeker=mark, reply=mark * 3, note=mark))
    user, thread, step = make.id(), conversation.id, make.id()
    for query, values in (
        ("INSERT INTO users (id, identifier, metadata) VALUES (:a, :b, '{}')", {"a": user, "b": person}),
        (
            'INSERT INTO threads (id, name, "userId", "userIdentifier") VALUES (:a, :b, :c, :d)',
            {"a": thread, "b": mark, "c": user, "d": person},
        ),
        (
            'INSERT INTO steps (id, name, type, "threadId", output) VALUES (:a, :b, :b, :c, :d)',
            {"a": step, "b": "user_message", "c": thread, "d": mark * 500},
        ),
        (
            'INSERT INTO elements (id, "threadId", type, name, props, "forId") VALUES (:a, :b, :c, :c, :d, :e)',
            {"a": make.id(), "b": thread, "c": "custom", "d": json.dumps({"words": mark}), "e": step},
        ),
        (
            'INSERT INTO feedbacks (id, "forId", value, comment) VALUES (:a, :b, 1, :c)',
            {"a": make.id(), "b": step, "c": mark},
        ),
    ):
        await run_sql(engine, query, values)
    await judge(Studying(store, make, mark=mark), person, message)
    return thread


async def judge(studying: Studying, person: str, message: MessageRecord) -> None:
    """Votes of a person, changed once each: in a survey, and in a live study on a message of theirs."""
    if await studying.studies.study("blind") is None:
        await Studying(studying.store, studying.make, reveal=False).survey()  # else a vote is final
        await studying.studies.save_study(studying.study("talk", StudyKind.LIVE, reveal=False))
    ballots = await studying.enrolled(person)
    live, answers = await studying.live(person, message)
    await studying.studies.finish_ballot(live.id, [studying.came(answer) for answer in answers])
    for ballot, least in ((ballots[0], 2), (live, None)):
        for choice in (1, 2):
            await studying.studies.vote(studying.cast(ballot, choice, least and 3))
    await studying.studies.vote(studying.cast(ballots[1], None, None))
    answer = QuestionAnswerRecord("about.words", 0, studying.mark, studying.make.now)
    await studying.studies.save_question_answers("blind", person, [answer])
    await studying.studies.complete("blind", person, studying.mark, studying.make.now)
    desk, lead = DeskStore(studying.store.engine), Actor("Ada")
    link, _ = await desk.invite("blind", Role.PARTICIPANT, studying.mark, lead)
    taken = "UPDATE enrolment SET external_id = :own WHERE participant_id = :person"
    await run_sql(studying.store.engine, taken, {"own": link.external_id, "person": person})
    await desk.exclude("blind", {person: studying.mark}, None, lead)


def bytes_with(folder: Path, mark: str) -> list[str]:
    """Names of the files in the folder that contain the mark."""
    return [item.name for item in folder.iterdir() if item.is_file() and mark.encode() in item.read_bytes()]


async def test_everything_goes_and_nothing_else(
    store: Store, make: Make, engine: AsyncEngine, person: str, path: Path
) -> None:
    await fill(store, make, engine, person, MARK)
    await store.ensure_participant("other")
    thread = await fill(store, make, engine, "other", "arthur-dent")
    others = await store.export_participant("other")
    assert bytes_with(path.parent, MARK) != []  # or the search below would prove nothing
    removed = await store.erase_participant(person)
    assert removed == {
        "score": 6, "draft": 6, "reply": 3, "message": 3, "summary": 1, "conversation": 1, "feedbacks": 1,
        "elements": 1, "steps": 1, "threads": 1, "flag": 1, "consent": 1, "participant": 1, "users": 1,
        "thumb": 1, "felt_heard": 1,
        "exclusion": 1, "access_link": 1,
        "enrolment": 1, "ballot": 3, "slot": 8, "vote": 3, "vote_change": 2, "answer": 2,
        "question_answer": 1,
    }  # fmt: skip
    assert (count(path, "study"), count(path, "item"), count(path, "answer")) == (2, 2, 8)
    assert bytes_with(path.parent, MARK) == []
    assert path.with_name("heard.db-wal").stat().st_size == 0
    after = await store.export_participant("other")
    assert after | {"exported_at": ""} == others | {"exported_at": ""}
    assert await store.conversation_owner(thread) == "other"
    assert set((await store.erase_participant(person)).values()) == {0}
    await store.erase_participant("other")
    assert (count(path, "study"), count(path, "item"), count(path, "answer")) == (2, 2, 6)
    assert [count(path, table) for table in TABLES] == [0] * len(TABLES)


@pytest.mark.parametrize("seed", [4, 8, 10])
async def test_erased_words_are_not_left_in_slack(url: str, path: Path, seed: int) -> None:
    """Rows that grow, shrink and go: pages split and merge, and leave copies that secure_delete does not know of."""
    churn(path, ["p0", "p1", "p2", "p3"], random.Random(seed))
    alone = path.with_name("alone.db")
    shutil.copyfile(path, alone)
    connection = sqlite3.connect(alone)
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("DELETE FROM users WHERE identifier = 'p1'")
    connection.commit()
    connection.close()
    if sqlite3.sqlite_version.startswith("3.40."):  # the seeds were searched for there
        assert alone.read_bytes().count(b"MARK-p1-") > 0  # or this test would be no harder than the one above
    alone.unlink()
    engine = create_engine(url, lock_seconds=LOCK_SECONDS)
    await Store(engine).erase_participant("p1")
    await engine.dispose()
    assert bytes_with(path.parent, "MARK-p1-") == []
    assert bytes_with(path.parent, "MARK-p0-") == ["heard.db"]


def churn(path: Path, names: list[str], dice: random.Random) -> None:
    """1,500 random writes to the page's history, by another program."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute("BEGIN")
    steps: dict[str, list[str]] = {name: [] for name in names}
    for name in names:
        thread = str(dice.getrandbits(128))
        connection.execute("INSERT OR IGNORE INTO users VALUES (?, ?, '', '{}')", (f"u{name}", name))
        connection.execute(
            'INSERT INTO threads (id, "userId", "userIdentifier") VALUES (?, ?, ?)', (thread, f"u{name}", name)
        )
        steps[name].append(thread)
    for _ in range(1500):
        name = dice.choice(names)
        thread, *ids = steps[name]
        act = dice.random()
        if act < 0.5 or not ids:
            step = str(dice.getrandbits(128))
            steps[name].append(step)
            connection.execute(
                "INSERT INTO steps (id, name, type, \"threadId\", output) VALUES (?, ?, 'x', ?, ?)",
                (step, name, thread, f"MARK-{name}-" * dice.choice([1, 5, 30, 100, 400, 900])),
            )
        elif act < 0.9:
            text = f"MARK-{name}-" * dice.choice([1, 3, 20, 80, 300, 1200])
            connection.execute("UPDATE steps SET output = ? WHERE id = ?", (text, dice.choice(ids)))
        else:
            step = steps[name].pop(1 + dice.randrange(len(ids)))
            connection.execute("DELETE FROM steps WHERE id = ?", (step,))
    connection.execute("COMMIT")
    connection.close()


async def test_a_reader_delays_the_scrubbing_but_not_the_erasure(
    store: Store, make: Make, url: str, person: str, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await fill(store, make, store.engine, person, MARK)
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM message").fetchone()
    impatient = create_engine(url, lock_seconds=LOCK_SECONDS)
    await Store(impatient).erase_participant(person)
    await impatient.dispose()
    assert "may stay" in caplog.text
    assert MARK not in caplog.text
    assert count(path, "message") == 0
    reader.execute("ROLLBACK")
    reader.close()
    await store.mark_interrupted()  # the next start
    assert bytes_with(path.parent, MARK) == []


async def test_a_reply_that_streams_meanwhile_comes_to_nothing(
    store: Store, make: Make, person: str, path: Path
) -> None:
    conversation = make.conversation(person)
    message = make.message(conversation)
    await store.open_turn(conversation, message)
    await store.erase_participant(person)
    assert store.is_erased(conversation.id)
    with pytest.raises(StoreGone) as caught:
        await store.close_turn(message.id, Outcome.ANSWERED, make.reply(message))
    assert "erased" in str(caught.value)
    with pytest.raises(StoreGone):
        await store.open_turn(conversation, make.message(conversation))
    assert [count(path, table) for table in TABLES] == [0] * len(TABLES)


async def test_erasing_and_closing_at_once_never_leaves_half(store: Store, make: Make, path: Path) -> None:
    for number in range(8):
        person = f"p{number}"
        await store.ensure_participant(person)
        conversation = make.conversation(person)
        message = make.message(conversation)
        await store.open_turn(conversation, message)
        results = await asyncio.gather(
            store.close_turn(message.id, Outcome.ANSWERED, make.reply(message)),
            store.erase_participant(person),
            return_exceptions=True,
        )
        assert results[0] is None or isinstance(results[0], StoreGone)
        assert isinstance(results[1], dict)
    assert [count(path, table) for table in TABLES] == [0] * len(TABLES)


async def test_one_conversation_can_go_alone(
    store: Store, make: Make, engine: AsyncEngine, person: str, path: Path
) -> None:
    gone = await fill(store, make, engine, person, MARK)
    stays = make.conversation(person)
    message, reply = await make.turn(store, stays, "still here")
    told: list[set[str]] = []
    store.on_erased(told.append)
    removed = await store.delete_conversation(gone)
    assert (removed["conversation"], removed["threads"], removed["draft"]) == (1, 1, 6)
    assert told == [{gone}]
    assert await store.replies(stays.id) == {message.id: reply}
    assert (count(path, "participant"), count(path, "users"), count(path, "consent")) == (1, 1, 1)
    assert store.is_erased(gone)
    assert not store.is_erased(stays.id)


async def test_listeners_hear_of_every_conversation(store: Store, make: Make, engine: AsyncEngine, person: str) -> None:
    first = await fill(store, make, engine, person, MARK)
    second = make.conversation(person)
    await make.turn(store, second)
    told: list[set[str]] = []
    store.on_erased(told.append)
    await store.erase_participant(person)
    assert told == [{first, second.id}]


async def test_an_erasure_that_fails_erases_nothing(
    url: str, make: Make, store: Store, engine: AsyncEngine, person: str, path: Path
) -> None:
    thread = await fill(store, make, engine, person, MARK)
    before = [count(path, table) for table in TABLES]
    # A trigger of another program stops the last of the deletions: a real failure midway.
    connection = sqlite3.connect(path)
    connection.execute("CREATE TRIGGER keep BEFORE DELETE ON users BEGIN SELECT RAISE(ABORT, 'no'); END")
    connection.commit()
    connection.close()
    with pytest.raises(Exception, match="database could not"):
        await store.erase_participant(person)
    assert [count(path, table) for table in TABLES] == before
    assert not store.is_erased(thread)


async def test_the_export_has_everything(store: Store, make: Make, engine: AsyncEngine, person: str) -> None:
    thread = await fill(store, make, engine, person, MARK)
    await store.ensure_participant("other")
    await fill(store, make, engine, "other", "arthur-dent")
    stored = json.loads(json.dumps(await store.export_participant(person)))
    assert stored["participant"]["id"] == person
    assert stored["participant"]["created_at"].endswith("+00:00")
    assert [consent["version"] for consent in stored["consents"]] == [MARK]
    (conversation,) = stored["conversations"]
    assert conversation["id"] == thread
    assert [message["position"] for message in conversation["messages"]] == [1, 2, 3]
    reply = conversation["messages"][0]["reply"]
    assert [draft["number"] for draft in reply["drafts"]] == [1, 2]
    assert reply["drafts"][1]["parameters"] == {MARK: MARK}
    assert (reply["drafts"][1]["score"]["empathy"], reply["drafts"][1]["score"]["perceived"]) == (2.0, 2.4)
    assert {name: len(rows) for name, rows in stored["page_history"].items()} == {
        "users": 1, "threads": 1, "steps": 1, "elements": 1, "feedbacks": 1,
    }  # fmt: skip
    (flag,) = stored["flags"]
    assert (flag["note"], flag["seeker"], flag["empathy"], flag["perceived"]) == (MARK, MARK, 2.0, 2.4)
    assert "arthur-dent" not in json.dumps(stored)


async def test_the_export_of_nobody_is_empty(store: Store) -> None:
    stored = await store.export_participant("nobody")
    assert stored["participant"] is None
    assert not any(stored["page_history"].values())
    assert (stored["consents"], stored["conversations"], stored["flags"]) == ([], [], [])


async def test_a_store_in_another_process_erases_what_this_one_streams(
    url: str, store: Store, make: Make, person: str, path: Path
) -> None:
    """As `heard erase` does while the server runs."""
    conversation = make.conversation(person)
    message = make.message(conversation)
    await store.open_turn(conversation, message)
    engine = create_engine(url, lock_seconds=LOCK_SECONDS)
    await Store(engine).erase_participant(person)
    await engine.dispose()
    with pytest.raises(StoreGone):
        await store.close_turn(message.id, Outcome.ANSWERED, make.reply(message))
    assert count(path, "reply") == 0
