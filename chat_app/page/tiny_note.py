"""The note that a very small model answers, once a conversation, under its first reply.

It is drawn from the stored replies and not kept in the page's history, so that it stands once however often a page is
opened. In a blind study there is none: it would tell who wrote an answer.
"""

from collections.abc import Mapping

from heard.chat_app.conversation.bot_answers import label_of
from heard.chat_app.conversation.events import Finished
from heard.chat_app.conversation.running_turns import RunningTurn
from heard.chat_app.conversation.services import Services
from heard.chat_app.models.records import ModelSpec
from heard.chat_app.page.reopen import Step, avatar, derived_id, reply_step, timestamp
from heard.chat_app.page.wording import NOTE_AVATAR, SYSTEM_AUTHOR
from heard.db.errors import StoreError
from heard.db.records import ReplyRecord


def note_text(model: ModelSpec) -> str:
    """Return the note on a model."""
    return (
        f"These replies come from a very small model ({label_of(model)}) that runs on the computer of this page. It "
        "often misses the point; a larger one is a line in the settings file."
    )


async def note_under(turn: RunningTurn, services: Services) -> Step | None:
    """Return the note if a turn ended with the conversation's first reply of a tiny model; else None."""
    end, specs = turn.view.end, services.models.specs
    if not isinstance(end, Finished) or not _is_tiny(end.reply, specs):
        return None
    try:
        first = _first_tiny(await services.store.replies(turn.request.conversation_id), specs)
    except StoreError:
        return None  # it comes when the page is opened again
    return _note(first, turn.request.conversation_id, specs) if first and first.id == end.reply.id else None


def with_tiny_note(
    steps: list[Step], thread_id: str, replies: Mapping[str, ReplyRecord], specs: Mapping[str, ModelSpec]
) -> list[Step]:
    """Return the entries of a reopened page with the note in its place; `replies` are by message id."""
    first = _first_tiny(replies, specs)
    if first is None:
        return steps
    note = _note(first, thread_id, specs)
    return [entry for step in steps for entry in ((step, note) if step["id"] == first.id else (step,))]


def _first_tiny(replies: Mapping[str, ReplyRecord], specs: Mapping[str, ModelSpec]) -> ReplyRecord | None:
    tiny = [reply for reply in replies.values() if _is_tiny(reply, specs)]
    return min(tiny, key=lambda reply: reply.created_at, default=None)


def _is_tiny(reply: ReplyRecord, specs: Mapping[str, ModelSpec]) -> bool:
    spec = specs.get(reply.kept.model)
    return spec is not None and spec.tiny


def _note(first: ReplyRecord, thread_id: str, specs: Mapping[str, ModelSpec]) -> Step:
    step = reply_step(
        derived_id(thread_id, "tiny-model"),
        thread_id,
        author=SYSTEM_AUTHOR,
        text=note_text(specs[first.kept.model]),
        created_at=timestamp(first.created_at),
    )
    return step | avatar(NOTE_AVATAR)
