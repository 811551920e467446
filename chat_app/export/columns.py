"""The columns of a research export: meaning, values and origin of each. Schema and codebook are both made from these,
so they always agree.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from heard.db.study_records import LEAST_FROM, LETTERS


class Kind(StrEnum):
    """The type of a column, as the codebook names it."""

    TEXT = "text"
    JSON = "JSON text"
    WHOLE = "whole number"
    NUMBER = "number"
    YES_NO = "true or false"
    TIME = "time, UTC"


@dataclass(frozen=True, slots=True)
class Column:
    """One column. An empty cell always means that there is no value."""

    name: str
    kind: Kind
    meaning: str
    values: str = ""
    """Unit, range, or the values that occur."""
    origin: str = ""
    """Table and column of heard's database, or how it is derived from them."""


FORMATTING = ("paragraphs", "headings", "bullets", "numbered", "bold", "links", "emoji")
"""Counts of Markdown in an answer."""
SCALES = ("cognitive", "emotional", "behavioral", "empathy", "perceived")

T, J, W, N, B, D = Kind.TEXT, Kind.JSON, Kind.WHOLE, Kind.NUMBER, Kind.YES_NO, Kind.TIME

STUDY = Column("study", T, "The study's id.", origin="study.id")
PARTICIPANT = Column(
    "participant", T, "Pseudonym of the person in one study of this export; the key of the table people.",
    "p000001, p000002, ..", "row of people",
)  # fmt: skip
_EXTERNAL = Column(
    "external_id", T, "The recruiting platform's id of the person; only with --with-external-ids.",
    "empty for a walk-in", "enrolment.external_id",
)  # fmt: skip
_EXCLUDED = Column(
    "excluded", B, "Whether whoever leads the study has excluded the person: `heard results` leaves their votes out.",
    origin="exclusion, not lifted",
)  # fmt: skip
_BALLOT_KEY = Column(
    "ballot", T, "The ballot; its key in every table of this export.", "p000001-1, p000001-2, ..",
    "participant and ballot.number",
)  # fmt: skip
_BALLOT_ID = Column("ballot_id", T, "The ballot's random id in the database.", origin="ballot.id")
_CONDITION = Column("condition", T, "The person's group.", "a condition of the study; empty without any")
_ITEM = Column(
    "item", T, "The message that is answered; the key of the table items.", origin="ballot.item_id, ballot.message_id"
)
_ITEM_NUMBER = Column(
    "item_number", W, "The item's number in the order of the study's file.", "1, 2, ..; empty in a live study",
    "item.number",
)  # fmt: skip
_MESSAGE = Column("message", T, "The message that is answered.", origin="item.message, message.text")
_ATTENTION = Column(
    "attention", T, "For an attention item: the source that an attentive person marks as most empathetic.",
    "a source; empty for all other items",
)  # fmt: skip
_SECONDS = Column("seconds", N, "From the ballot's being whole on the page to the click.", "seconds, 0 or more")
_WIDTH = Column("width_class", T, "How wide the page was.", "phone, tablet, desktop")
_CHOICE = Column(
    "choice", T, "What the vote says.",
    "ranked (an answer was marked), same (about the same), none (none of these), skipped", "vote.choice",
)  # fmt: skip
_REASON = Column("reason", T, "Why, in the person's own words.", origin="vote.reason")
_LETTERED = f"{LETTERS[0]} to {LETTERS[-1]}; empty unless choice is ranked"
_LEAST = f"The letter of the answer marked as least empathetic; asked from {LEAST_FROM} answers up."

_TEXTS_VERSION = Column(
    "texts_version", T, "Version of the study's texts that the person had agreed to; see study_texts.",
    "12 hexadecimal digits; empty before there were texts",
)  # fmt: skip

STUDIES = (
    STUDY,
    Column("kind", T, "Where people vote.", "survey (fixed items), live (own conversations)", "study.kind"),
    Column(
        "definition", J, "The study's file. Left out are its seed, its codes for panels, and the list of allowed ids.",
        "an object", "study.definition",
    ),
    Column(
        "definition_sha256", T, "sha256 of the whole definition.", "64 hexadecimal digits", "study.definition_sha256"
    ),
    Column("created_at", D, "When the study was first loaded.", origin="study.created_at"),
)  # fmt: skip

STUDY_TEXTS = (
    replace(STUDY, origin="study_texts.study_id"),
    Column("version", T, "The version's name: the sha256 of its texts.", "12 hexadecimal digits"),
    Column("texts", J, "What people were told: information, consent, debrief and more by name.", "an object"),
    Column("stored_at", D, "When the version was stored."),
)

