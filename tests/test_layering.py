"""The rooms stay rooms: who may import whom, and which file is the home of which library."""

import ast
import functools
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOMS = ("chat_app", "scorer", "prompts", "db")
MAY_IMPORT = {"chat_app": set(ROOMS), "scorer": {"scorer"}, "prompts": {"prompts"}, "db": {"db"}}
PACKAGE = "heard"
HOMES = {
    "aiolimiter": {"chat_app/comparing/running.py"},
    "aiosqlite": {"db/lite.py"},
    "alembic": {"db/"},
    "anthropic": {"chat_app/models/providers.py"},
    "anyascii": {"scorer/disguises.py"},
    "chainlit": {
        "chat_app/page/app.py",
        "chat_app/page/data_layer.py",
        "chat_app/integrations/chainlit_plugin.py",
        "chat_app/web/server.py",
    },
    "charset_normalizer": {"scorer/csv_rows.py"},
    "confusable_homoglyphs": {"scorer/disguises.py"},
    "crepes": {"scorer/training/intervals.py"},
    "fastapi": {
        "chat_app/web/api.py",
        "chat_app/integrations/card_files.py",
        "chat_app/web/gate.py",
        "chat_app/web/pages/results_routes.py",
        "chat_app/web/pages/routes.py",
        "chat_app/web/pages/scorer_routes.py",
        "chat_app/web/pages/survey_routes.py",
        "chat_app/web/server.py",
        "chat_app/web/vote_routes.py",
    },
    "filelock": {"chat_app/comparing/journal.py", "chat_app/models/downloads.py"},
    "ftfy": {"scorer/text.py"},
    "google": {"chat_app/models/providers.py"},
    "httpx": {"chat_app/models/connections.py", "chat_app/models/providers.py"},
    "httpx2": {
        "chat_app/models/connections.py",
        "chat_app/models/failures.py",
        "chat_app/models/token_counts.py",
        "scorer/hub.py",
    },
    "huggingface_hub": {"chat_app/models/hub_files.py", "scorer/hub.py"},
    "itsdangerous": {"chat_app/common/identity.py"},
    "jinja2": {"chat_app/models/hub_model.py", "chat_app/common/notice.py"},
    "jwt": {"chat_app/web/server.py"},
    "krippendorff": {"chat_app/results/agreement.py"},
    "langchain_core": {
        "chat_app/models/echo.py",
        "chat_app/models/local_chat.py",
        "chat_app/models/client.py",
        "chat_app/models/providers.py",
        "chat_app/integrations/langchain_runnable.py",
    },
    "langchain_anthropic": {"chat_app/models/providers.py"},
    "langchain_google_genai": {"chat_app/models/providers.py"},
    "langchain_ollama": {"chat_app/models/providers.py"},
    "langchain_openai": {"chat_app/models/providers.py"},
    "langsmith": {"chat_app/models/client.py"},
    "markdown_it": {"chat_app/studies/text_features.py", "chat_app/web/pages/markup.py", "scorer/markup.py"},
    "matplotlib": {"chat_app/comparing/radar.py"},
    "markupsafe": {"chat_app/web/pages/markup.py", "chat_app/common/notice.py"},
    "numpy": {"chat_app/comparing/figures.py", "chat_app/results/", "scorer/"},
    "onnx": {"scorer/onnx_export.py"},
    "onnxruntime": {"scorer/encoder.py"},
    "platformdirs": {"chat_app/common/settings.py"},
    "pyarrow": {
        "chat_app/export/cells.py",
        "chat_app/export/table_files.py",
        "chat_app/export/people.py",
        "chat_app/export/rows.py",
        "chat_app/export/study_export.py",
    },
    "pydantic": {
        "chat_app/models/local_chat.py",
        "chat_app/models/providers.py",
        "chat_app/common/settings.py",
        "chat_app/studies/study_file.py",
        "scorer/head_file.py",
        "scorer/emotion.py",
        "scorer/toml_file.py",
    },
    "pydantic_settings": {"chat_app/common/settings.py"},
    "rich": {"chat_app/commands/", "chat_app/models/downloads.py"},
    "safetensors": {"chat_app/models/hub_model.py", "scorer/"},
    "scipy": {"chat_app/comparing/figures.py", "chat_app/results/", "scorer/evaluation/bootstrap.py"},
    "sklearn": {
        "scorer/evaluation/evaluate_project_set.py",
        "scorer/training/logistic.py",
        "scorer/training/train_emotion.py",
    },
    "sqlalchemy": {"db/"},
    "starlette": {
        "chat_app/integrations/card_files.py",
        "chat_app/web/gate.py",
        "chat_app/web/pages/routes.py",
        "chat_app/web/pages/scorer_routes.py",
        "chat_app/web/pages/survey_routes.py",
        "chat_app/web/server.py",
    },
    "symspellpy": {"scorer/disguises.py"},
    "tenacity": {"chat_app/models/client.py", "db/"},
    "threadpoolctl": {"chat_app/results/strengths.py", "scorer/"},
    "tokenizers": {"scorer/encoder.py"},
    "torch": {"chat_app/models/hub_model.py", "scorer/"},
    "transformers": {"chat_app/models/hub_model.py"},
    "typer": {"chat_app/cli.py", "chat_app/commands/"},
    "uvicorn": {"chat_app/commands/chat.py"},
    "xllamacpp": {"chat_app/models/llama_engine.py"},
    "yaml": {"prompts/"},
}
"""Of every library that is not Python's own: the files that may import it."""
LONGEST = 400
"""Lines. Near 300 is the aim; past this a file has more than one idea."""

