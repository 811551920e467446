"""The columns of an anonymised data set: only what is named here goes out, so that a new column of the export stays in.

Each is a column of the export with what becomes of it.
"""

from dataclasses import replace
from enum import StrEnum

from heard.chat_app.export.columns import FORMATTING, SCALES, Column, ExportTable, Kind
from heard.db.study_records import LETTERS


class Change(StrEnum):
    """What becomes of a column."""

    KEEP = "as it is"
    ID = "a random id in place of it"
    BALLOT = "the person's random id and the number"
    DAY = "days from the day of the study's first vote"
    WORDS = "screened"
    STIMULUS = "as it is in a survey, empty in a live study, where people wrote it or were answered in confidence"
    DEFINITION = "without seed, allowed ids, and the codes and links of the panel"


_K, _I, _B, _D, _W, _S = Change.KEEP, Change.ID, Change.BALLOT, Change.DAY, Change.WORDS, Change.STIMULUS


def _keep(*names: str) -> dict[str, Change]:
    return dict.fromkeys(names, _K)


_SIDES = {
    f"{name}_{letter}": _I if name == "answer" else _K
    for letter in LETTERS
    for name in ("answer", "source", "votable", "not_votable_because", "leak", "status")
}
_BALLOT = {
    "study": _K, "participant": _I, "condition": _K, "completed": _K, "ballot": _B, "ballot_number": _K, "item": _I,
    "item_number": _K, "order_row": _K, "attention": _K,
}  # fmt: skip
_VOTE = _keep("choice", "most", "least") | {"reason": _W} | _keep("seconds", "width_class") | {"voted_at": _D}
CHANGES: dict[str, dict[str, Change]] = {
    "studies": {"study": _K, "kind": _K, "definition": Change.DEFINITION, "definition_sha256": _K},
    "study_texts": _keep("study", "version", "texts"),
    "people": {
        "study": _K, "participant": _I, "condition": _K, "started_at": _D, "screened_out_at": _D, "completed": _K,
        "completed_at": _D, "closing": _W, "ballots": _K, "votes": _K, "texts_version": _K,
        **_keep("excluded", "excluded_by"),
    },
    "items": {"study": _K, "item": _I, "item_number": _K, "message": _S, "attention": _K},
    "answers": {
        "study": _K, "item": _I, "item_number": _K, "answer": _I,
        **_keep("source", "human", "persona", "strategy", "model", "parameters", "status"), "prompt_sha256": _S,
        "text": _S, **_keep("cut", "characters", "words", *FORMATTING, "leak", "score_status", *SCALES),
        **_keep("score_head_name", "score_head_sha256", "score_encoder_sha256", "first_token_seconds"),
        **_keep("total_seconds", "prompt_tokens", "completion_tokens", "improve_assigned", "improved", "policy"),
        **_keep("guard", "guard_kinds"),
    },
    "votes_long": {
        "ballot": _B, "answer": _I,
        **_keep("position", "letter", "most", "least", "source", "votable", "not_votable_because", "leak"),
    },
    "votes_wide": _BALLOT | _VOTE | _keep("changes", "texts_version", "excluded", "most_source", "least_source",
                                          "attention_passed", "closed_reason") | _SIDES,
    "vote_changes": {"study": _K, "participant": _I, "ballot": _B, "number": _K, **_VOTE},
    "unvoted": _BALLOT | {"closed_reason": _K} | _SIDES,
    "question_answers": {
        "study": _K, "participant": _I, **_keep("question", "after_ballots"), "value": _W, **_keep("number", "correct"),
    },
    "question_scores": {
        "study": _K, "participant": _I, **_keep("file", "score", "after_ballots", "value", "answered", "items"),
    },
}  # fmt: skip
"""By table, what becomes of its columns. A table or a column that is not here is left out."""
ORDER = {
    "studies": ("study",), "study_texts": ("study", "version"), "people": ("participant",),
    "items": ("item_number", "item"), "answers": ("item_number", "answer"), "votes_long": ("ballot", "position"),
    "votes_wide": ("participant", "ballot_number"), "vote_changes": ("ballot", "number"), "unvoted": ("ballot",),
    "question_answers": ("participant", "after_ballots", "question"),
    "question_scores": ("participant", "after_ballots", "file", "score"),
}  # fmt: skip
"""By what the rows are sorted, so that their order tells nothing of who came when."""


def released(table: ExportTable) -> ExportTable:
    """Return the table with the columns that go out, in the order of the export, as the codebook describes them."""
    changes = CHANGES[table.name]
    return replace(
        table, columns=tuple(_released(one, changes[one.name]) for one in table.columns if one.name in changes)
    )


def name_after(name: str, change: Change) -> str:
    """Return what the column is called in the data set."""
    return f"{name.removesuffix('_at')}_day" if change is Change.DAY else name


def _released(column: Column, change: Change) -> Column:
    name, meaning = name_after(column.name, change), column.meaning
    if change is _D:
        return replace(column, name=name, kind=Kind.WHOLE, meaning=f"{meaning} In {change.value}.", values="days")
    if change in (_I, _B):
        return replace(column, values="random, of this data set alone", origin="drawn for this data set")
    if change is _W:
        return replace(
            column, meaning=f"{meaning} Screened: [id], [mail], [link], [handle], [address], [number], [name]."
        )
    return replace(column, meaning=f"{meaning} {_sentence(change)}".strip())


def _sentence(change: Change) -> str:
    return "" if change is _K else f"{change.value[0].upper()}{change.value[1:]}."