PEOPLE = (
    STUDY,
    PARTICIPANT,
    Column(
        "participant_id", T, "The person's random id of this installation, the same in each study.",
        origin="participant.id",
    ),
    _EXTERNAL,
    replace(_CONDITION, origin="enrolment.condition"),
    Column("seed", W, "Seed of the items drawn for the person and of their order.", "0 or more", "enrolment.seed"),
    Column(
        "started_at", D, "When the person joined; empty for a live study without joining.",
        origin="enrolment.started_at",
    ),
    Column("completed", B, "Whether the person reached the end.", origin="enrolment.completed_at is there"),
    Column("completed_at", D, "When the person reached the end.", origin="enrolment.completed_at"),
    Column(
        "screened_out_at", D,
        "When an answer to a question, or as many attention items failed as the study allows, sent the person away.",
        origin="enrolment.screened_out_at",
    ),
    _EXCLUDED,
    Column(
        "excluded_by", T, 'The rules that excluded the person, or "hand".', 'joined by "; "; empty is not excluded',
        "exclusion.rule",
    ),
    Column("excluded_because", T, "Why, of each of them.", 'joined by "; "', "exclusion.reason"),
    Column("closing", T, "Answer to the open question at the end.", origin="enrolment.closing"),
    replace(_TEXTS_VERSION, origin="enrolment.texts_version"),
    Column("ballots", W, "Ballots drawn for the person.", "0 or more", "counted in ballot"),
    Column("votes", W, "Ballots that have a vote, skipped ones too.", "0 to ballots", "counted in vote"),
)  # fmt: skip

ITEMS = (
    STUDY,
    _ITEM,
    _ITEM_NUMBER,
    _MESSAGE,
    replace(_ATTENTION, origin="item.attention"),
    Column("admitted_by", T, "Who admitted a message that reads like a crisis.", "a name", "item.admitted_by"),
    Column("admitted_at", D, "When it was admitted.", origin="item.admitted_at"),
    replace(PARTICIPANT, meaning="In a live study: who wrote the message."),
    Column("conversation", T, "In a live study: the conversation it stands in.", origin="ballot.conversation_id"),
)

_ANSWER = Column("answer", T, "The answer's id; the key of the table answers.", origin="slot.answer_id")
_SOURCE = Column("source", T, "What is compared: who or what wrote the answer.", "a source of the study")
_ARM = (
    Column("human", B, "Whether a human wrote the answer."),
    Column("persona", T, "Persona of the arm; empty for answers that heard did not write."),
    Column("strategy", T, "Strategy of the arm."),
    Column("model", T, "Model of the arm."),
)
_STATUS = Column(
    "status", T, "How the answer came out; only complete ones can be voted for.",
    "complete, failed, stopped, interrupted, pending",
)  # fmt: skip
_LEAK = Column(
    "leak", T, 'Kinds of hints in the text at who made it, joined by ";". Votes with such answers are left out of '
    "default statistics.", "empty is none found",
)  # fmt: skip
_SCORES = tuple(
    Column(scale, N, meaning, "1 (lacking) to 3 (strong); empty when it could not be scored", f"answer.score_{scale}")
    for scale, meaning in zip(
        SCALES,
        (
            "The scorer's cognitive empathy.",
            "The scorer's emotional empathy.",
            "The scorer's behavioral empathy.",
            "Mean of the three components.",
            "How empathic people would call the answer, by the scorer; empty with a head that was not taught it too.",
        ),
        strict=True,
    )
)
_LENGTH = (
    Column("characters", W, "Length of the text.", "characters (Unicode code points), 0 or more"),
    Column("words", W, "Length of the text.", "words, 0 or more"),
)
_FORMATTING = tuple(
    Column(name, W, f"Markdown in the text: {name}.", "a count, 0 or more", f"answer.formatting, {name}")
    for name in FORMATTING
)
_FIRST = Column("first_token_seconds", N, "From sending the prompt to the first text of the model.", "seconds")
_TOTAL = Column("total_seconds", N, "From sending the prompt to the end of the text.", "seconds")
_PROMPT_TOKENS = Column("prompt_tokens", W, "Tokens of the prompt, where the model tells.", "0 or more")
_TOKENS = Column("completion_tokens", W, "Tokens of the text, where the model tells.", "0 or more")
_IMPROVE = (
    Column(
        "improve_assigned", B, "In a trial of improvement: whether chance gave this answer the treatment.",
        "empty where it was no trial",
    ),
    Column("improved", B, "Whether the text shown is a rewrite."),
    Column("policy", T, "The policy of writing again that this answer got.", "a file's name; empty is none"),
)  # fmt: skip
_GUARD = (
    Column(
        "guard", T, "What the guard did: nothing, had a draft written again, or put a fixed text in its place.",
        "passed, rewritten, fixed, off; empty for a human's and before there was a guard",
    ),
    Column("guard_kinds", J, "What it caught, a kind for each caught draft in order.", "a list of names"),
)  # fmt: skip
_TEXT = Column("text", T, "The answer as it was shown.")
_CUT = Column("cut", B, "Whether the text ended because it had reached its longest length.", "empty for a human's")


