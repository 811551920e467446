"""The text of a reply on the page, in every state of a turn and when it is reopened from the history."""

import re
from collections.abc import Sequence

from heard.chat_app.common.markdown import safe_final_markdown, safe_markdown
from heard.chat_app.conversation.events import BallotReady, CrisisShown, Failed, Finished, NotSaved, Refused
from heard.chat_app.conversation.running_turns import Crashed, Stopped, TurnView
from heard.chat_app.safety.handoff_pages import as_markdown
from heard.db.records import DraftRecord, DraftStatus, ReplyRecord
from heard.prompts.records import Persona

SAFETY_AUTHOR = "heard safety"
SYSTEM_AUTHOR = "heard"
PERSON = "You"
AVATAR = "persona"
"""Neutral picture, below `public/avatars/`. Not the page's own name, which Chainlit looks up elsewhere."""
NOTE_AVATAR = "note"
"""Picture beside a line of the program's own under a reply; `public/heard.js` knows such lines by it."""
AIMS = {
    "cognitive": "showing more understanding of how you feel",
    "emotional": "with more warmth",
    "behavioral": "with more support",
    "facets": "with more understanding, warmth and support",
    "critique": "after a second look at it",
    "guard": "with more care",
}
"""Descriptions of a rewrite by its guidance: the component it aims at, "facets", "critique" or "guard"."""

THINKING = "> Thinking before the reply …"
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
STOPPED_BALLOT_LOST = "The answers are lost, so there is nothing to vote on. Write your next message to go on."
ON_PAGE_ONLY = "What had arrived stays on this page only and is not in your history."
GAP = "The list of chats may lack something"
INTERRUPTED = "This message was not answered. Please send it again."
NO_PERSONA = "There is no such persona here. Choose one from the menu at the top, or reload the page."
NO_STRATEGY = "There is no such strategy here any more. Choose one in the settings, or reload the page."
NOT_YOURS = "This conversation cannot be continued from here. Start a new chat."
FELT_HEARD = "Did you feel heard in this talk? Your answer changes nothing in it, and you need not give one."
FELT_HEARD_THANKS = "Thank you. You answered {answer} of 5."
NO_EDIT = "Only your last message can be changed, and this one cannot be changed. Send a new one instead."
TOO_LARGE = (
    "What you sent is far too large, so it was neither read nor stored. A message may have {limit:,} characters. If "
    'you are in danger, "Crisis help" at the top of this page has numbers to call.'
)
BUSY = (
    "A reply is still being written in this conversation, so this message was not answered. "
    "Wait until it ends or press Stop, then send your message again."
)

_LINES = re.compile(r"\s+")


def waiting_text(ahead: int) -> str:
    """Return the line shown while `ahead` calls (1 or more) are served first."""
    who = "1 person is" if ahead == 1 else f"{ahead} people are"
    return quote(f"{who} ahead of you. Your reply starts as soon as there is room.")


def writing_text(number: int) -> str:
    """Return the line shown while a ballot's answers are generated: the same until the last one has ended."""
    return quote(f"Writing {number} answers. They appear together when the last one has ended.")


def crash_text(reference: str) -> str:
    """Return the sentence for an internal error."""
    return f"Something went wrong on our side. Please try again; if it happens again, tell us the number {reference}."


def gap_text(failure: str, *, stored: bool) -> str:
    """Return the notice for a page's history that could not be written; `stored` says whether our tables have the
    message and how it ended."""
    return f"{failure} {GAP}; your messages are stored." if stored else f"{failure} {GAP}."


def quote(sentence: str) -> str:
    """Return a sentence of the program as a Markdown quotation, to distinguish it from the model's text.

    Not as emphasis, which the page's cursor would break: `*` counts as an end only before white space.
    """
    return "> " + _LINES.sub(" ", sentence).strip()


