"""`/api/score` in the OpenAPI format (3.1), for programs that make a client of it.

Written by hand and not taken from types by FastAPI: its own reading of a body would quote the caller's text in a
refusal. A test holds every real answer against it.
"""

from typing import Any

from pydantic import TypeAdapter

from heard.chat_app.web.score_calls import MOST_BYTES, MOST_EARLIER, MOST_ITEMS
from heard.chat_app.web.score_queue import MOST_WAITING
from heard.scorer.score_json import ScoreJson

REFUSALS = {
    "400": "The body is not JSON.",
    "403": "The caller is a page of another site, or a program on another machine.",
    "413": f"More than {MOST_BYTES:,} bytes, more than {MOST_ITEMS} items, or too long a text.",
    "415": "The header Content-Type is not application/json.",
    "422": "The JSON has another shape.",
    "429": f"{MOST_WAITING} calls are waiting already; the header Retry-After says how many seconds to wait.",
}


def description(limit: int) -> dict[str, Any]:
    """The whole document. limit: most characters of each text."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "heard: scores of empathy",
            "version": "1",
            "description": "Rates replies for empathy. Nothing that is sent is stored or logged.",
        },
        "paths": {"/api/score": {"post": _operation()}},
        "components": {"schemas": _schemas(limit)},
    }


def _operation() -> dict[str, Any]:
    one_or_many = [_ref("Pair"), _object({"items": _list("Pair") | {"minItems": 1, "maxItems": MOST_ITEMS}})]
    answers = [_ref("Score"), _object({"items": _list("Score")})]
    return {
        "operationId": "score",
        "summary": "Rate one reply, or a list of replies in order.",
        "requestBody": {"required": True, "content": _json({"oneOf": one_or_many})},
        "responses": {
            "200": {
                "description": "The score, or the scores in the order of the items.",
                "content": _json({"oneOf": answers}),
            },
            **{code: {"description": why, "content": _json(_ref("Refusal"))} for code, why in REFUSALS.items()},
        },
    }


def _schemas(limit: int) -> dict[str, Any]:
    text = {"type": "string", "maxLength": limit}
    scores = TypeAdapter(ScoreJson).json_schema(ref_template="#/components/schemas/{model}", mode="serialization")
    models = scores.pop("$defs")
    earlier = {"type": "array", "items": text, "maxItems": MOST_EARLIER, "default": []}
    pair = _object(
        {
            "seeker": text | {"default": "", "description": "What the reply answers."},
            "reply": text,
            "earlier": earlier | {"description": "What the same person wrote before, the newest last."},
        },
        ("seeker", "earlier"),
    )
    refusal = _object({"status": {"const": "refused"}, "reason": {"type": "string"}})
    return {"Pair": pair, "Score": scores, **models, "Refusal": refusal}


def _object(properties: dict[str, Any], optional: tuple[str, ...] = ()) -> dict[str, Any]:
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _list(name: str) -> dict[str, Any]:
    return {"type": "array", "items": _ref(name)}


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
