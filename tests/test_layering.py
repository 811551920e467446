"""The rooms stay rooms: who may import whom, and which file is the home of which library."""

import ast
import functools
import re
import sys
from collections import Counter
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = "heard"
FOLDERS = ("chat_app", "scorer", "prompts", "db")
GROUND = ("common", "db", "prompts", "scorer")
TALK = (*GROUND, "models", "safety")
HEAD_WORK = ("scorer/training", "scorer/evaluation")
MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "common": (),
    "models": ("common", "prompts"),
    "safety": ("common", "prompts", "scorer"),
    "rating": ("common", "models", "prompts", "safety", "scorer"),
    "results": ("common", "db"),
    "questions": (),
    "export": ("common", "db", "questions"),
    "conversation": TALK,
    "studies": (*TALK, "conversation", "questions"),
    "page": (*TALK, "conversation", "studies"),
    "comparing": (*TALK, "conversation", "questions", "studies", "results", "export"),
    "voice": (*TALK, "conversation", "results", "comparing"),
    "startup": (*TALK, "conversation", "studies", "page"),
    "integrations": (*TALK, "page"),
    "web": (*TALK, "conversation", "questions", "studies", "results", "page"),
    "commands": (
        *TALK, *HEAD_WORK, "conversation", "questions", "studies", "comparing", "voice", "page", "rating", "results",
        "export", "startup", "web",
    ),
    "cli": ("commands",),
    "scorer": (),
    "scorer/training": ("scorer",),
    "scorer/evaluation": ("scorer", "scorer/training"),
    "prompts": (),
    "db": (),
}  # fmt: skip
"""Of every room: the rooms that it may import beside itself. All may import src/heard, which imports none of them."""
HOMES = {
    "aiolimiter": {"chat_app/comparing/runner.py"},
    "aiosqlite": {"db/sqlite_driver.py"},
    "alembic": {"db/"},
    "anthropic": {"chat_app/models/providers/"},
    "anyascii": {"scorer/disguises.py"},
    "asyncpg": {"db/postgres.py"},
    "babel": {"chat_app/studies/survey_words.py"},
    "chainlit": {"chat_app/integrations/chainlit_plugin.py", "chat_app/page/", "chat_app/web/chat_mount.py"},
    "charset_normalizer": {"scorer/text_encoding.py"},
    "confusable_homoglyphs": {"scorer/disguises.py"},
    "crepes": {"scorer/training/intervals.py"},
    "fastapi": {"chat_app/integrations/card_files.py", "chat_app/web/"},
    "filelock": {"chat_app/comparing/journal_file.py", "chat_app/models/weights_folder.py"},
    "ftfy": {"chat_app/studies/stimulus_text.py", "scorer/text.py"},
    "gguf": {"chat_app/voice/adapter_weights.py"},
    "google": {"chat_app/models/providers/"},
    "httpx": {"chat_app/models/connections.py", "chat_app/models/providers/"},
    "httpx2": {
        "chat_app/models/connections.py",
        "chat_app/models/failures.py",
        "chat_app/models/hub_download.py",
        "chat_app/models/local_servers.py",
        "chat_app/models/opening_copies.py",
        "chat_app/models/token_counts.py",
        "scorer/hub.py",
    },
    "huggingface_hub": {"chat_app/models/hub_download.py", "chat_app/models/hub_files.py", "scorer/hub.py"},
    "itsdangerous": {"chat_app/common/identity.py"},
    "jinja2": {"chat_app/models/hub_model.py", "chat_app/common/notice.py"},
    "jwt": {"chat_app/web/chat_mount.py"},
    "krippendorff": {"chat_app/results/agreement.py"},
    "langchain_core": {
        "chat_app/models/echo_chat.py",
        "chat_app/models/local_chat.py",
        "chat_app/models/client.py",
        "chat_app/models/provider.py",
        "chat_app/models/providers/",
        "chat_app/integrations/langchain_runnable.py",
    },
    "langchain_anthropic": {"chat_app/models/providers/"},
    "langchain_google_genai": {"chat_app/models/providers/"},
    "langchain_ollama": {"chat_app/models/providers/"},
    "langchain_openai": {"chat_app/models/providers/"},
    "langsmith": {"chat_app/models/client.py"},
    "markdown_it": {"chat_app/studies/text_features.py", "chat_app/web/pages/markup.py", "scorer/markup.py"},
    "matplotlib": {"chat_app/comparing/perturb_chart.py", "chat_app/comparing/radar.py"},
    "markupsafe": {"chat_app/web/pages/crisis_help.py", "chat_app/web/pages/markup.py", "chat_app/common/notice.py"},
    "numpy": {"chat_app/comparing/figures.py", "chat_app/results/", "scorer/"},
    "onnxruntime": {"scorer/encoder.py"},
    "peft": {"chat_app/voice/train_adapter.py"},
    "platformdirs": {"chat_app/common/settings.py"},
    "psutil": {"chat_app/models/machine.py"},
    "pyarrow": {"chat_app/export/", "chat_app/studies/parquet_rows.py"},
    "pydantic": {"chat_app/", "prompts/", "scorer/"},
    "pydantic_settings": {"chat_app/common/settings.py"},
    "rich": {
        "chat_app/commands/",
        "chat_app/models/download_progress.py",
        "chat_app/models/downloads.py",
        "chat_app/models/model_choice.py",
        "chat_app/models/model_download.py",
        "chat_app/models/weights_folder.py",
    },
    "safetensors": {"chat_app/models/hub_model.py", "scorer/"},
    "scipy": {"chat_app/comparing/figures.py", "chat_app/results/", "scorer/evaluation/bootstrap.py"},
    "sklearn": {
        "scorer/evaluation/evaluate_project_set.py",
        "scorer/training/logistic.py",
        "scorer/training/train_emotion.py",
    },
    "sqlalchemy": {"db/"},
    "starlette": {"chat_app/integrations/card_files.py", "chat_app/web/"},
    "symspellpy": {"scorer/disguises.py"},
    "tenacity": {"chat_app/comparing/item_asking.py", "chat_app/models/client.py", "db/"},
    "threadpoolctl": {
        "chat_app/results/bootstrap.py",
        "chat_app/results/power.py",
        "chat_app/results/strengths.py",
        "scorer/",
    },
    "tokenizers": {"scorer/encoder.py"},
    "torch": {
        "chat_app/models/hub_model.py",
        "chat_app/voice/adapter_weights.py",
        "chat_app/voice/train_adapter.py",
        "scorer/",
    },
    "transformers": {"chat_app/models/hub_model.py", "chat_app/voice/train_adapter.py", "scorer/classifier.py"},
    "typer": {"chat_app/cli.py", "chat_app/commands/"},
    "uvicorn": {"chat_app/commands/chat.py", "chat_app/web/half_open.py"},
    "xllamacpp": {"chat_app/models/engine_loading.py"},
    "yaml": {"prompts/"},
}
"""Of every library that is not Python's own: the files that may import it."""
LONGEST = 400
"""Lines. Near 300 is the aim; past this a file has more than one idea."""

