"""A survey with as many synthetic votes as one likes, written by INSERT .. SELECT in the database: for figures only.

100 items with five answers each; every person gets ten of them. Nine votes in ten are ranked, with a leaning to the
sources in their order; the others are "same", "none" or "skipped". Every third has a reason. Nothing in it is random:
the same arguments give the same rows.
"""
# ruff: noqa: S608 - every part of these statements stands in this file

import json
import sqlite3
import time
from pathlib import Path

from db.engine import upgrade_sync

STUDY = "many"
SOURCES = ("human", "model-a", "model-b", "model-c", "model-d")
ITEMS = 100
PER_PERSON = 10
WORDS = "I hear how tired you are, and how much you carry alone. What would help a little this evening? "


def many_votes(path: Path, votes: int) -> float:
    """Make the SQLite database at `path` with `votes` votes (a multiple of ten). Gives the seconds it took."""
    began = time.perf_counter()
    upgrade_sync(f"sqlite+aiosqlite:///{path}")
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        for pragma in ("synchronous = OFF", "journal_mode = OFF", "cache_size = -262144", "foreign_keys = OFF"):
            connection.execute(f"PRAGMA {pragma}")
        connection.create_function("body", 2, _body, deterministic=True)
        connection.execute("BEGIN")
        indexes = connection.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql NOT NULL"
        ).fetchall()
        for name, _ in indexes:  # made anew at the end: sorting once is quicker than a million insertions in no order
            connection.execute(f'DROP INDEX "{name}"')
        for statement in _STATEMENTS:
            connection.execute(statement, {"people": votes // PER_PERSON, "votes": votes} if ":" in statement else {})
        for _, made_by in indexes:
            connection.execute(made_by)
        connection.execute("COMMIT")
        connection.execute("PRAGMA journal_mode = WAL")
    finally:
        connection.close()
    return time.perf_counter() - began


def _body(item: int, source: int) -> str:
    return f"Answer {source} to question {item}. " + WORDS * (3 + (item * 7 + source * 3) % 8)


def _id(kind: str, number: str) -> str:
    """SQL for an id that looks like a UUID and, like one, does not sort by age."""
    return f"printf('%08x-{kind}-4000-8000-%012x', (({number}) * 2654435761) % 4294967296, {number})"


_TIME = "strftime('%Y-%m-%d %H:%M:%S', 1767225600 + ({0}), 'unixepoch') || '.000000'"
_DEFINITION = json.dumps({"id": STUDY, "kind": "survey", "sources": list(SOURCES)}, sort_keys=True)
_UP_TO = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < {0})"
_SOURCE = f"json_extract('{json.dumps(SOURCES)}', '$[' || ({{0}}) || ']')"
_ITEM = f"((n.i * 37 + n.i / {PER_PERSON} * 11) % {ITEMS})"
_TURN = "(n.i % 5)"
"""The answers' order is a rotation; the next ballot's begins one further."""
_AT = f"((p.k + {_TURN}) % 5)"
"""Number (0..4) of the source that stands at place p.k (0..4)."""
_MOST = f"((5 - {_TURN} + (n.i * 7919 % 15 + 1) / 4) % 5 + 1)"
"""The place of a source; the later the source, the more often it is this one."""
_RANKED = "n.i % 10 > 0"

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
            CASE WHEN i % 50 = 7 THEN '["model"]' ELSE '[]' END, 'scored', 2.0, 1.5 + (i % 5) * 0.1,
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
        {_UP_TO.format(":votes")}
        SELECT {_id("4444", "i")}, '{STUDY}', {_id("3333", f"i / {PER_PERSON}")}, i % {PER_PERSON} + 1,
            {_id("1111", _ITEM)}, i / 10 * 7 % 2147483647, i % 10, {_TIME.format("i / 10")} FROM n""",
    f"""INSERT INTO slot (ballot_id, position, answer_id, source, votable) {_UP_TO.format(":votes")}
        , p(k) AS (VALUES (0), (1), (2), (3), (4))
        SELECT {_id("4444", "n.i")}, p.k + 1, {_id("2222", f"{_ITEM} * 5 + {_AT}")}, {_SOURCE.format(_AT)}, 1
        FROM n CROSS JOIN p""",
    f"""INSERT INTO vote (ballot_id, study_id, participant_id, choice, most, least, reason, seconds, width_class,
            request_id, voted_at, changes, sources, unvotable, leaks)
        {_UP_TO.format(":votes")}
        SELECT {_id("4444", "i")}, '{STUDY}', {_id("3333", f"i / {PER_PERSON}")},
            CASE WHEN {_RANKED} THEN 'ranked' WHEN i % 30 = 0 THEN 'same' WHEN i % 30 = 10 THEN 'none'
                ELSE 'skipped' END,
            CASE WHEN {_RANKED} THEN {_MOST} END,
            CASE WHEN {_RANKED} THEN ({_MOST} + (i / 5) % 4) % 5 + 1 END,
            CASE WHEN i % 3 = 0 THEN 'It asked what would help, and did not lecture.' END,
            3 + (i * 31 % 997) * 0.1, CASE i % 3 WHEN 0 THEN 'phone' WHEN 1 THEN 'tablet' ELSE 'desktop' END,
            {_id("5555", "i")}, {_TIME.format("i / 10 + i % 10 * 60")}, 0,
            json_array({", ".join(_SOURCE.format(f"({place} + {_TURN}) % 5") for place in range(5))}), '',
            (SELECT coalesce(group_concat(p.k + 1), '') FROM (SELECT 0 AS k UNION SELECT 1 UNION SELECT 2 UNION SELECT 3
                UNION SELECT 4) p WHERE ({_ITEM} * 5 + {_AT}) % 50 = 7)
        FROM n""",
)  # fmt: skip
