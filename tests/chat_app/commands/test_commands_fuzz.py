"""Whatever is given to a command: it is done, or ends in a sentence with exit status 2, and never in a traceback."""

import random
import shlex
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from heard.chat_app.cli import app
from heard.chat_app.commands.chat import PortError, listen_on
from tests.commands import Done, heard

COMMANDS = [
    "settings ?", "score --encoder ? ?",
    "score --encoder ? --jsonl", "score --head ? --encoder ? x", "train --out ? --data ?",
    "train --out ? --data ? --kind ?",
    "train --out ? --shared ? --cache ?", "train --out ? --data ? --seed ?", "evaluate --data ? --head ?",
    "evaluate --shared ? --head ? --cache ?", "train-reading --out ? --data ?", "perturb --encoder ? --csv",
    "perturb --encoder ? --seed ? ?", "check --measure ?", "check --jsonl ?", "train-danger --out ? --data ?",
    "train-danger --out ? --shared ? --heldout ?", "guard --measure ?", "guard --folds ?",
    "train-guard --out ? --data ?",
    "places ?", "erase ? --yes", "erase ?", "retention ?", "data person ?", "data person ? --out ?",
    "data flags --out ?",
    "data flags --csv --out ?", "export --out ? ?", "export --out ? --all", "export ?", "results ?", "results ? --json",
    "results ? --condition ?", "results ? --pictures ?", "compare --models ? --strategies ? --questions ? --out ?",
    "compare --models echo --strategies plain --questions ? --out ?", "compare --models ? --strategies ? --questions ?"
    " --out ? --columns ? --personas ? --per-minute ? --open-calls ?", "evaluate-policy ? --questions ? --model ?",
    "evaluate-policy never --questions ? --model echo --out ? --columns ?", "train-voice --out ? --talks ?",
    "train-voice --out ? --model ?", "prompts check --folder ?", "prompts show ? ?", "prompts show ? --folder ?",
    "prompts show listener plain --message ? --folder ?", "hotlines list ?", "models try ? ?",
    "models try ? --max-tokens ?",
    "models get ?", "study import ?", "study import ? ?", "study import ? ? --columns ? --limit ?",
    "study import ? ? --format ?", "study import ? ? --dry-run", "study generate ?", "study generate ? ? --limit ?",
    "study power ? --studies 20 --people 4 --items 4", "study power --studies 20 --people ? --items ? --picture ?",
    "study power --studies 20 --people 3 --items 3 --effect ? --rate ? --minutes ? --item-sd ? --picture ?",
    "study power ? --between ?", "study preregister ? ? --stop-after ?", "study open-results ? --reason ? --by ?",
    "study anonymise ? --out ? --title ? --author ? --licence ?",
    "study anonymise s --out ? --title T --author ?", "study reasons ? --out ?", "study coded ? ? ? --codebook ?",
    "study people ? --csv ?", "study exclude ? --rule ? --dry-run", "study exclude ? --person ? --reason ?",
    "study include ? --person ? --reason ?", "study invite ? --role ? --name ?", "study revoke ?", "study access ?",
    "study pause ?", "study resume ?", "study held-back ?", "study admit ? ? --by ?", "study preview ?",
    "study pilot ?", "study reset ? --pilot --yes",
    "study status ?", "study release ? --study ?", "study end ? --yes", "study ask-model ? --model ? --persona ?",
    "evaluate-voice messages --messages ?",
    "evaluate-voice sheet ? --out ? --key ?",
    "evaluate-voice sheet ? ? --out ? --key ? --n ? --seed ? --messages ?", "evaluate-voice marks ? --key ?",
    "evaluate-voice marks ? --key ? --card ?", "?", "? ?", "--version ?", "models ?", "study ?", "db ?",
]  # fmt: skip
"""Each `?` is anything. None of these talks to a server or trains, whatever stands there."""
WORDS = [
    "", " ", "-", "--", "--help?", "-x", "0", "-1", "1e9", "nan", "9" * 400, "x" * 300, "a/b", "..", "\u202eabc",
    "😀", "ä",
    "a\nb", "\udcff", "%s", "{x}", "judge:", "judge:nobody", "listener", "example", "echo", "=", "a=b", "a=b,c=d",
    "both",
    "/dev/null", "/proc/self/mem", "/proc/x/y", "*", "'", '"', "DE", "wassa", "\u2028", "localhost", "a..b",
    "256.1.1.1",
]  # fmt: skip
FILES = {
    "empty": b"", "spaces": b" \n\n", "bytes": bytes(range(256)), "nul": b"a\0b\n", "bom": b"\xef\xbb\xbf",
    "odd": b"\xff\xfe\x00",
    "utf16": "id,text\n1,hello\n".encode("utf-16"), "header.csv": b"\xef\xbb\xbfid,text\n",
    "reply.csv": b"reply,cognitive\nx\n",
    "quote.csv": b'id,text\n1,"open', "wide.csv": b"a,b\n" + b",".join([b"x"] * 500) + b"\n",
    "long.csv": b"id,text\n1," + b"x" * 200_000,
    "list.json": b"[1, [2, [3]]]", "deep.json": b"[" * 20_000, "number.json": b"9" * 5000,
    "null.jsonl": b"null\n1\n[]\n{}\n",
    "row.jsonl": b'{"id": 1, "text": null, "reply": []}\n', "nan.jsonl": b'{"id": NaN, "text": "\\ud800"}\n',
    "deep.jsonl": b'{"id": ' + b"[" * 20_000 + b"\n", "digits.jsonl": b'{"id": ' + b"9" * 5000 + b', "text": "x"}\n',
    "bad.toml": b"a = [", "deep.toml": b"a = " + b"[" * 5000, "digits.toml": b"id = " + b"9" * 5000,
    "table.toml": b"[a]\nb = 1\n",
    "bom.toml": b'\xef\xbb\xbfid = "x"\n', "twice.toml": b"id = 1\nid = 2\n",
    "study.toml": b'id = "s"\ntitle = 3\narms = "x"\n',
    "bad.yaml": b"a: [", "twice.yaml": b"a: 1\na: 2\n", "key.yaml": b"? [a, b]\n: 1\n", "date.yaml": b"a: 2026-13-45\n",
    "tag.yaml": b"!!python/object:os.system x\n", "deep.yaml": b"[" * 3000, "alias.yaml": b"a: &a [*a]\n",
    "bom.yaml": b"\xef\xbb\xbfa: 1\n",
    "x.parquet": b"PAR1nonsensePAR1", "x.zip": b"PK\x03\x04nonsense", "x.gguf": b"GGUFnonsense",
    "x.png": b"\x89PNG\r\n\x1a\n",
}  # fmt: skip
FOLDERS = ("folder", "taken")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with files of every wrong kind, and with no model on its disk."""
    folder = tmp_path_factory.mktemp("odd")
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    for name in FOLDERS:
        (folder / name).mkdir()
    (folder / "taken" / "personas").write_text("no folder")
    (folder / "loop").symlink_to(folder / "loop")
    return folder


ARGUMENTS = st.sampled_from([*WORDS, *FILES, *FOLDERS, "loop", "missing", "missing/below", "empty/below"])


def ended(place: Path, arguments: list[str], stdin: bytes = b"") -> Done:
    """Run a command. An unknown fault comes out as the exception that it is."""
    done = heard(
        *arguments, folder=place, stdin=stdin, HEARD_CACHE_DIR=str(place / "cache"), HEARD_DATA_DIR=str(place / "data"),
        HEARD_EMBEDDED="smollm2", HF_HUB_OFFLINE="1",
    )  # fmt: skip
    assert done.status in (0, 2), (arguments, done)
    assert "Traceback" not in done.stderr
    assert done.status == 0 or done.stderr.strip()
    return done


def filled(template: str, given: list[str]) -> list[str]:
    values = iter(given)
    return [next(values) if part == "?" else part for part in shlex.split(template)]


@pytest.mark.parametrize("template", COMMANDS)
def test_a_command_with_anything(place: Path, template: str) -> None:
    chance = random.Random(template)
    everything = [*WORDS, *FILES, *FOLDERS, "loop", "missing", "missing/below", "empty/below"]
    number = template.split().count("?")
    for word in chance.sample(everything, 12) if number else ():
        others = [chance.choice(everything) for _ in range(number)]
        others[chance.randrange(number)] = word
        ended(place, filled(template, others), FILES[chance.choice(list(FILES))])


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(["check --jsonl", "settings", "places", "db upgrade", "prompts check"]), st.binary(max_size=200))
@example("check --jsonl", b"[" * 100_000)
@example("check --jsonl", b'{"id": ' + b"9" * 5000 + b', "text": "x"}')
def test_any_bytes_on_standard_input(place: Path, command: str, content: bytes) -> None:
    ended(place, command.split(), content)


@pytest.mark.parametrize("host", [word for word in WORDS if word not in ("", "0", "localhost", "*")])
def test_a_host_that_is_none(host: str) -> None:
    with pytest.raises(PortError):
        listen_on(host, 0).close()


def test_no_command_is_left_out() -> None:
    import typer.main

    def names(command: object, before: str = "") -> list[str]:
        below = getattr(command, "commands", None)
        if below is None:
            return [before.strip()]
        return [name for key, one in below.items() for name in names(one, f"{before} {key}")]

    given_none = {"chat", "db upgrade", "hotlines check", "models list", "models fetch", "models check", "models find"}
    known = {
        " ".join(part for part in template.split() if part.isidentifier() or "-" in part[1:]) for template in COMMANDS
    }
    missing = [name for name in names(typer.main.get_command(app)) if not any(one.startswith(name) for one in known)]
    assert set(missing) - given_none == set()
