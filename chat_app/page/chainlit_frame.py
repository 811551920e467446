"""A browser's page as the `Frame` of one reply: Chainlit's events, through the objects that `app.py` hands in."""

from collections.abc import Callable, Mapping
from typing import Any

from heard.chat_app.page.reopen import ballot_element, card_element, hand_off_id
from heard.chat_app.page.wording import SAFETY_AUTHOR


class Page:
    """One reply on one page.

    `session` is Chainlit's session, `emitter` gives what sends events to its browser, and `reply` is Chainlit's message
    with the reply's id, an answer to `message_id`. One page of each turn `keeps` it: writes the end to the
    conversation's history.
    """

    def __init__(self, session: Any, emitter: Callable[[], Any], reply: Any, *, message_id: str, keeps: bool) -> None:
        self.session, self.emitter, self.reply, self.message_id = session, emitter, reply, message_id
        self.keeps = keeps

    @property
    def socket(self) -> str:
        """The browser's connection; a new one after a reconnect."""
        return str(self.session.socket_id)

    async def busy(self) -> None:
        """Lock the input again, which a reconnect has unlocked."""
        await self.emitter().task_start()

    async def place(self, text: str) -> None:
        """The reply's place before the first token; sent past `Message.send`, which would write it down as a reply."""
        await self.emitter().send_step(self._step(text))

    async def whole(self, text: str) -> None:
        """All of the text so far."""
        await self.emitter().stream_start(self._step(text))

    async def more(self, piece: str) -> None:
        """The next piece."""
        await self.emitter().send_token(id=self.reply.id, token=piece)

    async def card(self, props: dict[str, Any]) -> None:
        """The score card; not written down, because the scores are in our tables."""
        await self.emitter().send_element(card_element(self.session.thread_id, self.reply.id, props))

    async def ballot(self, props: Mapping[str, Any], under: str | None = None) -> None:
        """A ballot; not written down, because it is in our tables and is drawn from them again."""
        await self.emitter().send_element(ballot_element(self.session.thread_id, under or self.reply.id, props))

    async def settle(self, text: str, author: str | None, *, new: bool, error: bool) -> None:
        """The end of the reply, on the page and (by one page) in its history."""
        self.reply.content, self.reply.is_error = text, error
        if author is not None:
            self.reply.author = author
        if author == SAFETY_AUTHOR:
            self.reply.id, self.reply.metadata = hand_off_id(self.message_id), {"avatarName": author}
        if self.keeps:
            await (self.reply.send() if new else self.reply.update())
        else:
            emitter = self.emitter()
            await (emitter.send_step if new else emitter.update_step)(self.reply.to_dict())

    def _step(self, text: str) -> dict[str, Any]:
        return {**self.reply.to_dict(), "output": text, "streaming": True}
