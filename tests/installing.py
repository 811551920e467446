"""heard built as a wheel and installed into an empty environment in another folder, without a network."""

import hashlib
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = (
    "src", "chat_app", "scorer", "prompts", "db", ".chainlit", "chainlit.md", "pyproject.toml", "README.md", "LICENSE",
    "LICENSE-WEIGHTS.md",
)  # fmt: skip
"""What a build reads; copied first, because a build leaves folders behind, and takes in what lies in them."""
LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.egg-info", "build")


@dataclass(frozen=True)
class Installation:
    """An environment whose only own package is heard; the libraries are those of the running one."""

    folder: Path

    @property
    def heard(self) -> Path:
        """The command."""
        return self.folder / "bin" / "heard"

    @property
    def package(self) -> Path:
        """Where heard was installed to."""
        return self.folder / site_packages() / "heard"

    def run(self, *command: str | Path, cwd: Path) -> "subprocess.CompletedProcess[str]":
        """Run a command of the environment (its first word is a file in `bin`) in `cwd`."""
        return _run([self.folder / "bin" / command[0], *command[1:]], cwd)

    def checksums(self) -> dict[str, str]:
        """sha256 of every installed file but the interpreter's own byte code."""
        files = [path for path in self.package.rglob("*") if path.is_file() and path.suffix != ".pyc"]
        return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def site_packages() -> Path:
    """The folder of libraries, within an environment."""
    return Path("lib") / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"


def copied(folder: Path) -> Path:
    """A copy of the checkout, links kept as links."""
    folder.mkdir()
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=LEFT_OUT)
        else:
            shutil.copy(ROOT / name, folder / name)
    return folder


def pip(*arguments: str | Path, cwd: Path) -> None:
    """Run the environment's pip; it must not fail."""
    done = _run([sys.executable, "-m", "pip", *arguments], cwd)
    assert done.returncode == 0, done.stdout + done.stderr


def wheel_of(source: Path, into: Path) -> Path:
    """`pip wheel` of a folder or an sdist, with this environment's setuptools."""
    pip("wheel", source, "--no-deps", "--no-build-isolation", "--no-index", "-w", into, cwd=into.parent)
    (wheel,) = into.glob("*.whl")
    return wheel


def sdist_of(source: Path, into: Path) -> Path:
    """The source distribution of a folder."""
    code = f"from setuptools import build_meta; build_meta.build_sdist({str(into)!r})"
    done = _run([sys.executable, "-c", code], source)
    assert done.returncode == 0, done.stdout + done.stderr
    (archive,) = into.glob("*.tar.gz")
    return archive


def installed(wheel: Path, folder: Path, libraries: Sequence[str] = tuple(sys.path)) -> Installation:
    """A new environment with heard alone; it finds the rest in the folders of `libraries`."""
    venv.create(folder, with_pip=False, symlinks=True)
    pip("--python", folder / "bin" / "python", "install", "--no-deps", "--no-index", wheel, cwd=folder)
    shared = [entry for entry in libraries if entry.endswith("site-packages")]
    (folder / site_packages() / "shared.pth").write_text("\n".join(shared) + "\n", encoding="utf-8")
    return Installation(folder)


def names_in(wheel: Path) -> set[str]:
    """The files in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if not name.endswith("/")}


def _run(command: Sequence[str | Path], cwd: Path) -> "subprocess.CompletedProcess[str]":
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}  # it may name a checkout
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=300)
