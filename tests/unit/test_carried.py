"""Which attributes of a tool its `after_execution` can read."""

from __future__ import annotations

from typing import Any

from usr.plugins.durable_execution.bridge.carried import read_afterwards


def look_at(tool: Any) -> None:
    """Whoever gets the whole tool may read anything."""


class Base:
    name, state, note = "", object(), ""

    async def after_execution(self, response: Any, **kwargs: Any) -> None:
        repr((self.name, response))


class Shell(Base):
    async def execute(self) -> None:
        self.state = object()


class Sender(Base):
    async def after_execution(self, response: Any, **kwargs: Any) -> None:
        await super().after_execution(response, **kwargs)
        self.send(response)

    def send(self, response: Any) -> None:
        repr((self.note, response))


class Open(Base):
    async def after_execution(self, response: Any, **kwargs: Any) -> None:
        look_at(self)


class Inner(Base):
    async def after_execution(self, response: Any, **kwargs: Any) -> None:
        repr(([part for part in response if part != self.state], (lambda: self.note)()))


def test_what_is_left_and_never_read_again_is_not_carried() -> None:
    assert "state" not in (read_afterwards(Shell) or {"state"})


def test_what_a_method_of_its_own_reads_is_carried() -> None:
    read = read_afterwards(Sender)

    assert read is not None
    assert {"note", "name"} <= read
    assert "state" not in read


def test_a_tool_that_hands_itself_on_may_read_everything() -> None:
    assert read_afterwards(Open) is None
    assert read_afterwards(Inner) is None
