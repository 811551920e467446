"""What tests of `heard evaluate-voice` share: a handful of messages, and a server that plays their model."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.servers import Script, ScriptedServer

MESSAGES = """\
messages:
  - {kind: good_news, mood: good, death: false, text: "i passed my driving test!!!"}
  - {kind: bad_news, mood: bad, death: false, text: "got laid off today"}
  - {kind: worry, mood: bad, death: false, text: "I want to kill myself tonight."}
  - {kind: everyday, mood: plain, death: false, text: "k"}
talks:
  - {kind: grief, death: true, turns: ["my nan died this morning", "i keep smelling her hand cream"]}
"""
"""Four messages, one of them a crisis, and a talk: five replies and a hand-off."""
GLAD = "Congratulations, that is wonderful news! How did it feel?"
SORRY = "I'm so sorry, that sounds really hard. Who have you told?"
PLAIN = "A quiet day, then. What are you up to?"
NAN = "I'm so sorry for your loss. She must have been dear to you."
CREAM = "A smell can bring a whole person back. I'm so sorry she is gone."


@contextmanager
def served(folder: Path, *scripts: Script) -> Iterator[ScriptedServer]:
    """A server that is the model `one`, and the messages in the folder."""
    with ScriptedServer(*scripts) as server:
        entry = f'provider = "openai", model = "m", base_url = "{server.base_url}"'
        (folder / "models.toml").write_text(f"one = {{ {entry} }}\n", encoding="utf-8")
        (folder / "messages.yaml").write_text(MESSAGES, encoding="utf-8")
        yield server


def lines(path: Path) -> list[dict[str, Any]]:
    """The whole lines of a file of replies below its head."""
    raw = path.read_bytes() if path.exists() else b""
    return [json.loads(line) for line in raw.split(b"\n")[1:-1]]


def said(server: ScriptedServer) -> list[str]:
    """The message that each call ended with."""
    return [body["messages"][-1]["content"] for body in server.requests]


def written(path: Path, replies: dict[str, str]) -> Path:
    """A file of replies as somebody else writes them, by the messages' names."""
    rows = [{"id": name, "reply": text} for name, text in replies.items()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path
