"""Routes for programs: a JSON body of bounded size comes in, JSON that no cache keeps goes out, and what is refused is
refused in a sentence of ours."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, ClassVar

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from heard.chat_app.common.refusals import RefusedCall
from heard.chat_app.web.body_limit import TOO_SLOW

MOST_BYTES = 262_144
"""Of a request's body."""
RETRY_SECONDS = 5
"""After which a caller may try again who found the server busy (429, 503)."""
NOT_CACHED = {"Cache-Control": "no-store"}
_NOT_JSON = {"type": "json_invalid", "loc": ("body",)}


class JsonRoute(APIRoute, ABC):
    """A route whose body is read by FastAPI, but checked before that and refused without its help.

    Who calls, the type and the size are checked before anything is parsed, as FastAPI's dependencies are not. And its
    own refusals quote the body, which may hold somebody's words; `refusal` gives a sentence for each instead.
    """

    sentence_key: ClassVar[str] = "reason"
    """Of the sentence in {"status": "refused", ...}."""

    def check_caller(self, request: Request) -> None:
        """Raise RefusedCall for a caller whose body shall not even be read."""

    @abstractmethod
    def refusal(self, fault: Mapping[str, Any]) -> RefusedCall:
        """Why a body is refused. fault: pydantic's own account of it, with "type", "loc", "ctx" and "input"."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """FastAPI's handler between the checks and the refusals."""
        handler = super().get_route_handler()

        async def checked(request: Request) -> Response:
            self.check_caller(request)
            if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
                raise RefusedCall(415, 'Send JSON with the header "Content-Type: application/json".')
            try:
                return await handler(_Bounded(request.scope, request.receive))
            except RequestValidationError as error:
                raise self.refusal(error.errors()[0]) from None
            except HTTPException as error:
                if error.status_code == 408:
                    raise RefusedCall(408, TOO_SLOW) from None
                raise (_too_large() if error.status_code == 413 else self.refusal(_NOT_JSON)) from None

        async def handle(request: Request) -> Response:
            try:
                response = await checked(request)
            except RefusedCall as refused:
                body = {"status": "refused", self.sentence_key: refused.sentence}
                response = JSONResponse(body, refused.status)
                if refused.status in (429, 503):
                    response.headers["Retry-After"] = str(RETRY_SECONDS)
            response.headers.update(NOT_CACHED)
            return response

        return handle


class _Bounded(Request):
    """A request whose body is given up as soon as it is larger than MOST_BYTES."""

    async def body(self) -> bytes:
        if not hasattr(self, "_body"):
            body = b""
            async for chunk in self.stream():
                body += chunk
                if len(body) > MOST_BYTES:
                    raise HTTPException(413)
            self._body = body
        return self._body


def _too_large() -> RefusedCall:
    return RefusedCall(413, f"The request has more than {MOST_BYTES:,} bytes. Send fewer or shorter texts.")
