"""The FastAPI parent: our pages and JSON routes, and Chainlit mounted at `/chat` behind the consent gate."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware

from heard.chat_app.common.identity import CHAT_COOKIE, Identity
from heard.chat_app.common.notice import HERE, notice
from heard.chat_app.common.settings import Settings
from heard.chat_app.common.token_buckets import TokenBuckets
from heard.chat_app.conversation.services import Services
from heard.chat_app.page.chainlit_files import lay_out
from heard.chat_app.page.runtime import Runtime, install
from heard.chat_app.studies.study_file import StudyFile
from heard.chat_app.studies.survey import Surveys
from heard.chat_app.web import api, face_routes, vote_routes
from heard.chat_app.web.behind_proxy import ProxyHost, SubPath
from heard.chat_app.web.body_limit import TOO_LARGE, TOO_SLOW, BodyLimit
from heard.chat_app.web.chat_mount import ChatSessions, ChatTokens, mount_chat
from heard.chat_app.web.consent_gate import ConsentGate, LoginTokens
from heard.chat_app.web.daily import DAY_SECONDS, Daily
from heard.chat_app.web.dependencies import OpenChats, Site
from heard.chat_app.web.health import Health
from heard.chat_app.web.middleware import ErrorBoundary, OriginCheck, SecurityHeaders
from heard.chat_app.web.pages import (
    consent_routes,
    crisis_help,
    desk_actions,
    desk_routes,
    own_data_routes,
    question_routes,
    results_more_routes,
    results_routes,
    safety_routes,
    scorer_routes,
    survey_routes,
)
from heard.chat_app.web.pages.rendering import EarlyResponse, error_response, on_early_response
from heard.chat_app.web.rate_limit import RateLimit
from heard.chat_app.web.researcher import Researcher
from heard.chat_app.web.score_queue import ScoreQueue
from heard.chat_app.web.senders import LOOPBACK_NAMES
from heard.chat_app.web.socket_guard import SocketGuard
from heard.chat_app.web.write_turns import WriteTurns
from heard.db.errors import StoreError

EVERY_ADDRESS = ("0.0.0.0", "::")
ROUTERS = (
    consent_routes.router,
    crisis_help.router,
    own_data_routes.router,
    safety_routes.router,
    scorer_routes.router,
    survey_routes.router,
    question_routes.router,
    results_more_routes.router,  # before the next, which has charts of any name
    results_routes.router,
    desk_routes.router,
    desk_actions.router,
    vote_routes.router,
    face_routes.router,
    api.router,
    api.described,
)


def create_app(settings: Settings, services: Services, live_study: StudyFile | None = None) -> FastAPI:
    """The whole program for one process: pages, JSON routes and chat.

    Chainlit keeps its state in modules, so a process can hold one such app. Raises IdentityError when the cookie
    secret cannot be read or made, ChainlitFilesError when the page's files cannot be laid into the data folder.
    """
    identity = Identity.load(settings.data_dir)
    os.environ["CHAINLIT_APP_ROOT"] = str(lay_out(settings.data_dir))
    os.environ["TRACELOOP_TELEMETRY"] = "false"  # Chainlit loads that library; nothing here may call out
    os.environ["CHAINLIT_AUTH_SECRET"] = identity.chat_secret()
    os.environ["CHAINLIT_AUTH_COOKIE_NAME"] = identity.cookie_name(CHAT_COOKIE)
    runtime = Runtime(services, identity, live_study)
    install(runtime)
    chat = Chat(ChatSessions(runtime.turns), runtime.aclose, ChatTokens(), writing=lambda: runtime.turns.writing)
    app = create_parent(settings, services, identity, chat, live_study)
    chat.policy = mount_chat(app, settings.message_limit)
    return app


@dataclass(slots=True)
class Chat:
    """What the parent needs to know about the chat that is mounted in it."""

    sessions: OpenChats
    aclose: Callable[[], Awaitable[None]]
    """Called at shutdown, before the services close."""
    tokens: LoginTokens
    policy: str = "default-src 'none'"
    """Content-Security-Policy of the chat's page."""
    writing: Callable[[], bool] = lambda: False
    """Whether a reply is being written or scored."""


