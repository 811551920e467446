"""`POST /vote`: a vote from a page of this server, by the signed cookie of whoever sits before it."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from heard.chat_app.common.refusals import RefusedCall
from heard.chat_app.page.handoff_card import handoff_props
from heard.chat_app.safety.handoff import handoff
from heard.chat_app.studies.votes import BROKEN, LONGEST_REASON, cast_vote
from heard.chat_app.web.dependencies import CountryDep, ParticipantDep, SiteDep
from heard.chat_app.web.json_route import JsonRoute
from heard.db.study_records import LETTERS, WIDTHS, Choice, VoteRecord
from heard.db.voting import MOST_SECONDS, NO_SUCH_TIME
from heard.sentences import sentence

UNKNOWN_VISITOR = sentence(
    "This page does not know you any more, so the vote was not taken. Open the first page and begin again there."
)
NO_SUCH_ANSWER = f"There is no such answer. Choose one of {', '.join(LETTERS)} that is on the page."
_SENTENCES = {"most": NO_SUCH_ANSWER, "least": NO_SUCH_ANSWER, "seconds": NO_SUCH_TIME}
"""Of a field's faults; of all others BROKEN."""


def _within_limit(reason: str) -> str:
    # Not by max_length, which refuses halves of characters; the store drops them.
    if len(reason) > LONGEST_REASON:
        raise ValueError
    return reason


Letter = Annotated[str, Field(pattern=f"^[{LETTERS}]$")]


class Vote(BaseModel):
    """A vote as its page sends it."""

    model_config = ConfigDict(extra="forbid")

    ballot: str
    choice: Choice
    most: Letter | None = None
    least: Letter | None = None
    reason: Annotated[str, AfterValidator(_within_limit)] | None = None
    seconds: float = Field(strict=True, ge=0, le=MOST_SECONDS, allow_inf_nan=False)
    """From the ballot's being whole to the click."""
    width: str = Field(pattern=f"^({'|'.join(WIDTHS)})$")
    request: UUID
    """Of the click: sent again it changes nothing."""

    def record(self, participant_id: str) -> VoteRecord:
        """The vote of a participant, now."""
        return VoteRecord(
            ballot_id=self.ballot,
            participant_id=participant_id,
            choice=self.choice,
            most=_position(self.most),
            least=_position(self.least),
            reason=self.reason if self.reason and self.reason.strip() else None,
            seconds=self.seconds,
            width_class=self.width,
            request_id=str(self.request),
            voted_at=datetime.now(UTC),
        )


def _position(letter: str | None) -> int | None:
    return None if letter is None else LETTERS.index(letter) + 1


class VoteRoute(JsonRoute):
    """`/vote`. A foreign Origin has been refused before, and JSON alone is taken, which a form cannot send."""

    sentence_key = "sentence"

    def refusal(self, fault: Mapping[str, Any]) -> RefusedCall:
        """Why a body is no vote: 400 where it is not a JSON object, 422 for anything in one."""
        place = fault["loc"][1:]
        if not place or fault["type"] == "json_invalid":
            return RefusedCall(400, BROKEN)
        if place[0] == "reason" and fault["type"] == "value_error":
            return RefusedCall(
                422,
                f"The reason has {len(fault['input']):,} characters, and {LONGEST_REASON:,} are allowed. Shorten it "
                "and send the vote again; your choice is still on the page.",
            )
        return RefusedCall(422, _SENTENCES.get(place[0], BROKEN))


async def voter(participant: ParticipantDep) -> str:
    """Whoever votes. Raises RefusedCall (401) without a valid cookie."""
    if participant is None:
        raise RefusedCall(401, UNKNOWN_VISITOR)
    return participant


router = APIRouter(route_class=VoteRoute)


@router.post("/vote")
async def vote(site: SiteDep, participant: Annotated[str, Depends(voter)], country: CountryDep, sent: Vote) -> Any:
    """What `cast_vote` gives, and with `handoff`, the props of that element, where that has `crisis`: people first, so
    the page shows this above everything that it is told of the vote."""
    try:
        receipt = await cast_vote(site.services, sent.record(participant))
    except RefusedCall as refused:
        words = await site.surveys.words_of_ballot(sent.ballot)
        raise RefusedCall(refused.status, words.of(refused.sentence)) from None
    if "crisis" in receipt:
        receipt["handoff"] = handoff_props(handoff(country, receipt["crisis"]))
    return receipt
