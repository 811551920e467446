"""The people of a study as tables: everybody with how they took part, and the list to pay from."""

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from heard.chat_app.common.csv_cell import csv_cell
from heard.db.study_people import StudyPerson

MISSING = "–"
STATES = ("finished", "screened out", "under way", "not begun")
"""How far somebody is, by `state_of`."""
PEOPLE_STATES = (*STATES, "excluded")
"""What the page's list can be narrowed to."""
Value = str | float | None


@dataclass(frozen=True, slots=True)
class PeopleColumn:
    """One column of the table of people."""

    name: str
    """In CSV."""
    heading: str
    """On the page."""
    value: Callable[[StudyPerson], Value]
    """For CSV; on the page None is a dash. The page sorts by it."""
    shown: Callable[[StudyPerson], str] | None = None
    """On the page, if it reads better there."""


def _time(at: datetime | None) -> str | None:
    return at.isoformat(sep=" ", timespec="seconds") if at else None


def _day(at: datetime | None) -> str:
    return f"{at:%Y-%m-%d %H:%M}" if at else MISSING


def _percent(share: float | None) -> str:
    return MISSING if share is None else f"{100 * share:.0f}%"


def _seconds(value: float | None) -> str:
    return MISSING if value is None else f"{value:.1f} s"


def state_of(person: StudyPerson) -> str:
    """Return how far a person is: finished, screened out, under way or not begun."""
    if person.completed_at is not None:
        return "finished"
    if person.screened_out_at is not None:
        return "screened out"
    return "under way" if person.judged or person.skipped else "not begun"


def name_of(person: StudyPerson) -> str:
    """Return how the desk calls a person: by the id of their link, else by their own with a word."""
    return person.external_id or f"walk-in {person.participant_id[:8]}"


def reasons_of(person: StudyPerson) -> str:
    """Return why a person is excluded; "" if they are not."""
    return " ".join(one.reason for one in person.exclusions)


def rules_of(person: StudyPerson) -> str:
    """Return the rules that exclude a person, "hand" for one by hand, joined by ";"; "" if none does."""
    return ";".join(one.rule or "hand" for one in person.exclusions)


COLUMNS = (
    PeopleColumn("external_id", "Person", lambda one: one.external_id, name_of),
    PeopleColumn("condition", "Condition", lambda one: one.condition),
    PeopleColumn("state", "State", state_of),
    PeopleColumn(
        "excluded",
        "Excluded",
        lambda one: reasons_of(one) or None,
        lambda one: rules_of(one).replace(";", ", ") or MISSING,
    ),
    PeopleColumn("judged", "Judged", lambda one: one.judged, lambda one: f"{one.judged} of {one.given}"),
    PeopleColumn(
        "attention_failed",
        "Attention",
        lambda one: one.attention_failed,
        lambda one: (
            f"{one.attention_failed} failed, {one.attention_passed} passed"
            if one.attention_failed or one.attention_passed
            else MISSING
        ),
    ),
    PeopleColumn(
        "median_seconds", "Seconds a ballot", lambda one: one.median_seconds, lambda one: _seconds(one.median_seconds)
    ),
    PeopleColumn("least_seconds", "Fastest", lambda one: one.least_seconds, lambda one: _seconds(one.least_seconds)),
    PeopleColumn("same_place", "Same place", lambda one: one.same_place, lambda one: _percent(one.same_place)),
    PeopleColumn("same_share", "Same answer", lambda one: one.same_share, lambda one: _percent(one.same_share)),
    PeopleColumn("devices", "Device", lambda one: "+".join(one.devices) or None),
    PeopleColumn("leaks", "Leaks", lambda one: one.leaks, lambda one: str(one.leaks)),
    PeopleColumn("started_at", "Came", lambda one: _time(one.started_at), lambda one: _day(one.started_at)),
)
"""What the page shows of a person. "Same place": the share of the ranked ballots on which the place that the person
marked most often was marked as most empathetic. "Same answer": the share of "about the same"."""
_MORE = (
    PeopleColumn("participant_id", "", lambda one: one.participant_id),
    PeopleColumn("given", "", lambda one: one.given),
    PeopleColumn("skipped", "", lambda one: one.skipped),
    PeopleColumn("attention_passed", "", lambda one: one.attention_passed),
    PeopleColumn("attention_open", "", lambda one: one.attention_open),
    PeopleColumn("completed_at", "", lambda one: _time(one.completed_at)),
    PeopleColumn("screened_out_at", "", lambda one: _time(one.screened_out_at)),
    PeopleColumn("last_at", "", lambda one: _time(one.last_at)),
    PeopleColumn("research", "", lambda one: "yes" if one.research else "no"),
    PeopleColumn("excluded_by", "", lambda one: rules_of(one) or None),
)


def sorted_people(people: Iterable[StudyPerson], name: str, *, descending: bool) -> list[StudyPerson]:
    """Return people sorted by a column; those without a value come last either way. An unknown name sorts nothing."""
    column = next((one for one in COLUMNS if one.name == name), None)
    if column is None:
        return list(people)
    keyed = [(column.value(person), person) for person in people]
    with_value: list[tuple[float | str, StudyPerson]] = [(key, one) for key, one in keyed if key is not None]
    with_value.sort(key=lambda pair: pair[0], reverse=descending)
    return [one for _, one in with_value] + [one for key, one in keyed if key is None]


def people_csv(people: Iterable[StudyPerson]) -> str:
    """Return everybody as CSV with a header; times are in UTC, shares 0..1, an empty cell is no value."""
    columns = (*COLUMNS, *_MORE)
    return _csv(
        [column.name for column in columns], ([column.value(person) for column in columns] for person in people)
    )


def to_pay(people: Iterable[StudyPerson]) -> list[StudyPerson]:
    """Return those who came with an id and have finished or were screened out.

    Those whom an analysis leaves out are among them: whoever did the work is paid unless a person decides otherwise.
    """
    return [one for one in people if one.external_id and (one.completed_at or one.screened_out_at)]


def to_pay_csv(people: Iterable[StudyPerson]) -> str:
    """Return the list to pay from as CSV: external_id, outcome, at (UTC), excluded (why, or empty)."""
    rows = (
        [one.external_id, state_of(one), _time(one.completed_at or one.screened_out_at), reasons_of(one) or None]
        for one in to_pay(people)
    )
    return _csv(["external_id", "outcome", "at", "excluded"], rows)


def summary(people: Sequence[StudyPerson]) -> str:
    """Return the numbers of people by state in one sentence, such as "120 people: 100 finished, 20 under way"."""
    states = Counter(map(state_of, people))
    parts = [f"{states[name]:,} {name}" for name in STATES if states[name]]
    out = sum(one.excluded for one in people)
    parts += [f"{out:,} excluded"] if out else []
    return f"{len(people):,} {'person' if len(people) == 1 else 'people'}" + (f": {', '.join(parts)}" if parts else "")


def _csv(header: Sequence[str], rows: Iterable[Sequence[Value]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    for row in rows:
        writer.writerow([str(value) if isinstance(value, int) else csv_cell(value) for value in row])
    return out.getvalue()
