"""A visitor and their open pages, without a browser: the product's own pages by HTTP and its socket, nothing patched.

    async with Visitor.agree(base_url) as visitor, visitor.page(profile="listener") as page:
        turn = await page.send("My cat is ill.")
        turn.text, turn.card, turn.first_token_seconds

`SocketPage` keeps what a browser would show: `steps` (entries by id), `cards` and `handoffs` (props by the entry they
stand under), `actions` (the buttons under entries, by id), `loading` (the Stop button is shown and the input is locked)
and `toasts`.
"""

import asyncio
import re
import time
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any
from urllib.parse import quote, urlsplit

import httpx
import socketio

EVENTS = (
    "task_start", "task_end", "new_message", "update_message", "delete_message", "stream_start", "stream_token",
    "element", "chat_settings", "resume_thread", "resume_thread_error", "first_interaction", "window_message", "toast",
    "action", "remove_action",
)  # fmt: skip
ASSISTANT = "assistant_message"
HAND_OFF = "HandOff"
OTHERS = (HAND_OFF, "HeardRetry")
"""Elements that are no cards."""


@dataclass(frozen=True)
class Event:
    """One event from the server; `at` is `time.perf_counter()` when it arrived."""

    at: float
    name: str
    data: Any


@dataclass
class Turn:
    """What one message led to, from sending it until the input was unlocked."""

    message_id: str
    sent_at: float
    events: list[Event] = field(default_factory=list)
    replies: list[dict[str, Any]] = field(default_factory=list)
    """New entries that are not the person's own, as they stood in the end."""
    cards: list[dict[str, Any]] = field(default_factory=list)
    """Props of every card event, in order."""

    @property
    def reply(self) -> dict[str, Any]:
        """The last entry."""
        return self.replies[-1]

    @property
    def text(self) -> str:
        """The last entry's text; "" without one."""
        return str(self.replies[-1]["output"]) if self.replies else ""

    @property
    def card(self) -> dict[str, Any] | None:
        """The card as it stood in the end."""
        return self.cards[-1] if self.cards else None

    def _first(self, names: tuple[str, ...], wanted: Callable[[Any], bool] = lambda _: True) -> float | None:
        return next((e.at - self.sent_at for e in self.events if e.name in names and wanted(e.data)), None)

    @property
    def first_token_seconds(self) -> float | None:
        """From sending to the first piece of a reply on the wire."""
        return self._first(("stream_start",), lambda step: bool(step.get("output")))

    @property
    def card_seconds(self) -> float | None:
        """From the last piece of the text to the first card."""
        card = self._first(("element",), lambda data: not data["props"].get("pending"))
        pieces = [e.at - self.sent_at for e in self.events if e.name in ("stream_start", "stream_token")]
        if card is None or not pieces:
            return None
        return card - max(at for at in pieces if at <= card)

    @property
    def pieces(self) -> int:
        """How many times the text grew."""
        return sum(e.name in ("stream_start", "stream_token") for e in self.events)


class Visitor:
    """Somebody with a cookie jar."""

    def __init__(self, base_url: str) -> None:
        self.base_url = base_url
        self.origin, self.root = "://".join(urlsplit(base_url)[:2]), urlsplit(base_url).path.rstrip("/")
        self.http = httpx.AsyncClient(base_url=base_url, headers={"origin": self.origin}, timeout=30)

    @classmethod
    @asynccontextmanager
    async def agree(cls, base_url: str, *, country: str = "", research: bool = False) -> AsyncIterator["Visitor"]:
        """Fill in the first page and sign in to the chat."""
        visitor = cls(base_url)
        try:
            await visitor.consent(country=country, research=research)
            await visitor.login()
            yield visitor
        finally:
            await visitor.http.aclose()

    async def consent(self, *, country: str = "", research: bool = False) -> None:
        """Read the notice and agree to the chat."""
        version = re.search(r'name="version" value="([^"]+)"', (await self.http.get("/consent")).text)
        assert version, "the first page has no notice version"
        answer = {
            "adult": "yes",
            "chat": "yes",
            "research": "yes" if research else "no",
            "country": country,
            "version": version[1],
        }
        response = await self.http.post("/consent", data=answer)
        assert response.status_code == 303, response.text

    async def login(self) -> None:
        """Open the chat the way a browser does: the page signs the visitor in, or Chainlit's header login."""
        if not any(name.startswith("heard_chat_") for name in self.http.cookies):
            response = await self.http.post("/chat/auth/header", json={})
            assert response.status_code == 200, response.text

    async def user(self) -> dict[str, Any]:
        """Who the chat takes this visitor for."""
        response = await self.http.get("/chat/user")
        assert response.status_code == 200, response.text
        return dict(response.json())

    async def threads(self) -> list[dict[str, Any]]:
        """The history sidebar."""
        body = {"pagination": {"first": 50}, "filter": {}}
        response = await self.http.post("/chat/project/threads", json=body)
        assert response.status_code == 200, response.text
        return list(response.json()["data"])

    @property
    def cookie(self) -> str:
        """The `cookie` header of a request."""
        return "; ".join(f"{cookie.name}={cookie.value}" for cookie in self.http.cookies.jar)

    def page(self, *, profile: str = "", thread: str = "", session: str = "") -> "SocketPage":
        """A page of the chat; `async with` opens and closes it. `thread` opens a conversation again."""
        return SocketPage(self, profile=profile, thread=thread, session=session or str(uuid.uuid4()))


