"""How the places of a study are filled: by condition, who has finished, who holds a place, and how many there are."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from heard.chat_app.studies.study_file import StudyFile
from heard.db.study_people import StudyPerson


@dataclass(frozen=True, slots=True)
class Places:
    """The places of one condition, or of the whole study."""

    condition: str | None
    """None for the whole study."""
    finished: int
    """People who have finished and are not excluded."""
    under_way: int
    """People who hold a place though they have not finished, because they began or judged something a while ago."""
    quota: int | None
    """None for no limit."""


def places_of(study: StudyFile, people: Sequence[StudyPerson], counting: Mapping[str | None, int]) -> list[Places]:
    """Return the places of each condition in the order of the file, then those of the whole study.

    `counting` is the number of people who count in quotas by condition, as `db/quota_counts.py` counts them.
    """
    finished = Counter(one.condition for one in people if one.completed_at is not None and not one.excluded)
    rows = [
        Places(one.name, finished[one.name], counting.get(one.name, 0) - finished[one.name], one.quota)
        for one in study.conditions
    ]
    whole = finished.total()
    return [*rows, Places(None, whole, sum(counting.values()) - whole, study.quota)]
