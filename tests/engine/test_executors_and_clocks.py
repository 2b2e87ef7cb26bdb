"""executors and clocks: workers run tasks in order, their threads end, and one that exits takes no other along."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from penstock import Executor, Stream, SystemClock, VirtualClock, inline, loop, pool, thread
from penstock.engine.executors import Worker
from penstock.testing import Probe, subscribed
from tests.engine.stress import all_at_once, restless
from tests.engine.watch import PATIENCE, left_alive

EXECUTORS: dict[str, Callable[[], Executor]] = {
    "inline": inline,
    "thread": thread,
    "pool of one": lambda: pool(1),
    "pool": lambda: pool(3),
    "loop": loop,
}
each_executor = pytest.mark.parametrize("executor", EXECUTORS)


def finish(worker: Worker) -> None:
    """Wait until everything that was submitted has run, then close."""
    done = threading.Event()
    worker.submit(done.set)
    assert done.wait(PATIENCE)
    worker.close()


@each_executor
def test_tasks_run_one_at_a_time_and_in_order(executor: str) -> None:
    worker = EXECUTORS[executor]().worker()
    ran: list[int] = []
    with restless():
        for n in range(500):
            worker.submit(lambda n=n: ran.append(n))  # type: ignore[misc]
        finish(worker)
    assert ran == list(range(500))


@each_executor
def test_tasks_from_many_threads_all_run(executor: str) -> None:
    worker = EXECUTORS[executor]().worker()
    ran: list[int] = []
    with restless():
        all_at_once(*[lambda: [worker.submit(lambda: ran.append(1)) for _ in range(100)] for _ in range(4)])
        finish(worker)
    assert len(ran) == 400


@each_executor
def test_what_was_submitted_before_the_close_still_runs_and_nothing_after(executor: str) -> None:
    worker = EXECUTORS[executor]().worker()
    ran: list[str] = []
    done = threading.Event()
    worker.submit(lambda: ran.append("before"))
    worker.submit(done.set)
    worker.close()
    worker.close()
    assert done.wait(PATIENCE)
    if executor != "inline":
        worker.submit(lambda: ran.append("after"))
    assert ran == ["before"]


@each_executor
def test_a_task_that_raises_is_reported_and_the_next_one_runs(executor: str, dropped: list[Any]) -> None:
    worker = EXECUTORS[executor]().worker()
    worker.submit(lambda: 1 // 0)  # type: ignore[arg-type, return-value]
    finish(worker)
    assert [(entry.what, type(entry.error)) for entry in dropped] == [("a task of a worker raised", ZeroDivisionError)]
    dropped.clear()


@pytest.fixture
def quiet_exits(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Take the exit of a thread as Python does, which says nothing; pytest would report it."""
    before = set(threading.enumerate())
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    yield
    left_alive(before)  # a thread calls it with its last breath


@pytest.mark.usefixtures("quiet_exits")
@pytest.mark.parametrize("size", [1, 2])
def test_a_task_that_exits_takes_no_thread_from_the_pool(size: int) -> None:
    shared = pool(size)

    def leave() -> None:
        raise SystemExit

    for _ in range(size + 1):
        worker = shared.worker()
        worker.submit(leave)
        finish(worker)
    assert list(Stream.range(3).publish_on(shared)) == [0, 1, 2]


@pytest.mark.usefixtures("quiet_exits")
def test_a_task_that_exits_takes_no_loop_from_the_others() -> None:
    def leave(_: int) -> int:
        raise SystemExit

    probe: Probe[int] = Probe(5)
    Stream.range(3).publish_on(loop()).map(leave).subscribe(probe)
    probe.wait_until(lambda: probe.ended, "the end")
    assert repr(probe.error) == "InterruptionError('the stream was interrupted by SystemExit()')"
    assert list(Stream.range(3).publish_on(loop())) == [0, 1, 2]


def test_a_pool_has_no_more_threads_than_it_may() -> None:
    shared = pool(2)
    at_once = 0
    most = 0
    lock = threading.Lock()

    def work() -> None:
        nonlocal at_once, most
        with lock:
            at_once += 1
            most = max(most, at_once)
        barrier_or_not.wait(0.001)
        with lock:
            at_once -= 1

    barrier_or_not = threading.Event()
    workers = [shared.worker() for _ in range(10)]
    for worker in workers:
        worker.submit(work)
    for worker in workers:
        finish(worker)
    assert 1 <= most <= 2


def test_threads_are_named_and_end_when_there_is_nothing_to_do() -> None:
    before = set(threading.enumerate())
    probe = subscribed(Stream.range(3).publish_on(thread("mine")), 10)
    probe.wait_for_end()
    assert set(probe.threads) == {"mine"}
    assert left_alive(before) == []


@pytest.mark.parametrize("size", [0, -1])
def test_a_pool_needs_a_thread(size: int) -> None:
    with pytest.raises(ValueError, match=rf"^pool: size must be >= 1, got {size}$"):
        pool(size)


