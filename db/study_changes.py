"""What of a study may still change once ballots have been drawn from it, and what may not."""

from collections.abc import Mapping
from typing import Any

MAY_CHANGE = (
    "title", "introduction", "texts", "purpose", "contact", "ethics_approval", "quota", "allow", "require_id",
    "id_parameters", "completion_code", "completion_url",
)  # fmt: skip
"""Keys of a study's file that may change at any time: texts, quota, code and links. So may a condition's own quota."""


def differing(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return the keys of a study's file that differ and may not, once people have been given ballots."""
    old, new = _fixed(before), _fixed(now)
    return sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))


def _fixed(definition: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in definition.items() if key not in MAY_CHANGE}
    if "conditions" in kept:
        kept["conditions"] = [
            {key: value for key, value in condition.items() if key != "quota"} for condition in kept["conditions"]
        ]
    return kept
