"""threads: queues carry elements, their end and a failure; a cancel lets go of whoever waits for a queue."""

from __future__ import annotations

import asyncio
import multiprocessing
import queue
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from penstock import PenstockError, ProtocolError, RunCancelledError, Stream, thread
from penstock.bridges import threads
from penstock.bridges.shared.pouring import AHEAD
from penstock.bridges.threads import from_queue, to_queue
from penstock.testing import Completed, Failed, Next, Probe, Tracked
from tests.engine.watch import PATIENCE, dropped, no_thread_is_left

__all__ = ["dropped", "no_thread_is_left"]

LOST = LookupError("lost")


@pytest.fixture
def between_processes() -> Iterator[Any]:
    made = multiprocessing.Queue(2)
    yield made
    made.close()
    made.join_thread()


class Watched(queue.Queue[Any]):
    """Be a queue that tells when somebody waits for it."""

    def __init__(self, size: int = 0) -> None:
        super().__init__(size)
        self.waited = threading.Event()
        for condition in (self.not_empty, self.not_full):
            self._tell(condition)

    def _tell(self, condition: threading.Condition) -> None:
        wait = condition.wait

        def waits(timeout: float | None = None) -> bool:
            self.waited.set()
            return wait(timeout)

        condition.wait = waits  # type: ignore[method-assign]


def wait_for_end_of(name: str) -> None:
    """Wait for threads, which must end by themselves."""
    for each in threading.enumerate():
        if each.name == name:
            each.join(PATIENCE)
            assert not each.is_alive()


def filled(*items: Any) -> queue.Queue[Any]:
    made: queue.Queue[Any] = queue.Queue()
    for item in items:
        made.put(item)
    return made


@pytest.mark.parametrize("make", [queue.Queue, queue.SimpleQueue], ids=["Queue", "SimpleQueue"])
def test_elements_come_out_in_order_with_the_end_behind_them(make: Callable[[], Any]) -> None:
    made = make()
    assert (Stream.range(3) | to_queue(made)).run().wait(PATIENCE) == 3
    assert list(from_queue(made)) == [0, 1, 2]
    assert made.empty()


def test_what_stands_in_the_queue_is_what_anybody_may_put_or_take() -> None:
    made: queue.Queue[Any] = queue.Queue()
    assert (Stream.just("a") | to_queue(made)).run().wait(PATIENCE) == 1
    assert [made.get(), made.get()] == ["a", Completed()]
    with pytest.raises(LookupError):
        (Stream.error(LOST) | to_queue(made)).run().wait(PATIENCE)
    failed = made.get()
    assert isinstance(failed, Failed)
    assert failed.error is LOST


def test_signals_that_are_elements_are_not_taken_for_the_end() -> None:
    made: queue.Queue[Any] = queue.Queue()
    signals = [Next(1), Completed(), Failed(LOST), Next(Next(2))]
    (Stream.from_iterable(signals) | to_queue(made)).run().wait(PATIENCE)
    assert list(from_queue(made)) == signals


def test_a_failure_is_the_same_object_on_both_sides() -> None:
    made: queue.Queue[Any] = queue.Queue()
    run = (Stream.range(2).concat(Stream.error(LOST)) | to_queue(made)).run()
    probe: Probe[int] = Probe(9)
    from_queue(made).subscribe(probe)
    probe.wait_for_end()
    assert (probe.elements, probe.error is LOST, probe.breaches) == ([0, 1], True, [])
    with pytest.raises(LookupError) as raised:
        run.wait(PATIENCE)
    assert raised.value is LOST


def test_several_may_fill_one_queue_if_only_one_ends_it() -> None:
    made: queue.Queue[Any] = queue.Queue()
    for numbers in (Stream.range(2), Stream.range(2, 4)):
        (numbers | to_queue(made, end=False)).run().wait(PATIENCE)
    made.put(Completed())
    assert list(from_queue(made)) == [0, 1, 2, 3]


def test_nothing_is_taken_before_it_is_asked_for_and_each_item_is_done_once() -> None:
    made = filled(1, 2, 3)
    probe: Probe[int] = Probe(1)
    from_queue(made).subscribe(probe)
    probe.wait_for(1)
    assert made.qsize() == 2
    probe.request(1)
    probe.wait_for(2)
    assert (made.qsize(), made.unfinished_tasks) == (1, 2)
    probe.cancel()
    made.get()
    made.task_done()
    made.join()


