"""The tree as a whole: nothing of one machine in it, nothing broken or unsaid, every library in a tried range."""

import ast
import importlib.metadata
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.conftest import LONGEST

ROOT = Path(__file__).parents[1]
ROOMS = ("chat_app", "scorer", "prompts", "db")
LARGEST = 1_500_000
"""Bytes of one tracked file. Weights of models are fetched, never kept here."""
FOLDERS = ("work", "root", "home", "Users")
# Put together here, so that this file does not find itself.
MACHINE = re.compile("|".join(f"(?<![\\w.])/{folder}/" for folder in FOLDERS))
REGISTRY = re.compile(r"https?://[^/\s\"']*(pypi|pythonhosted|npmjs|goproxy|proxy\.golang|artifactory|nexus|devpi)")


def _tracked() -> list[Path]:
    try:
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    except (FileNotFoundError, subprocess.CalledProcessError):
        return []
    return [path for name in listed.decode().split("\0") if name and (path := ROOT / name).is_file()]


TRACKED = _tracked()
TREES = {
    path: ast.parse(path.read_text(encoding="utf-8")) for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))
}
needs_git = pytest.mark.skipif(not TRACKED, reason="needs a git checkout, to know which files belong to the project")


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _texts() -> Iterator[tuple[Path, str]]:
    for path in TRACKED:
        raw = path.read_bytes()
        if b"\0" not in raw:
            yield path, raw.decode("utf-8")


@needs_git
def test_no_path_or_package_host_of_one_machine() -> None:
    found = [
        f"{_name(path)}:{number}: {line.strip()[:100]}"
        for path, text in _texts()
        for number, line in enumerate(text.splitlines(), 1)
        # An address on the web may have a folder of such a name.
        if MACHINE.search(re.sub(r"https?://\S+", "", line)) or REGISTRY.search(line)
    ]
    assert found == []


def test_the_patterns_find_what_they_look_for() -> None:
    for folder in FOLDERS:
        assert MACHINE.search(f'open("/{folder}/ann/x")')
        assert MACHINE.search(f"cd /{folder}/x")
        assert not MACHINE.search(f"chat_app/pages/{folder}/ and ./{folder}/x")
    assert REGISTRY.search("https:" + "//pypi.org/simple")


@needs_git
def test_no_tracked_file_is_large() -> None:
    assert {_name(path): size for path in TRACKED if (size := path.stat().st_size) > LARGEST} == {}


@needs_git
def test_every_data_file_can_be_read() -> None:
    read = {
        ".yaml": lambda text: list(yaml.safe_load_all(text)),
        ".yml": lambda text: list(yaml.safe_load_all(text)),
        ".toml": tomllib.loads,
        ".json": json.loads,
        ".jsonl": lambda text: [json.loads(line) for line in text.splitlines()],
    }
    seen = set()
    for path in TRACKED:
        if path.suffix in read:
            seen.add(path.suffix)
            try:
                assert read[path.suffix](path.read_text(encoding="utf-8"))
            except ValueError as error:
                pytest.fail(f"{_name(path)}: {error}")
            except yaml.YAMLError as error:
                pytest.fail(f"{_name(path)}: {error}")
    assert seen >= {".yaml", ".toml", ".json", ".jsonl"}


def _swallows(handler: ast.ExceptHandler) -> bool:
    """Whether a handler takes every error there is and does nothing with it."""
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    wide = any(
        kind is None or (isinstance(kind, ast.Name) and kind.id in ("Exception", "BaseException")) for kind in kinds
    )
    return wide and all(isinstance(step, ast.Pass | ast.Continue) for step in handler.body)


def test_no_error_is_swallowed() -> None:
    handlers = [
        (path, node) for path, tree in TREES.items() for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler)
    ]
    assert len(handlers) > 50
    assert [f"{_name(path)}:{node.lineno}" for path, node in handlers if _swallows(node)] == []


@pytest.mark.parametrize(
    ("kinds", "body", "seen"),
    [
        (["Exception"], ast.Pass(), True),
        ([], ast.Pass(), True),
        (["OSError", "BaseException"], ast.Continue(), True),
        (["OSError"], ast.Pass(), False),
        (["Exception"], ast.Raise(), False),
    ],
)
def test_a_swallowed_error_would_be_seen(kinds: list[str], body: ast.stmt, seen: bool) -> None:
    names: list[ast.expr] = [ast.Name(kind) for kind in kinds]
    taken = ast.Tuple(names) if len(names) > 1 else names[0] if names else None
    assert _swallows(ast.ExceptHandler(taken, None, [body])) == seen


