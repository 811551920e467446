"""What a database of an earlier version keeps when it is brought up to date."""

import sqlite3
from pathlib import Path

import pytest
from alembic import command
from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import AsyncEngine

from heard.db.engine import BEGIN, WRITE, _config, create_engine, upgrade
from heard.db.records import Outcome, StepRecord
from heard.db.store import Store
from heard.db.vote_reads import read_votes
from tests.db.conftest import Make
from tests.db.test_flags import migrate
from tests.db.test_store import count

PERSON = "INSERT INTO participant VALUES ('p', '2026-01-01 00:00:00')"
TALK = "INSERT INTO conversation (id, participant_id, persona, created_at) VALUES ('c', 'p', 'quiet', '2026-01-01')"
MESSAGE = """INSERT INTO message (id, conversation_id, position, text, outcome, created_at)
    VALUES ('m', 'c', 1, 'A hard week.', 'answered', '2026-01-01')"""
REPLY = (
    "INSERT INTO reply (id, message_id, persona, strategy, created_at) VALUES ('r', 'm', 'q', 'plain', '2026-01-01')"
)
DRAFT = """INSERT INTO draft (id, reply_id, number, text, status, kept, prompt_sha256, model, parameters,
    total_seconds, created_at) VALUES (?, 'r', ?, 'That is a lot.', 'complete', ?, ?, 'echo', '{}', 1.5,
    '2026-01-01 00:00:00')"""
SCORE = """INSERT INTO score (draft_id, status, cognitive, emotional, behavioral, empathy, head_name, head_sha256,
    encoder_sha256) VALUES (?, 'scored', 1, 2, 3, 2, 'default', ?, ?)"""


async def test_drafts_and_their_scores_outlive_the_new_table(tmp_path: Path, make: Make) -> None:
    path = tmp_path / "old.db"
    url = f"sqlite+aiosqlite:///{path}"
    engine = create_engine(url)
    await migrate(engine, "0004")
    with sqlite3.connect(path) as connection:
        for statement in (PERSON, TALK, MESSAGE, REPLY):
            connection.execute(statement)
        for number, kept in ((1, False), (2, True)):
            connection.execute(DRAFT, (f"d{number}", number, kept, "c" * 64))
            connection.execute(SCORE, (f"d{number}", "a" * 64, "b" * 64))
    connection.close()
    await upgrade(url)
    reply = await Store(engine).reply("r")
    assert reply is not None
    assert [(d.number, d.kept, d.cut, d.fallback_for, d.steps) for d in reply.drafts] == [
        (1, False, False, None, ()),
        (2, True, False, None, ()),
    ]
    assert [(d.score.empathy, d.score.perceived) for d in reply.drafts if d.score] == [(2, None), (2, None)]
    assert reply.policy is None
    await engine.dispose()


async def test_a_draft_comes_back_with_its_steps(store: Store, make: Make, person: str) -> None:
    conversation = make.conversation(person)
    message = make.message(conversation)
    step = StepRecord("read", "sad, because of the week", "d" * 64, "echo", 80, 0.1, 0.4, 20, 9)
    drafts = (
        make.draft(number=1, kept=False, cut=True, fallback_for="gpt", steps=(step,)),
        *(make.draft(number=number, kept=number == 4) for number in (2, 3, 4)),
    )
    reply = make.reply(message, *drafts, policy="best-of-4")
    await store.open_turn(conversation, message)
    await store.close_turn(message.id, Outcome.ANSWERED, reply)
    assert await store.reply(reply.id) == reply


