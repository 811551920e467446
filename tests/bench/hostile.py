"""Hostile clients beside one honest one, whose pages must come within a second throughout.

The hostile ones run in a process of their own (`python -m tests.bench.hostile URL CLIENTS SECONDS`), as they would on
other machines, and give way to the server: what is measured is what the server does, and not how busy its machine is.
"""

import asyncio
import json
import os
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any
from urllib.parse import urlencode

import httpx

from tests.bench.served import Served
from tests.bench.table import Row, at_most, percentile
from tests.socket_client import SocketPage, Visitor

CLIENTS = 200
SECONDS = 30.0
NASTY = "I don't want to die in a game because "
LONG = (NASTY * 300)[:8_000]
HUGE = NASTY * 24_000
"""900,000 characters."""


async def hostile(server: Served, clients: int = CLIENTS, seconds: float = SECONDS) -> list[Row]:
    """`clients` at once, of five kinds, for `seconds`; the rows say how the honest one fared."""
    times: list[float] = []
    answers: Counter[str] = Counter()
    command = (sys.executable, "-m", "tests.bench.hostile", server.url, str(clients), str(seconds))
    attackers = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert attackers.stdout
    await attackers.stdout.readline()  # they have begun
    async with httpx.AsyncClient(base_url=server.url, timeout=60) as honest:
        while attackers.returncode is None:
            for path in ("/", "/scorer", "/health"):
                began = time.perf_counter()
                response = await honest.get(path)
                times.append(time.perf_counter() - began)
                answers[f"honest {response.status_code}"] += 1
            await asyncio.sleep(0.1)
    answers.update(json.loads(await attackers.stdout.readline()))
    name = f"{clients} hostile clients: an honest page"
    detail = ", ".join(f"{what} {number}" for what, number in sorted(answers.items()))
    good = answers["honest 200"] == len(times)
    return [
        at_most(f"{name}, longest", times, "s", 1, max(times)),
        at_most(f"{name}, p95", times, "s", 1, percentile(times, 0.95)),
        Row(f"{name}: answered", answers["honest 200"], "", f"{len(times)}", good, detail),
    ]


async def attack_all(url: str, clients: int, seconds: float) -> Counter[str]:
    """Attack for `seconds`, and return what was answered."""
    answers: Counter[str] = Counter()
    until = time.perf_counter() + seconds
    kinds = (_forms, _forms_too_large, _half_open, _messages, _calls)
    attacks = [
        asyncio.create_task(_go_on(kinds[number % len(kinds)], url, until, answers)) for number in range(clients)
    ]
    _tell("begun")
    await asyncio.wait(attacks, timeout=seconds)
    return answers


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


Attack = Callable[[str, Counter[str]], Coroutine[Any, Any, None]]


async def _go_on(attack: Attack, url: str, until: float, answers: Counter[str]) -> None:
    while time.perf_counter() < until:
        try:
            await attack(url, answers)
        except Exception as fault:  # noqa: BLE001 - a hostile client goes on whatever it meets
            answers[type(fault).__name__] += 1
            await asyncio.sleep(0.05)


def _form(**fields: str) -> tuple[str, bytes]:
    return "application/x-www-form-urlencoded", urlencode(fields).encode()


FORM, LARGE_FORM = _form(reply=LONG, seeker=LONG, note=""), _form(reply=HUGE)
CALL = "application/json", json.dumps({"items": [{"reply": LONG}] * 32}).encode()


async def _post(url: str, path: str, answers: Counter[str], sent: tuple[str, bytes]) -> None:
    kind, body = sent
    async with httpx.AsyncClient(base_url=url, headers={"origin": url, "content-type": kind}, timeout=60) as client:
        for _ in range(20):
            response = await client.post(path, content=body)
            answers[f"{path} {response.status_code}"] += 1


async def _forms(url: str, answers: Counter[str]) -> None:
    await _post(url, "/scorer", answers, FORM)


async def _forms_too_large(url: str, answers: Counter[str]) -> None:
    await _post(url, "/scorer", answers, LARGE_FORM)


async def _calls(url: str, answers: Counter[str]) -> None:
    await _post(url, "/api/score", answers, CALL)


async def _half_open(url: str, answers: Counter[str]) -> None:
    host, _, port = url.removeprefix("http://").partition(":")
    _, writer = await asyncio.open_connection(host, int(port))
    writer.write(b"POST /scorer HTTP/1.1\r\nHost: x\r\nContent-Le")
    await writer.drain()
    await asyncio.sleep(5)
    writer.close()
    answers["half open"] += 1


async def _messages(url: str, answers: Counter[str]) -> None:
    """A visitor with a cookie, who sends long messages by a socket of their own."""
    async with Visitor.agree(url) as visitor, visitor.page(profile="listener") as page:
        for number in range(1_000):
            await _message(page, HUGE if number % 5 == 4 else LONG)
            answers["message"] += 1


async def _message(page: SocketPage, text: str) -> None:
    message = {"id": str(uuid.uuid4()), "name": "You", "type": "user_message", "output": text}
    await page.emit("client_message", {"message": message | {"createdAt": "2026-01-01T00:00:00.000Z"}})
    await asyncio.sleep(0.02)


if __name__ == "__main__":
    if hasattr(os, "nice"):
        os.nice(10)
    address, number, lasting = sys.argv[1:]
    _tell(json.dumps(asyncio.run(attack_all(address, int(number), float(lasting)))))
    os._exit(0)  # some of them wait for an answer still
