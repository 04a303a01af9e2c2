"""Other engines that do the same turn: DBOS and LangGraph on SQLite, as they come."""

from __future__ import annotations

import asyncio
import operator
import sqlite3
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, TypedDict

from .work import STEPS, Texts

_TEXTS = Texts()


def _message(place: int) -> dict[str, Any]:
    role = {"role": "assistant", "tool_calls": [{"id": f"c{place}", "name": "search", "args": {"q": "invoice"}}]}
    return {**(role if STEPS[place] == "model" else {"role": "tool", "tool_call_id": f"c{place - 1}"}), "content": _TEXTS.next()}


def dbos_steps(folder: Path, step_of: Callable[[int], Any]) -> Callable[[], None]:
    import pysqlite3  # type: ignore[import-not-found]

    sys.modules["sqlite3"] = pysqlite3
    from dbos import DBOS  # type: ignore[import-not-found]

    DBOS(config={"name": "bench", "system_database_url": f"sqlite:///{folder}/dbos.db", "log_level": "ERROR"})

    @DBOS.step()  # type: ignore[untyped-decorator]
    async def step(place: int) -> Any:
        return step_of(place)

    @DBOS.workflow()  # type: ignore[untyped-decorator]
    async def turn(user: dict[str, Any]) -> str:
        for place in range(len(STEPS)):
            await step(place)
        return "done"

    DBOS.launch()
    loop = asyncio.new_event_loop()
    return lambda: loop.run_until_complete(turn(_TEXTS.user()))


def langgraph_steps(folder: Path, step_of: Callable[[int], Any], *, saved: bool = True) -> Callable[[], None]:
    from langgraph.channels.delta import DeltaChannel  # type: ignore[import-not-found]
    from langgraph.checkpoint.sqlite import SqliteSaver  # type: ignore[import-not-found]
    from langgraph.graph import END, START, StateGraph  # type: ignore[import-not-found]

    def reduce(state: list[Any] | None, writes: list[list[Any]]) -> list[Any]:
        return (state or []) + [message for write in writes for message in write]

    channel: Any = DeltaChannel(reduce, list) if saved else operator.add
    graph = StateGraph(TypedDict("State", {"messages": Annotated[list, channel]}))  # type: ignore[operator]
    names = [START, *[f"step{place}" for place in range(len(STEPS))], END]
    for place in range(len(STEPS)):
        graph.add_node(f"step{place}", lambda _, place=place: {"messages": [step_of(place)]})
    for before, after in pairwise(names):
        graph.add_edge(before, after)
    if not saved:
        plain, history = graph.compile(), []  # type: ignore[var-annotated]

        def unsaved() -> None:
            history[:] = plain.invoke({"messages": [*history, _TEXTS.user()]})["messages"]

        return unsaved
    saver = SqliteSaver(sqlite3.connect(folder / "langgraph.db", check_same_thread=False))
    saver.setup()
    app = graph.compile(checkpointer=saver)
    chat = {"configurable": {"thread_id": "chat"}}
    return lambda: app.invoke({"messages": [_TEXTS.user()]}, chat, durability="sync")


_BIG = [_TEXTS.next() * 3500]


def _big(place: int) -> Any:
    """One answer of about 5 MB, never the same twice; the other steps are small."""
    return {**_message(place), "content": f"{_TEXTS.next()}{_BIG[0][:5_000_000]}"} if place == 1 else _message(place)


VARIANTS: dict[str, Callable[[Path], Callable[[], None]]] = {
    "DBOS, SQLite": lambda folder: dbos_steps(folder, _message),
    "DBOS, one answer of 5 MB": lambda folder: dbos_steps(folder, _big),
    "LangGraph, no saver": lambda folder: langgraph_steps(folder, _message, saved=False),
    "LangGraph, SqliteSaver with DeltaChannel": lambda folder: langgraph_steps(folder, _message),
    "LangGraph, one answer of 5 MB": lambda folder: langgraph_steps(folder, _big),
}
