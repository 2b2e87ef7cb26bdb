"""reading: a reader with a thread of its own hands on elements there, as exactly as from the event loop."""

from __future__ import annotations

import asyncio
import threading
from contextvars import ContextVar
from typing import Any

import pytest

from penstock import Sink, Stream, thread
from penstock.errors import InterruptionError
from penstock.run.handle import RunCancelledError
from penstock.testing import check_resumable
from tests.connectors.pouring_server import NAME, PouringConnection, PouringServer
from tests.connectors.server import WAIT
from tests.engine.watch import loop_apart, no_thread_is_left

__all__ = ["loop_apart", "no_thread_is_left"]

LOST = ConnectionError("the server has gone")
LATE = pytest.mark.parametrize("late", [0, 2, 1000])


def names(stream: Stream[Any], seen: set[str]) -> Stream[Any]:
    """Note the names of the threads on which elements pass."""
    return stream.tap(lambda _: seen.add(threading.current_thread().name))


def test_no_function_is_called_on_the_thread_of_the_loop() -> None:
    server, seen = PouringServer(300), set[str]()
    assert (names(server.stream(most=7), seen) | Sink.count()).run().wait(WAIT) == 300
    assert server.poured == 300
    assert seen <= {NAME, "penstock-run"}  # the latter where it has just asked for more
    assert server.words[-2:] == ["commit 300", "close"]


def test_on_the_loop_of_a_caller_they_are_called_there() -> None:
    server, seen = PouringServer(300), set[str]()

    async def main() -> None:
        assert await (names(server.stream(most=7), seen) | Sink.count()).run() == 300

    asyncio.run(main())
    assert seen <= {threading.current_thread().name, "penstock-run"}  # which finds some that wait when it asks
    assert server.poured == 0


def test_a_variable_of_the_context_is_seen_there() -> None:
    variable, seen = ContextVar("variable", default=0), set[int]()
    variable.set(7)
    (PouringServer(5).stream() | Sink.for_each(lambda _: seen.add(variable.get()))).run().wait(WAIT)
    assert seen == {7}


def test_it_resumes_behind_every_position() -> None:
    check_resumable(lambda: PouringServer(12).stream())


@LATE
@pytest.mark.parametrize("behind", ["straight", "on a thread", "in batches"])
def test_no_more_than_the_window_is_uncommitted(behind: str, late: int) -> None:
    server = PouringServer(3000)
    server.late = late
    ahead: list[int] = []

    def take(number: int) -> None:
        ahead.append(number - max(server.told, default=0))

    stream = server.stream(most=30, window=100)
    ends = {
        "straight": stream | Sink.for_each(take),
        "on a thread": stream.publish_on(thread()) | Sink.for_each(take),
        "in batches": stream | Sink.foreach_batch(lambda some: [take(number) for number in some], 7, 0.001),
    }
    ends[behind].run().wait(WAIT)
    assert len(ahead) == server.poured == 3000
    assert max(ahead) <= 100
    assert server.told == sorted(set(server.told))
    assert server.words[-2:] == ["commit 3000", "close"]


@pytest.mark.parametrize("prefetch", [1, 3, 100])
def test_no_more_is_fetched_than_is_asked_for(prefetch: int) -> None:
    server = PouringServer(200)
    came = list(server.stream().publish_on(thread(), prefetch=prefetch))
    assert came == list(range(1, 201))
    assert max(server.asked) <= prefetch


@LATE
def test_what_has_failed_is_not_done_and_all_before_it_is(late: int) -> None:
    server = PouringServer(None)
    server.late = late

    def take(number: int) -> None:
        if number == 777:
            raise LOST

    with pytest.raises(ConnectionError, match=r"^the server has gone"):
        (server.stream(most=10, window=100) | Sink.for_each(take)).run().wait(WAIT)
    assert server.words[-2:] == ["commit 776", "close"]


@LATE
def test_an_end_in_the_middle_is_told_exactly(late: int) -> None:
    server = PouringServer(None)
    server.late = late
    assert (server.stream(most=10, window=100).take(777) | Sink.count()).run().wait(WAIT) == 777
    assert server.words[-2:] == ["commit 777", "close"]


def test_a_function_may_cancel_the_run_that_it_is_called_by() -> None:
    server = PouringServer(None)
    begun, runs = threading.Event(), list[Any]()

    def take(number: int) -> None:
        assert begun.wait(WAIT)
        if number == 50:
            runs[0].cancel()

    runs.append((server.stream(most=10) | Sink.for_each(take)).run())
    begun.set()
    with pytest.raises(RunCancelledError):
        runs[0].wait(WAIT)
    assert server.closed.wait(WAIT)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_what_ends_a_thread_ends_the_run_and_the_connection_is_closed() -> None:
    server = PouringServer(None)

    def take(number: int) -> None:
        if number == 50:
            raise SystemExit

    with pytest.raises(InterruptionError):
        (server.stream(most=10) | Sink.for_each(take)).run().wait(WAIT)
    assert server.closed.wait(WAIT)


@LATE
def test_a_commit_that_fails_ends_the_run(late: int) -> None:
    server = PouringServer(None, commit=LOST)
    server.late = late
    with pytest.raises(ConnectionError, match=r"^the server has gone"):
        (server.stream(most=3, window=10) | Sink.for_each(str)).run().wait(WAIT)
    assert server.words[-1] == "close"


def test_while_the_thread_waits_what_is_done_is_told_from_the_loop() -> None:
    server = PouringServer(100)
    server.late = 1000
    waited: list[int] = []

    def wait_for_all(connection: PouringConnection, pouring: Any) -> None:
        if connection.last == 50:  # as where partitions are to go
            pouring.aside()
            connection.answer()
            for _ in range(WAIT * 100):
                if 50 in server.told:
                    break
                waiting.wait(0.01)
            waited.append(server.told[-1])

    waiting = threading.Event()
    server.before_fetch = wait_for_all
    stream = server.stream(most=10).publish_on(thread())
    assert (stream | Sink.for_each(str)).run().wait(WAIT) == 100
    assert waited == [50]
    assert server.words[-2:] == ["commit 100", "close"]
