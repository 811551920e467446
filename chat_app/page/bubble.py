"""One reply's place on one page: draws the newest view of a turn with as few events as the page needs."""

from collections.abc import Mapping
from typing import Any, Protocol

from heard.chat_app.conversation.events import BallotReady, CrisisShown, Failed, Finished, NotSaved, Refused
from heard.chat_app.conversation.running_turns import Crashed, Stopped, TurnView
from heard.chat_app.page import draft_cards, score_card
from heard.chat_app.page.wording import SAFETY_AUTHOR, SYSTEM_AUTHOR, reply_text


class Frame(Protocol):
    """The page on the other side of a socket; `app.py` has the real one."""

    @property
    def socket(self) -> str:
        """Changes when the browser reconnects, and events sent to the old one are lost."""

    async def busy(self) -> None:
        """Show the Stop button and lock the input."""

    async def place(self, text: str) -> None:
        """Add the reply's place, or set its text, while the model has not said anything."""

    async def whole(self, text: str) -> None:
        """Add the reply's place, or set its text, with more to come."""

    async def more(self, piece: str) -> None:
        """Add to the text."""

    async def card(self, props: dict[str, Any]) -> None:
        """Show the score card under the reply, or change it."""

    async def ballot(self, props: Mapping[str, Any], under: str | None = None) -> None:
        """Show a ballot under the reply, or change the one under the entry with the id `under`."""

    async def settle(self, text: str, author: str | None, *, new: bool, error: bool) -> None:
        """The final text.

        `author` is None for the persona, `new` is whether the page has no place for it yet, and `error` marks a reply
        that broke.
        """


class Bubble:
    """Draws views in order. After a reconnect it draws the whole text again, so that nothing stays lost."""

    def __init__(self, frame: Frame, *, cards: bool, reopened: bool = False) -> None:
        """`cards` is whether the person sees scores; `reopened` is for a page that was opened while the turn ran."""
        self.frame = frame
        self.cards = cards
        self._socket = None if reopened else frame.socket
        self._placed = False
        self._sent: str | None = None
        self._card: dict[str, Any] | None = None
        self._skipped_ballots: set[str] = set()

    async def draw(self, view: TurnView) -> None:
        """Bring the page up to `view`."""
        moved = self.frame.socket != self._socket
        if moved:
            self._socket, self._placed, self._sent, self._card = self.frame.socket, False, None, None
            self._skipped_ballots.clear()
        for under in view.skipped_ballots.keys() - self._skipped_ballots:
            self._skipped_ballots.add(under)
            await self.frame.ballot(view.skipped_ballots[under], under)
        if view.end is not None:
            await self._settle(view)
            return
        if moved:
            await self.frame.busy()
        if not view.begun:
            return  # nothing has begun: a crisis or a refusal would not be the persona's
        if self._placed and view.scores:
            await self._show_live_card(view)  # before the last words, whose drawing it would wait for
        await self._write(view)
        if view.scores:
            await self._show_live_card(view)

    async def _write(self, view: TurnView) -> None:
        text = reply_text(view)
        if not view.text:
            if not self._placed or text != self._sent:
                await self.frame.place(text)
            self._placed, self._sent = True, text
            return
        if self._streamed(text):
            piece = text[len(self._sent or "") :]
            if piece:
                await self.frame.more(piece)
        else:
            await self.frame.whole(text)
            if not view.scores and self._card is None:
                await self._show_card(score_card.PENDING)
        self._placed, self._sent = True, text

    def _streamed(self, text: str) -> bool:
        """Whether the page already shows a beginning of `text`; never for the very first piece."""
        return bool(self._sent) and text.startswith(self._sent or "")

    async def _settle(self, view: TurnView) -> None:
        author = {CrisisShown: SAFETY_AUTHOR, Refused: SYSTEM_AUTHOR}.get(type(view.end))
        error = isinstance(view.end, Failed | Crashed)
        await self.frame.settle(reply_text(view), author, new=not self._placed, error=error)
        match view.end:
            case Finished(reply):
                await self._show_card(draft_cards.final_props(reply.drafts))
            case BallotReady(props):
                await self.frame.ballot(props)
            case NotSaved(_, _, drafts):
                await self._show_card(draft_cards.final_props(drafts))
            case Stopped() if view.scores:
                await self._show_card(draft_cards.live_props(view.scores, view.texts, None, rewriting=False))
            case _:
                pass

    async def _show_live_card(self, view: TurnView) -> None:
        rewriting = view.number > max(view.scores)
        await self._show_card(draft_cards.live_props(view.scores, view.texts, view.guidance, rewriting=rewriting))

    async def _show_card(self, props: dict[str, Any] | None) -> None:
        if self.cards and props is not None and props != self._card:
            self._card = props
            await self.frame.card(props)
