"""Sheets for reading by hand: replies of several sources, mixed and without their source, and a key that names it."""

import random
from collections.abc import Sequence

from heard.chat_app.comparing.tables import csv_text
from heard.chat_app.voice.messages import Conversation
from heard.chat_app.voice.records import Said, Shown, VoiceError, VoiceRun

RUBRIC = ("answers", "coherent", "kind", "ends_well")
"""The questions of docs/voice-rubric.md, each marked 1 or 0."""
NEWS = ("meets_news",)
"""The one question of a sheet about good and bad news."""
KEY_COLUMNS = ("row", "source", "id", "mood")


def make_sheet(
    runs: Sequence[VoiceRun],
    conversations: tuple[Conversation, ...],
    questions: tuple[str, ...],
    number: int,
    seed: int,
) -> tuple[str, str]:
    """Return a sheet and its key as CSV texts. `questions` is RUBRIC or NEWS.

    Every source has its replies to the same `number` messages in it, drawn by `seed`; for NEWS half of them good news
    and half bad, or as many good ones as there are. Raises VoiceError where so many messages have not a reply of every
    source, or two files have one name.
    """
    sources = [run.source for run in runs]
    if twice := next((name for name in sources if sources.count(name) > 1), None):
        raise VoiceError(f"Two files are called {twice}. The name stands for the source: rename one of them.")
    by_source = [{one.reply.name: one for one in run.said(conversations) if _readable(one)} for run in runs]
    shared = [name for name in by_source[0] if all(name in replies for replies in by_source)]
    draw = random.Random(seed)
    if questions == NEWS:
        moods = {name: by_source[0][name].conversation.mood for name in shared}
        groups = [[name for name in shared if moods[name] == mood] for mood in ("good", "bad")]
        few = min(number // 2, len(groups[0]))
        wanted = [(groups[0], few), (groups[1], number - few)]
    else:
        wanted = [(shared, number)]
    chosen: list[str] = []
    for names, part in wanted:
        if part > len(names):
            most = len(names) + sum(len(others) for others, _ in wanted if others is not names)
            raise VoiceError(
                f"{number} messages are asked for, and {most} of that kind have a reply in every file. Give a smaller "
                "--n, or whole files."
            )
        chosen += draw.sample(names, part)
    rows = [(source, replies[name]) for source, replies in zip(sources, by_source, strict=True) for name in chosen]
    draw.shuffle(rows)
    empty = ("",) * (len(questions) + 1)
    sheet = [(str(row), _conversation(one), one.reply.text, *empty) for row, (_, one) in enumerate(rows, 1)]
    key = [(str(row), source, one.reply.name, one.conversation.mood or "") for row, (source, one) in enumerate(rows, 1)]
    return csv_text(("row", "conversation", "reply", *questions, "note"), sheet), csv_text(KEY_COLUMNS, key)


def _readable(one: Said) -> bool:
    return one.reply.shown is Shown.REPLY and bool(one.reply.text)


def _conversation(one: Said) -> str:
    """The message; in a talk what went before it, too."""
    if not one.earlier:
        return one.message
    before = [line for message, reply in one.earlier for line in (f"Person: {message}", f"Reply: {reply or '(none)'}")]
    return "\n".join([*before, f"Person: {one.message}"])
