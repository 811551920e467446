"""Nothing of a policy reaches a browser before the vote: not its name, not its critique, not the drafts it discards."""

import json
from pathlib import Path

from heard.chat_app.models.downloads import Weights
from tests.journeys.balloting import TEXTS, ballot_in, blind_chat, found
from tests.journeys.test_ballot_socket import SLOTS, sent, vote
from tests.servers import reply
from tests.socket_client import Visitor

COLD = "Okay. Weeks come and go, and there will be other ones."
CRITIQUE = "Warmth: kestrelword, nobody cares in it."
REWRITE = "I am so sorry. That sounds exhausting, and I am here with you. What would help you now?"


async def test_a_critique_stays_with_the_server(tmp_path: Path, weights: Weights) -> None:
    with blind_chat(tmp_path, blind_auto_improve="on", improve_policy="critique") as made:
        first = made.models[0]
        first.scripts = (reply(COLD), reply(CRITIQUE), reply(REWRITE))
        for model, text in zip(made.models[1:], TEXTS[1:], strict=True):
            model.scripts = (reply(text),)
        async with Visitor.agree(made.served.url) as visitor, visitor.page() as page:
            turn = await page.send("My week was too much.")
            ballot = ballot_in(page, turn)
            before = sent(page)
            assert len(first.requests) == 3
            assert REWRITE in [answer["text"] for answer in ballot["answers"]]
            assert found(before) == []
            for secret in ("kestrelword", "get over it", "critique", "careful reader", "below-threshold"):
                assert secret not in before.lower()
            stored = {source: json.loads(drafts) for source, _, _, drafts in made.served.rows(SLOTS, turn.message_id)}
            (own,) = [drafts for source, drafts in stored.items() if source.startswith("persofox")]
            assert [[step["text"] for step in draft["steps"]] for draft in own] == [[], [CRITIQUE]]
            assert set(made.served.rows("SELECT policy FROM answer")) == {("critique",)}
            told = await vote(page, ballot)
            assert told["code"] == 200
            await page.send("And now?")
            assert "kestrelword" not in sent(page)
            assert made.served.rows("SELECT policy FROM reply") == [("critique",)]
