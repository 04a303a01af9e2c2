"""The web server and its end: a signal asks for it, requests under way are waited for without limit, then the signal counts.

Names and order are those of the server that the host uses; only the requests are served by another library.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from typing import Any

from helpers import process
from werkzeug.serving import make_server

HANDLED_SIGNALS = (signal.SIGINT, signal.SIGTERM)
TICK_S = 0.05


class Server:
    def __init__(self, app: Any, host: str, port: int) -> None:
        self.should_exit = False
        self.force_exit = False
        self._captured_signals: list[int] = []
        self._requests = 0
        self._ended = threading.Condition()
        self._web = make_server(host, port, self._counted(app), threaded=True)

    async def serve(self) -> None:
        originals = {number: signal.signal(number, self.handle_exit) for number in HANDLED_SIGNALS}
        try:
            threading.Thread(target=self._web.serve_forever, kwargs={"poll_interval": TICK_S}, daemon=True).start()
            while not self.should_exit:
                await asyncio.sleep(TICK_S)
            await self.shutdown()
        finally:
            for number, handler in originals.items():
                signal.signal(number, handler)
        for number in reversed(self._captured_signals):
            signal.raise_signal(number)

    def handle_exit(self, sig: int, frame: Any) -> None:
        self._captured_signals.append(sig)
        if self.should_exit and sig == signal.SIGINT:
            self.force_exit = True
        else:
            self.should_exit = True

    async def shutdown(self, sockets: Any = None) -> None:
        """No new request; those under way end by themselves."""
        self._web.shutdown()
        while self._requests and not self.force_exit:
            await asyncio.sleep(TICK_S)

    def _counted(self, app: Any) -> Any:
        def serve(environ: Any, start_response: Any) -> Any:
            with self._ended:
                self._requests += 1
            try:
                return app(environ, start_response)
            finally:
                with self._ended:
                    self._requests -= 1

        return serve


class _UvicornServerWrapper:
    def __init__(self, server: Server) -> None:
        self._server = server

    def shutdown(self) -> None:
        self._server.should_exit = True


def run_server(app: Any, host: str, port: int) -> None:
    server = Server(app, host, port)
    process.set_server(_UvicornServerWrapper(server))
    try:
        asyncio.run(server.serve())
    finally:
        process.set_server(None)
