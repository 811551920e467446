"""The fields of the settings panel as plain data, from which `app.py` makes Chainlit's widgets."""

from collections.abc import Mapping
from typing import Any

from heard.chat_app.page.chat_settings import (
    HIGHEST_THRESHOLD,
    LOWEST_THRESHOLD,
    NO_COUNTRY,
    THRESHOLD_STEP,
    Choices,
    Offer,
)
from heard.prompts.records import PolicyKind, Watched

Field = dict[str, Any]
"""`kind` is "select", "switch" or "slider"; the other keys are the arguments of that widget."""


def fields(chosen: Choices, offer: Offer) -> list[Field]:
    """Return the fields of the panel, filled with the present choices."""
    values = chosen.as_values()
    models = {key: spec.label for key, spec in offer.models.items()}
    country = _country(values, offer)
    if offer.blind:
        return [country]
    panel = [
        _select("model", "Model", models, values),
        *([_strategy(values, offer)] if offer.research else []),
        _switch("live_scores", "Show scores", values, "Replies are scored and stored either way."),
        _switch("auto_improve", offer.improve.name, values, offer.improve.description),
    ]
    if offer.improve.kind is PolicyKind.BELOW:
        panel.append(_threshold(values, offer.improve.watches))
    return [*panel, country]


def _strategy(values: Mapping[str, Any], offer: Offer) -> Field:
    names = {key: strategy.name for key, strategy in offer.strategies.items()}
    return _select("strategy", "Strategy", names, values, "How the model is told to think before it answers.")


def _threshold(values: Mapping[str, Any], watches: Watched) -> Field:
    number = "Perceived empathy" if watches == "perceived" else watches.capitalize()
    return {
        "kind": "slider",
        "id": "threshold",
        "label": f"Low means: {number} under",
        "initial": values["threshold"],
        "min": LOWEST_THRESHOLD,
        "max": HIGHEST_THRESHOLD,
        "step": THRESHOLD_STEP,
    }


def _country(values: Mapping[str, Any], offer: Offer) -> Field:
    countries = {NO_COUNTRY: "All countries", **offer.countries}
    help_text = "Never decided by a guess: without a choice, a hand-off asks."
    return _select("country", "Country for crisis numbers", countries, values, help_text)


def _select(
    key: str, label: str, options: Mapping[str, str], values: Mapping[str, Any], description: str = ""
) -> Field:
    names = list(options.values())
    # Chainlit keys the options by what people read, so two models with the same label would become one.
    items = {name if names.count(name) == 1 else f"{name} ({option})": option for option, name in options.items()}
    return {
        "kind": "select",
        "id": key,
        "label": label,
        "items": items,
        "initial_value": values[key],
        "description": description or None,
    }


def _switch(key: str, label: str, values: Mapping[str, Any], description: str) -> Field:
    return {"kind": "switch", "id": key, "label": label, "initial": values[key], "description": description}
