"""`heard study status`, `release` and `end`: a study while people take part, and its end."""

from typing import TYPE_CHECKING, Annotated

import typer

from heard.chat_app.commands.study_common import StudyError, check_known, on_studies
from heard.chat_app.commands.study_preregister import lines_of

if TYPE_CHECKING:
    from heard.db.study_counts import StudyCounts
    from heard.db.study_records import StudyRecord
    from heard.db.study_store import StudyStore


def status(
    study_id: Annotated[str | None, typer.Argument(metavar="[ID]", help="One study; without it, all of them.")] = None,
) -> None:
    """Show how far a study is: items, answers by source, people by condition, votes, completions, leaks."""
    from heard.chat_app.common.settings import load_settings
    from heard.db.preregistration import preregistration
    from heard.db.study_counts import study_counts
    from heard.hints import nearest_name

    async def read(studies: "StudyStore") -> "list[tuple[StudyRecord, StudyCounts]]":
        return [
            (record, await study_counts(studies.engine, record.id)) for record in await studies.studies(copies=True)
        ]

    async def registered(studies: "StudyStore") -> dict[str, str]:
        found = [(name, await preregistration(studies.engine, name)) for name in known]
        return {name: "\n".join(["", *lines_of(one)]) for name, one in found if one is not None}

    settings = load_settings()
    found = on_studies(settings, read)
    if not found:
        raise StudyError("There is no study yet. Make one: heard study import STUDY.toml ITEMS.csv")
    known = [record.id for record, _ in found]
    if study_id is not None and study_id not in known:
        raise StudyError(f'There is no study "{study_id}". {nearest_name(study_id, known)}')
    chosen = [pair for pair in found if study_id in (None, pair[0].id)]
    more = on_studies(settings, registered)
    typer.echo("\n\n".join(_status(record, counts) + more.get(record.id, "") for record, counts in chosen))


def end(
    study_id: Annotated[str, typer.Argument(metavar="ID", help="The id of a stored study.")],
    yes: Annotated[bool, typer.Option("--yes", help="Really end it. There is no way back.")] = False,
) -> None:
    """End a study: nobody takes part in it any more. With retention_days set, old conversations that only its votes
    needed are deleted from then on, and those votes with them: export it first (`heard export`)."""
    from datetime import UTC, datetime

    from heard.chat_app.common.settings import load_settings

    settings = load_settings()
    on_studies(settings, lambda studies: check_known(studies, study_id))
    if not yes:
        raise StudyError(f"Nothing was done. Export study {study_id} first, then add --yes to end it for good.")
    ended = on_studies(settings, lambda studies: studies.end_study(study_id, datetime.now(UTC)))
    typer.echo(f"Study {study_id} ended on {ended:%Y-%m-%d %H:%M} UTC.")


def release(
    external_id: Annotated[str, typer.Argument(metavar="ID", help="The id in the person's link.")],
    study_id: Annotated[
        str | None, typer.Option("--study", metavar="STUDY", help="The study, if the id is in several.")
    ] = None,
) -> None:
    """Let a person go on in another browser or on another device: the next one that opens the link with this id.

    Needed once they have judged something, because an id alone proves nobody. Their votes come along, what they wrote
    is not shown there; a conversation stays in the browser where it was held."""
    from datetime import UTC, datetime

    from heard.chat_app.common.settings import load_settings

    async def work(studies: "StudyStore") -> str:
        if study_id is not None:
            await check_known(studies, study_id)
        held = await studies.holdings(external_id)
        found = [(study, spelt) for study, spelt in held if study_id in (None, study)]
        if not found:
            raise StudyError("Nobody has taken part under this id. Copy it from the person's link, letter by letter.")
        if len(found) > 1:
            names = ", ".join(study for study, _ in found)
            raise StudyError(f"This id is in several studies: {names}. Say which one with --study.")
        ((study, spelt),) = found
        await studies.release(study, spelt, datetime.now(UTC))
        return study

    study = on_studies(load_settings(), work)
    typer.echo(f"Released in study {study}: the next browser that opens the person's link goes on from there.")


def _status(record: "StudyRecord", counts: "StudyCounts") -> str:
    from heard.db.study_records import Phase

    ended = f", ended on {record.ended_at:%Y-%m-%d}" if record.ended_at else ", paused" if record.paused_at else ""
    copy = {Phase.STUDY: "", Phase.PREVIEW: ", a preview: nothing in it counts", Phase.PILOT: ", a pilot"}[record.phase]
    lines = [f"{record.id} ({record.kind.value}{copy}{ended})"]
    if counts.items:
        attention = f", {counts.attention} of them for attention" if counts.attention else ""
        lines.append(f"items        {counts.items}{attention}")
    for source, by_status in counts.answers.items():
        parts = [f"{number} {status}" for status, number in sorted(by_status.items())]
        parts += [f"{counts.leaks[source]} with a leak"] if source in counts.leaks else []
        lines.append(f"answers      {source}: {', '.join(parts)}")
    for condition, number in counts.people.items():
        group = f"{condition}: " if condition is not None else ""
        out = f", screened out {counts.screened_out[condition]}" if condition in counts.screened_out else ""
        lines.append(f"people       {group}{number}, completed {counts.completed[condition]}{out}")
    if not counts.people:
        lines.append("people       0")
    if counts.archived:
        lines.append(f"archived     {counts.archived} answers that no import names now")
    lines.append(f"votes        {counts.votes} on {counts.ballots} ballots")
    return "\n".join(lines)
