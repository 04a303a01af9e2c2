"""The server process: migration, routes, chats and job loop, then HTTP on 127.0.0.1."""

from __future__ import annotations

import logging
import os
import secrets
import threading

import initialize
from flask import Flask, Response, send_file
from helpers import defer, dotenv, extension, files, plugins, runtime, server_startup
from helpers.api import register_api_route, requires_auth

_kept: list[defer.DeferredTask] = []  # a task that nobody keeps is cancelled


def run() -> None:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    initialize.initialize_migration()
    app = create_app()
    init_a0()
    # Listens only now: whoever waits for the port knows that the chats are loaded.
    server_startup.run_server(app, "127.0.0.1", runtime.get_web_ui_port())


def create_app() -> Flask:
    app = Flask("app", static_folder=files.get_abs_path("webui"), static_url_path="/")
    app.secret_key = os.environ.get("FLASK_SECRET_KEY") or secrets.token_hex(32)
    app.config.update(SESSION_COOKIE_NAME=f"session_{runtime.get_runtime_id()}", SESSION_COOKIE_SAMESITE="Lax")
    app.add_url_rule("/", "serve_index", serve_index)
    app.add_url_rule("/plugins/<name>/<path:asset>", "serve_builtin_plugin_asset", serve_plugin_asset)
    app.add_url_rule("/usr/plugins/<name>/<path:asset>", "serve_plugin_asset", serve_plugin_asset)
    register_api_route(app, threading.RLock())
    return app


@extension.extensible
def init_a0() -> None:
    _kept.append(initialize.initialize_chats())
    _kept[-1].result_sync()
    _kept.append(initialize.initialize_job_loop())


def serve_index() -> Response:
    page = files.read_file("webui/index.html").replace("{{runtime_id}}", runtime.get_runtime_id())
    return requires_auth() or Response(page, mimetype="text/html")


def serve_plugin_asset(name: str, asset: str) -> Response:
    """Only what lies in `webui/` and `extensions/webui/` can be reached, whether the plugin is on or not."""
    refused = requires_auth()
    if refused is not None:
        return refused
    folder = plugins.find_plugin_dir(name)
    if not folder:
        return Response("There is no such plugin.", 404)
    path = files.get_abs_path(folder, asset)
    if not any(files.is_in_dir(path, f"{folder}/{room}") for room in ("webui", "extensions/webui")):
        return Response("Not a file for the page.", 403)
    return send_file(path) if files.is_file(path) else Response("There is no such file.", 404)


if __name__ == "__main__":
    runtime.initialize()
    dotenv.load_dotenv()
    run()
