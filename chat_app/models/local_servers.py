"""Servers of language models that run on this machine: found by asking their usual ports on loopback."""

import asyncio
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

import httpx2

ASK_SECONDS = 0.3
"""Time limit of the whole look-up; a server on loopback answers in milliseconds."""
LONGEST_ANSWER = 1_000_000
"""Bytes that are read of an answer."""
MOST_MODELS = 50
SAFE_NAME = re.compile(r"[\w.:/@+-]{1,120}")
"""Names that can stand in a TOML string and on a terminal as they are; others are left out."""
LONGEST_ENTRY_NAME = 60


@dataclass(frozen=True, slots=True)
class Port:
    """Where a kind of server listens unless it is told otherwise."""

    server: str
    number: int
    path: str = "/v1/models"


PORTS = (
    Port("Ollama", 11434, "/api/tags"),
    Port("LM Studio", 1234),
    Port("llama.cpp", 8080),
    Port("vLLM", 8000),
)


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A server that answered."""

    server: str
    """"Ollama", or the usual name of what listens on that port."""
    port: int
    models: tuple[str, ...]
    """Its models' names; perhaps none."""

    @property
    def base_url(self) -> str:
        """Its address for OpenAI's protocol, which all of them speak."""
        return f"http://127.0.0.1:{self.port}/v1"

    def entry(self, model: str) -> str:
        """Return the line of models.toml that adds one of its models."""
        name = re.sub(r"[^A-Za-z0-9_-]+", "-", model).strip("-")[:LONGEST_ENTRY_NAME] or "local"
        return (
            f'{name} = {{ provider = "openai", model = "{model}", base_url = "{self.base_url}", '
            f'label = "{model[:80]} ({self.server})" }}'
        )


async def find_servers(ports: Iterable[Port] = PORTS, seconds: float = ASK_SECONDS) -> list[LocalServer]:
    """Ask all ports at once, for at most `seconds`; return the servers that answered, in the order of `ports`."""
    # No proxy of the environment stands between two programs of one machine.
    async with httpx2.AsyncClient(timeout=seconds, trust_env=False, follow_redirects=False) as client:
        found = await asyncio.gather(*(_ask(client, port, seconds) for port in ports))
    return [server for server in found if server is not None]


async def _ask(client: httpx2.AsyncClient, port: Port, seconds: float) -> LocalServer | None:
    body = b""
    try:
        async with asyncio.timeout(seconds):
            async with client.stream("GET", f"http://127.0.0.1:{port.number}{port.path}") as response:
                if response.status_code != 200:
                    return None
                async for piece in response.aiter_bytes():
                    body += piece
                    if len(body) > LONGEST_ANSWER:
                        return None
        names = _names(json.loads(body))
    except (httpx2.HTTPError, TimeoutError, ValueError, RecursionError):
        return None
    return None if names is None else LocalServer(port.server, port.number, names)


def _names(answer: object) -> tuple[str, ...] | None:
    """Return the models in an answer of either protocol; None if it is of neither."""
    if not isinstance(answer, dict):
        return None
    listed = answer.get("data", answer.get("models"))
    if not isinstance(listed, list):
        return None
    names = (entry.get("id") or entry.get("name") for entry in listed[:MOST_MODELS] if isinstance(entry, dict))
    return tuple(name for name in names if isinstance(name, str) and SAFE_NAME.fullmatch(name))
