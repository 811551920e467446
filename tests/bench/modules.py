"""The shape of the code: files, lines and imports by room, and the modules that one chat turn and one vote run.

python -m tests.bench modules     prints them, and the diagram of docs/architecture.md

The rooms and their arrows are those of tests/test_layering.py.
"""

import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from heard.chat_app.common.settings import Settings
from heard.chat_app.conversation.turn import run_turn
from heard.chat_app.models.downloads import Weights
from heard.chat_app.startup import open_services
from heard.db.engine import create_engine, upgrade
from heard.db.store import Store
from tests.chat_app.models.asking import message_to
from tests.db.conftest import Make
from tests.db.studying import Studying
from tests.journeys.web import HERE, built
from tests.test_layering import ARROWS, FILES, MAY_IMPORT, ROOT, may_import, room_of
from tests.vote_server import vote_call

OF_ROOT = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "src" / "heard").glob("*.py"))
"""What every room may import: the import root's own files."""


async def modules(weights: Weights, console: Console) -> None:
    """Print the figures and the diagram."""
    table = Table("room", "files", "lines")
    for room, files in rooms().items():
        table.add_row(room, str(len(files)), str(sum(map(lines, files))))
    console.print(table)
    with running() as found:
        turn, vote = await modules_of_a_turn(weights, found), await modules_of_a_vote(found)
    assert turn, "heard is imported from another folder than the one that is counted"
    for what, number in (
        ("files", len(FILES) + len(OF_ROOT)),
        ("lines", sum(map(lines, [*FILES, *OF_ROOT]))),
        ("files of the largest folder", max(Counter(Path(name).parent for name in FILES).values())),
        ("imports of one file of a room by another", sum(map(len, ARROWS.values()))),
        ("circles of files", len(circles(ARROWS))),
        ("imports upward", sum(not may_import(room_of(name), room_of(other)) for name, other in between_rooms())),
        ("modules that a chat turn runs", len(turn)),
        ("modules that a vote runs", len(vote)),
    ):
        console.print(f"{number:>6}  {what}")
    console.print("Turn:", " ".join(sorted(turn)), "\nVote:", " ".join(sorted(vote)), soft_wrap=True)
    console.print(diagram(), markup=False, soft_wrap=True)


def lines(name: str) -> int:
    """Lines of a file, comments and empty ones included."""
    return len((ROOT / name).read_text(encoding="utf-8").splitlines())


def rooms() -> dict[str, list[str]]:
    """The files of each room, and under "heard" those of the import root."""
    found: dict[str, list[str]] = {room: [] for room in MAY_IMPORT}
    for name in FILES:
        if name != "chat_app/__init__.py":  # the map of the rooms
            found[room_of(name)].append(name)
    return found | {"heard": OF_ROOT}


def between_rooms() -> Iterator[tuple[str, str]]:
    """(file, file of another room that it imports)."""
    for name, others in ARROWS.items():
        yield from ((name, other) for other in others if room_of(name) != room_of(other))


def reached(arrows: Mapping[str, Any], start: str) -> set[str]:
    """Everything that the arrows lead to from `start`; itself only where they lead back."""
    found: set[str] = set()
    waiting = list(arrows[start])
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += arrows[name]
    return found


def circles(arrows: Mapping[str, Any]) -> set[frozenset[str]]:
    """The groups whose members all lead to each other."""
    below = {name: reached(arrows, name) for name in arrows}
    return {frozenset(other for other in below[name] if name in below[other]) for name in arrows if name in below[name]}


def diagram() -> str:
    """The table of rooms as a Mermaid flowchart. An arrow that only shortens a way of others is left out."""
    below = {room: reached(MAY_IMPORT, room) for room in MAY_IMPORT}
    drawn = [
        f"    {_node(room)} --> {_node(other)}"
        for room, others in MAY_IMPORT.items()
        for other in others
        if not any(other in below[between] for between in others)
    ]
    return "\n".join(["flowchart TD", *reversed(drawn)])


def _node(room: str) -> str:
    return f'{room.replace("/", "_")}["{room}"]' if "/" in room else room


@contextmanager
def running() -> Iterator[set[str]]:
    """Collects the code files whose functions are called, in this thread and in all that begin from now on."""
    found: set[str] = set()

    def note(frame: Any, event: str, _: object) -> None:
        if event == "call":
            found.add(frame.f_code.co_filename)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def ours(found: set[str]) -> set[str]:
    """The files of ours among code files, from the root of the project. Code that a library generates has no file."""
    paths = {Path(name).resolve() for name in found.copy() if not name.startswith("<")}
    names = {path.relative_to(ROOT).as_posix() for path in paths if path.is_relative_to(ROOT)}
    return names & {*FILES, *OF_ROOT}


async def modules_of_a_turn(weights: Weights, found: set[str]) -> set[str]:
    """What runs between a message and the stored and scored reply of the echo model, the page left out."""
    with tempfile.TemporaryDirectory() as folder:
        async with open_services(Settings(data_dir=Path(folder)), weights) as services:
            for text in ("I could not sleep last night.", "My sister came, and it was hard to talk."):
                request = message_to(services, "echo", text)
                await services.store.ensure_participant(request.participant_id)
                found.clear()  # the first turn imports and compiles what is needed only once
                events = [event async for event in run_turn(request, services)]
            return ours(found) if events else set()


async def modules_of_a_vote(found: set[str]) -> set[str]:
    """What runs in the server for one `POST /vote` on a survey's ballot."""
    with tempfile.TemporaryDirectory() as folder:
        await upgrade(Settings(data_dir=Path(folder)).database)
        store = Store(create_engine(Settings(data_dir=Path(folder)).database))
        web, studying = built(Path(folder), store), Studying(store, Make())
        async with web.client:
            await web.answer(research="yes")
            await studying.survey()
            for ballot in await studying.enrolled(web.participant):
                call = vote_call(ballot, studying.make.id(), "It listens to me.")
                found.clear()
                (await web.client.post("/vote", json=call, headers=HERE)).raise_for_status()
            voted = ours(found)
        await store.engine.dispose()
        return voted