def test_a_for_loop_waits_in_its_own_thread_and_takes_nothing_ahead() -> None:
    made = filled(1, 2, 3)
    before = threading.active_count()
    for element in from_queue(made):
        assert (element, made.qsize(), threading.active_count()) == (1, 2, before)
        break
    assert made.qsize() == 2


def test_a_full_queue_makes_the_sink_wait() -> None:
    made = Watched(2)
    items = Tracked(range(100))
    run = (Stream.from_iterable(items) | to_queue(made)).run()
    assert made.waited.wait(PATIENCE)
    assert items.taken <= 2 + AHEAD
    assert list(from_queue(made)) == list(range(100))
    assert run.wait(PATIENCE) == 100


def test_a_cancel_lets_go_of_a_thread_that_waits_for_an_item_and_takes_none() -> None:
    made = Watched()
    probe: Probe[int] = Probe(1)
    from_queue(made).subscribe(probe)
    assert made.waited.wait(PATIENCE)
    probe.cancel()
    wait_for_end_of("penstock-queue")
    made.put(1)
    assert (made.qsize(), probe.signals) == (1, [])


def test_a_cancel_lets_go_of_a_thread_that_waits_for_room() -> None:
    made = Watched(1)
    items = Tracked(range(100))
    run = (Stream.from_iterable(items) | to_queue(made)).run()
    assert made.waited.wait(PATIENCE)
    run.cancel()
    with pytest.raises(RunCancelledError):
        run.wait(PATIENCE)
    items.wait_until_closed()
    wait_for_end_of("penstock-sink")
    assert made.get() == 0


def test_a_cancel_lets_go_of_a_thread_that_waits_to_put_the_end() -> None:
    made = Watched(1)
    run = (Stream.just(1) | to_queue(made)).run()
    assert made.waited.wait(PATIENCE)
    run.cancel()
    wait_for_end_of("penstock-sink")
    assert made.get() == 1


def test_to_stop_a_run_is_to_end_it_in_the_queue_as_well() -> None:
    made = Watched(1)
    items = Tracked(range(10**6))
    run = (Stream.from_iterable(items) | to_queue(made)).run()
    assert made.waited.wait(PATIENCE)
    run.stop()
    taken = list(from_queue(made))
    assert taken == list(range(run.wait(PATIENCE)))
    assert len(taken) < 10**6


@pytest.mark.parametrize("make", [queue.SimpleQueue], ids=["SimpleQueue"])
def test_a_cancel_is_seen_by_who_looks_for_it(make: Callable[[], Any]) -> None:
    looked = threading.Event()
    inner = make()

    class Looking:
        def get(self, block: bool = True, timeout: float | None = None) -> Any:
            looked.set()
            return inner.get(block, timeout)

    probe: Probe[int] = Probe(1)
    from_queue(Looking(), poll=0.001).subscribe(probe)  # type: ignore[arg-type]
    assert looked.wait(PATIENCE)
    probe.cancel()  # no_thread_is_left sees the rest


def test_many_readers_and_writers_share_a_queue_without_losing_anything() -> None:
    made: queue.Queue[Any] = queue.Queue(3)
    found: list[list[int]] = [[], [], []]
    readers = [
        threading.Thread(target=lambda into=into: into.extend(from_queue(made)))  # type: ignore[misc]
        for into in found
    ]
    for reader in readers:
        reader.start()
    runs = [(Stream.range(n * 100, n * 100 + 100) | to_queue(made, end=False)).run() for n in range(4)]
    assert [run.wait(PATIENCE) for run in runs] == [100] * 4
    for _ in readers:
        made.put(Completed())
    for reader in readers:
        reader.join(PATIENCE)
    assert sorted(n for each in found for n in each) == list(range(400))
    for each in found:
        for writer in range(4):
            mine = [n for n in each if n // 100 == writer]
            assert mine == sorted(mine)


def square(given: Any, into: Any) -> None:
    """Be the other process."""
    (from_queue(given).map(lambda n: n * n) | to_queue(into)).run().wait()


def test_two_processes_share_queues() -> None:
    context = multiprocessing.get_context("spawn")
    there, back = context.Queue(2), context.Queue(2)
    other = context.Process(target=square, args=(there, back), daemon=True)
    other.start()
    run = (Stream.range(5) | to_queue(there)).run()
    assert list(from_queue(back)) == [0, 1, 4, 9, 16]
    assert run.wait(PATIENCE) == 5
    other.join(PATIENCE)
    assert other.exitcode == 0
    for each in (there, back):
        each.close()
        each.join_thread()


class Unpicklable(Exception):
    def __init__(self, lock: Any, message: str) -> None:
        super().__init__(message)
        self.lock = lock


class Mute(Unpicklable):
    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    ("kind", "told"), [(Unpicklable, "Unpicklable: burst"), (Mute, "Mute: <exception str() failed>")]
)
def test_an_error_that_does_not_pickle_reaches_another_process_by_name(
    between_processes: Any, kind: type[Unpicklable], told: str
) -> None:
    run = (Stream.error(kind(threading.Lock(), "burst")) | to_queue(between_processes)).run()
    probe: Probe[int] = Probe(1)
    from_queue(between_processes, poll=0.005).subscribe(probe)
    probe.wait_for_end()
    assert (type(probe.error), str(probe.error)) == (PenstockError, told)
    with pytest.raises(kind):
        run.wait(PATIENCE)


