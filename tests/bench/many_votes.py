"""A survey with as many synthetic votes as one likes, written by INSERT .. SELECT in the database: for figures only.

100 items with five answers each, in every order; every person gets ten of them. Nine votes in ten are ranked, by voters
with the preferences TRUTH; the others are "same", "none" or "skipped". Every third has a reason, and on every tenth
ballot one answer leaks. The same arguments give the same rows.
"""
# ruff: noqa: S608 - every part of these statements stands in this file

import json
import sqlite3
from contextlib import closing
from itertools import permutations
from pathlib import Path

import numpy as np

from heard.db.engine import upgrade_sync
from heard.db.study_records import Choice
from tests.voters import Truth, marked

STUDY = "many"
TRUTH = Truth(
    {"human": -1.5, "model-a": 0.3, "model-b": 0.0, "model-c": 0.5, "model-d": 0.7},
    most=(0.4, 0.1, 0.0, -0.2, -0.3),
    least=(0.0,) * 5,
)
SOURCES = tuple(TRUTH.strengths)
ITEMS = 100
PER_PERSON = 10
WORDS = "I hear how tired you are, and how much you carry alone. What would help a little this evening? "
ORDERS = list(permutations(range(len(SOURCES))))


def many_votes(path: Path, votes: int) -> None:
    """Make the SQLite database at `path` with `votes` votes (a multiple of ten)."""
    upgrade_sync(f"sqlite+aiosqlite:///{path}")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for pragma in ("synchronous = OFF", "journal_mode = OFF", "cache_size = -262144", "foreign_keys = OFF"):
            connection.execute(f"PRAGMA {pragma}")
        connection.create_function("body", 2, _body, deterministic=True)
        connection.execute("BEGIN")
        indexes = connection.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql NOT NULL"
        ).fetchall()
        for name, _ in indexes:  # made anew at the end: sorting once is quicker than a million insertions in no order
            connection.execute(f'DROP INDEX "{name}"')
        _draw(connection, votes)
        for statement in _STATEMENTS:
            connection.execute(statement, {"people": votes // PER_PERSON} if ":people" in statement else {})
        for _, made_by in indexes:
            connection.execute(made_by)
        connection.execute("COMMIT")
        connection.execute("PRAGMA journal_mode = WAL")


def _draw(connection: sqlite3.Connection, votes: int) -> None:
    """What chance decides, in temporary tables: item, order and marks of each ballot (`drawn`, numbered from 0), what a
    ballot with an item and an order shows (`shown`), and which source stands where in an order (`place`)."""
    generator = np.random.default_rng(0)
    orders = generator.integers(0, len(ORDERS), votes)
    strengths = np.array(list(TRUTH.strengths.values()))[np.array(ORDERS)[orders]]
    most, least = marked(generator, strengths, TRUTH)
    connection.execute("CREATE TEMP TABLE drawn (i INTEGER PRIMARY KEY, item INT, shape INT, most INT, least INT)")
    connection.executemany(
        "INSERT INTO drawn VALUES (?, ?, ?, ?, ?)",
        zip(
            range(votes), generator.integers(0, ITEMS, votes).tolist(), orders.tolist(), (most + 1).tolist(),
            (least + 1).tolist(), strict=True,
        ),
    )  # fmt: skip
    connection.execute("CREATE TEMP TABLE shown (item INT, shape INT, sources, leaks, PRIMARY KEY (item, shape))")
    connection.executemany(
        "INSERT INTO shown VALUES (?, ?, ?, ?)",
        (
            (item, shape, json.dumps([SOURCES[source] for source in order]), _leaks(item, order))
            for item in range(ITEMS)
            for shape, order in enumerate(ORDERS)
        ),
    )
    connection.execute("CREATE TEMP TABLE place (shape INT, k INT, source INT, PRIMARY KEY (shape, k)) WITHOUT ROWID")
    connection.executemany(
        "INSERT INTO place VALUES (?, ?, ?)",
        ((shape, k, source) for shape, order in enumerate(ORDERS) for k, source in enumerate(order)),
    )


def _leaks(item: int, order: tuple[int, ...]) -> str:
    """Positions of the answers that leak, as `vote.leaks` has them."""
    return ",".join(str(position) for position, source in enumerate(order, 1) if (item * 5 + source) % 50 == 7)


def _body(item: int, source: int) -> str:
    return f"Answer {source} to question {item}. " + WORDS * (3 + (item * 7 + source * 3) % 8)


def _id(kind: str, number: str) -> str:
    """SQL for an id that looks like a UUID and, like one, does not sort by age."""
    return f"printf('%08x-{kind}-4000-8000-%012x', (({number}) * 2654435761) % 4294967296, {number})"


_TIME = "strftime('%Y-%m-%d %H:%M:%S', 1767225600 + ({0}), 'unixepoch') || '.000000'"
_DEFINITION = json.dumps({"id": STUDY, "kind": "survey", "sources": list(SOURCES)}, sort_keys=True)
_UP_TO = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < {0})"
_SOURCE = f"json_extract('{json.dumps(SOURCES)}', '$[' || ({{0}}) || ']')"
_RANKED = "i % 10 > 0"

_STATEMENTS = (
    f"""INSERT INTO study (id, kind, definition, definition_sha256, created_at)
        VALUES ('{STUDY}', 'survey', '{_DEFINITION}', '{"d" * 64}', {_TIME.format(0)})""",
    f"""INSERT INTO item (id, study_id, number, message, attention) {_UP_TO.format(ITEMS)}
        SELECT {_id("1111", "i")}, '{STUDY}', i + 1, 'Question ' || i || ': nobody at home speaks.', NULL FROM n""",
    f"""INSERT INTO answer (id, study_id, item_id, source, created_at, text, status, human, persona, strategy, model,
            parameters, prompt_sha256, first_token_seconds, total_seconds, prompt_tokens, completion_tokens, improved,
            drafts, characters, words, formatting, leak, score_status, score_cognitive, score_emotional,
            score_behavioral, score_empathy, score_head_name, score_head_sha256, score_encoder_sha256)
        {_UP_TO.format(ITEMS * 5)}
        SELECT {_id("2222", "i")}, '{STUDY}', {_id("1111", "i / 5")}, {_SOURCE.format("i % 5")}, {_TIME.format("i")},
            body(i / 5, i % 5), 'complete', i % 5 = 0, CASE WHEN i % 5 THEN 'study' END,
            CASE WHEN i % 5 THEN 'plain' END, CASE WHEN i % 5 THEN {_SOURCE.format("i % 5")} END,
            '{{"temperature": 0.7}}', '{"c" * 64}', 0.2 + (i % 7) * 0.11, 2 + (i % 13) * 0.37, 180, 120 + i % 90, 0,
            '[]', length(body(i / 5, i % 5)), 60 + i % 90,
            '{{"bold": 0, "bullets": 0, "emoji": 0, "headings": 0, "links": 0, "numbered": 0, "paragraphs": 1}}',
            CASE WHEN i % 50 = 7 THEN '["model_name"]' ELSE '[]' END, 'scored', 2.0, 1.5 + (i % 5) * 0.1,
            1.75 + (i % 5) * 0.2, (5.25 + (i % 5) * 0.3) / 3, 'default', '{"a" * 64}', '{"b" * 64}' FROM n""",
    f"""INSERT INTO participant (id, created_at) {_UP_TO.format(":people")}
        SELECT {_id("3333", "i")}, {_TIME.format("i")} FROM n""",
    f"""INSERT INTO consent (participant_id, version, chat, research, given_at) {_UP_TO.format(":people")}
        SELECT {_id("3333", "i")}, '1', 1, 1, {_TIME.format("i")} FROM n""",
    f"""INSERT INTO enrolment (study_id, participant_id, external_id, condition, seed, started_at, completed_at,
            closing) {_UP_TO.format(":people")}
        SELECT '{STUDY}', {_id("3333", "i")}, 'pid-' || i, NULL, i, {_TIME.format("i")}, {_TIME.format("i + 900")},
            'The warm ones.' FROM n""",
    f"""INSERT INTO ballot (id, study_id, participant_id, number, item_id, order_seed, order_row, drawn_at)
        SELECT {_id("4444", "i")}, '{STUDY}', {_id("3333", f"i / {PER_PERSON}")}, i % {PER_PERSON} + 1,
            {_id("1111", "item")}, i / 10 * 7 % 2147483647, i % 10, {_TIME.format("i / 10")} FROM drawn ORDER BY i""",
    # In the order of the ids, so that the key of five million rows is written from its start to its end.
    """INSERT INTO slot (ballot_id, position, answer_id, source, votable)
        SELECT ballot.id, place.k + 1, answer.id, answer.source, 1 FROM ballot
        CROSS JOIN drawn ON drawn.i = ballot.rowid - 1 CROSS JOIN place ON place.shape = drawn.shape
        CROSS JOIN answer ON answer.rowid = drawn.item * 5 + place.source + 1 ORDER BY ballot.id""",
    f"""INSERT INTO vote (ballot_id, study_id, participant_id, choice, most, least, reason, seconds, width_class,
            request_id, voted_at, changes, sources, unvotable, leaks, item_id)
        SELECT {_id("4444", "i")}, '{STUDY}', {_id("3333", f"i / {PER_PERSON}")},
            CASE WHEN {_RANKED} THEN '{Choice.RANKED}' WHEN i % 30 = 0 THEN '{Choice.SAME}'
                WHEN i % 30 = 10 THEN '{Choice.NONE}' ELSE '{Choice.SKIPPED}' END,
            CASE WHEN {_RANKED} THEN most END, CASE WHEN {_RANKED} THEN least END,
            CASE WHEN i % 3 = 0 THEN 'It asked what would help, and did not lecture.' END,
            3 + (i * 31 % 997) * 0.1, CASE i % 3 WHEN 0 THEN 'phone' WHEN 1 THEN 'tablet' ELSE 'desktop' END,
            {_id("5555", "i")}, {_TIME.format("i / 10 + i % 10 * 60")}, 0, sources, '', leaks,
            {_id("1111", "item")}
        FROM drawn CROSS JOIN shown USING (item, shape) ORDER BY i""",
)  # fmt: skip
