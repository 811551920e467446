"""Reopen a conversation: the page's own history, corrected from our tables.

The page's history is written separately from our tables and may lack a reply (a crash, a locked database) or hold an
older wording, and its cards could be changed by the browser. Replies and cards therefore come from the stored replies.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from heard.chat_app.conversation.check_in import check_ins
from heard.chat_app.conversation.running_turns import RunningTurn
from heard.chat_app.page import draft_cards, handoff_card, score_card
from heard.chat_app.page.faces import face_of_reply, face_of_turn
from heard.chat_app.page.reopen_ballots import BallotEntry
from heard.chat_app.page.wording import (
    AVATAR,
    INTERRUPTED,
    PERSON,
    SAFETY_AUTHOR,
    SYSTEM_AUTHOR,
    reply_text,
    stored_text,
)
from heard.chat_app.safety import crisis_check
from heard.chat_app.safety.bounded_text import bounded_text
from heard.chat_app.safety.handoff import Handoff, handoff
from heard.chat_app.safety.handoff_pages import as_markdown
from heard.chat_app.studies.ballot_view import ELEMENT as BALLOT_ELEMENT
from heard.chat_app.studies.ballot_view import entry_id
from heard.db.records import DraftStatus, MessageRecord, Outcome, ReplyRecord, Safety
from heard.prompts.safety_files import GENERAL

CHECK_IN_ELEMENT = "HeardCheckIn"
Step = dict[str, Any]
_ID_NAMESPACE = uuid.UUID("0c8a6f1e-52f7-4c0b-9a3e-7be0d41f6c25")


def derived_id(key: str, what: str) -> str:
    """Return an id for `what` of the entry `key`: the same every time, so that it is replaced and never duplicated."""
    return str(uuid.uuid5(_ID_NAMESPACE, f"{what} of {key}"))


def card_id(reply_id: str) -> str:
    """Return the element id of a reply's card."""
    return derived_id(reply_id, "score-card")


def hand_off_id(message_id: str) -> str:
    """Return the entry id of a crisis hand-off, the same on the first page and when it is reopened."""
    return derived_id(message_id, "hand-off")


def card_element(thread_id: str, reply_id: str, props: Mapping[str, Any]) -> dict[str, Any]:
    """Return a card as an element of the page, under the entry of its reply."""
    return custom_element(card_id(reply_id), thread_id, reply_id, score_card.ELEMENT, {**props, "reply": reply_id})


def ballot_element(thread_id: str, entry: str, props: Mapping[str, Any]) -> dict[str, Any]:
    """Return a ballot as an element of the page, under its entry; the same id every time."""
    return custom_element(derived_id(entry, "ballot"), thread_id, entry, BALLOT_ELEMENT, props)


def handoff_element(thread_id: str, message_id: str, props: Mapping[str, Any]) -> dict[str, Any]:
    """Return a hand-off as an element of the page, under its entry; the same id every time."""
    entry = hand_off_id(message_id)
    return custom_element(derived_id(entry, "hand-off"), thread_id, entry, handoff_card.ELEMENT, props)


def check_in_element(thread_id: str, reply_id: str) -> dict[str, Any]:
    """Return the buttons of a check-in as an element of the page, under its entry."""
    texts = check_ins()["en"]
    props = {"name": texts.question, "yes": texts.affirmed.label, "no": texts.denied.label, "answered": texts.asked}
    return custom_element(derived_id(reply_id, "check-in"), thread_id, reply_id, CHECK_IN_ELEMENT, props)


def open_check_in(messages: Sequence[MessageRecord], replies: Mapping[str, ReplyRecord]) -> str | None:
    """Return the id of the reply whose question is to be answered next; None if there is none."""
    taken = [message for message in messages if message.outcome is not Outcome.REFUSED]
    if not taken or taken[-1].safety is not Safety.CHECKED_IN or taken[-1].id not in replies:
        return None
    return replies[taken[-1].id].id


def custom_element(id_: str, thread_id: str, under: str, name: str, props: Mapping[str, Any]) -> dict[str, Any]:
    """Return an element of `public/elements/` under the entry `under`, as the page takes it."""
    return {
        "id": id_,
        "threadId": thread_id,
        "forId": under,
        "type": "custom",
        "name": name,
        "props": dict(props),
        "display": "inline",
        "mime": "application/json",
    }


