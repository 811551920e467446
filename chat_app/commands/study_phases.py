"""`heard study preview`, `pilot` and `reset`: trying a study out before it begins, with votes that never count."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from heard.chat_app.commands.study_common import StudyError, check_known, next_step, on_studies

if TYPE_CHECKING:
    from heard.db.study_records import Phase

Id = Annotated[str, typer.Argument(metavar="ID", help="The id of a stored study.")]


def preview(study_id: Id) -> None:
    """Give a link to try a study out as it is now. Votes there count nowhere: in no result, export, quota or balance.

    Each time it is made anew, and what was voted in it before is taken away."""
    from heard.db.study_records import Phase

    _copy(study_id, Phase.PREVIEW)


def pilot(study_id: Id) -> None:
    """Give a link for the people of a pilot. Their votes stand under an id of their own (ID--pilot) for `heard results`
    and `heard export`, and count nowhere else; the study can still change."""
    from heard.db.study_records import Phase

    _copy(study_id, Phase.PILOT)


def reset(
    study_id: Id,
    pilot: Annotated[bool, typer.Option("--pilot", help="Take the pilot's people and votes away.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Take the votes of a study's pilot away, so that the next `heard study pilot` is of the study as it is then."""
    from heard.chat_app.common.settings import load_settings
    from heard.db.study_counts import study_counts
    from heard.db.study_phases import copy_id
    from heard.db.study_records import Phase

    if not pilot:
        raise StudyError("Only a pilot can be reset: add --pilot. The votes of a study itself stay.")
    settings, name = load_settings(), copy_id(study_id, Phase.PILOT)
    on_studies(settings, lambda studies: check_known(studies, study_id))
    counts = on_studies(settings, lambda studies: study_counts(studies.engine, name))
    what = f"{sum(counts.people.values())} people and {counts.votes} votes of the pilot of study {study_id}"
    if not yes:
        if not sys.stdin.isatty():
            raise StudyError(f"Nothing was done. Add --yes to take away {what}. Export them first if you need them.")
        typer.confirm(f"Take away {what}?", abort=True)
    people, votes = on_studies(settings, lambda studies: studies.reset_copy(name))
    typer.echo(f"Taken away: {people} people, {votes} votes. Next: heard study pilot {study_id}")


def _copy(study_id: str, phase: "Phase") -> None:
    from datetime import UTC, datetime

    from heard.chat_app.common.settings import load_settings
    from heard.chat_app.studies.study_file import study_of
    from heard.db.study_store import StudyStore

    settings = load_settings()

    async def work(studies: StudyStore) -> str:
        await check_known(studies, study_id)
        name = await studies.copy_study(study_id, phase, datetime.now(UTC))
        record = await studies.study(name)
        assert record is not None
        return next_step(study_of(record), settings, written=True)

    typer.echo(on_studies(settings, work))
