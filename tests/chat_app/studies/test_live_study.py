"""Blind mode from the settings: which study they mean, which they refuse, and that a restart goes on with it."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from heard.chat_app.common.settings import Settings, SettingsError
from heard.chat_app.conversation.services import Services
from heard.chat_app.models.catalogue import load_models
from heard.chat_app.models.client import Models
from heard.chat_app.studies.live_study import configured_study, neutral_persona, study_from_arms
from heard.chat_app.studies.study_file import StudyFile, StudyFileError, parse_study, record_of
from heard.db.store import Store
from heard.db.study_store import StudyStore
from heard.prompts.library import PromptLibrary
from tests.journeys.web import store

__all__ = ["store"]  # a fixture
ARMS = "listener/plain/echo, quiet/definition/smollm2"
LIVE = """
id = "spring"
kind = "live"
[[arms]]
name = "warm"
persona = "listener"
model = "echo"
[[arms]]
name = "short"
persona = "quiet"
model = "echo"
"""


@pytest.fixture
async def services(tmp_path: Path, store: Store) -> AsyncIterator[Services]:
    """The product's own prompts and models, without the scorer, which nothing here asks."""
    settings = Settings(data_dir=tmp_path)
    specs = load_models(tmp_path / "none.toml")
    models = Models(specs, engine=None, first_token_seconds=1, stall_seconds=1)
    library = PromptLibrary.load(settings.prompts_dir, settings.persona_word)
    nobody = cast(Any, None)
    yield Services(settings, store, models, nobody, library, nobody, StudyStore(store.engine))
    await models.aclose()


def given(services: Services, **values: Any) -> Services:
    """The same program under other settings, as after a restart."""
    return replace(services, settings=services.settings.model_copy(update=values))


async def stored(services: Services, **values: Any) -> StudyFile:
    study = parse_study(
        {
            "id": "autumn",
            "kind": "live",
            "arms": [{"name": name, "persona": name, "model": "echo"} for name in ("listener", "quiet")],
            **values,
        },
        "here",
    )
    await services.studies.save_study(record_of(study, None))
    return study


async def test_without_a_setting_the_chat_is_the_ordinary_one(services: Services) -> None:
    await stored(services)
    assert await configured_study(services) is None


async def test_a_line_of_arms_is_a_study_with_a_secret_seed(services: Services) -> None:
    study = await configured_study(given(services, blind_arms=ARMS, blind_auto_improve="trial"))
    assert study is not None
    assert [(arm.name, arm.persona, arm.strategy, arm.model) for arm in study.arms] == [
        ("listener-plain-echo", "listener", "plain", "echo"),
        ("quiet-definition-smollm2", "quiet", "definition", "smollm2"),
    ]
    assert (study.kind, study.auto_improve, study.reveal) == ("live", "trial", True)
    assert len(study.seed) == 32
    assert [record.id for record in await services.studies.studies()] == [study.id]


async def test_after_a_restart_it_is_the_same_study_in_whatever_order_the_arms_stand(services: Services) -> None:
    first = await configured_study(given(services, blind_arms=ARMS))
    turned = ",".join(reversed(ARMS.split(",")))
    assert await configured_study(given(services, blind_arms=turned)) == first
    assert len(await services.studies.studies()) == 1


async def test_other_arms_or_another_way_of_improving_are_another_study(services: Services) -> None:
    lines = {(ARMS, "off"), (ARMS, "trial"), (ARMS.replace("quiet", "coach"), "off")}
    found = {await configured_study(given(services, blind_arms=line, blind_auto_improve=way)) for line, way in lines}
    assert len({study.id for study in found if study}) == 3


async def test_the_path_of_a_file_is_read_and_stored_and_keeps_its_seed(services: Services, tmp_path: Path) -> None:
    file = tmp_path / "spring.toml"
    file.write_text(LIVE, encoding="utf-8")
    first = await configured_study(given(services, blind_study=str(file)))
    assert first is not None
    assert first.id == "spring"
    assert first.seed
    file.write_text(LIVE.replace('kind = "live"', 'kind = "live"\ntitle = "Spring"'), encoding="utf-8")
    second = await configured_study(given(services, blind_study=str(file)))
    assert second == first.model_copy(update={"title": "Spring"})


