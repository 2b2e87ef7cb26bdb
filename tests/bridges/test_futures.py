"""futures: results of futures under demand, bounded work for an executor, and a stream's result as a future."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from typing import Any

import pytest
import trio

from penstock import EmptyError, Stream
from penstock.bridges.futures import from_futures, submit, to_future
from penstock.testing import ManualPublisher, PlannedBreach, Probe, Tracked
from tests.engine.watch import PATIENCE, dropped, no_thread_is_left

__all__ = ["dropped", "no_thread_is_left"]

LOST = LookupError("lost")


def settled(*results: Any) -> list[Future[Any]]:
    """Return futures that have these results, or failures."""
    made: list[Future[Any]] = []
    for result in results:
        future: Future[Any] = Future()
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)
        made.append(future)
    return made


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as made:
        yield made


def test_results_come_in_the_order_of_the_futures_or_as_they_come() -> None:
    for ordered, expected in ((True, ["first", "second"]), (False, ["second", "first"])):
        futures: list[Future[str]] = [Future(), Future()]
        probe: Probe[str] = Probe(2)
        from_futures(futures, ordered=ordered).subscribe(probe)
        futures[1].set_result("second")
        if not ordered:
            probe.wait_for(1)
        futures[0].set_result("first")
        assert probe.wait_for_end() == expected
        assert probe.breaches == []


def test_a_failure_fails_the_stream_with_the_same_object() -> None:
    probe: Probe[int] = Probe(9)
    from_futures(settled(1, LOST, 2)).subscribe(probe)
    probe.wait_for_end()
    assert (probe.elements, probe.error is LOST) == ([1], True)


def test_a_future_that_was_cancelled_fails_the_stream() -> None:
    future: Future[int] = Future()
    probe: Probe[int] = Probe(9)
    from_futures([future]).subscribe(probe)
    future.cancel()
    probe.wait_for_end()
    assert type(probe.error) is CancelledError


def test_an_iterator_that_submits_has_no_more_than_twice_the_concurrency_outstanding() -> None:
    made: list[Future[int]] = []

    def submitting() -> Iterator[Future[int]]:
        for _ in range(100):
            made.append(Future())
            yield made[-1]

    probe: Probe[int] = Probe()
    from_futures(submitting(), concurrency=3).subscribe(probe)
    probe.request(2)
    assert len(made) == 6
    for n in range(2):
        made[n].set_result(n)
    probe.wait_for(2)
    assert len(made) <= 8
    probe.cancel()
    for future in made[2:5]:
        with pytest.raises(CancelledError):
            future.result(PATIENCE)


def test_a_cancel_cancels_what_is_waited_for_and_has_not_begun() -> None:
    waiting: list[Future[int]] = [Future(), Future()]
    waiting[1].set_running_or_notify_cancel()
    probe: Probe[int] = Probe(2)
    from_futures(waiting, concurrency=2).subscribe(probe)
    reached = threading.Event()
    waiting[0].add_done_callback(lambda _: reached.set())
    while not waiting[1]._done_callbacks:  # both are waited for  # type: ignore[attr-defined]
        threading.Event().wait(0.0005)
    probe.cancel()
    assert reached.wait(PATIENCE)
    assert (waiting[0].cancelled(), waiting[1].running()) == (True, True)
    waiting[1].set_result(1)


def test_results_are_awaited_on_asyncio_and_on_trio() -> None:
    async def main() -> list[int]:
        with ThreadPoolExecutor(2) as pool:
            return [n async for n in Stream.range(5) | submit(pool, lambda n: n * n, concurrency=2)]

    assert asyncio.run(main()) == trio.run(main) == [0, 1, 4, 9, 16]


def test_no_more_calls_are_outstanding_than_were_allowed(pool: ThreadPoolExecutor) -> None:
    outstanding: list[int] = []

    class Counting:
        now = 0

        def submit(self, fn: Any, *args: Any) -> Future[Any]:
            Counting.now += 1
            outstanding.append(Counting.now)
            future = pool.submit(fn, *args)
            future.add_done_callback(lambda _: setattr(Counting, "now", Counting.now - 1))
            return future

    items = Tracked(range(200))
    executor: Any = Counting()
    found = Stream.from_iterable(items) | submit(executor, lambda n: -n, concurrency=4, ordered=False)
    assert sorted(found) == list(range(-199, 1))
    assert max(outstanding) <= 4


def test_a_call_that_raises_fails_the_stream_and_cancels_the_others(pool: ThreadPoolExecutor) -> None:
    items = Tracked(range(1000))

    def work(n: int) -> int:
        if n == 3:
            raise LOST
        return n

    with pytest.raises(LookupError) as raised:
        list(Stream.from_iterable(items) | submit(pool, work, concurrency=2))
    assert raised.value is LOST
    items.wait_until_closed()
    assert items.taken < 1000


def test_an_executor_that_is_shut_down_fails_the_stream() -> None:
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    with pytest.raises(RuntimeError, match="cannot schedule new futures after shutdown"):
        list(Stream.range(3) | submit(pool, str))


def test_a_result_of_none_is_no_element(pool: ThreadPoolExecutor) -> None:
    with pytest.raises(TypeError, match=r"2\.13"):
        list(Stream.just(3) | submit(pool, lambda _: None))


# A stream as a future.


def test_a_future_has_the_first_element_and_the_rest_is_cancelled() -> None:
    items = Tracked(range(5))
    assert to_future(Stream.from_iterable(items)).result(PATIENCE) == 0
    assert (items.taken, items.open_runs) == (1, 0)


def test_a_failure_of_the_stream_is_that_of_the_future() -> None:
    assert to_future(Stream.error(LOST)).exception(PATIENCE) is LOST
    error = to_future(Stream.empty()).exception(PATIENCE)
    assert (type(error), str(error)) == (EmptyError, "to_future: the stream completed without an element")


def test_to_cancel_the_future_is_to_cancel_the_stream() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    future = to_future(upstream)
    assert upstream.requests == [1]
    assert future.cancel()
    assert upstream.subscriptions[0].cancelled
    with pytest.raises(CancelledError):
        future.result(PATIENCE)


def test_a_cancel_that_comes_before_another_thread_has_subscribed_is_kept() -> None:
    waits: list[Any] = []

    class Late:
        def subscribe(self, subscriber: Any, /) -> None:
            waits.append(subscriber)

    future = to_future(Late())
    assert future.cancel()
    upstream: ManualPublisher[int] = ManualPublisher()
    upstream.subscribe(waits[0])
    assert upstream.subscriptions[0].cancelled


@pytest.mark.parametrize("late", ["element", "error", "end"])
def test_what_comes_after_the_cancel_changes_nothing(late: str, dropped: list[Any]) -> None:
    upstream: ManualPublisher[int] = ManualPublisher(PlannedBreach.IGNORE_CANCEL)
    future = to_future(upstream)
    future.cancel()
    if late == "element":
        upstream.next(1)
    elif late == "error":
        upstream.fail(LOST)
        assert [each.error for each in dropped] == [LOST]
        dropped.clear()
    else:
        upstream.complete()
    assert future.cancelled()


def test_a_publisher_that_exceeds_its_demand_changes_nothing_either(dropped: list[Any]) -> None:
    upstream: ManualPublisher[int] = ManualPublisher(PlannedBreach.EXCEED_DEMAND, PlannedBreach.IGNORE_CANCEL)
    future = to_future(upstream)
    upstream.next(1, 2)
    assert future.result(PATIENCE) == 1


def test_a_future_can_be_awaited() -> None:
    async def main() -> int:
        return await asyncio.wrap_future(to_future(Stream.range(5).map_async(same).count()))

    async def same(n: int) -> int:
        return n

    assert asyncio.run(main()) == 5


# Arguments.


def test_what_is_no_future_is_told_of() -> None:
    with pytest.raises(TypeError, match=r"from_futures: each element must be a Future, got 3"):
        list(from_futures([3]))  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: from_futures(3), "from_futures: futures must be an iterable of futures, got 3"),  # type: ignore[arg-type]
        (lambda: from_futures([], concurrency=0), "from_futures: concurrency must be >= 1, got 0"),
        (lambda: submit(3, str), "submit: executor must have submit, got 3"),  # type: ignore[arg-type]
        (lambda: submit(ThreadPoolExecutor(1), 3), "submit: fn must be callable, got 3"),  # type: ignore[arg-type]
        (lambda: to_future(3), "to_future: stream must be a Stream or another Publisher, got 3"),  # type: ignore[arg-type]
    ],
)
def test_wrong_arguments_are_refused(call: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=f"^{re.escape(message)}$"):
        call()


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError])
def test_work_that_ends_by_an_interrupt_fails_its_stream_and_not_the_loop_of_others(kind: type[BaseException]) -> None:
    begun, go_on = threading.Event(), threading.Event()

    async def patient(n: int) -> int:
        begun.set()
        while not go_on.is_set():
            await asyncio.sleep(0)
        return n

    others = Probe[int]()
    Stream.range(2).map_async(patient).subscribe(others)
    others.request(2)
    assert begun.wait(PATIENCE)
    interrupted: Future[int] = Future()
    interrupted.set_exception(kind("bad"))
    with pytest.raises(RuntimeError, match=r"^from_futures: the work of a future was ended by"):
        list(from_futures([interrupted]))
    go_on.set()
    assert others.wait_for_end() == [0, 1]


def test_those_who_wait_for_several_futures_are_told_of_a_cancel() -> None:
    future = to_future(Stream.never())
    assert future.cancel()
    assert wait([future], timeout=PATIENCE).done == {future}


def divide(n: int) -> float:
    return 1 / n


def test_an_error_of_submitted_work_names_the_function_of_the_user() -> None:
    with ThreadPoolExecutor(1) as executor, pytest.raises(ZeroDivisionError) as failure:
        list(Stream.just(0) | submit(executor, divide))
    assert failure.value.__notes__ == [f"in map_async(divide), test_futures.py:{divide.__code__.co_firstlineno}"]


def test_a_line_of_penstock_is_not_told() -> None:
    with pytest.raises(TypeError) as failure:
        list(from_futures([3]))  # type: ignore[list-item]
    assert failure.value.__notes__ == ["in map_async(_result_of)"]
