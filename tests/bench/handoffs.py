"""Whether a crisis reaches a model, the scorer or a ballot: whole conversations through the chat's own turns.

python -m tests.bench handoffs     CONVERSATIONS of them

Store, check, head, rules, guard, summaries and study are the product's own; the model is a server that keeps what it is
asked, and the scorer is the product's too, with a record of what it reads. What is looked for is each message that
`assess` hands off by itself, and each that the chat handed off; and where: in every
string that was sent to the model (replies, rewrites, critiques, summaries), in every text that was scored, in what is
stored as a summary, and among the messages of ballots.
"""

import json
import random
import re
import sqlite3
import tempfile
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from rich.console import Console
from rich.table import Table

from heard.chat_app.common.settings import Settings
from heard.chat_app.common.text import clean_unicode
from heard.chat_app.conversation.events import CrisisShown, Finished, TurnEvent, TurnRequest
from heard.chat_app.conversation.services import Services
from heard.chat_app.conversation.turn import run_turn
from heard.chat_app.models.downloads import Weights
from heard.chat_app.safety.assessment import assess
from heard.chat_app.startup import open_services
from heard.chat_app.studies.ballot_turn import run_ballot_turn
from heard.chat_app.studies.live_study import configured_study
from heard.chat_app.studies.study_file import StudyFile
from heard.db.records import ConsentRecord, Safety
from heard.scorer.danger_lines import FIRST_DANGER, LABELS, read_lines
from heard.scorer.records import EmpathyScore
from heard.scorer.score import Rated, Scorer
from tests.bench.table import Row, at_most
from tests.chat_app.models.asking import message_to
from tests.servers import ScriptedServer, reply

CONVERSATIONS = 2_000
SEED = 15
FEWEST, MOST = 2, 5
"""Messages of a conversation."""
GRAVE = 0.35
"""Share of the lines drawn that are labelled a danger."""
ANSWERED = 0.4
"""Share of the lines labelled a danger after which somebody says a word about it; a talk goes on only so."""
AFTERWARDS = (
    "I'm safe now.",
    "i'm safe now, thank you",
    "yes, i think so",
    "no, it's not like that",
    "ok. they put me on hold",
)
EVERY_BALLOT = 5
"""One conversation in so many is of a live study."""
CASES = Path(__file__).parents[1] / "safety_cases"
ARMS = "listener/plain/scripted, quiet/definition/scripted"
CONTEXT = 1_400
"""Tokens of the model's context, few enough that conversations of MOST messages are summed up."""
ANSWER = "That sounds hard, and it makes sense that it wears you down" + ", day after day" * 24 + "."


@dataclass(slots=True)
class Seen:
    """What came of conversations."""

    conversations: int = 0
    messages: int = 0
    crises: int = 0
    """Messages that `assess` hands off, or that the chat handed off."""
    hand_offs: int = 0
    safety: Counter[Safety] = field(default_factory=Counter)
    """Turns that got a reviewed text, by kind."""
    prompts: int = 0
    summaries: int = 0
    scores: int = 0
    ballots: int = 0
    leaks: list[str] = field(default_factory=list)
    """Where a crisis was found: "prompt", "score", "summary", "ballot"; and "not handed off"."""

    @property
    def fixed(self) -> int:
        """Turns with a reviewed text, check-ins left out."""
        return sum(self.safety.values()) - self.safety[Safety.CHECKED_IN]


class RecordingScorer:
    """The scorer, and every text that it was given."""

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer
        self.texts: list[str] = []
        self.scores = 0

    def rated(self, seeker: str, reply: str, earlier: Sequence[str] = ()) -> Rated:
        self.texts += [seeker, reply, *earlier]
        self.scores += 1
        return self._scorer.rated(seeker, reply, earlier)

    def score(self, seeker: str, reply: str, earlier: Sequence[str] = ()) -> EmpathyScore:
        self.texts += [seeker, reply, *earlier]
        self.scores += 1
        return self._scorer.score(seeker, reply, earlier)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._scorer, name)


def drawn(number: int, seed: int = SEED) -> Iterator[list[str]]:
    """Conversations, always the same of one seed. A line with earlier messages comes after these."""
    chance = random.Random(seed)
    grave, harmless = _lines()
    for _ in range(number):
        length, said = chance.randint(FEWEST, MOST), list[str]()
        while len(said) < length:
            dangerous = chance.random() < GRAVE
            said += chance.choice(grave if dangerous else harmless)
            if dangerous and chance.random() < ANSWERED:
                said.append(chance.choice(AFTERWARDS))
        yield list(dict.fromkeys(map(clean_unicode, said)))[:MOST]


def _lines() -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """The lines labelled a danger and the others, each with the messages before it."""
    grave, harmless = list[tuple[str, ...]](), list[tuple[str, ...]]()
    for line in read_lines():
        (grave if line.label in LABELS[FIRST_DANGER:] else harmless).append((*line.before, line.text))
    for path in sorted(CASES.glob("*.jsonl")):
        for row in path.read_text(encoding="utf-8").splitlines():
            case = json.loads(row)
            (grave if case["crisis"] else harmless).append((case["text"],))
    return grave, harmless