FILES = sorted(path.relative_to(ROOT).as_posix() for room in ROOMS for path in (ROOT / room).rglob("*.py"))


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
    return frozenset(found)


def top_of(module: str) -> str:
    """The library, or the room of ours, that a module belongs to."""
    parts = module.split(".")
    return parts[1] if parts[0] == PACKAGE and len(parts) > 1 else parts[0]


def path_of(module: str) -> str:
    """Where a module of ours lies, from the root of the project."""
    return module.removeprefix(f"{PACKAGE}.").replace(".", "/") + ".py"


IMPORTS = [(name, module, top_of(module)) for name in FILES for module in sorted(imports(name))]


def lives(name: str, homes: set[str]) -> bool:
    """Whether a file is one of `homes`, or lies in a folder of them."""
    return any(name == home or (home.endswith("/") and name.startswith(home)) for home in homes)


def test_there_are_files_in_every_room() -> None:
    assert {name.split("/")[0] for name in FILES} == set(ROOMS)


def test_a_room_imports_only_what_it_may() -> None:
    strays = [
        f"{name} imports {module}"
        for name, module, top in IMPORTS
        if top in {*ROOMS, "tests"} and top not in MAY_IMPORT[name.split("/")[0]]
    ]
    assert strays == []


def test_a_library_stays_in_its_home() -> None:
    strays = [
        f"{name} imports {module}, whose home is {', '.join(sorted(HOMES.get(top, {'not named yet'})))}"
        for name, module, top in IMPORTS
        if top not in ROOMS and top not in sys.stdlib_module_names and not lives(name, HOMES.get(top, set()))
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
    files = [path for room in (*ROOMS, "tests", "public") for path in (ROOT / room).rglob("*") if path.suffix in kinds]
    lengths = {path.relative_to(ROOT).as_posix(): len(path.read_text("utf-8").splitlines()) for path in files}
    assert {path.suffix for path in files} == kinds
    assert {name: length for name, length in lengths.items() if length > LONGEST} == {}


def test_no_module_takes_the_name_of_another() -> None:
    taken = {*sys.stdlib_module_names, *ROOMS}
    assert [name for name in FILES if name.count("/") == 1 and Path(name).stem in taken] == []


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
