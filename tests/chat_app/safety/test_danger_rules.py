"""The rules of the dangers beside suicide: what is said outright is found, and what only sounds like it is not."""

import pytest

from heard.chat_app.safety.crisis_check import check, checker, danger_checker, explain
from heard.chat_app.safety.measure import load_cases
from heard.chat_app.safety.verdict import Danger, Level, SafetyVerdict
from heard.prompts.safety_files import CATEGORIES, load_danger_lexicon
from heard.scorer.danger_lines import read_lines

SAID = {
    Danger.DOMESTIC_VIOLENCE: [
        "my husband is beating me right now im locked in the bathroom",
        "My partner won't let me leave the house.",
        "my bf punched me in the face last night 😭",
        "I am a retired man and my wife beats me, and nobody believes me.",
        "husband beat me with belt yesterday",
        "he said hes gonna kill me if i leave him",
        "my ex is threatening to kill me",
        "My mother's boyfriend hits her.",
    ],
    Danger.SEXUAL_ASSAULT: [
        "he raped me last night",
        "I was sexually assaulted by my manager.",
        "my bf forced me to have sex",
        "someone groped me on the bus n i froze",
        "I told him no and he kept going",
        "My best friend got raped at a party.",
        "he had sex with me while i was asleep",
    ],
    Danger.CHILD_ABUSE: [
        "im 13 and my dad hits me",
        "my mom hits me",
        "My stepfather beats me and my brother with a belt.",
        "my uncle touches me at night",
        "Our neighbour is beating his kids again.",
        "I shook my baby",
        "my daughter says grandpa touches her",
    ],
    Danger.MINOR: [
        "im 12",
        "14f here",
        "Hello, I am fifteen years old.",
        "i'm in 8th grade",
        "im in year 9 and failing maths",
        "I'm a 7th grader",
        "my boyfriend is 19 and i'm 15",
        "just turned 13",
    ],
    Danger.POISONING: [
        "my toddler just drank bleach",
        "My kid ate rat poison!",
        "I accidentally swallowed weed killer.",
        "my baby swallowed a button battery",
        "I took the wrong tablets",
        "my daughter got into my blood pressure pills",
    ],
    Danger.THREAT: [
        "i want to kill my wife, i have a gun",
        "I'm going to shoot my boss tomorrow.",
        "gonna stab him tonight",
        "I will burn his house down",
        "im bringing a knife to school",
        "I have thoughts of killing my mother",
    ],
    Danger.PSYCHOSIS: [
        "the voices tell me to stab my brother",
        "God told me to kill my son.",
        "there's a chip in my brain",
        "the devil orders me to burn the house",
        "my son is hearing voices",
        "they keep telling me to stab her",
    ],
    Danger.EATING_DISORDER: [
        "i havent eaten in 6 days",
        "I make myself throw up after every meal.",
        "day 6 without food",
        "i take 20 laxatives every day",
        "My sister is starving herself.",
        "i keep fainting because i dont eat",
    ],
}
NOT_SAID = {
    "play": [
        "my kid beat me at chess",
        "he beat me to it",
        "My brother always beats me at darts.",
        "my bf beat cancer",
    ],
    "jokes": [
        "i could kill my husband lol he ate my leftovers",
        "i want to kill my wife lol",
        "I could murder a curry",
        "I'm going to kill it at the interview",
        "my husband kills me with his puns",
    ],
    "numbers": [
        "im 13 weeks pregnant",
        "13 years sober",
        "i was 13 when we moved",
        "my daughter is 13",
        "I'm 10 minutes late",
        "im size 12",
        "I live at 14 Park Street",
        "I'm 13 years older than him",
        "i'm nine months pregnant",
        "I teach year 8",
        "I'm a year 6 teacher",
        "I feel like I'm 12 again",
        "my eldest says im 12 at heart",
    ],
    "fiction": [
        "In the film he raped her.",
        "The husband in the novel beats his wife.",
        "my rogue gets to stab the duke",
    ],
    "news and work": ["The news said a man was raped.", "I work with rape survivors", "My patient hears voices."],
    "long over": ["My dad used to hit me, years ago.", "my ex used to hit me but that was years ago"],
    "animals": ["my dog ate rat poison", "my cat hasnt eaten in 4 days", "The puppy chewed a battery"],
    "near to poison": [
        "my toddler ate playdough",
        "she took her medication",
        "i swallowed a fly",
        "she almost drank the mouthwash",
    ],
    "no voices": [
        "God told me to be patient",
        "the voices in the choir were lovely",
        "my boss told me to cut the budget",
    ],
    "hunger": [
        "fasting for ramadan",
        "i starve by lunch",
        "I haven't eaten since breakfast",
        "I haven't eaten meat in 6 days",
        "i fasted for 3 days for my surgery",
    ],
    "touch": [
        "my boss touched on the budget",
        "He forced me to watch his show.",
        "he threw me a party",
        "it hit me hard",
    ],
}


@pytest.mark.parametrize(("danger", "text"), [(danger, text) for danger, texts in SAID.items() for text in texts])
def test_what_is_said_outright_is_handed_off(danger: Danger, text: str) -> None:
    found = check(text)
    assert (found.level, found.danger, found.category) == (Level.CRISIS, danger, danger.value)
    assert (found.language, found.reader) == ("en", "rules")


def test_every_danger_has_rules() -> None:
    assert {Danger.SUICIDE, *map(Danger, load_danger_lexicon().crisis)} == set(Danger)


@pytest.mark.parametrize("text", [text for texts in NOT_SAID.values() for text in texts])
def test_what_only_sounds_like_it_is_not(text: str) -> None:
    assert check(text) == SafetyVerdict()


@pytest.mark.parametrize(
    ("text", "danger"),
    [
        ("my husband beat me up last night and i want to kill myself", Danger.SUICIDE),
        ("im 12 and i want to die", Danger.SUICIDE),
        ("the voices tell me to kill myself", Danger.SUICIDE),
        ("im 14 and i havent eaten in 5 days", Danger.EATING_DISORDER),
        ("im 12 and my uncle raped me", Danger.CHILD_ABUSE),
    ],
)
def test_the_gravest_danger_decides(text: str, danger: Danger) -> None:
    found = check(text)
    assert found.danger is danger
    assert (found.category in CATEGORIES) == (danger is Danger.SUICIDE)


@pytest.mark.parametrize(
    ("text", "danger"),
    [
        ("He beat me at chess. Then he strangled me again.", Danger.DOMESTIC_VIOLENCE),
        ("we watched a film and i was raped", Danger.SEXUAL_ASSAULT),
        ("my dog is fine but my son ate rat poison", Danger.POISONING),
        ("my daughter is 13. i'm 15.", Danger.MINOR),
    ],
)
def test_an_exception_hides_no_second_statement(text: str, danger: Danger) -> None:
    assert check(text).danger is danger
    assert check(text).crisis


def test_harmless_lines_of_the_suicide_cases_stay_harmless(pytestconfig: pytest.Config) -> None:
    cases = load_cases(pytestconfig.rootpath / "tests" / "safety_cases")
    assert [case.id for case in cases if not case.crisis and danger_checker().explain(case.text)] == []


def test_few_harmless_lines_are_alarmed() -> None:
    harmless = [line.text for line in read_lines() if line.label == "none"]
    alarmed = [text for text in harmless if danger_checker().explain(text)]
    assert len(alarmed) <= 0.003 * len(harmless), alarmed


def test_the_patterns_are_told() -> None:
    found = explain("im 13, my dad hits me. I want to die")
    assert found[0].category == "ideation"
    assert found[-1].category == "minor"
    assert checker().explain("my dad hits me") == []
