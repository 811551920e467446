"""`heard chat`: fetch the models, migrate the database, serve the page and say where it is."""

import gc
import signal
import socket
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heard.errors import UserError

if TYPE_CHECKING:
    from concurrent.futures import Future

    from heard.chat_app.common.settings import Settings
    from heard.chat_app.conversation.services import Services
    from heard.chat_app.models.downloads import Weights
    from heard.chat_app.models.local_servers import LocalServer

app = typer.Typer()

SWITCH_SECONDS = 0.0005
"""After which a thread that reads a text lets the pages' thread go on. Python's own 5 ms are waited at each of the
several system calls of a page."""
CLOSE_SECONDS = 3
"""How long open pages may take to close after Ctrl-C."""


class PortError(UserError):
    """The address cannot be bound; `str()` names it and the next step."""


@app.command()
def chat(
    host: Annotated[str | None, typer.Option(help="Address to listen on instead of the setting's.")] = None,
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="Port instead of the setting's.")] = None,
) -> None:
    """Start the chat and print its address. Ctrl-C ends it.

    People choose who answers and which model; with `research_mode = true` in settings.toml (or HEARD_RESEARCH_MODE)
    also the strategy, and the founding study's prompt as a persona.
    """
    from heard.chat_app.common.settings import load_settings
    from heard.chat_app.web.logs import set_up_logs

    if find_spec("chainlit") is None:  # before anything is fetched
        raise ModuleNotFoundError(name="chainlit")
    # Importing makes many objects and no garbage: without the collector the start needs a quarter less time.
    gc.disable()
    overrides: dict[str, Any] = {name: value for name, value in (("host", host), ("port", port)) if value is not None}
    settings = load_settings(**overrides)
    set_up_logs()
    tell_notice(settings)
    # Before anything is fetched: a taken port should not cost a download first.
    with listen_on(settings.host, settings.port) as listener:
        import asyncio

        from heard.chat_app.models.downloads import ensure_weights

        looking = look_for_servers()
        weights = ensure_weights(settings.cache_dir, settings.embedded, also=named_models(settings))
        tell_servers(looking.result(), settings)
        tell_old_numbers()
        asyncio.run(serve(settings, weights, listener))


def tell_notice(settings: "Settings") -> None:
    """Say on standard error what the notice lacks where other people write. Raises PlacesError."""
    from heard.chat_app.common.notice import serves_others, unfilled_notice
    from heard.chat_app.common.places import in_force

    if not (lacking := unfilled_notice(settings)):
        return
    asking = dict.fromkeys(one.place for one in in_force(settings).because if hasattr(one.rule, "fields"))
    why = " and ".join(
        ["others can reach this page"] * serves_others(settings)
        + [f"the rules of {' and '.join(asking)} ask for them"] * bool(asking)
    )
    typer.echo(
        f"warning: the notice does not tell {', '.join(lacking)}, although {why}. "
        "Say it in settings.toml; `heard settings` shows what is set.",
        err=True,
    )


def named_models(settings: "Settings") -> list[str]:
    """Return the names of models in the settings: what is embedded among them must be there before anybody talks."""
    arms = [arm.strip().rpartition("/")[2] for arm in settings.blind_arms.split(",")]
    return [name for name in (settings.default_model, *arms) if name]


def look_for_servers() -> "Future[list[LocalServer]]":
    """Begin to look for servers of models on this machine, which takes 0.3 s at most, beside what a start does."""
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    from heard.chat_app.models.local_servers import find_servers

    thread = ThreadPoolExecutor(1, thread_name_prefix="looking")
    found = thread.submit(lambda: asyncio.run(find_servers()))
    thread.shutdown(wait=False)
    return found


def tell_servers(found: "list[LocalServer]", settings: "Settings") -> None:
    """Name each server that models.toml does not use yet in a line on standard error."""
    from heard.chat_app.models.catalogue import load_models

    used = " ".join(spec.base_url or "" for spec in load_models(settings.models_file).values())
    for server in found:
        if server.models and f":{server.port}" not in used:
            typer.echo(
                f"{server.server} runs on this machine with {server.models[0]}. `heard models find` prints the line "
                "that adds it.",
                err=True,
            )


