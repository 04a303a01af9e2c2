"""The promises of journal/store/base.py, as tests that every store has to pass. One subclass for each store."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from typing import Any

import pytest

from journal.errors import Conflict, NotAllowed, StoreClosed, StoreLost
from journal.store.base import Keep, Reader, Store, Transaction


def put(name: str, body: bytes = b"body") -> Callable[[Transaction], int]:
    return lambda tx: tx.change("add_node", digest=name, body=body)


def has(store: Store, name: str) -> bool:
    return store.read(lambda tx: tx.one("has_node", digest=name)) is not None


def committed(store: Store) -> int:
    row = store.read(lambda tx: tx.one("batch_number"))
    assert row is not None
    return int(row["number"])


class Death(BaseException):
    """Ends the thread that it is raised in."""


class Gate:
    """An operation that keeps the writer busy until it is opened, so that others gather behind it."""

    def __init__(self, store: Store) -> None:
        self.entered, self._open = threading.Event(), threading.Event()
        self.future = store.submit(self._wait)
        assert self.entered.wait(30)

    def _wait(self, tx: Transaction) -> None:
        self.entered.set()
        assert self._open.wait(30)

    def open(self) -> None:
        self._open.set()
        self.future.result()


class StoreContract:
    """Subclasses give the fixture `open_store`, a function that opens the same store again each time."""

    @pytest.fixture
    def store(self, open_store: Callable[[], Store]) -> Iterator[Store]:
        store = open_store()
        yield store
        store.close()

    def test_what_a_future_announced_is_there_after_opening_again(self, open_store: Callable[[], Store]) -> None:
        first = open_store()
        first.submit(put("a", b"\x00\xff")).result()
        first.close()

        second = open_store()

        row = second.read(lambda tx: tx.one("node", digest="a"))
        second.close()
        assert row is not None
        assert row["body"] == b"\x00\xff"

    def test_operations_run_in_the_order_of_their_submission(self, store: Store) -> None:
        seen: list[int] = []
        gate = Gate(store)
        futures = [store.submit(lambda tx, number=number: seen.append(number)) for number in range(100)]
        gate.open()

        for future in futures:
            future.result()

        assert seen == list(range(100))

    def test_an_operation_sees_what_those_before_it_wrote(self, store: Store) -> None:
        gate = Gate(store)
        store.submit(put("a"))
        second = store.submit(lambda tx: tx.one("has_node", digest="a"))
        gate.open()

        assert second.result() is not None

    def test_a_refusal_undoes_its_own_operation_alone(self, store: Store) -> None:
        def refused(tx: Transaction) -> None:
            put("mine")(tx)
            raise NotAllowed("no")

        gate = Gate(store)
        before, no, after = store.submit(put("before")), store.submit(refused), store.submit(put("after"))
        gate.open()

        assert isinstance(no.exception(), NotAllowed)
        assert (before.result(), after.result()) == (1, 1)
        assert [has(store, name) for name in ("before", "mine", "after")] == [True, False, True]

    def test_a_mistake_in_an_operation_harms_no_other(self, store: Store) -> None:
        gate = Gate(store)
        wrong = store.submit(lambda tx: {}["nothing"])
        unknown = store.submit(lambda tx: tx.one("no such query"))
        unbound = store.submit(lambda tx: tx.one("has_node"))
        right = store.submit(put("right"))
        gate.open()

        assert isinstance(wrong.exception(), KeyError)
        assert unknown.exception() is not None
        assert unbound.exception() is not None
        assert right.result() == 1

    def test_what_is_kept_stays_although_the_caller_gets_an_error(self, store: Store) -> None:
        def keep(tx: Transaction) -> Keep:
            put("evidence")(tx)
            return Keep(NotAllowed("but noted"))

        future: Any = store.submit(keep)

        assert isinstance(future.exception(), NotAllowed)
        assert has(store, "evidence")

    def test_a_rule_of_the_store_fails_one_operation(self, store: Store) -> None:
        gate = Gate(store)
        wrong = store.submit(
            lambda tx: tx.change("add_attempt", call_id="nobody", number=1, reason="first", token=1, seq=1, boot_id="x", now=1)
        )
        right = store.submit(put("right"))
        gate.open()

        assert isinstance(wrong.exception(), Conflict)
        assert right.result() == 1

    def test_what_is_submitted_together_is_one_commit(self, store: Store) -> None:
        before = committed(store)

        with store.together():
            futures = [store.submit(put(f"n{number}")) for number in range(300)]
            assert not any(future.done() for future in futures)

        assert [future.result() for future in futures] == [1] * 300
        assert committed(store) == before + 1

    def test_what_is_in_no_hurry_is_written_without_company_and_at_the_end(self, open_store: Callable[[], Store]) -> None:
        store = open_store()
        assert store.submit(put("alone"), unhurried=True).result(30) == 1

        last = store.submit(put("last"), unhurried=True)
        store.close()

        assert last.result(0) == 1
        again = open_store()
        assert has(again, "last")
        again.close()

    def test_what_is_in_no_hurry_is_written_also_where_one_commit_does_not_hold_it(self, store: Store) -> None:
        gate = Gate(store)
        futures = [store.submit(put(f"{number}"), unhurried=True) for number in range(600)]
        gate.open()
        assert [future.result(30) for future in futures] == [1] * 600

    def test_what_is_in_no_hurry_keeps_its_place_among_the_others(self, store: Store) -> None:
        seen: list[int] = []
        futures = [store.submit(lambda tx, number=number: seen.append(number), unhurried=number % 3 > 0) for number in range(100)]
        for future in futures:
            future.result(30)
        assert seen == list(range(100))

    def test_a_refusal_among_what_is_together_undoes_its_own_operation_alone(self, store: Store) -> None:
        def refused(tx: Transaction) -> None:
            put("mine")(tx)
            raise NotAllowed("no")

        before = committed(store)
        with store.together(), store.together():
            result, no, after = store.submit(put("result")), store.submit(refused), store.submit(put("after"))

        assert isinstance(no.exception(), NotAllowed)
        assert (result.result(), after.result()) == (1, 1)
        assert [has(store, name) for name in ("result", "mine", "after")] == [True, False, True]
        assert committed(store) == before + 1

    def test_an_error_in_the_block_takes_back_nothing_that_was_submitted(self, store: Store) -> None:
        def interrupted() -> None:
            with store.together():
                handed_in.append(store.submit(put("x")))
                raise KeyError

        handed_in: list[Any] = []
        with pytest.raises(KeyError):
            interrupted()

        assert handed_in[0].result() == 1

    def test_who_was_started_in_a_block_is_no_part_of_it(self, store: Store) -> None:
        async def late() -> int:
            await asyncio.sleep(0)
            return await asyncio.wrap_future(store.submit(put("late")))

        async def both() -> list[int]:
            with store.together():
                task = asyncio.create_task(late())
                mine = store.submit(put("mine"))
                other = contextvars.copy_context()
                with ThreadPoolExecutor(1) as pool:
                    assert pool.submit(other.run, lambda: store.submit(put("thread")).result(30)).result() == 1
            return [await task, await asyncio.wrap_future(mine)]

        assert asyncio.run(both()) == [1, 1]

    def test_what_was_taken_back_in_a_block_is_not_written(self, store: Store) -> None:
        with store.together():
            gone, stays = store.submit(put("gone")), store.submit(put("stays"))
            assert gone.cancel()

        assert stays.result() == 1
        assert [has(store, name) for name in ("gone", "stays")] == [False, True]

    def test_places_grow_and_none_that_was_committed_is_given_again(self, open_store: Callable[[], Store]) -> None:
        def place(tx: Transaction) -> int:
            return tx.place()

        def refused(tx: Transaction) -> None:
            tx.place()
            raise NotAllowed("no")

        store = open_store()
        given = [store.submit(place).result()]
        with store.together():
            futures = [store.submit(place), store.submit(refused), store.submit(place)]
        given += [future.result() for future in (futures[0], futures[2])]
        store.close()
        store = open_store()
        given.append(store.submit(place).result())
        store.close()

        assert given == sorted(set(given))

    def test_reads_inside_a_block_see_one_state(self, store: Store) -> None:
        with store.reading(), store.reading():
            before = has(store, "later")
            later = store.submit(put("later"))
            inside = [has(store, "later") for _ in range(100)]

        assert (before, any(inside)) == (False, False)
        assert later.result() == 1
        assert has(store, "later")

    def test_many_threads_write_and_read(self, store: Store) -> None:
        def work(number: int) -> bool:
            store.submit(put(f"n{number}")).result()
            return has(store, f"n{number}")

        with ThreadPoolExecutor(16) as pool:
            assert all(pool.map(work, range(200)))

    def test_a_read_sees_one_state_while_others_write(self, store: Store) -> None:
        def look(tx: Reader) -> tuple[bool, bool]:
            before = tx.one("has_node", digest="later") is not None
            store.submit(put("later")).result()
            return before, tx.one("has_node", digest="later") is not None

        assert store.read(look) == (False, False)
        assert has(store, "later")

    def test_a_read_writes_nothing(self, store: Store) -> None:
        with pytest.raises(Exception):  # noqa: B017, PT011 - any refusal will do, as long as nothing is written
            store.read(put("x"))  # type: ignore[arg-type]

        assert not has(store, "x")

    def test_an_error_inside_a_read_is_the_callers(self, store: Store) -> None:
        def wrong(tx: Reader) -> None:
            raise NotAllowed("mine")

        with pytest.raises(NotAllowed):
            store.read(wrong)
        assert store.submit(put("x")).result() == 1

    def test_a_cancelled_operation_does_not_run(self, store: Store) -> None:
        gate = Gate(store)
        future = store.submit(put("x"))
        assert future.cancel()
        gate.open()
        store.submit(put("y")).result()

        with pytest.raises(CancelledError):
            future.result()
        assert not has(store, "x")

    def test_closing_finishes_what_was_submitted(self, open_store: Callable[[], Store]) -> None:
        store = open_store()
        gate = Gate(store)
        futures = [store.submit(put(f"n{number}")) for number in range(50)]
        closing = threading.Thread(target=store.close)
        closing.start()
        gate.open()
        closing.join()

        assert [future.result() for future in futures] == [1] * 50

    def test_a_closed_store_says_so(self, open_store: Callable[[], Store]) -> None:
        store = open_store()
        store.close()
        store.close()

        assert isinstance(store.submit(put("x")).exception(), StoreClosed)
        with pytest.raises(StoreClosed):
            has(store, "x")
        assert store.problem

    def test_if_the_writer_dies_nobody_waits_for_ever_and_the_next_one_works(self, store: Store) -> None:
        def die(tx: Transaction) -> None:
            raise Death

        gate = Gate(store)
        before, dying, after = store.submit(put("before")), store.submit(die), store.submit(put("after"))
        gate.open()

        assert [type(future.exception(30)) for future in (before, dying, after)] == [StoreLost] * 3
        assert store.problem
        assert store.submit(put("next")).result(30) == 1
        assert [has(store, name) for name in ("before", "after", "next")] == [False, False, True]
        assert store.problem is None

    def test_text_that_is_no_unicode_is_written_out(self, store: Store) -> None:
        store.submit(put("\ud800")).result()

        assert has(store, "\ud800")
        assert has(store, "\\ud800")

    def test_the_schema_is_known(self, store: Store) -> None:
        assert store.schema >= 1