def test_an_element_that_does_not_pickle_fails_the_sink_and_is_not_lost(between_processes: Any) -> None:
    filling = (Stream.just(1, threading.Lock(), 3) | to_queue(between_processes)).run()
    with pytest.raises(TypeError, match=r"^cannot pickle '_thread.lock' object"):
        filling.wait(PATIENCE)
    with pytest.raises(TypeError, match=r"^cannot pickle '_thread.lock' object"):
        list(from_queue(between_processes))


def test_a_queue_of_asynchronous_elements_is_filled_from_a_thread() -> None:
    async def numbers() -> Any:
        for n in range(50):
            await asyncio.sleep(0)
            yield n

    made: queue.Queue[Any] = queue.Queue(2)
    run = (Stream.from_async_iterable(numbers()) | to_queue(made)).run()
    assert list(from_queue(made)) == list(range(50))
    assert run.wait(PATIENCE) == 50


def test_a_full_queue_does_not_stop_the_loop_that_awaits_the_sink() -> None:
    made: queue.Queue[Any] = queue.Queue(1)

    async def main() -> tuple[int, list[int]]:
        async def read() -> list[int]:
            return [n async for n in from_queue(made)]

        reading = asyncio.ensure_future(read())
        count = await (Stream.range(20) | to_queue(made))
        found = await reading
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return count, found

    assert asyncio.run(main()) == (20, list(range(20)))


# Breaches.


def test_none_in_a_queue_fails_the_stream() -> None:
    probe: Probe[int] = Probe(2)
    from_queue(filled(1, None)).subscribe(probe)
    probe.wait_for_end()
    assert (probe.elements, type(probe.error), probe.breaches) == ([1], TypeError, [])


def test_a_failure_that_is_no_exception_is_told_of_by_rule() -> None:
    probe: Probe[int] = Probe(1)
    from_queue(filled(Failed("burst"))).subscribe(probe)  # type: ignore[arg-type]
    probe.wait_for_end()
    assert (type(probe.error), str(probe.error)) == (
        ProtocolError,
        "rule 1.4: the sender failed with 'burst', which is not an exception",
    )


@pytest.mark.parametrize("method", ["get", "put"])
def test_a_queue_that_raises_fails_its_own_stream(method: str) -> None:
    class Broken:
        def get(self, **_: Any) -> Any:
            raise OSError("gone")

        def put(self, _: Any, **__: Any) -> None:
            raise OSError("gone")

    items = Tracked(range(5))
    if method == "get":
        probe: Probe[int] = Probe(1)
        from_queue(Broken()).subscribe(probe)
        probe.wait_for_end()
        assert (type(probe.error), str(probe.error)) == (OSError, "gone")
    else:
        with pytest.raises(OSError, match=r"^gone$"):
            (Stream.from_iterable(items) | to_queue(Broken())).run().wait(PATIENCE)
        items.wait_until_closed()


