"""A score as JSON: one shape for HTTP, for the filter `heard score --jsonl` and behind the LangChain Runnable.

Four models, told apart by `status`: `Scored` with the numbers, `Partial` with those that a rater gives which is not
heard's own, `Unscored` and `Crisis` with the reason why there are none.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SkipValidation

from heard.scorer.records import HIGHEST, LOWEST, NOTES, READINGS, EmpathyScore, Level, ScoreStatus, level_of

HELP = "/help"
"""heard's page with numbers to call in a crisis."""

Identity = str | int | float | None
Rating = Annotated[float, Field(ge=LOWEST, le=HIGHEST)]
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
MaybeSha256 = Annotated[str, Field(pattern="^([0-9a-f]{64})?$")]
Note = Annotated[str, Field(json_schema_extra={"enum": list(NOTES)})]
_MEANINGS = " ".join(f"{name}: {sentence}" for name, sentence in NOTES.items())


class _Json(BaseModel):
    model_config = ConfigDict(extra="forbid")

    id: SkipValidation[Identity] = Field(description="As it was sent with the text; null without one.")


class Scored(_Json):
    """A text with a score."""

    status: Literal[ScoreStatus.SCORED]
    cognitive: Rating
    emotional: Rating
    behavioral: Rating
    empathy: Rating = Field(description="The mean of the three.")
    perceived: Rating | None = Field(
        description="How empathic people would call the reply; null with a head that was not taught it."
    )
    intervals: dict[str, tuple[Rating, Rating]] = Field(
        description="Lowest and highest plausible value of each number; empty with a head that was not measured."
    )
    notes: list[Note] = Field(description=f"What is wrong with the reply as an answer to this message. {_MEANINGS}")
    levels: dict[str, Level] = Field(description="Each number in a word.")
    head_name: str
    head_sha256: Sha256
    encoder_sha256: MaybeSha256 = Field(description="Empty of a rater without an encoder.")


class Partial(_Json):
    """A text with some of the numbers, from a rater that does not give all three components."""

    status: Literal[ScoreStatus.PARTIAL]
    reason: str = Field(description="Which numbers there are not, as a plain sentence.")
    cognitive: Rating | None
    emotional: Rating | None
    behavioral: Rating | None
    perceived: Rating | None
    levels: dict[str, Level] = Field(description="Each number in a word.")
    head_name: str
    head_sha256: Sha256
    encoder_sha256: MaybeSha256


class Unscored(_Json):
    """A text without a score."""

    status: Literal[
        ScoreStatus.EMPTY,
        ScoreStatus.EMOJI_ONLY,
        ScoreStatus.NOT_ENGLISH,
        ScoreStatus.UNREADABLE,
        ScoreStatus.TOO_LONG,
        ScoreStatus.OTHER_LANGUAGE,
        ScoreStatus.INCOHERENT,
        ScoreStatus.UNRATED,
    ]
    reason: str = Field(description="Why there is no score, as a plain sentence.")


class Crisis(_Json):
    """A text with suicidal or self-harm meaning, which the scorer never sees."""

    status: Literal[ScoreStatus.CRISIS]
    reason: str
    help: str = Field(description="The page of heard's server with numbers to call.")


ScoreJson = Annotated[Scored | Partial | Unscored | Crisis, Field(discriminator="status")]


def score_json(score: EmpathyScore, identity: Identity = None) -> Scored | Partial | Unscored | Crisis:
    """A score in the shape that other programs get. identity: the caller's own id of the text."""
    if score.status is ScoreStatus.CRISIS:
        return Crisis.model_validate({"id": identity, "status": score.status, "reason": score.reason, "help": HELP})
    partial = score.status is ScoreStatus.PARTIAL
    if score.empathy is None and not partial:
        return Unscored.model_validate({"id": identity, "status": score.status, "reason": score.reason})
    values = {name: getattr(score, name) for name in READINGS}
    rated = {
        "id": identity,
        "status": score.status,
        **values,
        "levels": {name: level_of(value) for name, value in values.items() if value is not None},
        "head_name": score.head_name,
        "head_sha256": score.head_sha256,
        "encoder_sha256": score.encoder_sha256,
    }
    if partial:
        del rated["empathy"]
        return Partial.model_validate(rated | {"reason": score.reason})
    return Scored.model_validate(rated | {"intervals": dict(score.intervals), "notes": list(score.notes)})


def as_json(score: EmpathyScore, identity: Identity = None) -> dict[str, Any]:
    """`score_json` as plain values, for `json.dumps`."""
    return score_json(score, identity).model_dump(mode="json")
