"""A `ReplyOutput` that sends Chainlit's events, through the objects that `app.py` passes in."""

from collections.abc import Callable, Mapping
from typing import Any

from heard.chat_app.page.reopen import (
    ballot_element,
    card_element,
    check_in_element,
    hand_off_id,
    handoff_element,
)
from heard.chat_app.page.wording import SAFETY_AUTHOR


class ChainlitOutput:
    """One reply on one page.

    `session` is Chainlit's session, `emitter` returns the object that sends events to its browser, and `reply` is
    Chainlit's message with the reply's id, in answer to `message_id`. One page of each turn `saves_history`: it writes
    the end to the conversation's history.
    """

    def __init__(
        self, session: Any, emitter: Callable[[], Any], reply: Any, *, message_id: str, saves_history: bool
    ) -> None:
        self.session, self.emitter, self.reply, self.message_id = session, emitter, reply, message_id
        self.saves_history = saves_history

    @property
    def socket(self) -> str:
        """Id of the browser's connection; a new one after a reconnect."""
        return str(self.session.socket_id)

    async def lock_input(self) -> None:
        """Lock the input, which a reconnect has unlocked."""
        await self.emitter().task_start()

    async def show_status(self, text: str) -> None:
        """Show the reply before its first token; not by `Message.send`, which would store it as a reply."""
        await self.emitter().send_step(self._step(text))

    async def set_text(self, text: str) -> None:
        """Set the text so far."""
        await self.emitter().stream_start(self._step(text))

    async def append_text(self, piece: str) -> None:
        """Append a piece of text."""
        await self.emitter().send_token(id=self.reply.id, token=piece)

    async def show_card(self, props: dict[str, Any]) -> None:
        """Show the score card, which is not stored in the history: the scores are in our tables."""
        await self.emitter().send_element(card_element(self.session.thread_id, self.reply.id, props))

    async def show_ballot(self, props: Mapping[str, Any], under: str | None = None) -> None:
        """Show a ballot, which is not stored in the history: it is drawn again from our tables."""
        await self.emitter().send_element(ballot_element(self.session.thread_id, under or self.reply.id, props))

    async def show_handoff(self, props: dict[str, Any]) -> None:
        """Show the hand-off, which is not stored in the history: it is drawn again from our tables."""
        await self.emitter().send_element(handoff_element(self.session.thread_id, self.message_id, props))

    async def show_check_in(self) -> None:
        """Show the buttons of a check-in, which are drawn again from our tables while it is open."""
        await self.emitter().send_element(check_in_element(self.session.thread_id, self.reply.id))

    async def finish(self, text: str, author: str | None, *, new: bool, error: bool) -> None:
        """Set the final text on the page and, if it `saves_history`, in the history."""
        self.reply.content, self.reply.is_error = text, error
        if author is not None:
            self.reply.author = author
        if author == SAFETY_AUTHOR:
            self.reply.id, self.reply.metadata = hand_off_id(self.message_id), {"avatarName": author}
        if self.saves_history:
            await (self.reply.send() if new else self.reply.update())
        else:
            emitter = self.emitter()
            await (emitter.send_step if new else emitter.update_step)(self.reply.to_dict())

    def _step(self, text: str) -> dict[str, Any]:
        return {**self.reply.to_dict(), "output": text, "streaming": True}
