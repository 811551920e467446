"""A survey in a frame of another site, in a real Chromium: who may, and whose cookies are kept."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.async_api import expect

from heard.chat_app.models.downloads import Weights
from tests.browser import chromium, installed
from tests.journeys.surveying import make_in
from tests.journeys.talking import serving

pytestmark = pytest.mark.skipif(not installed(), reason="no Chromium here; install Debian's, or name one by CHROMIUM=")


class _Lab(BaseHTTPRequestHandler):
    """A page of a lab with a frame."""

    def do_GET(self) -> None:
        body = f'<!doctype html><title>Lab</title><iframe width=900 height=900 src="{self.path[1:]}"></iframe>'.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def lab() -> Iterator[str]:
    """A site of its own: to a browser 127.0.0.1 is another one than localhost. Gives its origin."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Lab) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


async def test_a_survey_in_a_frame(tmp_path: Path, weights: Weights) -> None:
    with lab() as named, lab() as other, serving(tmp_path, frame_ancestors=named) as served:
        await make_in(served.data_dir, items=1, sources=2)
        survey = f"http://localhost:{urlsplit(served.url).port}/survey/blind?pid=A7"
        async with chromium() as context:
            page = context.pages[0]
            await page.goto(f"{other}/{survey}")
            await expect(page.frame_locator("iframe").locator("#agree")).to_have_count(0)
            await page.goto(f"{named}/{survey}")
            frame = page.frame_locator("iframe")
            await frame.locator("#adult").check()
            await frame.locator("#research").check()
            await frame.locator("#agree").click()
            await frame.locator("#start").click()
            await frame.get_by_role("button", name="About the same").click()
            await frame.get_by_role("button", name="Save and go on").click()
            await expect(frame.get_by_role("heading", level=1)).to_have_text("One last question")
            assert served.rows("SELECT external_id FROM enrolment") == [("A7",)]
            assert served.rows("SELECT count(*) FROM vote") == [(1,)]
            # The cookie is this frame's alone: the same browser is nobody on the page by itself.
            await page.goto(survey)
            await expect(page.locator("h1")).to_contain_text("in use")
            assert served.rows("SELECT count(*) FROM participant") == [(1,)]
