"""What gives away its writer in five languages, and what only looks like it: tests/leak_cases has a file for each.

In a file "+" gives the writer away and "-" does not. The lines were written after the patterns; what these missed at
first is in docs/studies.md.
"""

from pathlib import Path

import pytest

from heard.chat_app.studies.leaks import LEAK_KINDS, leaks_in

CASES = Path(__file__).parents[2] / "leak_cases"
FEWEST = 25
MISSED = {"es": 1, "es.second": 1, "en.second": 1, "de.second": 2, "fr.second": 2, "pt.second": 2}
"""How many may be missed."""


def lines(name: str, sign: str) -> list[str]:
    read = (CASES / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return [line[2:] for line in read if line.startswith(f"{sign} ")]


@pytest.mark.parametrize("part", ["", ".second"])
@pytest.mark.parametrize("language", ["de", "en", "es", "fr", "pt"])
def test_the_writer_is_found_and_the_innocent_pass(language: str, part: str) -> None:
    given_away, innocent = lines(language + part, "+"), lines(language + part, "-")
    assert len(given_away) >= FEWEST
    assert len(innocent) >= FEWEST
    assert [text for text in innocent if leaks_in(text)] == []
    missed = [text for text in given_away if not leaks_in(text)]
    assert len(missed) <= MISSED.get(language + part, 0), missed


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("As a therapist, I often see this.", "signature"),
        ("Como IA, no puedo sentir lo que tú sientes.", "ai_self"),
        ("COMO MODELO DE LENGUAJE, NO TENGO SENTIMIENTOS.", "ai_self"),
        ("Je m'appelle Claude.", "model_name"),
        ("Ich wurde von OpenAI entwickelt.", "maker"),
        ("J\u2019ai été développée par Mistral AI.", "maker"),
        ("Fui criada pelo Google.", "maker"),
        ("In meiner Praxis erlebe ich das oft.", "signature"),
        ("Als K\u200bI habe ich keine Gefühle.", "ai_self"),
    ],
)
def test_the_kind_says_how(text: str, kind: str) -> None:
    assert kind in leaks_in(text)
    assert kind in LEAK_KINDS


@pytest.mark.parametrize(
    "text",
    [
        "As the doctor said, I think rest helps.",
        "I'm worried about AI.",
        "Soy ingeniera de IA y me cansa.",
        "Como ia dizendo, eu vejo o seu esforço.",
        "I am not a therapist, but I hear you.",
        "Als Claude dich verließ, brach alles zusammen.",
        "Como él no te escucha, me imagino tu soledad.",
    ],
)
def test_what_only_looks_like_it_passes(text: str) -> None:
    assert leaks_in(text) == []
