"""What the README and the help say stays true."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from heard.chat_app.common.settings import Settings
from heard.chat_app.models.catalogue import load_models
from tests.commands import heard

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
INSTALL = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")


def test_every_command_in_the_readme_exists() -> None:
    named = set(re.findall(r"(?:`|^ {4})heard ((?:data |db |models |prompts |study )?[a-z]+)", README, re.MULTILINE))
    assert {"score", "check", "prompts check", "models try"} <= named
    for words in named:
        assert heard(*words.split(), "--help").status == 0, words


def test_a_command_in_the_readme_is_found_as_it_is_printed() -> None:
    """The environment is entered before the first of them, by a line that make has made true."""
    lines = [line.split("#")[0].strip() for line in README.splitlines() if line.startswith("    ")]
    first = next(place for place, line in enumerate(lines) if re.match(r"(HEARD_\w+=.* )?heard ", line))
    assert lines.index("make chat") < lines.index("source .venv/bin/activate") < first
    assert "VENV := .venv\n" in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_every_make_target_on_the_pages_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = set(re.findall(r"(?:`|^ {4})make ([a-z-]+)", README + INSTALL, re.MULTILINE))
    assert {"chat", "test", "bench", "lock", "test-lowest"} <= named
    assert named <= targets


def test_every_extra_is_described_and_exists() -> None:
    extras = set(
        tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    )
    rows = re.findall(r"^\| (`[a-z]+`(?:, `[a-z]+`)*) \|", INSTALL.split("| extra |")[1].split("\n\n")[0], re.MULTILINE)
    assert {name for row in rows for name in re.findall("[a-z]+", row)} == extras - {"dev"}
    for asked in re.findall(r"\.?\[([a-z,]+)\]\"", README + INSTALL):
        assert set(asked.split(",")) <= extras


def test_every_setting_in_the_readme_exists() -> None:
    of_other_files = {"base_url", "key_env", "draft_id", "message_id", "reply_id"}
    named = set(re.findall(r"`?\b([a-z]+_[a-z_]+)\b ?=", README)) - of_other_files
    assert named
    assert named <= set(Settings.model_fields)


def test_every_file_that_the_readme_links_to_exists() -> None:
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", README) if "//" not in link]
    assert links
    for link in links:
        assert (ROOT / link).exists(), link


MADE_UP = {"prompts/personas/blunt_coach.yaml", "prompts/mine.py", "db/models.py"}
"""Files that a page names as somebody else's, or as one to be written."""
NAMED_FILE = re.compile(
    r"(?<![\w/.-])((?:chat_app|scorer|prompts|db|tests|docs)/[\w/.-]*\.(?:py|md|toml|yaml|csv|js|css|json))\b"
)


def test_every_file_that_a_page_or_a_docstring_names_exists() -> None:
    """Files move, and what points to them is not always a link."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "scorer").rglob("*.md")]
    code = [path for folder in ("chat_app", "scorer", "prompts", "db") for path in (ROOT / folder).rglob("*.py")]
    named = {
        (path.relative_to(ROOT).as_posix(), name)
        for path in (*pages, *code)
        for name in NAMED_FILE.findall(path.read_text(encoding="utf-8"))
    }
    assert len(named) > 20
    assert sorted(pair for pair in named if not (ROOT / pair[1]).exists() and pair[1] not in MADE_UP) == []


def test_the_model_line_in_the_readme_is_one_entry(tmp_path: Path) -> None:
    line = next(line.strip() for line in README.splitlines() if line.strip().startswith("qwen-7b = {"))
    path = tmp_path / "models.toml"
    path.write_text(line + "\n", encoding="utf-8")
    assert load_models(path)["qwen-7b"].key_env == "QWEN_KEY"


def test_the_example_of_models_is_sound() -> None:
    path = ROOT / "models.example.toml"
    assert tomllib.loads(path.read_text(encoding="utf-8")) or "#" in path.read_text(encoding="utf-8")
    assert set(load_models(path)) >= {"smollm2", "echo"}


@pytest.mark.parametrize(
    "arguments",
    [
        ["chat", "--port", "x"],
        ["score"],
        ["nonsense"],
        ["prompts", "show", "lisener"],
        ["erase", "nobody"],
        ["results"],
    ],
)
def test_bad_input_ends_with_status_2_and_without_a_traceback(arguments: list[str], tmp_path: Path) -> None:
    done = subprocess.run(
        [Path(sys.executable).with_name("heard"), *arguments], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.strip()


def test_help_needs_none_of_the_heavy_libraries(tmp_path: Path) -> None:
    """The help is what a newcomer types first; it must not load what only the running chat needs."""
    code = (
        "import sys; import heard.chat_app.cli\n"
        "heavy = {'torch', 'transformers', 'chainlit', 'langchain_core', 'numpy',"
        " 'onnxruntime', 'sqlalchemy', 'xllamacpp'} & set(sys.modules); sys.exit(', '.join(sorted(heavy)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