async def test_messages_of_before_keep_their_words_and_have_no_danger(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    url = f"sqlite+aiosqlite:///{path}"
    engine = create_engine(url)
    await migrate(engine, "0007")
    with sqlite3.connect(path) as connection:
        for statement in (PERSON, TALK, MESSAGE.replace("'answered'", "'crisis'"), REPLY):
            connection.execute(statement)
    connection.close()
    await upgrade(url)
    (message,) = await Store(engine).messages("c")
    assert (message.text, message.outcome, message.danger, message.language) == (
        "A hard week.",
        Outcome.CRISIS,
        None,
        None,
    )
    await engine.dispose()


async def test_how_people_would_call_a_reply_comes_and_goes_and_keeps_the_scores(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    url = f"sqlite+aiosqlite:///{path}"
    engine = create_engine(url)
    await migrate(engine, "0010")
    with sqlite3.connect(path) as connection:
        for statement in (PERSON.replace("participant", "participant (id, created_at)"), TALK, MESSAGE, REPLY):
            connection.execute(statement)
        draft = DRAFT.replace("created_at)", "created_at, cut, steps)").replace("00:00')", "00:00', 0, '[]')")
        connection.execute(draft, ("d1", 1, True, "c" * 64))
        connection.execute(SCORE, ("d1", "a" * 64, "b" * 64))
    connection.close()
    await upgrade(url)
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT empathy, perceived FROM score").fetchall() == [(2, None)]
        connection.execute("UPDATE score SET perceived = 2.5")
        for number in (0.99, 3.01):
            with pytest.raises(sqlite3.IntegrityError, match="ck_score_perceived"):
                connection.execute("UPDATE score SET perceived = ?", (number,))
    connection.close()
    await downgrade(engine, "0010")
    for table in ("score", "flag", "answer"):
        assert "perceived" not in str(columns_of(path, table))
    assert count(path, "score") == 1
    await upgrade(url)
    assert ("perceived" in columns_of(path, "flag"), "score_perceived" in columns_of(path, "answer")) == (True, True)
    await engine.dispose()


def columns_of(path: Path, table: str) -> list[str]:
    """The names of a table's columns."""
    connection = sqlite3.connect(path)
    names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    connection.close()
    return names


async def downgrade(engine: AsyncEngine, revision: str) -> None:
    def work(connection: Connection) -> None:
        config = _config()
        config.attributes["connection"] = connection
        command.downgrade(config, revision)

    async with engine.execution_options(**{BEGIN: WRITE}).begin() as connection:
        await connection.run_sync(work)


async def test_votes_of_before_get_the_item_of_their_ballot(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    url = f"sqlite+aiosqlite:///{path}"
    engine = create_engine(url)
    await migrate(engine, "0015")
    with sqlite3.connect(path) as connection:
        connection.execute(PERSON.replace("participant", "participant (id, created_at)"))
        connection.execute("INSERT INTO study VALUES ('s', 'survey', '{}', 'd', '2026-01-01', NULL)")
        connection.execute("INSERT INTO item (id, study_id, number, message) VALUES ('i', 's', 1, 'A hard week.')")
        for number, item in ((1, "i"), (2, None)):
            connection.execute(
                "INSERT INTO ballot (id, study_id, participant_id, number, item_id, order_seed, order_row, drawn_at) "
                "VALUES (?, 's', 'p', ?, ?, 0, 0, '2026-01-01')",
                (f"b{number}", number, item),
            )
            connection.execute(
                "INSERT INTO vote (ballot_id, study_id, participant_id, choice, most, seconds, width_class, "
                "request_id, voted_at, changes, sources, unvotable, leaks) VALUES "
                "(?, 's', 'p', 'ranked', 1, 2, 'phone', ?, '2026-01-01', 0, '[\"a\", \"b\"]', '', '')",
                (f"b{number}", f"r{number}"),
            )
    connection.close()
    await upgrade(url)
    rows = (await read_votes(engine, "s", rows=True)).rows
    assert sorted(rows.item) == []  # the person has agreed to nothing
    with sqlite3.connect(path) as connection:
        votes = connection.execute("SELECT ballot_id, item_id FROM vote ORDER BY 1").fetchall()
        connection.execute("INSERT INTO consent (participant_id, version, chat, research, given_at) "
                           "VALUES ('p', '1', 1, 1, '2026-01-01')")  # fmt: skip
    connection.close()
    assert votes == [("b1", "i"), ("b2", None)]
    rows = (await read_votes(engine, "s", rows=True)).rows
    assert (sorted(rows.item), list(rows.person)) == ([-1, 0], [0, 0])
    await downgrade(engine, "0015")
    assert ("item_id" in columns_of(path, "vote"), count(path, "vote")) == (False, 2)
    await engine.dispose()


async def test_a_study_of_before_is_not_paused_and_loses_nothing_on_the_way_back(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    url = f"sqlite+aiosqlite:///{path}"
    engine = create_engine(url)
    await migrate(engine, "0015")
    study = """INSERT INTO study (id, kind, definition, definition_sha256, created_at)
        VALUES ('s', 'survey', '{}', 'd', '2026-01-01')"""
    enrolled = "INSERT INTO enrolment (study_id, participant_id, seed, started_at) VALUES ('s', 'p', 1, '2026-01-01')"
    with sqlite3.connect(path) as connection:
        for statement in (PERSON.replace("participant", "participant (id, created_at)"), study, enrolled):
            connection.execute(statement)
    connection.close()
    await upgrade(url)
    excluded = """INSERT INTO exclusion (study_id, participant_id, reason, made_by, made_at)
        VALUES ('s', 'p', 'x', 'a', '2026-01-01')"""
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT paused_at FROM study").fetchall() == [(None,)]
        assert connection.execute("SELECT screened_out_at FROM enrolment").fetchall() == [(None,)]
        connection.execute(excluded)
    connection.close()
    await downgrade(engine, "0015")
    assert "paused_at" not in columns_of(path, "study")
    assert columns_of(path, "exclusion") == []
    assert count(path, "enrolment") == 1
    await engine.dispose()