def timestamp(moment: datetime) -> str:
    """Return a UTC time in the page's format."""
    return moment.replace(tzinfo=None).isoformat() + "Z"


def reply_step(
    reply_id: str,
    thread_id: str,
    *,
    author: str,
    text: str,
    created_at: str,
    streaming: bool = False,
    error: bool = False,
) -> Step:
    """Return a reply as an entry of the page's history."""
    return {
        "id": reply_id,
        "threadId": thread_id,
        "parentId": None,
        "name": author,
        "type": "assistant_message",
        "output": text,
        "input": "",
        "createdAt": created_at,
        "start": created_at,
        "end": created_at,
        "streaming": streaming,
        "isError": error,
        "waitForAnswer": False,
        **avatar(AVATAR),
    }


def avatar(name: str) -> Step:
    """Return what makes an entry of the page's history show this picture."""
    return {"metadata": {"avatarName": name}}


def running_step(turn: RunningTurn, thread_id: str, faces: Mapping[str, str]) -> Step:
    """Return the entry of a reply that is being generated, with its face of `faces`, by persona."""
    step = reply_step(
        turn.request.reply_id,
        thread_id,
        author=turn.request.persona.name,
        text=reply_text(turn.view),
        created_at=timestamp(datetime.now(UTC)),
        streaming=True,
    )
    return step | avatar(face_of_turn(turn, faces))


def merge_replies(
    steps: list[Step],
    thread_id: str,
    replies: Mapping[str, ReplyRecord],
    names: Mapping[str, str],
    *,
    messages: Sequence[MessageRecord] = (),
    running: str | None = None,
    country: str | None = None,
    ballots: Mapping[str, BallotEntry] | None = None,
    ballot_author: str = "",
    faces: Mapping[str, str] | None = None,
) -> list[Step]:
    """Return `steps` with every stored message and reply in its place, and each reply in its stored wording.

    `replies` are by message id; `names` maps a persona's id to its author name, and `faces` to its avatar. A message
    whose turn was interrupted gets a note, unless it is `running`, the id of the one being answered now. A crisis whose
    hand-off the history lost gets it again, with the numbers of `country`. A message in `ballots` has its ballot
    instead of the reply, by `ballot_author`. Of `steps` only messages are kept.
    """
    ballots = ballots or {}
    replies = {message_id: reply for message_id, reply in replies.items() if message_id not in ballots}
    entries = {entry_id(message_id) for message_id in ballots}
    kept = [
        step | {"parentId": None, "streaming": False}
        for step in steps
        if "message" in str(step.get("type")) and step["id"] not in entries
    ]
    known = {step["id"] for step in kept}
    missing_messages = [_message_step(message) for message in messages if message.id not in known]
    if missing_messages:
        kept = sorted(kept + missing_messages, key=lambda step: str(step.get("createdAt")))
    replies_by_id = {reply.id: reply for reply in replies.values()}
    asides = {message.id for message in messages if message.safety}
    interrupted = _interrupted(messages, running)
    crises = {message.id: message for message in messages if message.outcome is Outcome.CRISIS}
    handed_off = {hand_off_id(message_id): message for message_id, message in crises.items()}
    merged: list[Step] = []
    for step, following in zip(kept, [*kept[1:], {}], strict=True):
        reply = replies_by_id.get(step["id"])
        if step["id"] in handed_off:
            step = step | {"output": as_markdown(handoff_of(handed_off[step["id"]], country))}
        merged.append(
            step
            if reply is None
            else step
            | _stored_wording(reply, names.get(reply.persona, str(step.get("name", ""))))
            | avatar(face_of_reply(reply, faces or {}, aside=reply.message_id in asides))
        )
        missing = replies.get(step["id"])
        if missing is not None and missing.id not in known:
            merged.append(
                reply_step(
                    missing.id,
                    thread_id,
                    author=names.get(missing.persona, missing.persona),
                    text=stored_text(missing),
                    created_at=timestamp(missing.created_at),
                    error=_broken(missing),
                )
                | avatar(face_of_reply(missing, faces or {}, aside=step["id"] in asides))
            )
        if step["id"] in ballots:
            entry, at = ballots[step["id"]], str(step.get("createdAt"))
            under = entry_id(step["id"])
            merged.append(reply_step(under, thread_id, author=ballot_author, text=entry.text, created_at=at))
        if (
            step["id"] in crises
            and hand_off_id(step["id"]) not in known
            and following.get("name") != SAFETY_AUTHOR  # written before its id was made of the message's
        ):
            merged.append(_hand_off_step(crises[step["id"]], country))
        if step["id"] in interrupted:
            note_id = derived_id(step["id"], "interrupted")
            at = str(step.get("createdAt"))
            merged.append(reply_step(note_id, thread_id, author=SYSTEM_AUTHOR, text=INTERRUPTED, created_at=at))
    return merged


