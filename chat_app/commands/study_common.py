"""What the commands of `heard study` share: the store, a study's name, options, and the next step."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from heard.errors import UserError
from heard.hints import nearest_name

if TYPE_CHECKING:
    from heard.chat_app.common.settings import Settings
    from heard.chat_app.studies.study_file import StudyFile
    from heard.db.study_store import StudyStore

Result = TypeVar("Result")

ColumnsOption = Annotated[
    str,
    typer.Option(
        "--columns",
        metavar="OURS=THEIRS,...",
        help="Columns that have other names in the file: message=questionText,reply=answerText. A reply is an answer "
        "of the source human; source, answer, attention and every source of the study may be named too.",
    ),
]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="Take only the first N items.")]


class StudyError(UserError):
    """The command cannot be done; `str()` names the fault and the next step."""


def on_studies(settings: "Settings", work: "Callable[[StudyStore], Awaitable[Result]]") -> Result:
    """Open the database of the settings, run `work` on its studies, and return what it returns."""
    import asyncio

    from heard.db.engine import open_database
    from heard.db.study_store import StudyStore

    async def run() -> Result:
        async with open_database(settings.database, lock_seconds=settings.save_seconds) as engine:
            return await work(StudyStore(engine))

    return asyncio.run(run())


async def check_known(studies: "StudyStore", study_id: str) -> None:
    """Raise StudyError, with the nearest right name, if there is no such study."""
    names = [record.id for record in await studies.studies()]
    if study_id not in names:
        raise StudyError(f'There is no study "{study_id}". {nearest_name(study_id, names) if names else ""}'.strip())


def next_step(study: "StudyFile", settings: "Settings", *, written: bool) -> str:
    """Return the command or the link that comes next; `written` says whether the study's answers are there."""
    from heard.db.study_records import StudyKind

    if study.kind is StudyKind.LIVE:
        return f'Next: set blind_study = "{study.id}" in settings.toml, and run heard chat.'
    if not written:
        return f"Next: heard study generate {study.id}"
    address = (settings.public_host or f"{settings.host}:{settings.port}") + settings.root_path
    scheme = "https" if settings.public_host else "http"
    return f"Next: run heard chat, and send people to {scheme}://{address}/survey/{study.id}"
