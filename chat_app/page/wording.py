"""The words of a reply as the page shows it: in every state of a turn, and again when it is opened from the history."""

import re
from collections.abc import Sequence

from heard.chat_app.common.markdown import harmless, shown_text
from heard.chat_app.conversation.events import BallotReady, CrisisShown, Failed, Finished, NotSaved, Refused
from heard.chat_app.conversation.running_turns import Crashed, Stopped, TurnView
from heard.db.records import DraftRecord, DraftStatus, ReplyRecord
from heard.prompts.records import Persona

SAFETY_AUTHOR = "heard safety"
SYSTEM_AUTHOR = "heard"
AVATAR = "persona"
"""Picture beside replies, below `public/avatars/`; any name but the page's own, which Chainlit looks up elsewhere."""
AIMS = {
    "cognitive": "showing more understanding of how you feel",
    "emotional": "with more warmth",
    "behavioral": "with more support",
    "facets": "with more understanding, warmth and support",
    "critique": "after a second look at it",
}
"""What a rewrite is after, by the component it aims at, or by what told it of several."""

STOPPED = "> Stopped. What had arrived is kept."
STOPPED_REWRITE = "> Writing it again was stopped; the earlier draft stands."
ASKING_ANOTHER = "> The model you chose does not answer. Another one is being asked."
OTHER_MODEL = "> Another model answered here, because the one you chose did not."
CUT = "> The reply ended here because it had reached its longest length."
STOPPED_EARLY = "> Stopped before the reply began."
BALLOT = "These answers to your message come from different sources, in an order of chance."
STOPPED_BALLOT = (
    "> Stopped. What had arrived of the answers is kept and not shown, and there is nothing to vote on. "
    "Write your next message to go on."
)
INTERRUPTED = "This message was not answered. Please send it again."
BUSY = (
    "A reply is still being written in this conversation, so this message was not answered. "
    "Wait until it ends or press Stop, then send your message again."
)

_LINES = re.compile(r"\s+")


def waiting(ahead: int) -> str:
    """The line shown while the model is busy with others; `ahead` is 1 or more."""
    who = "1 person is" if ahead == 1 else f"{ahead} people are"
    return quoted(f"{who} ahead of you. Your reply starts as soon as there is room.")


def writing(number: int) -> str:
    """The line shown while a ballot's answers are written: the same from the first to the last, whoever is fast."""
    return quoted(f"Writing {number} answers. They appear together when the last one has ended.")


def crashed(reference: str) -> str:
    """The sentence for a fault of our own."""
    return f"Something went wrong on our side. Please try again; if it happens again, tell us the number {reference}."


def quoted(sentence: str) -> str:
    """A sentence of the program, told apart from the model's text.

    A quotation and not emphasis, which the page's cursor would break: `*` counts as an end only before white space.
    """
    return "> " + _LINES.sub(" ", sentence).strip()


def reply_text(view: TurnView) -> str:
    """What the reply's place on the page holds right now; "" while there is nothing to say yet."""
    if view.end is not None:
        return _ended(view)
    if view.writing:
        return writing(view.writing)
    parts = []
    if view.number > 1:
        parts.append(quoted(f"Writing it again, {AIMS.get(view.guidance or '', 'once more')}."))
    if view.text:
        parts.append(harmless(view.text))
    elif view.ahead:
        parts.append(waiting(view.ahead))
    elif view.by_fallback:
        parts.append(ASKING_ANOTHER)
    return "\n\n".join(parts)


def _ended(view: TurnView) -> str:
    match view.end:
        case CrisisShown(markdown):
            return markdown
        case Refused(sentence):
            return sentence
        case Failed(sentence, kept_text):
            return broken(kept_text, sentence)
        case Finished(reply):
            return stored_text(reply)
        case NotSaved(sentence, text, drafts):
            return f"{_draft_text(drafts) if drafts else shown_text(text)}\n\n{quoted(sentence)}"
        case BallotReady():
            return BALLOT
        case Stopped() if view.writing:
            return STOPPED_BALLOT
        case Stopped():
            whole = _whole(view)
            return stopped(view.text) if whole is None else f"{shown_text(whole)}\n\n{STOPPED_REWRITE}"
        case Crashed(reference):
            return broken(view.text, crashed(reference))
        case _:
            return shown_text(view.text)


def _whole(view: TurnView) -> str | None:
    """The text that stands when a turn is stopped: the best whole draft, as the turn itself keeps it."""
    if not view.texts:
        return None
    best = max(sorted(view.texts), key=lambda number: view.scores[number].empathy or 0.0)
    return view.texts[best]


def broken(text: str, sentence: str) -> str:
    """A reply that broke off, with the reason under it."""
    kept = shown_text(text).rstrip()
    return f"{kept}\n\n{quoted('This reply broke off. ' + sentence)}" if kept else sentence


def opening(persona: Persona) -> str:
    """What an empty chat shows of its persona, above the starters: of the page alone, so no reply and not stored."""
    return "\n\n".join(text for text in (persona.description, persona.greeting) if text)


def stopped(text: str) -> str:
    """A reply that the person stopped."""
    kept = shown_text(text).rstrip()
    return f"{kept}\n\n{STOPPED}" if kept else STOPPED_EARLY


def stored_text(reply: ReplyRecord) -> str:
    """A stored reply as the history shows it: the kept draft, marked when it is not whole."""
    return _draft_text(reply.drafts)


def _draft_text(drafts: Sequence[DraftRecord]) -> str:
    kept = next((draft for draft in drafts if draft.kept), drafts[-1])
    match kept.status:
        case DraftStatus.BROKEN:
            return broken(kept.text, kept.error or "Please send your message again.")
        case DraftStatus.STOPPED:
            return stopped(kept.text)
        case _:
            return "\n\n".join([shown_text(kept.text), *_notes(kept)])


def _notes(draft: DraftRecord) -> list[str]:
    """What the person should know of a whole draft, each a quotation under it."""
    # Two lines of one quotation would run together.
    return [note for note, holds in ((CUT, draft.cut), (OTHER_MODEL, draft.fallback_for is not None)) if holds]
