"""When a further draft is written and what it is told, and the sign of a recipe."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from heard.chat_app.conversation.drafts import Drafts
from heard.chat_app.conversation.formulaic import formulaic, same_opening, stacked
from heard.chat_app.conversation.rewriting import (
    critique_guidance,
    guidance_for,
    lacks_watched,
    needs_another_draft,
    with_draft_seed,
)
from heard.chat_app.models.catalogue import BUILT_IN
from heard.db.records import DraftRecord, DraftStatus, ScoreRecord
from heard.prompts.library import PromptLibrary
from heard.prompts.records import Policy
from heard.scorer.records import EmpathyScore, ScoreStatus
from heard.scorer.training.data import project_set

LIBRARY = PromptLibrary.load()
POLICIES = LIBRARY.policies
BELOW, STOPS = POLICIES["below-threshold"], POLICIES["below-with-stops"]
HEAPED = "I feel your pain, sadness, sorrow and fear. That is all so hard."


def draft(empathy: float | None, text: str = "That is a lot to carry.", **components: float) -> DraftRecord:
    """A draft that came whole, scored `empathy` in every component that is not given."""
    score = ScoreRecord("scored", None, 2.0, 2.0, 2.0, empathy, "default", "0" * 64, "0" * 64)
    values: Mapping[str, Any] = {name: empathy for name in ("cognitive", "emotional", "behavioral")} | components
    return DraftRecord(
        "d", 1, text, DraftStatus.COMPLETE, False, None, "0" * 64, "echo", {}, None, 0.0, None, None, None,
        replace(score, **values), datetime.now(UTC),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("policy", "scores", "on"),
    [
        (POLICIES["never"], [1.0], False),
        (BELOW, [1.69], True),
        (BELOW, [1.7], False),
        (BELOW, [None], False),
        (BELOW, [1.5, 1.2], True),  # what a rewrite loses does not matter unless least_gain says so
        (BELOW, [1.5, 1.2, 1.2], False),
        (POLICIES["best-of-3"], [3.0], True),
        (POLICIES["best-of-3"], [None, 3.0], True),
        (POLICIES["best-of-3"], [3.0, 3.0, 3.0], False),
        (STOPS, [1.5, 1.56], True),
        (STOPS, [1.5, 1.54], False),
        (STOPS, [1.5, 1.6, 1.62], False),  # gained over the best before it
        (STOPS, [None, 1.5], False),
        (POLICIES["critique"], [2.4], True),
        (POLICIES["critique"], [2.5], False),
        (POLICIES["critique"], [1.0, 1.0], False),
    ],
)
def test_when_a_further_draft_is_written(policy: Policy, scores: list[float | None], on: bool) -> None:
    openings = ("First", "Second", "Third")
    drafts = [draft(score, f"{word}, and then the rest.") for word, score in zip(openings, scores, strict=False)]
    assert needs_another_draft(policy, drafts, None) == on


@pytest.mark.parametrize(
    ("texts", "last_reply", "on"),
    [
        (["I hear how long that was.", "You said it well and clearly."], None, True),
        (["I hear how long that was.", "I hear, how LONG a day!"], None, False),
        (["I hear how long that was.", "You said it well and clearly."], "You said it well: go on.", False),
        (["I hear how long that was."], "I hear how long that was.", True),  # a first draft may be bettered
        (["I hear how long that was.", HEAPED], None, False),
    ],
)
def test_it_ends_when_a_rewrite_turns_formulaic(texts: list[str], last_reply: str | None, on: bool) -> None:
    drafts = [draft(1.1 + number / 10, text) for number, text in enumerate(texts)]
    assert needs_another_draft(STOPS, drafts, last_reply) == on
    assert needs_another_draft(BELOW, drafts, last_reply), "only where the policy says so"


def test_the_weakest_or_all_that_are_low_are_named() -> None:
    library = PromptLibrary.load()
    weak = draft(1.5, cognitive=1.9, emotional=1.2, behavioral=2.4)
    one = guidance_for(BELOW, weak, library)
    assert one is not None
    assert (one.aim, one.text) == ("emotional", library.guidance["emotional"])
    two = guidance_for(STOPS, weak, library)
    assert two is not None
    assert two.aim == "facets"
    assert two.text == library.guidance["emotional"] + "\n" + library.guidance["cognitive"]
    single = guidance_for(STOPS, draft(1.9, emotional=1.2, cognitive=2.1, behavioral=2.4), library)
    assert single is not None
    assert single.aim == "emotional"
    assert guidance_for(POLICIES["best-of-3"], weak, library) is None


def test_a_policy_may_watch_how_people_would_call_it() -> None:
    people = replace(STOPS, watches="perceived")
    assert needs_another_draft(people, [draft(2.9, perceived=1.9)], None)
    assert not needs_another_draft(people, [draft(1.1, perceived=2.0)], None)
    assert not needs_another_draft(people, [draft(1.5, perceived=1.5), draft(1.9, "Another.", perceived=1.54)], None)
    assert needs_another_draft(people, [draft(1.9, perceived=1.5), draft(1.5, "Another.", perceived=1.56)], None)
    told = guidance_for(people, draft(1.9, emotional=1.2, cognitive=2.1, behavioral=2.4, perceived=1.2), LIBRARY)
    assert told is not None
    assert told.aim == "emotional", "a rewrite is told of components"


def test_a_policy_that_watches_a_component_names_it() -> None:
    told = guidance_for(replace(BELOW, watches="cognitive"), draft(1.5, cognitive=1.4, emotional=1.1), LIBRARY)
    assert told is not None
    assert told.aim == "cognitive"
    assert not needs_another_draft(replace(BELOW, watches="cognitive"), [draft(1.2, cognitive=1.8)], None)


@pytest.mark.parametrize("name", ["below-threshold", "below-with-stops", "best-of-3", "critique"])
def test_without_the_number_that_it_watches_nothing_is_written_again(name: str) -> None:
    policy = replace(POLICIES[name], watches="perceived")
    assert lacks_watched(policy, draft(1.0))
    assert not needs_another_draft(policy, [draft(1.0)], None)
    assert not lacks_watched(policy, draft(None)), "no score at all is another thing"
    assert not lacks_watched(POLICIES[name], draft(1.0))


def test_the_best_by_the_number_that_is_watched_is_kept_and_a_missing_one_is_told() -> None:
    known = EmpathyScore(ScoreStatus.SCORED, 2.0, 2.0, 2.0, None, "h", "0" * 64, "0" * 64)
    made = Drafts(ended=[draft(1.5, perceived=2.2), draft(2.5, "Another.", perceived=1.2)], policy="mine")
    assert [one.kept for one in made.with_best_kept()] == [False, True]
    made.watches = "perceived"
    assert [one.kept for one in made.with_best_kept()] == [True, False]
    made.set_score(replace(known, perceived=2.3))
    assert [one.kept for one in made.with_best_kept()] == [False, True]
    newest = made.ended[-1].score
    assert newest is not None
    assert newest.details == known.details
    made.set_score(known)
    newest = made.ended[-1].score
    assert newest is not None
    said = "The policy mine watches the number perceived, which this head does not give."
    assert newest.details == {**known.details, "not_rewritten": said}


def test_braces_in_a_models_words_stay_what_they_are() -> None:
    told = critique_guidance(POLICIES["critique"], "my {critique} and \\1 {0}", "your {draft}")
    assert "my {critique} and \\1 {0}" in told.text
    assert "your {draft}" in told.text
    assert told.aim == "critique"


def test_each_of_n_drafts_has_a_seed_of_its_own() -> None:
    seeded = replace(BUILT_IN["echo"], seed=7)
    assert [with_draft_seed(POLICIES["best-of-3"], seeded, number, again=False).seed for number in (1, 2, 3)] == [
        7,
        8,
        9,
    ]
    assert with_draft_seed(BELOW, seeded, 2, again=False).seed == 7
    assert with_draft_seed(BELOW, seeded, 2, again=True).seed == 8
    assert with_draft_seed(POLICIES["best-of-3"], BUILT_IN["echo"], 2, again=True).seed is None


# The sign of a recipe


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("That sounds lonely.", 1),
        ("Lonely, lonely, LONELY.", 1),
        (HEAPED, 4),
        ("Sad. " + "One more plain word follows here and so it goes on. " * 2 + "Sad, lonely.", 2),
        ("sad " + "word " * 10 + "lonely", 2),
        ("sad " + "word " * 11 + "lonely", 1),
    ],
)
def test_stacked_words_are_counted_in_twelve_words_in_a_row(text: str, count: int) -> None:
    assert stacked(text) == count


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("I'm so sorry to hear that.", "I’m so sorry, to be sure!", True),
        ("I'm so sorry to hear that.", "I'm so sorry that it hurt.", False),
        ("I am here", "I am here", False),
        ("", "", False),
    ],
)
def test_openings_are_four_words(one: str, other: str, same: bool) -> None:
    assert same_opening(one, other) == same
    assert formulaic(one, [other]) == same


def test_replies_that_people_wrote_are_hardly_ever_called_stacked() -> None:
    found = [example for example in project_set() if stacked(example.reply) >= 4]
    assert 0 < len(found) < 0.01 * len(list(project_set()))
