"""Writers go in one at a time and by turns; whoever gives up holds nobody up."""

import asyncio
import contextvars
from pathlib import Path

import pytest

from heard.db.engine import create_engine, write_queue
from heard.db.errors import StoreBusy
from heard.db.write_queue import WriteQueue, writer


async def write(queue: WriteQueue, who: str, done: list[str]) -> None:
    writer.set(who)
    async with queue:
        await asyncio.sleep(0)
        done.append(who)


async def begun(queue: WriteQueue, *whose: str) -> tuple[list[str], list[asyncio.Task[None]]]:
    """Writers in this order behind one that holds the queue now."""
    done: list[str] = []
    tasks = []
    for who in whose:
        tasks.append(asyncio.create_task(write(queue, who, done)))
        await asyncio.sleep(0)
    return done, tasks


async def test_one_who_writes_a_hundred_times_holds_nobody_up() -> None:
    queue = WriteQueue(5)
    async with queue:
        done, tasks = await begun(queue, *["hasty"] * 100, "calm", "other", "calm")
    await asyncio.gather(*tasks)
    assert done[:6] == ["hasty", "calm", "other", "hasty", "calm", "hasty"]
    assert done.count("hasty") == 100


async def test_only_one_is_in_at_a_time() -> None:
    queue, inside = WriteQueue(5), 0

    async def enter(number: int) -> None:
        nonlocal inside
        writer.set(str(number % 3))
        async with queue:
            inside += 1
            assert inside == 1
            await asyncio.sleep(0)
            inside -= 1

    await asyncio.gather(*(enter(number) for number in range(60)))
    async with queue:
        assert inside == 0


async def test_who_has_waited_too_long_is_told_and_the_next_goes_in() -> None:
    queue = WriteQueue(0.05)
    async with queue:
        with pytest.raises(StoreBusy):
            await write(queue, "late", [])
        queue.seconds = 5
        done, tasks = await begun(queue, "next")
    await asyncio.gather(*tasks)
    assert done == ["next"]


@pytest.mark.parametrize("after", [0, 1, 2])
async def test_who_is_cancelled_lets_the_next_in_even_in_the_moment_of_the_turn(after: int) -> None:
    queue = WriteQueue(5)
    async with queue:
        done, (first, second) = await begun(queue, "first", "second")
    for _ in range(after):
        await asyncio.sleep(0)
    first.cancel()
    await asyncio.gather(first, second, return_exceptions=True)
    assert done[-1] == "second"
    async with asyncio.timeout(1), queue:
        pass


async def test_what_a_task_begins_writes_for_the_same_person() -> None:
    writer.set("somebody")
    assert await asyncio.create_task(asyncio.sleep(0, writer.get())) == "somebody"
    assert contextvars.Context().run(writer.get) == ""


async def test_sqlite_has_one(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite+aiosqlite:///{tmp_path}/heard.db", lock_seconds=0.05)
    async with write_queue(engine):
        with pytest.raises(StoreBusy):
            await write_queue(engine).__aenter__()
    await engine.dispose()
