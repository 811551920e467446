"""What tests of `heard compare` share: a folder with questions, and a server that plays its models."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.servers import Script, ScriptedServer
from tests.wires import OpenAIWire

WIRE = OpenAIWire("openai")
REPLY = "I am so sorry. That sounds really hard, and I am here with you. What happened then?"


@contextmanager
def served(folder: Path, *scripts: Script, questions: int = 12) -> Iterator[ScriptedServer]:
    """A server that is the models `one` and `two`, and a file of `questions` in the folder."""
    with WIRE.server(*(scripts or (WIRE.reply(REPLY),))) as server:
        entry = f'provider = "openai", model = "m", base_url = "{server.base_url}"'
        (folder / "models.toml").write_text(f"one = {{ {entry} }}\ntwo = {{ {entry} }}\n", encoding="utf-8")
        write_questions(folder, questions)
        yield server


def write_questions(folder: Path, number: int) -> None:
    """questions.csv in the folder."""
    rows = "".join(f"What do I do about day {day}?\n" for day in range(1, number + 1))
    (folder / "questions.csv").write_text("question\n" + rows, encoding="utf-8")


def slow(text: str = REPLY, seconds: float = 0.1) -> Script:
    """A reply that is open for a while."""
    return WIRE.script(seconds, *WIRE.steps(text))


def asked(server: ScriptedServer) -> Counter[tuple[str, ...]]:
    """How often each prompt has come, by its messages' texts."""
    return Counter(tuple(text for _, text in WIRE.said(body)) for body in server.requests)


def journal(folder: Path) -> list[dict[str, Any]]:
    """The whole lines of a journal below its head."""
    path = folder / "journal.jsonl"
    raw = path.read_bytes() if path.exists() else b""
    return [json.loads(line) for line in raw.split(b"\n")[1:-1]]