def test_an_end_that_cannot_be_put_fails_the_sink_and_a_failure_goes_on(dropped: list[Any]) -> None:
    class Broken:
        def get(self, **_: Any) -> Any:
            raise NotImplementedError

        def put(self, item: Any, **__: Any) -> None:
            if isinstance(item, Completed | Failed):
                raise OSError("gone")

    with pytest.raises(OSError, match=r"^gone$"):
        (Stream.just(1) | to_queue(Broken())).run().wait(PATIENCE)
    with pytest.raises(LookupError):
        (Stream.error(LOST) | to_queue(Broken())).run().wait(PATIENCE)
    assert [(each.what, str(each.error)) for each in dropped] == [("a sink failed to pass a failure on", "gone")]
    dropped.clear()


class ShutDown(Exception):
    """Stand for queue.ShutDown where Python does not have it yet."""


class Closable(queue.Queue[Any]):
    """Be a queue that can be shut down, as from Python 3.13 on."""

    is_shutdown = False

    def shutdown(self) -> None:
        with self.mutex:
            self.is_shutdown = True
            self.not_empty.notify_all()
            self.not_full.notify_all()

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        if self.is_shutdown and self.empty():
            raise ShutDown
        return super().get(block, timeout)

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        if self.is_shutdown:
            raise ShutDown
        super().put(item, block, timeout)


def closable(monkeypatch: pytest.MonkeyPatch, size: int) -> Any:
    if hasattr(queue, "ShutDown"):
        return queue.Queue(size)
    monkeypatch.setattr(threads, "_SHUT_DOWN", ShutDown)
    return Closable(size)


def test_a_queue_that_is_shut_down_ends_its_readers_after_what_it_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    made = closable(monkeypatch, 0)
    made.put(1)
    probe: Probe[int] = Probe(2)
    from_queue(made).subscribe(probe)
    probe.wait_for(1)
    made.shutdown()
    probe.wait_for_end()
    assert (probe.elements, probe.completed) == ([1], True)
    assert list(from_queue(made)) == []


def test_a_queue_that_is_shut_down_is_a_cancel_to_who_fills_it(monkeypatch: pytest.MonkeyPatch) -> None:
    made = closable(monkeypatch, 2)
    items = Tracked(range(100))
    run = (Stream.from_iterable(items) | to_queue(made)).run()
    assert made.get() == 0
    made.shutdown()
    count = run.wait(PATIENCE)
    assert count in {1, 2, 3}
    items.wait_until_closed()


def test_a_shared_thread_pool_is_no_obstacle() -> None:
    made: queue.Queue[Any] = queue.Queue(1)
    run = (Stream.range(30).publish_on(thread()) | to_queue(made)).run()
    assert from_queue(made).publish_on(thread()).to_list().get() == list(range(30))
    assert run.wait(PATIENCE) == 30


# Arguments.


@pytest.mark.parametrize("given", [None, 3, queue.Queue, object()])
def test_what_is_no_queue_is_refused(given: Any) -> None:
    for function, method in ((from_queue, "get"), (to_queue, "put")):
        cure = "; that is a class: make one of it, as Queue(...)" if given is queue.Queue else ""
        message = f"{function.__name__}: queue must have {method}, got {given!r}{cure}"
        with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
            function(given)


@pytest.mark.parametrize("poll", [0, -1, "1", True])
def test_a_pause_must_be_positive(poll: Any) -> None:
    for function in (from_queue, to_queue):
        message = f"{function.__name__}: poll must be > 0 seconds, got {poll!r}"
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            function(queue.Queue(), poll=poll)


def test_a_run_that_is_being_cancelled_takes_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting, probe = Watched(), Probe[Any]()
    before = set(threading.enumerate())
    from_queue(waiting).subscribe(probe)
    probe.request(9)
    assert waiting.waited.wait(PATIENCE)
    (reader,) = set(threading.enumerate()) - before

    def put_meanwhile(_: object) -> None:
        waiting.waited.clear()
        waiting.put("late")
        while reader.is_alive() and not waiting.waited.wait(0.001):
            pass  # it has looked at the queue again when it waits, or has gone

    monkeypatch.setattr(threads._Interrupted, "cancelled", put_meanwhile)
    probe.cancel()
    assert waiting.get_nowait() == "late"


@pytest.mark.parametrize("use", [from_queue, to_queue])
def test_a_queue_of_asyncio_is_refused(use: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError, match=f"^{use.__name__}: queue must be one of threads, got <Queue.*bridges.asyncio$"):
        use(asyncio.Queue())
