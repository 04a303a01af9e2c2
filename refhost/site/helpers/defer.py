"""Tasks on named event-loop threads. All chats share one loop; a task that nobody keeps is cancelled."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from typing import Any

THREAD_BACKGROUND = "Background"


class EventLoopThread:
    """One daemon thread with a running loop for each name."""

    _instances: dict[str, EventLoopThread] = {}  # noqa: RUF012  shared on purpose
    _lock = threading.Lock()

    loop: asyncio.AbstractEventLoop
    thread: threading.Thread

    def __new__(cls, thread_name: str = THREAD_BACKGROUND) -> EventLoopThread:
        with cls._lock:
            if thread_name not in cls._instances:
                made = super().__new__(cls)
                made.thread_name = thread_name
                made.loop = asyncio.new_event_loop()
                made.thread = threading.Thread(target=made._run, daemon=True, name=thread_name)
                made.thread.start()
                cls._instances[thread_name] = made
            return cls._instances[thread_name]

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    def run_coroutine(self, coro: Coroutine[Any, Any, Any]) -> Future[Any]:
        return asyncio.run_coroutine_threadsafe(coro, self.loop)


class DeferredTask:
    def __init__(self, thread_name: str = THREAD_BACKGROUND) -> None:
        self.event_loop_thread = EventLoopThread(thread_name)
        self._future: Future[Any] | None = None
        self.children: list[DeferredTask] = []

    def __del__(self) -> None:
        self.kill()

    def start_task(self, func: Callable[..., Coroutine[Any, Any, Any]], *args: Any, **kwargs: Any) -> DeferredTask:
        async def run() -> Any:
            return await func(*args, **kwargs)

        future = self.event_loop_thread.run_coroutine(run())
        self._future = future
        future.add_done_callback(self._on_task_done)
        return self

    def _on_task_done(self, future: Future[Any]) -> None:
        if future is self._future:
            self.kill_children()

    def is_ready(self) -> bool:
        return self._future.done() if self._future else False

    def is_alive(self) -> bool:
        return bool(self._future and not self._future.done())

    def result_sync(self, timeout: float | None = None) -> Any:
        if self._future is None:
            raise RuntimeError("This task was never started.")
        return self._future.result(timeout)

    async def result(self, timeout: float | None = None) -> Any:
        if self._future is None:
            raise RuntimeError("This task was never started.")
        return await asyncio.get_running_loop().run_in_executor(None, self._future.result, timeout)

    def kill(self, terminate_thread: bool = False) -> None:
        """Cancels. The coroutine unwinds later, on its own loop. With the thread everything else on that loop ends too."""
        self.kill_children()
        if self._future and not self._future.done():
            self._future.cancel()
        if terminate_thread:
            for other in asyncio.all_tasks(self.event_loop_thread.loop):
                self.event_loop_thread.loop.call_soon_threadsafe(other.cancel)

    def kill_children(self) -> None:
        for child in self.children:
            child.kill()
        self.children = []

    def add_child_task(self, task: DeferredTask, terminate_thread: bool = False) -> None:
        self.children.append(task)

    def execute_inside(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Awaitable[Any]:
        """Runs the function on this task's loop; the caller awaits it on another."""

        async def run() -> Any:
            result = func(*args, **kwargs)
            while isinstance(result, Awaitable):
                result = await result
            return result

        return asyncio.wrap_future(self.event_loop_thread.run_coroutine(run()))