def tell_old_numbers() -> None:
    """Say in a line on standard error how many crisis numbers are due to be checked again, if any are."""
    from datetime import date

    from heard.chat_app.safety.crisis_numbers import stale_hotlines

    if old := len(stale_hotlines(date.today())):
        typer.echo(
            f"{old} crisis number{'s' if old > 1 else ''} in the hand-off had the last check more than a year ago. "
            "`heard hotlines check` lists them.",
            err=True,
        )


def listen_on(host: str, port: int) -> socket.socket:
    """Return a socket bound to the address, not yet listening. Raises PortError."""
    import errno

    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, ValueError) as error:  # the latter for a name that no address can have
        raise PortError(f'There is no address "{host}" on this machine. Use --host 127.0.0.1.') from error
    listener = socket.socket(family, kind, protocol)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            sentence = (
                f"Port {port} on {host} is taken, perhaps by another heard. "
                f"End that one, or choose another: heard chat --port {port + 1 if port < 65535 else port - 1}"
            )
        elif error.errno == errno.EACCES:
            sentence = f"Port {port} needs more rights than this user has. Choose one above 1023: --port 8000"
        else:
            sentence = f"Cannot listen on {host}, port {port} ({error.strerror}). Use --host 127.0.0.1."
        raise PortError(sentence) from error
    return listener


async def serve(settings: "Settings", weights: "Weights", listener: socket.socket) -> None:
    """Serve until a signal arrives. Raises the errors of `open_services` and `create_app` before it serves."""
    import uvicorn

    from heard.chat_app.startup import open_live_study, open_services
    from heard.chat_app.web.half_open import ImpatientProtocol
    from heard.chat_app.web.server import create_app
    from heard.chat_app.web.socket_guard import MOST_FRAMES_QUEUED, largest_frame

    class Announcing(uvicorn.Server):
        """Says where the page is, once it can be opened."""

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            gc.freeze()  # what is loaded now stays, so later collections need not walk through it
            gc.enable()
            if self.started:
                typer.echo(f"heard is ready at {address_of(settings.host, settings.port)}")

    async with open_services(settings, weights) as services:
        if not weights.model.tiny:
            await load_first(services, weights)
        sys.setswitchinterval(SWITCH_SECONDS)
        config = uvicorn.Config(
            create_app(settings, services, await open_live_study(services)),
            log_config=None,  # set_up_logs has done it
            access_log=False,  # it would hold addresses
            server_header=False,
            lifespan="on",  # else a fault in it is taken for an app that has none, and nothing looks at the database
            timeout_graceful_shutdown=CLOSE_SECONDS,
            http=ImpatientProtocol,
            ws_max_size=largest_frame(settings.message_limit),
            ws_max_queue=MOST_FRAMES_QUEUED,
            proxy_headers=bool(settings.trusted_proxies),
            forwarded_allow_ips=list(settings.trusted_proxies),
        )
        server = Announcing(config)
        for number in (signal.SIGINT, signal.SIGTERM):
            # uvicorn raises a signal once more after it has ended; by then the services below are being closed.
            signal.signal(number, lambda *_: None)
        await server.serve(sockets=[listener])


async def load_first(services: "Services", weights: "Weights") -> None:
    """Load a large model before the page can be opened: its loader lets nothing else run for 3 s and more.

    If it cannot be loaded, that is told and other models still work.
    """
    from heard.chat_app.models.records import ModelFailure

    typer.echo(f"Loading {weights.model.model} ...", err=True)
    try:
        await services.engine.start()
    except ModelFailure as failure:
        typer.echo(str(failure), err=True)


def address_of(host: str, port: int) -> str:
    """Return the URL to open in a browser on this machine."""
    browser_host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{browser_host}]:{port}" if ":" in browser_host else f"http://{browser_host}:{port}"