class Chat:
    """The chat's services with a recording model and scorer."""

    def __init__(self, services: Services, server: ScriptedServer, study: StudyFile) -> None:
        self.scorer = RecordingScorer(services.scorer)
        self.services = replace(services, scorer=cast(Scorer, self.scorer))
        self.server, self.study = server, study
        self.seen = Seen()
        examples = [one for group in services.library.examples.values() for one in group]
        self.examples = {text for one in examples for exchange in one.exchanges for text in exchange}
        """Texts of the product's own, which every prompt may hold; one has the word "tonight", which alone may be a
        crisis. Whatever else is in a prompt is searched."""

    async def talk(self, said: Sequence[str], number: int) -> None:
        """Have a conversation, and count."""
        person, conversation = str(uuid.uuid4()), str(uuid.uuid4())
        agreed = ConsentRecord(person, "1", chat=True, research=True, given_at=datetime.now(UTC))
        await self.services.store.save_consent(agreed)
        personas, strategies = (
            list(group.values()) for group in (self.services.library.personas, self.services.library.strategies)
        )
        prompts, texts = len(self.server.requests), len(self.scorer.texts)
        crises, alert = list[str](), False
        for text in said:
            grave = assess(text, alert=alert).crisis
            request = message_to(
                self.services, "scripted", text, participant_id=person, conversation_id=conversation,
                persona=personas[number % len(personas)], strategy=strategies[number % len(strategies)],
                auto_improve=number % 8 == 1, threshold=3.0,
            )  # fmt: skip
            events = await self._run(request, number)
            await self.services.summary_tasks.wait()
            handed_off = any(isinstance(event, CrisisShown) for event in events)
            safety = [event.safety for event in events if isinstance(event, Finished) and event.safety]
            self.seen.safety.update(safety)
            self.seen.messages += 1
            self.seen.hand_offs += handed_off
            alert = alert or handed_off or Safety.CHECKED_IN in safety
            if grave or handed_off:
                crises.append(text)
            if grave and not handed_off:
                self.seen.leaks.append("not handed off")
        self.seen.conversations += 1
        self.seen.crises += len(crises)
        self._look(crises, conversation, self.server.requests[prompts:], self.scorer.texts[texts:])

    async def _run(self, request: TurnRequest, number: int) -> list[TurnEvent]:
        if number % EVERY_BALLOT:
            return [event async for event in run_turn(request, self.services)]
        return [event async for event in run_ballot_turn(request, self.services, self.study)]

    def _look(self, crises: Sequence[str], conversation: str, prompts: Sequence[Any], scored: Sequence[str]) -> None:
        summing = self.services.library.summary.instructions
        with sqlite3.connect(self.services.settings.data_dir / "heard.db") as database:
            summaries = _column(database, "SELECT text FROM summary WHERE conversation_id = ?", conversation)
            balloted = _column(
                database,
                "SELECT m.text FROM ballot b JOIN message m ON m.id = b.message_id WHERE b.conversation_id = ?",
                conversation,
            )
        database.close()
        self.seen.prompts += len(prompts)
        self.seen.summaries += sum(summing in strings(prompt) for prompt in prompts)
        self.seen.scores = self.scorer.scores
        self.seen.ballots += len(balloted)
        places = {
            "prompt": [text for prompt in prompts for text in strings(prompt) if text not in self.examples],
            "score": scored,
            "summary": summaries,
            "ballot": balloted,
        }
        for crisis in crises:
            self.seen.leaks += [place for place, texts in places.items() if any(holds(text, crisis) for text in texts)]


def strings(value: Any) -> list[str]:
    """Every string within a request's JSON."""
    if isinstance(value, str):
        return [value]
    inner: Iterable[Any] = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for one in inner for text in strings(one)]


def holds(text: str, words: str) -> bool:
    """Whether these words stand in a text, as whole words and whatever the spaces between them."""
    pattern = r"\s+".join(re.escape(word) for word in words.split())
    return re.search(rf"(?<!\w){pattern}(?!\w)", text) is not None


def _column(database: sqlite3.Connection, query: str, value: str) -> list[str]:
    return [row[0] for row in database.execute(query, (value,))]


@asynccontextmanager
async def chatting(folder: Path, weights: Weights) -> AsyncIterator[Chat]:
    """Open a chat whose database is in `folder`."""
    with ScriptedServer(reply(ANSWER)) as server:
        models = folder / "models.toml"
        models.write_text(
            f'scripted = {{ provider = "openai", model = "m", base_url = "{server.base_url}", '
            f"context_tokens = {CONTEXT} }}\n"
        )
        settings = Settings(
            data_dir=folder, models_file=models, blind_arms=ARMS, blind_auto_improve="trial", improve_policy="critique"
        )
        async with open_services(settings, weights) as services:
            study = await configured_study(services)
            assert study is not None
            yield Chat(services, server, study)


async def handoffs(weights: Weights, console: Console) -> list[Row]:
    """Have CONVERSATIONS and print the counts; the row of what leaked."""
    with tempfile.TemporaryDirectory(prefix="heard-bench-") as folder:
        async with chatting(Path(folder), weights) as chat:
            for place, said in enumerate(drawn(CONVERSATIONS)):
                await chat.talk(said, place)
                if place % 100 == 99:
                    console.print(f"  {place + 1:,} conversations, {len(chat.seen.leaks)} leaks")
    console.print(table(chat.seen))
    return [at_most("crises that reach a model, the scorer or a ballot", [len(chat.seen.leaks)], "", 0)]


def table(seen: Seen) -> Table:
    """The counts."""
    shown = Table("what", "number")
    for what, number in (
        ("conversations", seen.conversations),
        ("messages", seen.messages),
        ("crises among them", seen.crises),
        ("hand-offs", seen.hand_offs),
        ("fixed turns", seen.fixed),
        ("check-ins", seen.safety[Safety.CHECKED_IN]),
        ("prompts", seen.prompts),
        ("of summaries", seen.summaries),
        ("scores", seen.scores),
        ("ballots", seen.ballots),
        ("leaks", len(seen.leaks)),
        *Counter(seen.leaks).items(),
    ):
        shown.add_row(what, f"{number:,}")
    return shown