def create_parent(
    settings: Settings, services: Services, identity: Identity, chat: Chat, live_study: StudyFile | None = None
) -> FastAPI:
    """Everything but the chat itself: routes, error pages and the gate that will stand before the chat."""
    health = Health(services, live_study)
    crisis_help.child_lines(None)  # a fault in their file is told now, and not to a child

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with health.watching(), Daily(services).running():
            try:
                yield
            finally:
                await chat.aclose()

    app = FastAPI(title="heard", lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    may_chat = consent_check(services)
    app.state.site = Site(
        services,
        identity,
        chat.sessions,
        may_chat,
        health,
        Surveys(services, live_study),
        Researcher(settings.researcher_token, identity),
        ScoreQueue(services, chat.writing),
        newcomers=TokenBuckets(settings.enrolments_per_address, seconds=DAY_SECONDS),
    )
    for router in ROUTERS:
        app.include_router(router)
    app.mount("/static", StaticFiles(directory=HERE / "static"))
    app.add_exception_handler(HTTPException, _on_http)
    app.add_exception_handler(RequestValidationError, _on_bad_form)
    app.add_exception_handler(StoreError, _on_store)
    app.add_exception_handler(EarlyResponse, on_early_response)
    for kind in survey_routes.CLOSED:
        app.add_exception_handler(kind, survey_routes.on_closed)

    # The last added is the outermost.
    app.add_middleware(WriteTurns, identity=identity)
    app.add_middleware(ConsentGate, identity=identity, may_chat=may_chat, tokens=chat.tokens)
    app.add_middleware(BodyLimit, message_limit=settings.message_limit)
    app.add_middleware(
        SocketGuard,
        identity=identity,
        message_limit=settings.message_limit,
        per_minute=settings.visitor_per_minute,
    )
    app.add_middleware(RateLimit, identity=identity, settings=settings)
    app.add_middleware(OriginCheck, public_host=settings.public_host)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=trusted_hosts(settings), www_redirect=False)
    if settings.public_host:
        known = trusted_hosts(settings)
        app.add_middleware(ProxyHost, public_host=settings.public_host, known=known)
    app.add_middleware(ErrorBoundary)
    app.add_middleware(
        SecurityHeaders,
        chat_policy=lambda: chat.policy,
        secure_cookies=settings.secure_cookies,
        frame_ancestors=settings.frame_ancestors,
    )
    if settings.root_path:
        app.add_middleware(SubPath, root=settings.root_path)
    return app


def trusted_hosts(settings: Settings) -> list[str]:
    """Names that a request may call this server by. All others are refused, against DNS rebinding."""
    named = (settings.host, settings.public_host)
    return [*LOOPBACK_NAMES, *(name for name in named if name not in ("", *EVERY_ADDRESS))]


def consent_check(services: Services) -> Callable[[str], Awaitable[bool]]:
    """Whether a participant agrees to the chat's notice in force."""
    version = notice(services.settings).version

    async def may_chat(participant_id: str) -> bool:
        return version in await services.store.agreed_versions(participant_id)

    return may_chat


async def _on_http(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    if status == 404:
        return error_response(request.scope, 404, "Not here", "There is no page at this address.")
    if status == 413:
        return error_response(request.scope, 413, "Too much at once", TOO_LARGE)
    if status == 408:
        return error_response(request.scope, 408, "Too slow", TOO_SLOW)
    if status == 405:
        return error_response(request.scope, 405, "Not like this", "This address does not take that kind of request.")
    return error_response(
        request.scope, status, "Not possible", "This request could not be read. Go back and try again."
    )


async def _on_bad_form(request: Request, _: Exception) -> Response:
    return error_response(
        request.scope, 422, "Not readable", "The form could not be read. Go back and fill it in again."
    )


async def _on_store(request: Request, error: Exception) -> Response:
    return error_response(request.scope, 503, "The database is in trouble", str(error))
