"""Render one reply on one page: from the newest view of its turn to as few page events as are needed."""

from collections.abc import Mapping
from typing import Any, Protocol

from heard.chat_app.conversation.events import BallotReady, CrisisShown, Failed, Finished, NotSaved, Refused
from heard.chat_app.conversation.running_turns import Crashed, Stopped, TurnView
from heard.chat_app.page import draft_cards, score_card
from heard.chat_app.page.handoff_card import handoff_props
from heard.chat_app.page.wording import SAFETY_AUTHOR, SYSTEM_AUTHOR, reply_text
from heard.db.records import Safety


class ReplyOutput(Protocol):
    """The events of one reply on one page; `chainlit_output.py` sends them."""

    @property
    def socket(self) -> str:
        """Id of the connection. It changes when the browser reconnects; events sent to the old one are lost."""

    async def lock_input(self) -> None:
        """Show the Stop button and lock the input."""

    async def show_status(self, text: str) -> None:
        """Add the reply, or set its text, before the model's first token."""

    async def set_text(self, text: str) -> None:
        """Add the reply, or set its text, while it is streaming."""

    async def append_text(self, piece: str) -> None:
        """Append to the text."""

    async def show_card(self, props: dict[str, Any]) -> None:
        """Add or update the score card under the reply."""

    async def show_ballot(self, props: Mapping[str, Any], under: str | None = None) -> None:
        """Add a ballot under the reply, or update the one under the entry with the id `under`."""

    async def show_handoff(self, props: dict[str, Any]) -> None:
        """Add the hand-off under its entry."""

    async def show_check_in(self) -> None:
        """Add the buttons of a check-in under the reply."""

    async def finish(self, text: str, author: str | None, *, new: bool, error: bool) -> None:
        """Set the final text.

        `author` is None for the persona, `new` says that the page does not show the reply yet, and `error` marks a
        broken reply.
        """


class ReplyRenderer:
    """Draws the views of a turn in order. After a reconnect it draws the whole text again, so that nothing is lost."""

    def __init__(self, output: ReplyOutput, *, cards: bool, reopened: bool = False) -> None:
        """`cards` says whether the person sees scores, `reopened` that the page was opened while the turn ran."""
        self.output = output
        self.cards = cards
        self._socket = None if reopened else output.socket
        self._placed = False
        self._sent: str | None = None
        self._card: dict[str, Any] | None = None
        self._skipped_ballots: set[str] = set()

    async def draw(self, view: TurnView) -> None:
        """Update the page to `view`."""
        moved = self.output.socket != self._socket
        if moved:
            self._socket, self._placed, self._sent, self._card = self.output.socket, False, None, None
            self._skipped_ballots.clear()
        for under in view.skipped_ballots.keys() - self._skipped_ballots:
            self._skipped_ballots.add(under)
            await self.output.show_ballot(view.skipped_ballots[under], under)
        if view.end is not None:
            await self._finish(view)
            return
        if moved:
            await self.output.lock_input()
        if not view.started:
            return  # nothing has started: a crisis or a refusal would not be the persona's
        if self._placed and view.scores:
            await self._show_live_card(view)  # before the last words, whose drawing it would wait for
        await self._write(view)
        if view.scores:
            await self._show_live_card(view)

    async def _write(self, view: TurnView) -> None:
        text = reply_text(view)
        if not view.text:
            if not self._placed or text != self._sent:
                await self.output.show_status(text)
            self._placed, self._sent = True, text
            return
        if self._continues(text):
            piece = text[len(self._sent or "") :]
            if piece:
                await self.output.append_text(piece)
        else:
            await self.output.set_text(text)
            if view.scored and not view.scores and self._card is None:
                await self._show_card(score_card.PENDING)
        self._placed, self._sent = True, text

    def _continues(self, text: str) -> bool:
        """Return whether the text on the page is a prefix of `text`; False before the first piece."""
        return bool(self._sent) and text.startswith(self._sent or "")

    async def _finish(self, view: TurnView) -> None:
        author = {CrisisShown: SAFETY_AUTHOR, Refused: SYSTEM_AUTHOR}.get(type(view.end))
        error = isinstance(view.end, Failed | Crashed)
        await self.output.finish(reply_text(view), author, new=not self._placed, error=error)
        match view.end:
            case CrisisShown(handoff):
                await self.output.show_handoff(handoff_props(handoff))
            case Finished(_, _, Safety.CHECKED_IN):
                await self.output.show_check_in()
            case Finished(reply):
                await self._show_card(draft_cards.final_props(reply.drafts))
            case BallotReady(props):
                await self.output.show_ballot(props)
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
            await self.output.show_card(props)