async def test_a_stored_study_goes_by_its_name(services: Services) -> None:
    study = await stored(services, seed="fixed")
    assert await configured_study(given(services, blind_study="autumn")) == study


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("listener/plain", '"listener/plain" is not persona/strategy/model'),
        ("listener/plain/echo,", '"" is not persona/strategy/model'),
        ("listener//echo, quiet/plain/echo", '"listener//echo" is not persona/strategy/model'),
        ("listener/plain/echo", "two to 5 arms"),
        ("listener/plain/echo, listener/plain/echo", "two sources have the same name"),
        (", ".join(f"listener/plain/echo{n}" for n in range(6)), "two to 5 arms"),
    ],
)
def test_a_line_of_arms_that_cannot_be_used_says_why(line: str, words: str) -> None:
    with pytest.raises(SettingsError) as refused:
        study_from_arms(line, "off")
    assert str(refused.value).startswith("blind_arms: ")
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("listner/plain/echo, quiet/plain/echo", 'no persona "listner". Did you mean listener?'),
        ("listener/plian/echo, quiet/plain/echo", 'no strategy "plian". Did you mean plain?'),
        ("listener/plain/ecko, quiet/plain/echo", 'no model "ecko". Did you mean echo?'),
    ],
)
async def test_an_unknown_name_is_refused_with_the_nearest_right_one(services: Services, line: str, words: str) -> None:
    with pytest.raises(StudyFileError, match=words.replace("?", r"\?")):
        await configured_study(given(services, blind_arms=line))
    assert await services.studies.studies() == []


async def test_an_unknown_study_is_refused_with_the_nearest_right_one(services: Services) -> None:
    with pytest.raises(SettingsError, match="There is none yet: give the path of a study's file"):
        await configured_study(given(services, blind_study="autum"))
    await stored(services)
    with pytest.raises(SettingsError, match=r'no live study "autum" is stored. Did you mean autumn\?'):
        await configured_study(given(services, blind_study="autum"))


async def test_a_survey_is_no_live_study(services: Services, tmp_path: Path) -> None:
    file = tmp_path / "spring.toml"
    file.write_text(LIVE.replace('"live"', '"survey"'), encoding="utf-8")
    with pytest.raises(StudyFileError, match='kind is "survey", and the chat needs a "live" study'):
        await configured_study(given(services, blind_study=str(file)))
    await stored(services, kind="survey")
    with pytest.raises(SettingsError, match='no live study "autumn" is stored'):
        await configured_study(given(services, blind_study="autumn"))


async def test_a_file_that_is_not_there_says_so(services: Services, tmp_path: Path) -> None:
    with pytest.raises(StudyFileError, match=r"cannot be read .* Check the path"):
        await configured_study(given(services, blind_study=str(tmp_path / "none.toml")))


async def test_a_stored_study_whose_model_has_gone_says_so(services: Services) -> None:
    arms = [{"name": name, "persona": name, "model": "gone"} for name in ("listener", "quiet")]
    await stored(services, arms=arms)
    with pytest.raises(StudyFileError, match='arm listener: no model "gone"'):
        await configured_study(given(services, blind_study="autumn"))


async def test_settings_that_contradict_each_other_are_refused(services: Services) -> None:
    with pytest.raises(SettingsError, match="both set"):
        await configured_study(given(services, blind_study="autumn", blind_arms=ARMS))
    with pytest.raises(SettingsError, match="blind_auto_improve goes with blind_arms"):
        await configured_study(given(services, blind_study="autumn", blind_auto_improve="trial"))


def test_what_stands_in_a_personas_place_names_nobody(services: Services) -> None:
    persona = neutral_persona(services.library)
    words = " ".join((persona.id, persona.name, persona.description, persona.system)).lower()
    known = services.library.personas.values()
    assert not [one.id for one in known if one.id in words or one.name.lower() in words]
    assert persona.starters == next(iter(known)).starters


def test_the_time_of_its_first_start_stays_with_a_study() -> None:
    study = study_from_arms(ARMS, "off")
    first = replace(record_of(study, None), created_at=datetime(2026, 1, 1, tzinfo=UTC))
    assert record_of(study, first).created_at == first.created_at