class SocketPage:
    """One open page of the chat."""

    def __init__(self, visitor: Visitor, *, profile: str, thread: str, session: str) -> None:
        self.visitor, self.profile, self.thread, self.session = visitor, profile, thread, session
        self.events: list[Event] = []
        self.steps: dict[str, dict[str, Any]] = {}
        self.cards: dict[str, dict[str, Any]] = {}
        self.handoffs: dict[str, dict[str, Any]] = {}
        self.settings: dict[str, Any] = {}
        self.actions: dict[str, dict[str, Any]] = {}
        self.toasts: list[str] = []
        self.loading = False
        self._changed = asyncio.Event()
        self._opened = False
        self._client = self._make_client()

    def _make_client(self) -> socketio.AsyncClient:
        client = socketio.AsyncClient(reconnection=False)
        for name in EVENTS:
            client.on(name, self._handler(name))
        return client

    def _handler(self, name: str) -> Callable[..., Any]:
        async def handle(data: Any = None) -> None:
            self.events.append(Event(time.perf_counter(), name, data))
            self._show(name, data)
            self._changed.set()

        return handle

    def _show(self, name: str, data: Any) -> None:
        match name:
            case "task_start" | "task_end":
                self.loading = name == "task_start"
            case "new_message" | "stream_start":
                self.steps[data["id"]] = {**self.steps.get(data["id"], {}), **data}
            case "update_message" if data["id"] in self.steps:
                self.steps[data["id"]] |= data
            case "delete_message":
                self.steps.pop(data["id"], None)
            case "stream_token" if data["id"] in self.steps:
                step = self.steps[data["id"]]
                step["output"] = data["token"] if data["isSequence"] else step["output"] + data["token"]
            case "element" if data["name"] == HAND_OFF:
                self.handoffs[data["forId"]] = data["props"]
            case "element" if data["name"] not in OTHERS and not data["props"].get(
                "pending"
            ):  # a pending card shows nothing
                self.cards[data["forId"]] = data["props"]
            case "chat_settings":
                self.settings = {field["id"]: field["initial"] for field in data}
            case "resume_thread":
                self.thread = data["id"]
                self.steps = {step["id"]: dict(step) for step in data["steps"]}
                elements = data.get("elements") or []
                self.cards = {one["forId"]: one["props"] for one in elements if one["name"] not in OTHERS}
                self.handoffs = {one["forId"]: one["props"] for one in elements if one["name"] == HAND_OFF}
                self.settings = data["metadata"].get("chat_settings", self.settings)
            case "first_interaction":
                self.thread = data["thread_id"]
            case "action":
                self.actions[data["id"]] = data
            case "remove_action":
                self.actions.pop(data["id"], None)
            case "toast":
                self.toasts.append(data["message"])
            case _:
                pass

    async def __aenter__(self) -> "SocketPage":
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, place: TracebackType | None
    ) -> None:
        await self.close()

    async def open(self) -> None:
        """Connect, and wait until the page is ready for a message. Raises socketio's ConnectionError when refused."""
        auth = {
            "clientType": "webapp",
            "sessionId": self.session,
            "threadId": self.thread,
            "userEnv": "{}",
            "chatProfile": quote(self.profile),
        }
        await self._client.connect(
            self.visitor.origin,
            headers={"cookie": self.visitor.cookie, "origin": self.visitor.origin},
            auth=auth,
            socketio_path=f"{self.visitor.root}/chat/ws/socket.io",
            transports=["websocket"],
            wait_timeout=20,  # as a browser's client waits; this one's own default is a second
        )
        start = len(self.events)
        await self._client.emit("connection_successful")
        first = {"resume_thread", "resume_thread_error"} if self.thread else {"chat_settings"}
        # A session that comes back to a running conversation gets no more than the unlocking. A new one may have been
        # unlocked before it asks for anything, so the events do not tell which it is.
        ready, self._opened = {"task_end"} if self._opened else first, True
        await self.until(lambda: any(event.name in ready for event in self.events[start:]))

    async def reconnect(self) -> None:
        """Lose the connection and come back, as a browser does: the same session on a new socket."""
        await self._client.disconnect()
        self._client = self._make_client()
        await self.open()

    async def close(self) -> None:
        """Close the page, as a browser does when its tab goes."""
        if self._client.connected:
            await self._client.disconnect()

    async def leave(self) -> None:
        """Close the page for good, as "New chat" does: the server forgets the session."""
        await self._client.emit("clear_session")
        await self.close()

    async def until(self, condition: Callable[[], bool], seconds: float = 20) -> None:
        """Wait for something to hold on this page. Raises TimeoutError with what the page had seen."""
        deadline = time.perf_counter() + seconds
        while not condition():
            self._changed.clear()
            remaining = deadline - time.perf_counter()
            try:
                await asyncio.wait_for(self._changed.wait(), max(0.0, remaining))
            except TimeoutError:
                seen = [event.name for event in self.events][-30:]
                raise TimeoutError(f"nothing came within {seconds} s; last events: {seen}") from None

    async def begin(self, text: str, *, message_id: str | None = None, **extra: Any) -> Turn:
        """Send a message and return at once."""
        turn = Turn(message_id or str(uuid.uuid4()), time.perf_counter())
        message = {
            "id": turn.message_id,
            "name": "You",
            "type": "user_message",
            "output": text,
            "createdAt": "2026-01-01T00:00:00.000Z",
            **extra,
        }
        self.steps[turn.message_id] = dict(message)
        turn.events = self.events = []
        await self._client.emit("client_message", {"message": message, "fileReferences": []})
        return turn

    async def end(self, turn: Turn, seconds: float = 30) -> Turn:
        """Wait until the input is unlocked again, and the page knows its thread, which may be told after the answer."""

        def over() -> bool:
            names = [event.name for event in turn.events]
            started = "task_start" in names and bool(self.thread)
            return started and not self.loading and "task_end" in names[names.index("task_start") :]

        await self.until(over, seconds)
        new = {e.data["id"] for e in turn.events if e.name in ("new_message", "stream_start")}
        turn.replies = [step for key, step in self.steps.items() if key in new and step["type"] == ASSISTANT]
        elements = [event.data for event in turn.events if event.name == "element"]
        cards = [element["props"] for element in elements if element["name"] not in OTHERS]
        turn.cards = [props for props in cards if not props.get("pending")]
        return turn

    async def send(self, text: str, *, seconds: float = 30, message_id: str | None = None, **extra: Any) -> Turn:
        """Send a message and wait for the end of the answer."""
        return await self.end(await self.begin(text, message_id=message_id, **extra), seconds)

    async def choose(self, **values: Any) -> None:
        """Confirm the settings panel with these values changed."""
        await self.choose_raw({**self.settings, **values})

    async def choose_raw(self, values: Any) -> None:
        """Send anything in place of the panel's values."""
        await self.emit("chat_settings_change", values)

    def buttons(self, under: str) -> dict[str, dict[str, Any]]:
        """The buttons under an entry, by their labels."""
        return {action["label"]: action for action in self.actions.values() if action["forId"] == under}

    async def press(self, action: dict[str, Any]) -> httpx.Response:
        """Press a button under an entry."""
        body = {"sessionId": self.session, "action": action}
        return await self.visitor.http.post("/chat/project/action", json=body)

    async def stop(self) -> None:
        """Press Stop."""
        await self.emit("stop")

    async def emit(self, name: str, *data: Any) -> None:
        """Send any event."""
        await self._client.emit(name, *data)