def _of_answer(columns: Iterable[Column]) -> tuple[Column, ...]:
    return tuple(column if column.origin else replace(column, origin=f"answer.{column.name}") for column in columns)


ANSWERS = _of_answer(
    (
        replace(STUDY, origin="answer.study_id"),
        replace(_ITEM, meaning=_ITEM.meaning + " Empty in a live study: votes_wide has it.", origin="answer.item_id"),
        _ITEM_NUMBER,
        replace(_ANSWER, origin="answer.id"),
        _SOURCE,
        *_ARM,
        Column("parameters", J, "What was sent to the model with the prompt.", "an object"),
        Column("prompt_sha256", T, "sha256 of the prompt.", "64 hexadecimal digits"),
        Column("created_at", D, "When the answer was made."),
        _STATUS,
        Column("error", T, "The plain sentence of a failure."),
        _TEXT,
        _CUT,
        *_LENGTH,
        *_FORMATTING,
        _LEAK,
        Column("score_status", T, 'Whether the scorer could read it: "scored", or why not.'),
        Column("score_reason", T, "Why there is no score, in words."),
        *_SCORES,
        Column("score_head_name", T, "The scorer's head."),
        Column("score_head_sha256", T, "sha256 of the scorer's head.", "64 hexadecimal digits"),
        Column("score_encoder_sha256", T, "sha256 of the scorer's encoder.", "64 hexadecimal digits"),
        Column("score_details", J, "Notes, intervals, evidence; why a policy could not write again.", "an object"),
        _FIRST,
        _TOTAL,
        _PROMPT_TOKENS,
        _TOKENS,
        *_IMPROVE,
        *_GUARD,
        Column("drafts", J, "Every generation in order, each with its score and hidden steps.", "a list of objects"),
        Column(
            "earlier_text", T, "Where the text shown is a rewrite: the first generation.", origin="answer.drafts, first"
        ),
        *(
            Column(
                f"earlier_{scale}", N, f"The first generation's {scale} score.", "1 to 3", "answer.drafts, first"
            )
            for scale in SCALES
        ),
    )
)  # fmt: skip

_BALLOT = (
    STUDY,
    PARTICIPANT,
    replace(_CONDITION, origin="ballot.condition"),
    Column("completed", B, "Whether the person reached the end of the study.", origin="enrolment.completed_at"),
    _EXCLUDED,
    _BALLOT_KEY,
    _BALLOT_ID,
    Column("ballot_number", W, "The person's first, second, .. ballot.", "1, 2, ..", "ballot.number"),
    _ITEM,
    _ITEM_NUMBER,
    Column("order_seed", W, "Seed of the order of the answers.", "0 or more", "ballot.order_seed"),
    Column("order_row", W, "Row of the balanced design that gave the order.", "0, 1, ..", "ballot.order_row"),
    Column("drawn_at", D, "When the ballot was drawn.", origin="ballot.drawn_at"),
    replace(_ATTENTION, origin="ballot.attention"),
)
_CLOSED = Column("closed_reason", T, "Why the whole ballot could not be voted on.", origin="ballot.closed_reason")
_VOTE = (
    _CHOICE,
    replace(_SECONDS, origin="vote.seconds"),
    replace(_WIDTH, origin="vote.width_class"),
    Column("voted_at", D, "When the vote was taken, or last changed.", origin="vote.voted_at"),
    Column("changes", W, "How often the vote was changed; see vote_changes.", "0 or more", "vote.changes"),
    replace(_TEXTS_VERSION, origin="vote.texts_version"),
)
_VOTABLE = (
    Column("votable", B, "Whether the answer could be chosen.", origin="slot.votable"),
    Column("not_votable_because", T, "Why it could not, as the ballot said.", origin="slot.reason"),
)

