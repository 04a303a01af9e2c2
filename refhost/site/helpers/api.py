"""Routes: one file each, found by path. Session, login, CSRF and API key are checked here, the same for plugins."""

from __future__ import annotations

import asyncio
import json
import threading
from abc import abstractmethod
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from flask import Flask, Request, Response, request, session
from helpers import cache, files, login, modules, plugins, runtime, settings
from helpers.errors import format_error
from helpers.print_style import PrintStyle

CACHE_AREA = "api_handlers(api)"

Input = dict[str, Any]
Output = dict[str, Any] | Response
Step = Callable[[], Response | None]

__all__ = ["ApiHandler", "Flask", "Input", "Output", "Request", "Response", "register_api_route", "session"]


class ApiHandler:
    def __init__(self, app: Flask, thread_lock: Any) -> None:
        self.app = app
        self.thread_lock = thread_lock

    @classmethod
    def requires_loopback(cls) -> bool:
        return False

    @classmethod
    def requires_api_key(cls) -> bool:
        return False

    @classmethod
    def requires_auth(cls) -> bool:
        return True

    @classmethod
    def requires_csrf(cls) -> bool:
        return cls.requires_auth()

    @classmethod
    def get_methods(cls) -> list[str]:
        return ["POST"]

    @abstractmethod
    async def process(self, input: Input, request: Request) -> Output:
        """Answers with a dict, which becomes JSON, or with a response of its own."""

    async def handle_request(self, request: Request) -> Response:
        try:
            body = request.get_json(silent=True) if request.is_json else None
            output = await self.process(body if isinstance(body, dict) else {}, request)
            if isinstance(output, Response):
                return output
            return Response(response=json.dumps(output), status=200, mimetype="application/json")
        except Exception as error:
            text = format_error(error)
            PrintStyle.error(f"A request failed: {text}")
            return Response(response=text, status=500, mimetype="text/plain")

    def use_context(self, ctxid: str, create_if_not_exists: bool = True) -> Any:
        from helpers.context_utils import use_context

        return use_context(self.thread_lock, ctxid, create_if_not_exists)


def requires_loopback() -> Response | None:
    return None if request.remote_addr in ("127.0.0.1", "::1") else Response("Only from this machine.", 403)


def requires_auth() -> Response | None:
    wanted = login.get_credentials_hash()
    if not wanted or session.get("authentication") == wanted:
        return None
    return Response("", 302, {"Location": "/login"})


def requires_api_key() -> Response | None:
    body = request.get_json(silent=True) or {}
    given = request.headers.get("X-API-KEY") or body.get("api_key")
    if not given:
        return Response("An API key is needed.", 401)
    return None if given == settings.get_settings()["mcp_server_token"] else Response("The API key is wrong.", 401)


def csrf_protect() -> Response | None:
    token = session.get("csrf_token")
    cookie = request.cookies.get(f"csrf_token_{runtime.get_runtime_id()}")
    sent = request.headers.get("X-CSRF-Token") or cookie
    return None if token and sent == token else Response("The CSRF token is missing or wrong.", 403)


def register_api_route(app: Flask, lock: threading.RLock) -> None:
    def dispatch(path: str) -> Response:
        handler = cache.get(CACHE_AREA, path)
        if handler is None:
            handler = _find_handler(path)
            if handler is None:
                return Response(f"There is no route {path}.", 404)
            cache.add(CACHE_AREA, path, handler)
        if request.method not in handler.get_methods():
            return Response(f"The route {path} does not take {request.method}.", 405)
        for step in _steps(handler):
            refused = step()
            if refused is not None:
                return refused
        answer: Awaitable[Response] = handler(app, lock).handle_request(request=request)
        return asyncio.run(answer)  # type: ignore[arg-type]  a loop of its own for each request

    methods = ["GET", "POST", "PUT", "PATCH", "DELETE"]
    app.add_url_rule("/api/<path:path>", "api_dispatch", dispatch, methods=methods)


def _steps(handler: type[ApiHandler]) -> list[Step]:
    wanted: list[tuple[bool, Step]] = [
        (handler.requires_loopback(), requires_loopback),
        (handler.requires_auth(), requires_auth),
        (handler.requires_api_key(), requires_api_key),
        (handler.requires_csrf(), csrf_protect),
    ]
    return [step for needed, step in wanted if needed]


def _find_handler(path: str) -> type[ApiHandler] | None:
    """A plugin's routes answer even while the plugin is off."""
    own = files.get_abs_path(files.API_DIR, f"{path}.py")
    found = own if files.is_in_dir(own, files.API_DIR) and files.is_file(own) else None
    parts = path.split("/", 2)
    if found is None and parts[0] == "plugins" and len(parts) == 3:
        folder = plugins.find_plugin_dir(parts[1])
        if folder and Path(folder, "api", f"{parts[2]}.py").is_file():
            found = str(Path(folder, "api", f"{parts[2]}.py"))
    classes = modules.load_classes_from_file(found, ApiHandler) if found else []
    return classes[0] if classes else None