def _stored_wording(reply: ReplyRecord, author: str) -> Step:
    return {"name": author, "output": stored_text(reply), "isError": _broken(reply)}


def _interrupted(messages: Sequence[MessageRecord], running: str | None) -> set[str]:
    unfinished = (Outcome.INTERRUPTED, Outcome.PENDING)
    return {message.id for message in messages if message.outcome in unfinished and message.id != running}


def handoff_of(message: MessageRecord, country: str | None) -> Handoff:
    """Return the hand-off of a message, with the numbers of the country that is chosen now."""
    if message.danger is not None:
        return handoff(country, message.language, message.danger)
    return handoff(country, crisis_check.check(message.text).language)  # `with_dangers` has not seen it


def with_dangers(messages: Sequence[MessageRecord], limit: int) -> list[MessageRecord]:
    """Return the messages, those of before there were columns for it with the danger that they were handed off for.

    Blocking; `limit` is the longest message in characters (`bounded_text`).
    """
    return [
        replace(one, danger=GENERAL, language=crisis_check.check(bounded_text(one.text, limit)).language)
        if one.outcome is Outcome.CRISIS and one.danger is None
        else one
        for one in messages
    ]


def _hand_off_step(message: MessageRecord, country: str | None) -> Step:
    step = reply_step(
        hand_off_id(message.id),
        message.conversation_id,
        author=SAFETY_AUTHOR,
        text=as_markdown(handoff_of(message, country)),
        created_at=timestamp(message.created_at),
    )
    return step | avatar(SAFETY_AUTHOR)


def _message_step(message: MessageRecord) -> Step:
    at = timestamp(message.created_at)
    step = reply_step(message.id, message.conversation_id, author=PERSON, text=message.text, created_at=at)
    return step | {"type": "user_message", "metadata": {}}


def page_elements(
    thread_id: str,
    replies: Mapping[str, ReplyRecord],
    ballots: Mapping[str, BallotEntry],
    *,
    scores: bool,
    messages: Sequence[MessageRecord] = (),
    country: str | None = None,
    check_in: str | None = None,
) -> list[dict[str, Any]]:
    """Return the elements under the entries: ballots, the hand-offs of `messages` with the numbers of `country`, with
    `scores` the score cards of replies, and the buttons of the open `check_in`, a reply's id."""
    entries = {entry_id(message_id): entry.props for message_id, entry in ballots.items()}
    built = [ballot_element(thread_id, under, props) for under, props in entries.items() if props is not None]
    built += [
        handoff_element(thread_id, message.id, handoff_card.handoff_props(handoff_of(message, country)))
        for message in messages
        if message.outcome is Outcome.CRISIS
    ]
    if check_in is not None:
        built.append(check_in_element(thread_id, check_in))
    if scores:
        plain = {key: reply for key, reply in replies.items() if key not in ballots}
        built += [card_element(thread_id, reply_id, props) for reply_id, props in score_cards(plain).items()]
    return built


def score_cards(replies: Mapping[str, ReplyRecord]) -> dict[str, dict[str, Any]]:
    """Card contents by reply id, for the replies that have one."""
    built = {reply.id: draft_cards.final_props(reply.drafts) for reply in replies.values()}
    return {reply_id: props for reply_id, props in built.items() if props is not None}


def _broken(reply: ReplyRecord) -> bool:
    return bool(reply.drafts) and reply.kept.status is DraftStatus.BROKEN
