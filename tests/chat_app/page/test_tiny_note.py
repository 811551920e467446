"""The note on a tiny model: once, under its first reply."""

import datetime
from dataclasses import replace

from heard.chat_app.models.catalogue import load_models
from heard.chat_app.page.tiny_note import note_text, with_tiny_note
from tests.chat_app.page.test_page_text import draft, reply, step

SPECS = load_models(None)
MESSAGES = [f"{number}0000000-0000-4000-8000-000000000000" for number in range(1, 5)]


def replies(*models: str) -> dict[str, object]:
    begun = reply(draft("So.")).created_at
    return {
        message: replace(
            reply(replace(draft("So."), model=model)),
            id=f"reply {number}",
            message_id=message,
            created_at=begun + datetime.timedelta(minutes=number),
        )
        for number, (message, model) in enumerate(zip(MESSAGES, models, strict=False))
    }


def opened(*models: str) -> list[str]:
    stored = replies(*models)
    steps = [entry for number, key in enumerate(stored) for entry in (step(key), step(f"reply {number}"))]
    noted = with_tiny_note(steps, "t", stored, SPECS)  # type: ignore[arg-type]
    return ["note" if entry["output"] == note_text(SPECS["smollm2"]) else entry["id"] for entry in noted]


def test_it_stands_under_the_first_reply_of_a_tiny_model_and_nowhere_else() -> None:
    ids = opened("echo", "fixed text", "smollm2", "smollm2")
    assert ids.count("note") == 1
    assert ids[ids.index("note") - 1] == "reply 2"
    assert "note" not in opened("echo", "fixed text", "gone")


def test_it_names_the_model_without_its_remark() -> None:
    assert SPECS["smollm2"].tiny
    assert not SPECS["echo"].tiny
    assert "(SmolLM2 135M)" in note_text(SPECS["smollm2"])
