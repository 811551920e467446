"""Many threads share the patterns of the crisis check: what one of them reads never moves what another finds."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from heard.chat_app.safety import matcher
from heard.chat_app.safety.crisis_check import Checker, checker
from heard.prompts.safety_files import load_lexicons

CASES = Path(__file__).parents[2] / "danger_cases" / "heldout.jsonl"
TEXTS = [json.loads(line)["text"] for line in CASES.read_text(encoding="utf-8").splitlines()[::3]]
ROUNDS = 2


@pytest.mark.parametrize("most", [10, 20_000], ids=["a memory that is always full", "a memory that grows"])
@pytest.mark.usefixtures("eager_switches")
def test_threads_find_what_one_finds_alone(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    alone = [checker().explain(text) for text in TEXTS]
    monkeypatch.setattr(matcher, "_MOST_CACHED_SETS", most)
    for _ in range(ROUNDS):
        fresh = Checker(load_lexicons())  # with nothing remembered
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(fresh.explain, TEXTS)) == alone
