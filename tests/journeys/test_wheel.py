"""The wheel, installed elsewhere: everything works as from the checkout, and nothing is written where it lies."""

import json
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from heard.chat_app.models.downloads import Weights
from heard.chat_app.models.echo_chat import OPENING
from tests.installing import ROOT, Installation, copied, installed, names_in, sdist_of, wheel_of
from tests.journeys.balloting import ballot_in
from tests.journeys.talking import CRISIS, Served, serving
from tests.socket_client import Visitor

PAGE = ROOT / "chat_app" / "page"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    return wheel_of(copied(folder / "source"), folder / "wheels")


@pytest.fixture(scope="module")
def elsewhere(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    return installed(wheel, tmp_path_factory.mktemp("elsewhere") / "env")


@pytest.fixture(scope="module")
def chat(
    elsewhere: Installation, tmp_path_factory: pytest.TempPathFactory, weights: Weights
) -> Iterator[tuple[Served, dict[str, str]]]:
    """Its server, and the checksums of the installation from before it was started."""
    before = elsewhere.checksums()
    with serving(tmp_path_factory.mktemp("data"), command=[elsewhere.heard, "chat"]) as made:
        yield made, before


def test_only_one_name_is_taken_and_nothing_is_left_behind(wheel: Path) -> None:
    names = names_in(wheel)
    assert {name.split("/")[0].split("-")[0] for name in names} == {"heard"}
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False).stdout.decode()
    rooms = ("chat_app/", "scorer/", "prompts/", "db/")
    wanted = {name for name in tracked.split("\0") if name.startswith(rooms) and (ROOT / name).is_file()}
    left = {name for name in wanted if f"heard/{name}" not in names}
    assert {name for name in left if not name.endswith(".md")} == set()
    assert {f"heard/chat_app/page/.chainlit/{name}" for name in ("config.toml", "translations/en-US.json")} <= names
    assert not [name for name in names if "__pycache__" in name]
    assert {"LICENSE", "LICENSE-WEIGHTS.md"} <= {name.rpartition("/licenses/")[2] for name in names}


def test_a_wheel_of_the_source_distribution_is_the_same(wheel: Path, tmp_path: Path) -> None:
    (tmp_path / "archive").mkdir()
    again = wheel_of(sdist_of(copied(tmp_path / "source"), tmp_path / "archive"), tmp_path / "wheels")
    assert names_in(again) == names_in(wheel)


async def test_a_turn_is_answered_and_scored(chat: tuple[Served, dict[str, str]]) -> None:
    served, _ = chat
    async with Visitor.agree(served.url) as visitor, visitor.page(profile="listener") as page:
        await page.choose(model="echo")
        turn = await page.send("That sounds so hard.")
        assert turn.text == f"{OPENING}That sounds so hard."
        assert turn.card is not None
        assert turn.card["score"]["scored"] is True


async def test_a_crisis_is_handed_off_with_numbers(chat: tuple[Served, dict[str, str]]) -> None:
    served, _ = chat
    async with Visitor.agree(served.url, country="DE") as visitor, visitor.page() as page:
        turn = await page.send(CRISIS)
        assert turn.reply["name"] == "heard safety"
        assert "116 123" in turn.text
        avatar = await visitor.http.get("/chat/avatars/heard%20safety")
        assert avatar.content == (PAGE / "public" / "avatars" / "heard_safety.svg").read_bytes()
        face = await visitor.http.get("/chat/avatars/persona%20listener")
        assert face.content == (ROOT / "prompts" / "personas" / "listener.svg").read_bytes()


async def test_the_page_s_files_translations_and_pages_are_ours(chat: tuple[Served, dict[str, str]]) -> None:
    served, _ = chat
    async with Visitor.agree(served.url) as visitor:
        files = [path for path in (PAGE / "public").rglob("*") if path.is_file()]
        assert len(files) > 10
        for path in files:
            given = await visitor.http.get(f"/chat/{path.relative_to(PAGE).as_posix()}")
            assert (given.status_code, given.content) == (200, path.read_bytes()), path
        translation = await visitor.http.get("/chat/project/translations?language=de-DE")
        assert translation.json()["translation"] == json.loads(
            (ROOT / ".chainlit" / "translations" / "en-US.json").read_text(encoding="utf-8")
        )
        for address in ("/consent", "/help", "/you", "/scorer", "/static/heard.css", "/api/openapi.json"):
            assert (await visitor.http.get(address)).status_code == 200, address


async def test_the_settings_in_force_are_ours(chat: tuple[Served, dict[str, str]]) -> None:
    """Chainlit's own defaults would let people send files."""
    served, _ = chat
    async with Visitor.agree(served.url) as visitor:
        settings = (await visitor.http.get("/chat/project/settings")).json()
        page = (await visitor.http.get("/chat/", headers={"accept": "text/html"})).text
    assert settings["features"]["spontaneous_file_upload"]["enabled"] is False
    assert settings["features"]["edit_message"] is True  # by our own handler
    assert settings["markdown"] == (ROOT / "chainlit.md").read_text(encoding="utf-8")
    config = tomllib.loads((ROOT / ".chainlit" / "config.toml").read_text(encoding="utf-8"))
    assert settings["ui"]["name"] == config["UI"]["name"]
    assert 'href="/chat/public/heard.css"' in page
    assert "window.theme = {" in page


async def test_a_message_gets_a_ballot(elsewhere: Installation, tmp_path: Path, weights: Weights) -> None:
    arms = {"blind_arms": "listener/plain/echo, quiet/plain/echo"}
    with serving(tmp_path, command=[elsewhere.heard, "chat"], **arms) as served:
        async with Visitor.agree(served.url) as visitor, visitor.page() as page:
            ballot = ballot_in(page, await page.send("That sounds so hard."))
    assert [answer["letter"] for answer in ballot["answers"]] == ["A", "B"]


async def test_the_installation_is_as_it_was(chat: tuple[Served, dict[str, str]], elsewhere: Installation) -> None:
    _, before = chat
    assert before
    assert elsewhere.checksums() == before


@pytest.mark.parametrize(
    ("own", "code"),
    [
        (("prompts/mine.py", "db/models.py", "scorer.py"), "import prompts.mine, db.models, scorer"),
        (("prompts.py", "db.py", "scorer/__init__.py", "chat_app.py"), "import prompts, db, scorer, chat_app"),
    ],
)
def test_the_names_of_another_program_stay_its_own(
    elsewhere: Installation, tmp_path: Path, own: tuple[str, ...], code: str
) -> None:
    for name in own:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("MINE = True\n", encoding="utf-8")
    modules = code.removeprefix("import ").split(", ")
    (tmp_path / "app.py").write_text(
        f"{code}\nfrom heard import EmpathyRunnable, Scorer, open_scorer\n"
        "import heard.chat_app.integrations.chainlit_plugin, heard.db.store, heard.prompts.library\n"
        f"assert all(module.MINE for module in ({', '.join(modules)},))\n",
        encoding="utf-8",
    )
    done = elsewhere.run("python", "app.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_links_that_are_plain_files_are_told(elsewhere: Installation, tmp_path: Path) -> None:
    """As git leaves them on Windows without the right to make links."""
    package = tmp_path / "heard"
    package.mkdir()
    (package / "__init__.py").write_bytes((elsewhere.package / "__init__.py").read_bytes())
    (package / "scorer").write_text("../../scorer", encoding="utf-8")
    done = elsewhere.run("python", "-c", "import heard.scorer.text", cwd=tmp_path)
    assert "core.symlinks" in done.stderr.splitlines()[-1]