_PLACE = (
    Column("position", W, "Place of the answer on the page.", f"1 to {len(LETTERS)}", "slot.position"),
    Column("letter", T, "What the place is called on the page.", f"{LETTERS[0]} to {LETTERS[-1]}", "slot.position"),
    Column("most", B, "Whether this answer was marked as most empathetic.", origin="vote.most is the position"),
    Column("least", B, "Whether this answer was marked as least empathetic.", origin="vote.least is the position"),
)
LONG = (_BALLOT_KEY, *_PLACE, _ANSWER, *_of_answer((_SOURCE,)), *_VOTABLE, *_of_answer((_LEAK,)))
LONG_FULL = (
    *_BALLOT,
    *_VOTE,
    *_PLACE,
    _ANSWER,
    *_of_answer((_SOURCE, *_ARM, _STATUS)),
    *_VOTABLE,
    *_of_answer((_LEAK, *_SCORES, *_LENGTH, *_FORMATTING, _FIRST, _TOTAL, _TOKENS, *_IMPROVE, *_GUARD)),
    _MESSAGE,
    _REASON,
    *_of_answer((_TEXT,)),
)
"""LONG with --full: what belongs to the ballot, the vote and the answer is repeated on each row."""

_SIDES = (_ANSWER, *_of_answer((_SOURCE,)), *_VOTABLE, *_of_answer((_LEAK,)))
_SIDES_FULL = (
    _ANSWER,
    *_of_answer((_SOURCE, _STATUS)),
    *_VOTABLE,
    *_of_answer((_LEAK, *_SCORES, *_LENGTH, _TOTAL, *_IMPROVE, *_GUARD, _TEXT)),
)
_SIDES_UNVOTED = (_ANSWER, *_of_answer((_SOURCE, _STATUS)), *_VOTABLE)


def _sides(columns: Iterable[Column]) -> tuple[Column, ...]:
    return tuple(
        replace(column, name=f"{column.name}_{letter}", meaning=f"Answer {letter}: {column.meaning}")
        for letter in LETTERS
        for column in columns
    )


_WIDE_VOTE = (
    *_VOTE,
    Column("most", T, "The letter of the answer marked as most empathetic.", _LETTERED, "vote.most"),
    Column("least", T, _LEAST, _LETTERED, "vote.least"),
    Column("most_source", T, "Its source.", "a source of the study", "slot.source at vote.most"),
    Column("least_source", T, "Its source.", "a source of the study", "slot.source at vote.least"),
    Column(
        "attention_passed", B, "On an attention item: whether the right source was marked.", "empty for other items",
        "most_source is attention",
    ),
    _REASON,
    _CLOSED,
)  # fmt: skip
OF_BALLOT = {column.name for column in (*_BALLOT, *_WIDE_VOTE)}
"""Columns that a ballot has once, however many answers are on it."""
WIDE = (*_BALLOT, *_WIDE_VOTE, *_sides(_SIDES))
WIDE_FULL = (*_BALLOT, *_WIDE_VOTE, _MESSAGE, *_sides(_SIDES_FULL))
"""WIDE with --full."""
UNVOTED = (*_BALLOT, _CLOSED, *_sides(_SIDES_UNVOTED))

CHANGES = (
    STUDY,
    PARTICIPANT,
    _BALLOT_KEY,
    Column("number", W, "1 is the first vote on the ballot; the newest stands in votes_wide.", "1, 2, .."),
    _CHOICE,
    Column("most", T, "The letter marked as most empathetic.", _LETTERED),
    Column("least", T, "The letter marked as least empathetic.", _LETTERED),
    _REASON,
    _SECONDS,
    _WIDTH,
    Column("voted_at", D, "When this vote was taken."),
)


@dataclass(frozen=True, slots=True)
class ExportTable:
    """One table: two files, `name`.csv and `name`.parquet."""

    name: str
    row: str
    """Description of one row."""
    columns: tuple[Column, ...]


def tables(*, external_ids: bool, full: bool) -> dict[str, ExportTable]:
    """Return the tables of an export by name. `full` repeats ballots, votes and answers on each row of votes."""
    people = tuple(column for column in PEOPLE if external_ids or column is not _EXTERNAL)
    long, wide = (LONG_FULL, WIDE_FULL) if full else (LONG, WIDE)
    return {
        table.name: table
        for table in (
            ExportTable("studies", "one study", STUDIES),
            ExportTable("study_texts", "one version of a study's texts", _with_origins(STUDY_TEXTS, "study_texts")),
            ExportTable("people", "one person in one study", people),
            ExportTable("items", "one message that was answered", ITEMS),
            ExportTable("answers", "one answer that could stand on a ballot", _with_origins(ANSWERS, "answer")),
            ExportTable("votes_long", "one answer on one ballot that has a vote", long),
            ExportTable("votes_wide", "one vote", wide),
            ExportTable(
                "vote_changes", "one vote as it was before it was changed", _with_origins(CHANGES, "vote_change")
            ),
            ExportTable("unvoted", "one ballot without a vote", UNVOTED),
        )
    }


def _with_origins(columns: tuple[Column, ...], table: str) -> tuple[Column, ...]:
    return tuple(column if column.origin else replace(column, origin=f"{table}.{column.name}") for column in columns)
