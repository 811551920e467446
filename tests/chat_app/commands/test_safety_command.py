"""`heard check`: one text, a filter over JSON lines, and the measuring."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from heard.chat_app.safety.measure import MeasureError, load_cases, report
from tests.commands import heard

ROOT = Path(__file__).parents[3]
RUN = [sys.executable, "-c", "from heard.chat_app.cli import main; main()", "check"]
QUIET = {"crisis": False, "category": None, "level": "none", "danger": None, "reader": None}
ASKED_ABOUT = "I don't see the point of anything any more"
"""What a friend would ask about."""


def run(*arguments: str, text: str = "") -> tuple[int, str, str]:
    done = heard("check", *arguments, stdin=text.encode())
    return done.status, done.stdout, done.stderr


def test_one_text() -> None:
    assert run("I want to die") == (0, "crisis: ideation (suicide, by rules)\n", "")
    assert run("my phone is dying") == (0, "no crisis found\n", "")
    assert run("he raped me last night") == (0, "crisis: sexual_assault (sexual_assault, by rules)\n", "")
    assert run("I used to be suicidal and therapy helped") == (0, "no crisis found, but: recovery\n", "")


@pytest.mark.parametrize("arguments", [(), ("text", "--jsonl"), ("text", "--measure", "x")])
def test_it_needs_exactly_one_thing_to_do(arguments: tuple[str, ...]) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert "heard check" in err


def test_filter_answers_in_order() -> None:
    rows = [{"id": n, "text": "I want to die" if n % 2 else "hello"} for n in range(5)]
    code, out, _ = run("--jsonl", text="".join(json.dumps(row) + "\n" for row in rows))
    answers = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert [answer["id"] for answer in answers] == [0, 1, 2, 3, 4]
    assert answers[0] == {"id": 0, **QUIET}
    handed_off = {"level": "crisis", "danger": "suicide", "reader": "rules"}
    assert answers[1] == {"id": 1, "crisis": True, "category": "ideation", **handed_off}


def test_each_level_and_danger_is_named_with_its_reader_and_the_old_keys_stand() -> None:
    fainting = "i havent kept anything down since tuesday on purpose and i faint on the stairs"
    drank = "my toddler drank from the blue bottle under the sink and he is sleepy"
    texts = ["he raped me last night", fainting, drank, "I used to be suicidal and therapy helped", ASKED_ABOUT]
    code, out, _ = run("--jsonl", text="".join(json.dumps({"id": text, "text": text}) + "\n" for text in texts))
    found = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    shown = [(one["crisis"], one["category"], one["level"], one["danger"], one["reader"]) for one in found]
    assert shown == [
        (True, "sexual_assault", "crisis", "sexual_assault", "rules"),
        (True, "eating_disorder", "crisis", "eating_disorder", "rules"),
        (True, "poisoning", "crisis", "poisoning", "head"),
        (False, None, "recovery", None, "head"),
        (False, None, "check_in", None, "head"),
    ]
    assert all(list(one)[:3] == ["id", "crisis", "category"] for one in found)


def test_what_was_said_before_counts() -> None:
    text = "see you on the other side"
    rows = [
        {"id": "grave", "text": text, "before": ["I gave the dog to my sister and wrote the letters"]},
        {"id": "harmless", "text": text, "before": ["boarding now, gate 14"]},
        {"id": "nothing", "text": "hello there", "before": []},
    ]
    code, out, _ = run("--jsonl", text="".join(json.dumps(row) + "\n" for row in rows))
    assert code == 0
    assert [json.loads(line)["crisis"] for line in out.splitlines()] == [True, False, False]


@pytest.mark.parametrize(
    ("line", "who", "fault"),
    [
        ("not json", None, "not JSON"),
        ("[1]", None, "object"),
        ('{"text": "secret words"}', None, '"id" is missing'),
        ('{"id": {}, "text": "secret words"}', None, '"id" must be'),
        ('{"id": "a"}', "a", '"text" is missing'),
        ('{"id": "a", "text": 5}', "a", '"text" is missing'),
        ('{"id": "a", "text": "hi", "before": "secret"}', "a", '"before" is not a list of texts'),
        ('{"id": "a", "text": "hi", "before": ["secret", 5]}', "a", '"before" is not a list of texts'),
        ('{"id": "a", "text": "hi", "before": null}', "a", '"before" is not a list of texts'),
        ("[" * 100_000, None, "not JSON"),
    ],
)
def test_a_bad_line_is_named_and_the_run_goes_on(line: str, who: str | None, fault: str) -> None:
    code, out, err = run("--jsonl", text=f'{line}\n{{"id": 2, "text": "hi"}}\n')
    first, second = (json.loads(row) for row in out.splitlines())
    assert code == 2
    assert first["id"] == who
    assert fault in first["error"]
    assert second == {"id": 2, **QUIET}
    assert "1 line(s) could not be checked (1" in err
    assert "secret" not in out + err


def test_bytes_that_are_no_utf8_and_lone_surrogates() -> None:
    lone = b'{"id": 2, "text": "\\ud800 a quiet day", "before": ["\\udc00"]}\n'
    source = b'\xff\xfe\n{"id": 1, "text": "\\ud800 I want to die"}\n' + lone
    done = heard("check", "--jsonl", stdin=source)
    first, second, third = (json.loads(row) for row in done.stdout.splitlines())
    assert done.status == 2
    assert "UTF-8" in first["error"]
    assert second["crisis"] is True
    assert third == {"id": 2, **QUIET}


def test_answers_come_line_by_line_and_a_closed_reader_ends_it_quietly() -> None:
    with subprocess.Popen(
        [*RUN, "--jsonl"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(b'{"id": 1, "text": "hello"}\n')
        process.stdin.flush()
        assert json.loads(process.stdout.readline()) == {"id": 1, **QUIET}
        process.stdout.close()
        try:
            for _ in range(2000):
                process.stdin.write(b'{"id": 2, "text": "hello"}\n')
            process.stdin.close()
        except BrokenPipeError:
            pass
        assert process.wait(timeout=60) == 0
        assert process.stderr.read() == b""


def test_it_starts_without_the_heavy_libraries() -> None:
    code = (
        "import sys; from heard.chat_app.commands.check import app\n"
        "from heard.chat_app.safety.crisis_check import check; check('hi')\n"
        "print(sorted({'torch', 'chainlit', 'transformers', 'sqlalchemy', 'langchain', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "[]"


def test_measuring_prints_both_checks(tmp_path: Path) -> None:
    cases = tmp_path / "cases.jsonl"
    rows = [
        {"id": 1, "text": "I want to die", "crisis": True, "group": "a"},
        {"id": 2, "text": "I wish I could sleep forever", "crisis": True, "group": "a"},
        {"id": 3, "text": "hello", "crisis": False, "group": "b"},
    ]
    cases.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    code, out, _ = run("--measure", str(cases))
    assert code == 0
    assert "heard check, all recall 100.0%" in " ".join(out.split())
    table = {line.split()[0]: line.split() for line in out.splitlines() if line}
    assert table["a"][1:5] == ["2", "2", "100.0%", "50.0%"]
    assert table["b"][5:] == ["0.0%", "0.0%"]
    assert report(load_cases(cases)) == out


@pytest.mark.parametrize("content", ["", "nonsense\n", '{"id": 1, "text": "secret", "crisis": "yes"}\n', '{"id": 1}\n'])
def test_cases_that_cannot_be_read(content: str, tmp_path: Path) -> None:
    cases = tmp_path / "cases.jsonl"
    cases.write_text(content, encoding="utf-8")
    with pytest.raises(MeasureError) as fault:
        load_cases(cases)
    assert "cases.jsonl" in str(fault.value)
    assert "secret" not in str(fault.value)
    assert run("--measure", str(cases))[0] == 2
    assert run("--measure", str(tmp_path / "absent.jsonl"))[0] == 2
