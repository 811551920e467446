"""A program: asks for weights of a small Hub with and without a token, and once it is gone. Prints what came, as JSON.

python -m tests.chat_app.models.hub_asking FOLDER TOKEN
"""

import asyncio
import json
import logging
import os
import sys
from pathlib import Path

from tests.hub_server import hub_serving


async def main(folder: Path, token: str) -> dict[str, object]:
    """The text or the sentence by what was tried."""
    told: dict[str, object] = {}
    with hub_serving("team/tiny", folder, token=token) as hub:
        os.environ |= {"HF_ENDPOINT": hub.endpoint, "HF_TOKEN": token, "MY_TOKEN": f"no-{token}"}
        # Only now, as the Hub's library reads its address when it is loaded.
        from heard.chat_app.models.client import Models
        from heard.chat_app.models.records import ModelSpec
        from tests.chat_app.models.asking import PROMPT, ask

        async def said(model: str, key_env: str | None) -> str:
            spec = ModelSpec(
                id="mine", provider="transformers", model=model, label="Mine", key_env=key_env, temperature=0
            )
            async with Models({}, engine=None, first_token_seconds=60, stall_seconds=60) as models:
                text, _, failure = await ask(models, spec, PROMPT)
            return str(failure) if failure else text

        told["no token"] = await said("team/tiny", None)
        told["sent without a token"] = sorted(set(hub.keys), key=str)
        told["wrong token"] = await said("team/tiny", "MY_TOKEN")
        os.environ["MY_TOKEN"] = token
        told["right token"] = await said("team/tiny", "MY_TOKEN")
    told["from the cache"] = await said("team/tiny", "MY_TOKEN")
    told["not in the cache"] = await said("team/other", None)
    return told


if __name__ == "__main__":
    logging.basicConfig(level=logging.DEBUG)
    print(json.dumps(asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))))  # noqa: T201 - what it is for