def _undocumented(tree: ast.Module) -> Iterator[str]:
    if tree.body and not ast.get_docstring(tree):
        yield "the module"
    scopes: list[ast.Module | ast.ClassDef] = [tree]
    while scopes:
        for node in scopes.pop().body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith(
                "_"
            ):
                if not ast.get_docstring(node):
                    yield f"{node.name} (line {node.lineno})"
                if isinstance(node, ast.ClassDef):
                    scopes.append(node)


def test_everything_public_says_what_it_is() -> None:
    assert [f"{_name(path)}: {what}" for path, tree in TREES.items() for what in _undocumented(tree)] == []


def test_what_says_nothing_would_be_seen() -> None:
    tree = ast.parse("class Open:\n    def way(self): ...\n    def _hidden(self): ...\n\nasync def go(): ...\n")
    assert set(_undocumented(tree)) == {"the module", "Open (line 1)", "way (line 2)", "go (line 5)"}


def _named() -> dict[str, Requirement]:
    """What pyproject.toml names with a range, by its name: the dependencies and those of every extra but `dev`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [one for name, extra in project["optional-dependencies"].items() if name != "dev" for one in extra]
    return {canonicalize_name(one.name): one for one in map(Requirement, [*project["dependencies"], *extras])}


def _exact(name: str) -> dict[str, Version]:
    """The versions in a lock file."""
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    pairs = [line.split("==") for line in lines if not line.startswith("#")]
    return {canonicalize_name(library): Version(version) for library, version in pairs}


def test_every_library_has_a_range() -> None:
    """What a room imports, pyproject.toml names: in the dependencies or in an extra."""
    owners = importlib.metadata.packages_distributions()
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            for top in {name.split(".")[0] for name in names} - sys.stdlib_module_names - {"heard"}:
                packages = {canonicalize_name(owner) for owner in owners.get(top, [])}
                assert packages & set(_named()), f"{_name(path)} imports {top} ({', '.join(packages)}), not in a range"


def test_a_range_goes_from_the_lowest_to_the_newest_that_the_tests_ran_with() -> None:
    """Up to the next series: fixes of the newest are let in, and nothing that nobody has tried."""
    lowest, newest = _exact("requirements-lowest.lock"), _exact("requirements.lock")
    for name, one in _named().items():
        bounds = {part.operator: Version(part.version) for part in one.specifier}
        major, minor = newest[name].release[:2]
        assert bounds == {">=": lowest[name], "<": Version(f"{major}.{minor + 1}")}, name
        assert newest[name] in one.specifier, name


def test_one_library_has_one_range() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    ranges: dict[str, set[str]] = {}
    for one in map(Requirement, named):
        ranges.setdefault(canonicalize_name(one.name), set()).add(str(one.specifier))
    assert {name: found for name, found in ranges.items() if len(found - {""}) > 1} == {}


def test_what_is_installed_is_what_the_lock_says(request: pytest.FixtureRequest) -> None:
    lock = _exact("requirements-lowest.lock" if request.config.getoption("--lowest") else "requirements.lock")
    there = {
        canonicalize_name(one.metadata["Name"]): Version(Version(one.version).public)
        for one in importlib.metadata.distributions()
    }
    assert set(_named()) <= set(lock)
    assert {
        name: (there[name], lock[name]) for name in sorted(set(there) & set(lock)) if there[name] != lock[name]
    } == {}


def test_the_longest_files_are_there() -> None:
    assert [name for name in LONGEST if not (ROOT / "tests" / name).is_file()] == []


def test_the_quick_tests_start_nothing_heavy() -> None:
    """Those of `make quick`: no model, no server, no browser, nothing marked slow."""
    heavy = {
        "weights", "encoder_folder", "scorer", "talking", "visitor", "served", "blind", "server", "each_url",
        "elsewhere", "wheel", "tiny_bert",
    }  # fmt: skip
    places = [ROOT / name for name in (ROOT / "tests" / "quick.txt").read_text(encoding="utf-8").split()]
    files = {file for place in places for file in (place.rglob("test_*.py") if place.is_dir() else [place])}
    assert len(files) > len(places) > 20
    for file in files:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                asked = {argument.arg for argument in node.args.args}
                marks = {
                    part.attr
                    for one in node.decorator_list
                    for part in ast.walk(one)
                    if isinstance(part, ast.Attribute)
                }
                assert not asked & heavy, f"{_name(file)}: {node.name}"
                assert not marks & {"browser", "slow"}, f"{_name(file)}: {node.name}"
    assert not {_name(file).removeprefix("tests/") for file in files} & set(LONGEST)
