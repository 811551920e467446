"""A running `heard chat` in blind mode: three arms whose every name can be found again in what a browser is sent."""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.journeys.talking import Served, serving
from tests.servers import Script, ScriptedServer, reply
from tests.socket_client import SocketPage, Turn

PROMPTS = Path(__file__).parents[2] / "prompts"
SOURCES = (("persofox", "Reynard Foxglove", "stratoak", "modelzebra"),
           ("persowolf", "Isegrim Wolfsbane", "stratelm", "modelquagga"),
           ("persobear", "Bruin Bearberry", "stratash", "modelokapi"))  # fmt: skip
"""Persona, its name, strategy and model of each arm: words that stand nowhere else."""
ARMS = ", ".join(f"{persona}/{strategy}/{model}" for persona, _, strategy, model in SOURCES)
NAMES = tuple(f"{persona}-{strategy}-{model}" for persona, _, strategy, model in SOURCES)
"""What the study calls its arms."""
SECRETS = (*(word.lower() for source in SOURCES for word in source), "tree plan", "beast no")
"""What no byte may hold before the vote; the last two are from the strategies' and the models' labels."""
TEXTS = (
    "I am so sorry. **That sounds exhausting**, and it makes sense that you feel worn out.\n\nWhat would help now?",
    "Ok. That happens to people. Try to sleep:\n\n- go to bed early\n- no phone",
    "You carry a lot this week. I am here, and you do not have to sort it all out today.",
)
BALLOT_OF = "SELECT id FROM ballot WHERE message_id = ?"


@dataclass
class Blind:
    """The chat, and the model server of each arm in the order of SOURCES."""

    served: Served
    models: list[ScriptedServer]

    def play(self, *scripts: Script) -> None:
        """What each arm answers from now on."""
        for model, script in zip(self.models, scripts, strict=True):
            model.requests.clear()
            model.scripts = (script,)

    @property
    def asked(self) -> int:
        """How many calls the models have had."""
        return sum(len(model.requests) for model in self.models)


@contextmanager
def blind_chat(folder: Path, **settings: str) -> Iterator[Blind]:
    """Start it in `folder`; `settings` are HEARD_ variables over those here."""
    write_prompts(folder / "prompts")
    with ExitStack() as stack:
        models = [stack.enter_context(ScriptedServer(reply(text))) for text in TEXTS]
        lines = [
            f'{name} = {{ provider = "openai", model = "{name}-1", label = "Beast no {n}", '
            f'base_url = "{model.base_url}" }}\n'
            for n, ((_, _, _, name), model) in enumerate(zip(SOURCES, models, strict=True))
        ]
        (folder / "models.toml").write_text("".join(lines), encoding="utf-8")
        values = {"prompts_dir": str(folder / "prompts"), "blind_arms": ARMS, "save_seconds": "1", **settings}
        served = stack.enter_context(serving(folder, **{name: value for name, value in values.items() if value}))
        yield Blind(served, models)


def write_prompts(folder: Path) -> None:
    """The product's prompts, and the personas and strategies of SOURCES."""
    if folder.exists():
        return
    shutil.copytree(PROMPTS, folder, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    for number, (persona, name, strategy, _) in enumerate(SOURCES):
        (folder / "personas" / f"{persona}.yaml").write_text(
            f"name: {name}\ndescription: Answers as {name}.\norder: {90 + number}\nmax_tokens: 200\n"
            f"system: You are {name}.\nstarters:\n  - label: Hello\n    message: Hello\n",
            encoding="utf-8",
        )
        (folder / "strategies" / f"{strategy}.yaml").write_text(
            f"name: Tree plan {number}\ndescription: A plan.\norder: {90 + number}\ninstructions: Think of {number}.\n",
            encoding="utf-8",
        )


def ballot_in(page: SocketPage, turn: Turn) -> dict[str, Any]:
    """The props of the ballot that answered a message."""
    return page.cards[turn.reply["id"]]


def found(sent: str) -> list[str]:
    """The secrets in what was sent."""
    return [secret for secret in SECRETS if secret in sent.lower()]