@pytest.mark.parametrize("size", ["3", 1.5, True, None])
def test_a_pool_has_a_whole_number_of_threads(size: Any) -> None:
    with pytest.raises(TypeError, match=rf"^pool: size must be a whole number, got {size!r}$"):
        pool(size)


# Clocks.


def test_the_system_clock_calls_in_order_and_its_thread_ends() -> None:
    clock = SystemClock()
    before = set(threading.enumerate())
    ran: list[str] = []
    done = threading.Event()

    def both_are_overdue() -> None:  # on the timer's own thread, so that neither can be called too soon
        clock.call_later(-1.0, lambda: (ran.append("second"), done.set()))  # type: ignore[arg-type, return-value]
        clock.call_later(-1000.0, lambda: ran.append("first"))

    clock.call_later(0.0, both_are_overdue)
    assert done.wait(PATIENCE)
    assert ran == ["first", "second"]
    assert left_alive(before) == []
    again = threading.Event()
    clock.call_later(0.0, again.set)
    assert again.wait(PATIENCE)


def test_its_thread_ends_when_everything_is_called_off() -> None:
    clock = SystemClock()
    before = set(threading.enumerate())
    calls_off = [clock.call_later(3600.0, lambda: None) for _ in range(5)]
    for call_off in calls_off:
        call_off()
        call_off()
    assert left_alive(before) == []


def test_a_task_that_raises_does_not_stop_the_clock(dropped: list[Any]) -> None:
    clock = SystemClock()
    done = threading.Event()
    clock.call_later(0.0, lambda: 1 // 0)  # type: ignore[arg-type, return-value]
    clock.call_later(0.001, done.set)
    assert done.wait(PATIENCE)
    assert [(entry.what, type(entry.error)) for entry in dropped] == [("a task of a clock raised", ZeroDivisionError)]
    dropped.clear()


@pytest.mark.usefixtures("quiet_exits")
def test_a_task_that_exits_does_not_stop_the_clock() -> None:
    def leave() -> None:
        raise SystemExit

    clock = SystemClock()
    done = threading.Event()
    clock.call_later(0.0, leave)
    clock.call_later(0.01, done.set)
    assert done.wait(PATIENCE)


def test_virtual_time_moves_only_when_told() -> None:
    clock = VirtualClock()
    ran: list[float] = []
    clock.call_later(2.0, lambda: ran.append(clock.now()))
    call_off = clock.call_later(1.5, lambda: ran.append(-1.0))
    clock.call_later(1.0, lambda: clock.call_later(0.5, lambda: ran.append(clock.now())))  # type: ignore[arg-type, return-value]
    call_off()
    assert clock.pending == 2
    clock.advance(0.5)
    assert ran == []
    clock.advance(2.0)
    assert ran == [1.5, 2.0]
    assert (clock.now(), clock.pending) == (2.5, 0)
    with pytest.raises(ValueError, match=r"^advance: seconds must be >= 0, got -1$"):
        clock.advance(-1)


def test_calling_off_while_another_thread_moves_the_clock() -> None:
    with restless():
        for _ in range(30):
            clock = VirtualClock()
            ran: list[int] = []
            calls_off = [clock.call_later(n, lambda n=n, ran=ran: ran.append(n)) for n in range(50)]  # type: ignore[misc]
            all_at_once(lambda: clock.advance(100.0), lambda: [call_off() for call_off in calls_off])  # noqa: B023
            assert ran == sorted(ran)
            assert clock.pending == 0


TIMED: dict[str, Callable[[Any], Stream[Any]]] = {
    "timeout": lambda clock: Stream.never().timeout(3600.0, clock=clock),
    "debounce": lambda clock: Stream.just(1).concat(Stream.never()).debounce(3600.0, clock=clock),
    "interval": lambda clock: Stream.interval(3600.0, clock=clock),
    "retry": lambda clock: Stream.error(KeyError("lost")).retry(backoff=3600.0, clock=clock),
}


@pytest.mark.parametrize("name", TIMED)
def test_a_cancel_leaves_no_timer_behind(name: str) -> None:
    virtual, system = VirtualClock(), SystemClock()
    probe = subscribed(TIMED[name](virtual), 5)
    assert virtual.pending == 1
    probe.cancel()
    assert virtual.pending == 0
    subscribed(TIMED[name](system), 5).cancel()  # the fixture waits for the timer's thread


@pytest.mark.parametrize("name", TIMED)
def test_requests_and_a_cancel_from_many_threads_leave_no_timer_behind(name: str) -> None:
    for _ in range(10):
        clock = VirtualClock()
        probe = subscribed(TIMED[name](clock))
        with restless():
            all_at_once(
                lambda: [probe.request(1) for _ in range(20)],  # noqa: B023
                lambda: [probe.request(1) for _ in range(20)],  # noqa: B023
                probe.cancel,
            )
        assert clock.pending == 0


def test_a_timeout_of_no_time_at_all_is_not_missed() -> None:
    """The timer may fire before the request that set it has been counted."""
    for _ in range(50):
        probe = subscribed(Stream.never().timeout(1e-9), 1)
        probe.wait_for_end()
        assert type(probe.error) is TimeoutError