def reply_text(view: TurnView) -> str:
    """Return the present text of the reply on the page; "" while there is nothing to say yet."""
    if view.end is not None:
        return _final_text(view)
    if view.writing:
        return writing_text(view.writing)
    parts = []
    if view.number > 1:
        parts.append(quote(f"Writing it again, {AIMS.get(view.guidance or '', 'once more')}."))
    if view.text:
        parts.append(safe_markdown(view.text))
    elif view.thinking:
        parts.append(THINKING)
    elif view.ahead:
        parts.append(waiting_text(view.ahead))
    elif view.by_fallback:
        parts.append(ASKING_ANOTHER)
    return "\n\n".join(parts)


def _final_text(view: TurnView) -> str:
    match view.end:
        case CrisisShown(handoff):
            return as_markdown(handoff)
        case Refused(sentence):
            return sentence
        case Failed(sentence, kept_text):
            return broken_text(kept_text, sentence)
        case Finished(reply):
            return stored_text(reply)
        case NotSaved(sentence, text, drafts):
            return f"{_draft_text(drafts) if drafts else safe_final_markdown(text)}\n\n{quote(sentence)}"
        case BallotReady():
            return BALLOT
        case Stopped(fault) if view.writing:
            return _unsaved_stop(fault, STOPPED_BALLOT_LOST) if fault else STOPPED_BALLOT
        case Stopped(fault):
            best = _best_draft(view)
            if fault and (best or view.text):
                return f"{safe_final_markdown(best or view.text).rstrip()}\n\n{_unsaved_stop(fault, ON_PAGE_ONLY)}"
            return stopped_text(view.text) if best is None else f"{safe_final_markdown(best)}\n\n{STOPPED_REWRITE}"
        case Crashed(reference):
            return broken_text(view.text, crash_text(reference))
        case _:
            return safe_final_markdown(view.text)


def _unsaved_stop(fault: str, what: str) -> str:
    return quote(f"Stopped. {fault} {what}")


def _best_draft(view: TurnView) -> str | None:
    """Return the text that is kept when a turn is stopped: the best complete draft, as the turn itself keeps it."""
    if not view.texts:
        return None
    best = max(sorted(view.texts), key=lambda number: getattr(view.scores[number], view.watches) or 0.0)
    return view.texts[best]


def broken_text(text: str, sentence: str) -> str:
    """Return a reply that broke off, with the reason under it."""
    kept = safe_final_markdown(text).rstrip()
    return f"{kept}\n\n{quote('This reply broke off. ' + sentence)}" if kept else sentence


def introduction(persona: Persona, told: Sequence[str] = ()) -> str:
    """Return what an empty chat shows of its persona, above the starters, with what has to be `told` of it.

    It is no reply and is not stored.
    """
    return "\n\n".join(text for text in (persona.description, persona.greeting, *told) if text)


def stopped_text(text: str) -> str:
    """Return a reply that the person stopped."""
    kept = safe_final_markdown(text).rstrip()
    return f"{kept}\n\n{STOPPED}" if kept else STOPPED_EARLY


def stored_text(reply: ReplyRecord) -> str:
    """Return a stored reply as the history shows it: the kept draft, marked if it is not complete."""
    return _draft_text(reply.drafts)


def _draft_text(drafts: Sequence[DraftRecord]) -> str:
    kept = next((draft for draft in drafts if draft.kept), drafts[-1])
    match kept.status:
        case DraftStatus.BROKEN:
            return broken_text(kept.text, kept.error or "Please send your message again.")
        case DraftStatus.STOPPED:
            return stopped_text(kept.text)
        case _:
            return "\n\n".join([safe_final_markdown(kept.text), *_notes(kept)])


def _notes(draft: DraftRecord) -> list[str]:
    """Return notes on a complete draft, each a quotation under it."""
    # Two lines of one quotation would run together.
    unfinished = draft.cut and draft.ended_by is None
    return [note for note, holds in ((CUT, unfinished), (OTHER_MODEL, draft.fallback_for is not None)) if holds]
