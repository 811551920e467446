"""Which examples are picked for a message, and that a turn sends them and stores none of them."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from heard.chat_app.common.settings import Settings
from heard.chat_app.conversation.answer_request import AnswerRequest
from heard.chat_app.conversation.events import Finished
from heard.chat_app.conversation.examples import BUDGET, ExamplePicker, examples_for, opening
from heard.chat_app.conversation.turn import run_turn
from heard.chat_app.models.downloads import Weights
from heard.chat_app.models.records import FailureKind, ModelFailure
from heard.chat_app.startup import open_services
from heard.chat_app.studies.generation import pending_answers
from heard.chat_app.studies.study_answers import shared_history, write_answer
from heard.chat_app.studies.study_file import Arm, StudyFile, definition_of
from heard.db.study_records import AnswerStatus
from heard.prompts.build import build_prompt
from heard.prompts.example_files import Example, ExampleTurn, always_shown
from heard.prompts.library import PromptLibrary
from heard.scorer.errors import ScorerError
from heard.scorer.text_index import embedded_vectors
from heard.scorer.vectors import Vectors
from tests.chat_app.conversation.test_turn import QUESTION, WARM, World, serves, world
from tests.chat_app.models.asking import message_to
from tests.commands import heard
from tests.servers import reply

__all__ = ["world"]
LIBRARY = PromptLibrary.load()
NAMES = tuple(LIBRARY.examples)
MESSAGES = (
    "my grandmother died last night", "I got the job!!!", "k", "i failed my driving test again", "hi",
    "so tired of all this", "will you marry me",
    "my boss shouted at me in front of everyone and I just stood there and said nothing at all",
)  # fmt: skip


@pytest.fixture(scope="module")
def picker(weights: Weights) -> ExamplePicker:
    return ExamplePicker(lambda: embedded_vectors(weights.encoder), Settings().cache_dir)


def of_two(*pairs: tuple[str, str], kind: str = "a") -> Example:
    return Example(kind, tuple(ExampleTurn(*pair) for pair in pairs))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("message", MESSAGES)
def test_a_few_short_ones_that_begin_differently(picker: ExamplePicker, name: str, message: str) -> None:
    picked = picker.pick(name, LIBRARY.examples[name], message, 3)
    always = always_shown(LIBRARY.examples[name])
    assert len(always) == 6
    assert picked[:6] == always
    found = picked[6:]
    assert 1 <= len(found) <= 3
    assert not any(example.always for example in found)
    assert set(found) <= set(LIBRARY.examples[name])
    assert sum(example.characters for example in found) <= BUDGET
    assert all(len(example.turns) <= 2 for example in found)
    across = [{opening(turn.reply) for turn in one.turns} for one in found]
    assert sum(map(len, across)) == len(set().union(*across)), "no two begin alike"
    assert picker.pick(name, LIBRARY.examples[name], message, 3) == picked
    assert picker.pick(name, LIBRARY.examples[name], message, 1) == (*always, *found[-1:])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("message", "kinds"),
    [
        ("my grandmother died last night", {"grief"}),
        ("I GOT THE JOB!!!!", {"good news"}),
        ("thanks for everything, good night", {"thanks and goodbyes"}),
        ("will you go out with me", {"to decline"}),
    ],
)
def test_the_nearest_stands_last_and_is_of_the_messages_kind(
    picker: ExamplePicker, name: str, message: str, kinds: set[str]
) -> None:
    assert picker.pick(name, LIBRARY.examples[name], message, 3)[-1].kind in kinds


def test_no_number_no_examples_and_none_for_another_language(picker: ExamplePicker) -> None:
    quiet = LIBRARY.examples["quiet"]
    assert picker.pick("quiet", quiet, "i got the job", 0) == ()
    assert picker.pick("nobody", (), "i got the job", 3) == ()
    for foreign in ("Meine Oma ist gestern Abend gestorben und ich kann nicht schlafen.", "我今天很难过", "мне плохо"):
        assert picker.pick("quiet", quiet, foreign, 3) == ()
    for short in ("yh", "gn", "\U0001f622", "...", ""):
        assert picker.pick("quiet", quiet, short, 3) != (), short


def test_of_equally_near_ones_the_shorter_goes_in_and_a_long_one_never(picker: ExamplePicker) -> None:
    short, longer = of_two(("i lost my job", "That hurts.")), of_two(("i lost my job!", f"That is {'very ' * 20}bad."))
    endless = of_two(("i lost my job.", "One two. " * 60), ("yes", "Three four. " * 45))
    three = of_two(*[("i lost my job", f"{word} reply.") for word in ("First", "Second", "Third")])
    pool = (endless, longer, three, short)
    assert picker.pick("own", pool, "i lost my job", 1) == (short,)
    assert picker.pick("own", pool, "i lost my job", 4) == (longer, short)
    alike = of_two(("i lost my job!!", "That hurts, and how."))
    assert picker.pick("own", (*pool, alike), "i lost my job", 4) == (longer, short)


def test_texts_are_read_once_and_again_when_the_file_changes(
    weights: Weights, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, made = [], []
    of_many = Vectors.of_many
    monkeypatch.setattr(Vectors, "of_many", lambda self, texts: made.append(len(texts)) or of_many(self, texts))

    def vectors() -> Vectors:
        opened.append(1)
        return embedded_vectors(weights.encoder)

    pool = LIBRARY.examples["quiet"][:40]
    first = ExamplePicker(vectors, tmp_path)
    found = [first.pick("own", pool, message, 3) for message in MESSAGES]
    assert (len(opened), made) == (1, [40])
    again = ExamplePicker(vectors, tmp_path)
    assert [again.pick("own", pool, message, 3) for message in MESSAGES] == found
    assert made == [40], "the next process reads the file"
    again.pick("own", pool[:30], "hello", 3)
    assert made == [40, 30]


def ask(world: World, **changes: object) -> AnswerRequest:
    library, model = world.services.library, world.services.models.specs["scripted"]
    listener, plain, never = library.personas["listener"], library.strategies["plain"], library.policies["never"]
    return replace(AnswerRequest(listener, plain, model, (), QUESTION, never), **changes)  # type: ignore[arg-type]


async def test_they_stay_those_of_the_first_message(world: World) -> None:
    def found(request: AnswerRequest) -> tuple[Example, ...]:
        return examples_for(world.services.examples, world.services.library.examples, request)

    first = found(ask(world))
    assert len(first) >= 2
    assert found(ask(world, text="thanks, bye", history=((QUESTION, "Oh."), ("my dog died", "No!")))) == first
    assert found(ask(world, text="thanks, bye")) != first
    assert found(ask(world, examples=False)) == ()
    assert found(ask(world, persona=world.services.library.personas["study"])) == ()

    def broken() -> Vectors:
        raise ScorerError("The encoder is gone. Fetch it.")

    with pytest.raises(ModelFailure) as failure:
        examples_for(ExamplePicker(broken, Path("unused")), LIBRARY.examples, ask(world))
    assert (failure.value.kind, failure.value.sentence) == (FailureKind.UNREACHABLE, "The encoder is gone. Fetch it.")


@serves(reply(WARM))
async def test_a_turn_sends_them_before_the_message_and_stores_none(world: World) -> None:
    picked = examples_for(world.services.examples, world.services.library.examples, ask(world))
    pairs = [pair for example in picked for pair in example.exchanges]
    request = world.request()
    (*_, end) = await world.run(request)
    assert isinstance(end, Finished)
    sent = [(message["role"], message["content"]) for message in world.server.requests[0]["messages"]]
    middle = [part for said, answered in pairs for part in (("user", said), ("assistant", answered))]
    assert sent[1:] == [*middle, ("user", QUESTION)]
    assert json.loads(world.rows("SELECT parameters FROM draft")[0][0])["examples"] == len(pairs)
    assert world.rows("SELECT text FROM message") == [(QUESTION,)]
    await world.run(replace(request, message_id="2" * 8 + "-2222-4222-8222-" + "2" * 12, text="thank you, bye"))
    later = [(message["role"], message["content"]) for message in world.server.requests[1]["messages"]]
    assert later == [*sent, ("assistant", WARM), ("user", "thank you, bye")], "the prompts begin alike"
    stored = json.dumps([world.rows("SELECT * FROM reply"), world.rows("SELECT * FROM draft")], default=str)
    assert WARM in stored
    assert pairs[0][1] not in stored


@serves(reply(WARM))
async def test_the_studys_persona_and_an_arm_without_examples_send_none(world: World) -> None:
    arms = (
        Arm(name="with", persona="listener", model="scripted"),
        Arm(name="without", persona="listener", model="scripted", examples=False),
        Arm(name="study", persona="study", model="scripted"),
    )
    study = StudyFile(id="s", kind="survey", arms=arms, seed="x")
    counts = []
    for arm, answer in zip(arms, pending_answers(study, QUESTION), strict=True):
        written = await write_answer(world.services, study, arm, QUESTION, [], answer)
        assert written.status is AnswerStatus.COMPLETE
        counts.append((written.parameters["examples"], len(world.server.requests[-1]["messages"])))
    (shown, sent), *others = counts
    assert shown >= 2
    assert sent == 2 + 2 * shown
    assert others == [(0, 2), (0, 1)]


def test_a_study_from_before_examples_keeps_its_sha256() -> None:
    arm = Arm(name="a", persona="listener", model="m")
    values, digest = definition_of(StudyFile(id="s", kind="survey", arms=(arm,), seed="x"))
    assert values["arms"] == [{"name": "a", "persona": "listener", "strategy": "plain", "model": "m"}]
    off = StudyFile(id="s", kind="survey", arms=(arm.model_copy(update={"examples": False}),), seed="x")
    assert definition_of(off)[0]["arms"][0]["examples"] is False
    assert definition_of(off)[1] != digest
    assert StudyFile.model_validate(definition_of(off)[0]) == off


async def test_the_history_that_arms_share_is_the_same_with_examples_and_without(world: World) -> None:
    history = [("my dog died", "Oh."), ("x " * 20_000, "y"), ("and now", "Yes?")]
    arms = [Arm(name=name, persona="listener", model="scripted", examples=name == "b") for name in ("a", "b")]
    studies = [StudyFile(id="s", kind="live", arms=tuple(pair), seed="x") for pair in (arms, arms[::-1])]
    found = [await shared_history(world.services, study, QUESTION, history) for study in studies]
    assert found == [[history[0], history[2]]] * 2


async def test_the_loop_goes_on_while_they_are_picked(weights: Weights, tmp_path: Path) -> None:
    """The first reading of a file takes seconds; nobody else may wait for it."""
    picker = ExamplePicker(lambda: embedded_vectors(weights.encoder), tmp_path)
    turns = 0

    async def ticks(until: Callable[[], bool]) -> None:
        nonlocal turns
        while not until():
            turns += 1
            await asyncio.sleep(0)

    picking = asyncio.ensure_future(asyncio.to_thread(picker.pick, "quiet", LIBRARY.examples["quiet"], "hello", 3))
    await ticks(picking.done)
    assert len(await picking) == 6 + 3
    assert turns > 10


def test_the_command_shows_those_that_a_first_message_gets(picker: ExamplePicker) -> None:
    text = "got the job!!!"
    shown = picker.pick("quiet", LIBRARY.examples["quiet"], text, LIBRARY.personas["quiet"].examples)
    prompt = build_prompt(LIBRARY.personas["quiet"], LIBRARY.strategies["plain"], [], text, examples=shown)
    assert prompt.examples >= 3
    printed = heard("prompts", "show", "quiet", "--message", text).stdout
    assert f"--- {prompt.examples} exchanges before the message are examples, at most" in printed
    assert f"sha256 {prompt.sha256}\n" in printed
    for said, answered in (pair for example in shown for pair in example.exchanges):
        assert f"--- user\n{said}\n--- assistant\n{answered}\n" in printed
    study = heard("prompts", "show", "study", "--message", text).stdout
    assert "examples" not in study
    assert "--- assistant" not in study


async def test_one_turn_with_the_embedded_model(tmp_path: Path, weights: Weights) -> None:
    settings = Settings(data_dir=tmp_path, first_token_seconds=120, stall_seconds=120)
    async with open_services(settings, weights) as services:
        short = replace(services.library.personas["quiet"], max_tokens=12)
        request = message_to(services, "smollm2", persona=short)
        await services.store.ensure_participant(request.participant_id)
        (*_, end) = [event async for event in run_turn(request, services)]
        assert isinstance(end, Finished)
        assert end.reply.kept.parameters["examples"] >= 3
        assert end.reply.kept.prompt_tokens is not None
        always = sum(one.characters for one in always_shown(services.library.examples["quiet"]))
        assert end.reply.kept.prompt_tokens < 200 + (BUDGET + always) / 3, "four characters to a token or so"
