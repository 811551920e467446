"""What becomes the items of a survey while a file is read: messages with their answers, and what was left out."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from heard.chat_app.safety.assessment import assess
from heard.errors import UserError

HUMAN = "human"
"""The source of answers written by people. Names that begin with it and a dash ("human-trained") are human too."""


class ItemsError(UserError):
    """A file of items that cannot be used; `str()` names the file, the line, the fault and the next step."""


@dataclass(slots=True)
class SkippedLines:
    """Number of lines of the file that were skipped, by reason."""

    empty: int = 0
    """Without a message or, in a public set, without a response."""
    repeated: int = 0
    """The same message (and source, and answer) as an earlier line."""
    further_responses: int = 0
    """In a public set: another response to a message that has one."""
    faulty: int = 0
    """In a public set: malformed rows."""
    crisis: int = 0
    """Messages with suicidal or self-harm meaning: they never reach a model or a ballot."""
    of_format: Counter[str] = field(default_factory=Counter)
    """In a public set that was named: other reasons, as they stand in the brackets of a sentence."""

    def sentences(self) -> list[str]:
        """Return a sentence for each count that is not 0."""
        counts = (
            (self.empty, "without text"),
            (self.repeated, "the same as an earlier one"),
            (self.further_responses, "further responses to a message that has one"),
            (self.faulty, "no row of the table"),
            *((number, what) for what, number in self.of_format.items()),
            (
                self.crisis,
                "a crisis: such a message never reaches a model or a ballot",
            ),
        )
        return [f"Passed over: {number} line{'s' * (number != 1)} ({what})." for number, what in counts if number]


@dataclass(slots=True)
class ItemDraft:
    """A message that becomes an item."""

    line: int
    message: str
    answers: dict[str, str] = field(default_factory=dict)
    """Source to answer."""
    attention: str | None = None
    admitted_by: str | None = None
    """Who admitted the message, which reads like a crisis."""
    admitted_at: datetime | None = None
    file: str = ""
    """Name of the file, where it is another than the items'."""
    votes: float = 0.0
    """In a public set with several answers to a message: how many people found this one good. The best is taken."""


def best_of_each(found: Iterable[ItemDraft], skipped: SkippedLines) -> list[ItemDraft]:
    """Return one draft for each message, in the order of the messages: that with most votes, the first of equals.

    Those without a text, repeated ones and further ones are counted in `skipped`.
    """
    drafts: dict[str, ItemDraft] = {}
    seen: set[tuple[str, tuple[tuple[str, str], ...]]] = set()
    for one in found:
        key = one.message, tuple(one.answers.items())
        if not one.message or not all(one.answers.values()):
            skipped.empty += 1
        elif key in seen:
            skipped.repeated += 1
        elif one.message in drafts:
            skipped.further_responses += 1
            if one.votes > drafts[one.message].votes:
                drafts[one.message] = one
        else:
            drafts[one.message] = one
        seen.add(key)
    return list(drafts.values())


def without_crises(
    drafts: list[ItemDraft], skipped: SkippedLines, admitted: Mapping[str, tuple[str, datetime]]
) -> tuple[list[ItemDraft], list[tuple[ItemDraft, str]]]:
    """Return the drafts whose message is no crisis or was `admitted` (message to who and when), and the others with the
    danger that each speaks of. Those are counted in `skipped`."""
    kept: list[ItemDraft] = []
    held: list[tuple[ItemDraft, str]] = []
    for draft in drafts:
        verdict = assess(draft.message)
        if verdict.crisis and draft.message in admitted:
            draft.admitted_by, draft.admitted_at = admitted[draft.message]
        elif verdict.crisis:
            held.append((draft, verdict.category or verdict.danger.value))
            continue
        kept.append(draft)
    skipped.crisis += len(held)
    return kept, held
