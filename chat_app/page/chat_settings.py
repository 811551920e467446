"""The choices of the settings panel, and the validation of what the browser sends back.

The panel runs in the browser, so any value can arrive here. Nothing is trusted: an unknown model, a threshold of 99 or
a text instead of a switch is refused with a sentence, and the choices stay as they were.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from heard.chat_app.common.settings import Settings
from heard.chat_app.models.records import ModelSpec
from heard.prompts.records import Policy, Strategy

LOWEST_THRESHOLD, HIGHEST_THRESHOLD, THRESHOLD_STEP = 1.0, 3.0, 0.1
"""Range and step of the threshold's slider: Empathy on 1..3."""
NO_COUNTRY = "all"
"""The panel's value for "no country chosen": all crisis numbers are shown."""


class ChoiceError(Exception):
    """A value that the panel does not offer; `str()` is a plain sentence for the person."""


@dataclass(frozen=True, slots=True)
class Offer:
    """The options of the settings panel."""

    models: Mapping[str, ModelSpec]
    strategies: Mapping[str, Strategy]
    countries: Mapping[str, str]
    """ISO 3166 code to name."""
    improve: Policy
    """The policy that the auto-improve switch turns on."""
    blind: bool = False
    """Whether a blind study decides who answers: then only the country may be chosen, and nothing else is shown."""
    research: bool = False
    """Whether the strategy may be chosen too (the setting `research_mode`)."""


@dataclass(frozen=True, slots=True)
class Choices:
    """The settings of one conversation, as ids, so that they can be stored with it."""

    model: str
    strategy: str
    live_scores: bool
    auto_improve: bool
    threshold: float
    country: str | None

    def as_values(self) -> dict[str, Any]:
        """Return the choices as JSON values, for the panel and the conversation's metadata."""
        return {
            "model": self.model,
            "strategy": self.strategy,
            "live_scores": self.live_scores,
            "auto_improve": self.auto_improve,
            "threshold": self.threshold,
            "country": self.country or NO_COUNTRY,
        }


def visible_values(chosen: Choices, offer: Offer) -> dict[str, Any]:
    """Return the values that the page may see and store."""
    values = chosen.as_values()
    return {"country": values["country"]} if offer.blind else values


def default_choices(
    settings: Settings, country: str | None, *, blind: bool = False, takes_part: bool = False
) -> Choices:
    """Return the choices of a new conversation of somebody who `takes_part` in a study or not.

    Without scores in `blind` mode, and outside of studies if the settings say so.
    """
    return Choices(
        model=settings.default_model,
        strategy=settings.default_strategy,
        live_scores=settings.live_scores and not blind and (takes_part or settings.scores_outside_studies),
        auto_improve=settings.auto_improve,
        threshold=settings.auto_improve_threshold,
        country=country,
    )


def updated_choices(current: Choices, values: Mapping[str, object], offer: Offer) -> Choices:
    """Return `current` updated with the panel's `values`.

    Raises ChoiceError for the first value that the panel does not offer.
    """
    if not isinstance(values, Mapping):
        raise ChoiceError("The settings did not arrive as settings, so nothing was changed. Reload the page.")
    fields: dict[str, Any] = {}
    for key, value in values.items():
        match key:
            case _ if offer.blind and key != "country":
                raise ChoiceError("In this study nobody chooses who answers, so nothing was changed.")
            case "strategy" if value != current.strategy and not offer.research:
                raise ChoiceError("Strategies are chosen in research mode alone, so nothing was changed.")
            case "model":
                fields[key] = _one_of(value, offer.models, "model")
            case "strategy":
                fields[key] = _one_of(value, offer.strategies, "strategy")
            case "live_scores" | "auto_improve":
                fields[key] = _switch(value, key.replace("_", "-"))
            case "threshold":
                fields[key] = _threshold(value)
            case "country":
                fields[key] = None if value in (None, NO_COUNTRY) else _one_of(value, offer.countries, "country")
            case _:
                raise ChoiceError(
                    "There is no such setting, so nothing was changed. Reload the page to see those there are."
                )
    return replace(current, **fields)


def restored_choices(current: Choices, values: object, offer: Offer) -> Choices:
    """Return `current` updated with those of a stored conversation's `values` that are still on offer.

    Others are ignored: a model may have been removed from `models.toml`, and the conversation must open all the same.
    A strategy that was chosen in research mode stays without it.
    """
    offer = replace(offer, research=True)
    if not isinstance(values, Mapping):
        return current
    for key, value in values.items():
        try:
            current = updated_choices(current, {key: value}, offer)
        except ChoiceError:
            continue
    return current


def _one_of(value: object, known: Mapping[str, object], what: str) -> str:
    if not isinstance(value, str) or value not in known:
        raise ChoiceError(f"That {what} is not on offer here, so nothing was changed. Choose one from the list.")
    return value


def _switch(value: object, what: str) -> bool:
    if not isinstance(value, bool):
        raise ChoiceError(f"The switch for {what} can only be on or off, so nothing was changed.")
    return value


def _threshold(value: object) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    # Written so that NaN fails it, and compared before it becomes a float, which a huge int cannot.
    if not number or not LOWEST_THRESHOLD <= value <= HIGHEST_THRESHOLD:  # type: ignore[operator]
        raise ChoiceError("The threshold must be a number from 1 to 3, so nothing was changed.")
    return round(float(value), 2)  # type: ignore[arg-type]
