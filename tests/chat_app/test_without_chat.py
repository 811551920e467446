"""What `pip install heard` brings without extras is enough for the scorer and the filters, and the rest says so.

Run in a process in which every library is missing that heard's own dependencies do not bring.
"""

import importlib.metadata
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from heard.chat_app.models.downloads import Weights

ROOT = Path(__file__).parents[2]
WARM = "That sounds so hard. I am here with you. What happened?"
CODE = """
import sys
gone = set({gone!r})

class Gone:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in gone:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Gone())
{code}
"""
MAIN = "from heard.chat_app.cli import main; main()"


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def brought(*extras: str) -> set[str]:
    """Distributions that heard brings with these extras: its own requirements and, over and over, theirs."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = [*project["dependencies"], *(one for name in extras for one in project["optional-dependencies"][name])]
    found: set[str] = set()
    while asked:
        name = canonical(re.split(r"[^\w.-]", asked.pop().strip(), maxsplit=1)[0])
        try:
            requires = [] if name in found else importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:
            continue  # for another system or Python
        found.add(name)
        asked += [one for one in requires if "extra ==" not in one]
    return found


def gone(*extras: str) -> list[str]:
    """Top-level modules of every installed library that is not brought."""
    there = brought(*extras)
    owners = importlib.metadata.packages_distributions()
    return [
        module
        for module, names in owners.items()
        if module not in sys.stdlib_module_names
        and module != "heard"
        and not {canonical(name) for name in names} & there
    ]


def run(
    *arguments: str, folder: Path, code: str = MAIN, stdin: str = "", extras: tuple[str, ...] = ()
) -> "subprocess.CompletedProcess[str]":
    """Run `code` in `folder` without what is gone."""
    source = CODE.format(gone=gone(*extras), code=code)
    return subprocess.run(
        [sys.executable, "-c", source, *arguments],
        cwd=folder, input=stdin, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


def test_the_large_libraries_are_not_brought() -> None:
    there = brought()
    assert {"numpy", "onnxruntime", "tokenizers"} <= there
    assert not there & {
        "chainlit", "fastapi", "langchain-core", "onnx", "pandas", "pyarrow", "scipy", "sqlalchemy", "torch",
        "transformers", "xllamacpp",
    }  # fmt: skip
    assert {"chainlit", "sqlalchemy", "langchain_core", "torch"} <= set(gone())
    assert {"chainlit", "sqlalchemy", "langchain-core", "pyarrow"} <= brought("chat")


def test_a_reply_is_scored(tmp_path: Path, weights: Weights) -> None:
    done = run("score", WARM, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Cognitive" in done.stdout
    line = json.dumps({"id": 1, "seeker": "I failed my exam.", "reply": WARM})
    done = run("score", "--jsonl", folder=tmp_path, stdin=line + "\n")
    assert json.loads(done.stdout)["status"] == "scored", done.stderr


def test_a_message_is_checked(tmp_path: Path) -> None:
    done = run("check", "--jsonl", folder=tmp_path, stdin='{"id": 1, "text": "I want to kill myself"}\n')
    assert json.loads(done.stdout)["crisis"] is True, done.stderr


def test_a_reply_is_perturbed(tmp_path: Path, weights: Weights) -> None:
    done = run("perturb", WARM, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    done = run("perturb", "--csv", folder=tmp_path, stdin=f"reply\n{WARM}\n")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", ["settings", "--version", "--help", "prompts check"])
def test_what_needs_nothing_more(tmp_path: Path, command: str) -> None:
    done = run(*command.split(), folder=tmp_path)
    assert done.returncode == 0, done.stderr


def test_the_scorer_in_another_program(tmp_path: Path, weights: Weights) -> None:
    code = "from heard import Scorer; from heard.chat_app.integrations.open_scorer import open_scorer\n"
    done = run(folder=tmp_path, code=code + f"print(open_scorer().score('', {WARM!r}).empathy)")
    assert 1 <= float(done.stdout) <= 3, done.stderr


def test_the_runnable_needs_langchain_core_alone(tmp_path: Path, weights: Weights) -> None:
    code = f"from heard import EmpathyRunnable; print(EmpathyRunnable.load().invoke({WARM!r}).empathy)"
    done = run(folder=tmp_path, code=code)
    assert done.stderr.splitlines()[-1] == (
        'ImportError: EmpathyRunnable needs langchain-core: pip install "heard[langchain]".'
    )
    done = run(folder=tmp_path, code=code, extras=("langchain",))
    assert 1 <= float(done.stdout) <= 3, done.stderr


@pytest.mark.parametrize(
    "command",
    [
        "chat",
        "results somebody",
        "export x --out out",
        "erase 00000000-0000-4000-8000-000000000000 --yes",
        "db upgrade",
    ],
)
def test_what_needs_more_says_so_in_a_sentence(tmp_path: Path, command: str) -> None:
    done = run(*command.split(), folder=tmp_path)
    assert done.returncode == 2, done.stderr
    said = rf'heard: `heard {command.split()[0]}` needs \w+\. Run pip install "heard\[chat\]"\.\n'
    assert re.fullmatch(said, done.stderr), done.stderr
    assert list(tmp_path.iterdir()) == []  # nothing was begun


def test_training_names_its_own_extra(tmp_path: Path, weights: Weights) -> None:
    rows = "".join(f"{WARM} {n},{n % 3 + 1},2,{n % 2 + 1}\n" for n in range(60))
    (tmp_path / "labels.csv").write_text(f"reply,cognitive,emotional,behavioral\n{rows}", encoding="utf-8")
    done = run("train", "--data", "labels.csv", "--out", "mine", folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith('pip install "heard[train]", or make train.')


def test_what_a_system_lacks_is_not_to_be_installed(tmp_path: Path) -> None:
    """As on Windows."""
    code = f"sys.modules['fcntl'] = None\n{MAIN}"
    done = run("export", "x", "--out", "out", folder=tmp_path, code=code, extras=("chat",))
    assert done.returncode == 2
    assert done.stderr == (
        "heard: `heard export` needs fcntl. Python has that on Linux and macOS only; on Windows run heard in WSL.\n"
    )