FILES = sorted(path.relative_to(ROOT).as_posix() for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))


@functools.cache
def imports(name: str) -> frozenset[str]:
    """Every module that a file imports, anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse((ROOT / name).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}:{node.lineno}: relative import"
            found.add(node.module or "")
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return frozenset(found)


def top_of(module: str) -> str:
    """The library, or the room of ours, that a module belongs to."""
    parts = module.split(".")
    return parts[1] if parts[0] == PACKAGE and parts[1:2] and parts[1] in FOLDERS else parts[0]


def path_of(module: str) -> str:
    """Where a module of ours lies, from the root of the project."""
    path = module.removeprefix(f"{PACKAGE}.").replace(".", "/")
    return f"{path}/__init__.py" if (ROOT / path).is_dir() else f"{path}.py"


IMPORTS = [(name, module, top_of(module)) for name in FILES for module in sorted(imports(name))]
"""(file, module it imports, the library or folder of ours that the module belongs to)."""


def lives(name: str, homes: set[str]) -> bool:
    """Whether a file is one of `homes`, or lies in a folder of them."""
    return any(name == home or (home.endswith("/") and name.startswith(home)) for home in homes)


def room_of(name: str) -> str:
    """The room that a file lies in, by its path from the root of the project."""
    folder, *parts = name.removesuffix(".py").split("/")
    if folder == "chat_app":
        return parts[0]
    inner = f"{folder}/{parts[0]}"
    return inner if inner in MAY_IMPORT else folder


def files_of(name: str) -> set[str]:
    """The files of ours that a file imports: a module by its own name, or as a name of its package."""
    modules = {path_of(module) for module in imports(name)}
    return (modules & set(FILES)) - {name}


ARROWS = {name: files_of(name) for name in FILES}
"""Which file imports which."""


def test_every_file_is_in_a_room_and_every_room_is_lived_in() -> None:
    inside = [name for name in FILES if name != "chat_app/__init__.py"]
    assert {room_of(name) for name in inside} == set(MAY_IMPORT)


def test_imports_go_down_only() -> None:
    strays = [
        f"{name} imports {other}"
        for name, others in ARROWS.items()
        for other in sorted(others)
        if not may_import(room_of(name), room_of(other))
    ]
    assert strays == []


def may_import(room: str, other: str) -> bool:
    """Whether the table has an arrow from `room` to `other`."""
    return other == room or other in MAY_IMPORT[room]


def test_the_table_itself_has_no_circle() -> None:
    TopologicalSorter(MAY_IMPORT).prepare()


def test_no_files_import_each_other_in_a_circle() -> None:
    try:
        TopologicalSorter(ARROWS).prepare()
    except CycleError as error:
        pytest.fail(" > ".join(error.args[1]))


def test_the_root_stands_below_every_room() -> None:
    """What `heard` itself offers is imported when it is asked for, and no part of it before."""
    for path in sorted((ROOT / "src" / PACKAGE).glob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom):
                assert top_of(node.module or "") not in FOLDERS, f"{path.name}:{node.lineno}"


def test_nothing_of_ours_imports_the_tests() -> None:
    assert [name for name, module, _ in IMPORTS if module.split(".")[0] == "tests"] == []


def test_no_file_name_stands_twice_in_a_package() -> None:
    """A name says where one is; `records.py` is what each room calls its own types."""
    for folder in FOLDERS:
        names = Counter(Path(name).name for name in FILES if name.startswith(f"{folder}/"))
        doubled = {name for name, number in names.items() if number > 1} - {"__init__.py", "records.py"}
        assert doubled == set(), f"in {folder}"


def test_the_map_names_every_room_in_a_line() -> None:
    text = ast.get_docstring(ast.parse((ROOT / "chat_app" / "__init__.py").read_text(encoding="utf-8"))) or ""
    told = re.findall(r"^- `(\w+)/?`: .", text, flags=re.MULTILINE)
    rooms = {room for room in MAY_IMPORT if "/" not in room} - {"scorer", "prompts", "db"}
    assert sorted(told) == sorted(rooms)


def test_a_library_stays_in_its_home() -> None:
    strays = [
        f"{name} imports {module}, whose home is {', '.join(sorted(HOMES.get(top, {'not named yet'})))}"
        for name, module, top in IMPORTS
        if top not in (*FOLDERS, PACKAGE)
        and top not in sys.stdlib_module_names
        and not lives(name, HOMES.get(top, set()))
    ]
    assert strays == []


def test_every_home_is_lived_in() -> None:
    """A home that its library has left would let it back in unseen."""
    empty = [
        f"{library} in {home}"
        for library, homes in HOMES.items()
        for home in sorted(homes)
        if not any(top == library and lives(name, {home}) for name, _, top in IMPORTS)
    ]
    assert empty == []


def test_a_file_is_one_idea() -> None:
    """Tests and what the browser gets too."""
    kinds = {".py", ".js", ".jsx", ".css", ".html"}
    files = [path for room in (*FOLDERS, "tests") for path in (ROOT / room).rglob("*") if path.suffix in kinds]
    lengths = {path.relative_to(ROOT).as_posix(): len(path.read_text("utf-8").splitlines()) for path in files}
    assert {path.suffix for path in files} == kinds
    assert {name: length for name, length in lengths.items() if length > LONGEST} == {}


def test_no_module_takes_the_name_of_another() -> None:
    """Chainlit puts the folder of the page's module first on the path while it loads it."""
    taken = {*sys.stdlib_module_names, *FOLDERS, PACKAGE}
    beside = [name for name in FILES if name.count("/") == 1 or name.startswith("chat_app/page/")]
    assert [name for name in beside if Path(name).stem in taken] == []


def test_the_rating_path_needs_no_torch() -> None:
    """Rating a reply must start fast and stay small: torch is for training and for the one-time export only."""
    reached, waiting = set(), ["heard.scorer.score"]
    while waiting:
        module = waiting.pop()
        name = path_of(module)
        if module in reached or name not in FILES:
            continue
        reached.add(module)
        tree = ast.parse((ROOT / name).read_text(encoding="utf-8"))
        for node in tree.body:  # top level only: an import inside a function is paid when it is used
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            for found in names:
                assert found.split(".")[0] not in {"torch", "transformers"}, f"{name} imports {found}"
                waiting.append(found)
    assert "heard.scorer.records" in reached
