"""executors and clocks: workers run tasks in order, their threads end, and one that exits takes no other along."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import Executor, Overflow, Stream, SystemClock, VirtualClock, inline, loop, pool, thread
from penstock.engine.places.executors import Worker
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
def quiet_exits(loop_apart: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Take the exit of a thread as Python does, which says nothing; pytest would report it."""
    before = set(threading.enumerate())
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    yield
    assert left_alive(before) == []  # before the hook goes


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

each_clock = pytest.mark.parametrize("clock", [VirtualClock(), SystemClock()], ids=["virtual", "system"])


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


def test_virtual_time_moves_on_by_a_timedelta() -> None:
    clock = VirtualClock()
    clock.advance(timedelta(minutes=1))
    assert clock.now() == 60


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf")])
def test_virtual_time_moves_on_by_a_finite_step(seconds: float) -> None:
    clock = VirtualClock()
    with pytest.raises(ValueError, match=rf"^advance: seconds must be >= 0 and finite, got {seconds!r}$"):
        clock.advance(seconds)
    assert clock.now() == 0


@pytest.mark.parametrize("start", [0.0, 1.0, 1e3, 1.7e9])
@pytest.mark.parametrize("step", [0.1, 0.2, 0.3, 0.7, 1 / 3, 1 / 7, 1.1, 1e-3, 12.34])
@pytest.mark.parametrize("every", [1, 3, 10])
def test_virtual_steps_add_up_to_what_they_say(start: float, step: float, every: int) -> None:
    clock = VirtualClock(start)
    probe = subscribed(Stream.interval(step * every, overflow=Overflow.BUFFER, clock=clock), 200)
    for made in range(1, 201):
        clock.advance(step)
        assert len(probe.elements) == made // every
    probe.cancel()


@given(step=st.floats(1e-3, 1e3), parts=st.integers(1, 20), start=st.floats(0, 1e9))
def test_a_virtual_step_is_as_long_as_its_parts(step: float, parts: int, start: float) -> None:
    clock = VirtualClock(start)
    probe = subscribed(Stream.interval(step / parts, overflow=Overflow.BUFFER, clock=clock), 1000)
    for made in range(1, 20):
        clock.advance(step)
        assert len(probe.elements) == made * parts
    probe.cancel()


def test_virtual_time_may_be_moved_inside_a_task_and_never_goes_back() -> None:
    clock = VirtualClock()
    ran: list[float] = []
    clock.call_later(1.0, lambda: clock.advance(5.0))
    clock.call_later(4.0, lambda: ran.append(clock.now()))
    clock.advance(2.0)
    assert (ran, clock.now()) == ([4.0], 6.0)


def test_calling_off_while_another_thread_moves_the_clock() -> None:
    with restless():
        for _ in range(30):
            clock = VirtualClock()
            ran: list[int] = []
            calls_off = [clock.call_later(n, lambda n=n, ran=ran: ran.append(n)) for n in range(50)]  # type: ignore[misc]
            all_at_once(lambda: clock.advance(100.0), lambda: [call_off() for call_off in calls_off])  # noqa: B023
            assert ran == sorted(ran)
            assert clock.pending == 0


@each_clock
def test_what_is_called_off_leaves_the_clock(clock: Any) -> None:
    calls_off = [clock.call_later(1000.0 + n % 7, lambda: None) for n in range(1000)]
    stays = clock.call_later(500.0, lambda: None)
    for left, call_off in zip(range(1000, 0, -1), calls_off, strict=True):
        call_off()
        call_off()
        assert len(clock._timers) == left
        assert len(clock._timers._heap) <= 2 * left
    stays()
    assert clock._timers._heap == []


@each_clock
def test_a_task_that_was_called_is_not_called_off(clock: Any) -> None:
    done = threading.Event()
    call_off = clock.call_later(0.0, done.set)
    if isinstance(clock, VirtualClock):
        clock.advance(0.0)
    assert done.wait(PATIENCE)
    stays = clock.call_later(500.0, lambda: None)
    call_off()
    assert len(clock._timers) == 1
    stays()


@each_clock
def test_a_long_row_of_elements_leaves_a_handful_of_timers(clock: Any) -> None:
    ticks = subscribed(Stream.interval(500.0, clock=clock), 1)
    subject: Any = Stream.subject()
    probe = subscribed(subject.debounce(1000.0, clock=clock), 5)
    for n in range(20_000):
        subject.emit(n)
        assert len(clock._timers._heap) < 5
    probe.cancel()
    ticks.cancel()
    assert clock._timers._heap == []


@pytest.mark.parametrize("seconds", [timedelta.max.total_seconds(), 1e300])
def test_the_system_clock_waits_as_long_as_it_is_told(seconds: float) -> None:
    clock = SystemClock()
    done = threading.Event()
    call_off = clock.call_later(seconds, lambda: None)
    clock.call_later(0.001, done.set)
    assert done.wait(PATIENCE)
    again = threading.Event()
    clock.call_later(0.001, again.set)
    assert again.wait(PATIENCE)
    call_off()


def test_the_system_clock_waits_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.engine.places.clocks.LONGEST_WAIT", 0.0001)
    clock = SystemClock()
    began = clock.now()
    ran: list[float] = []
    done = threading.Event()
    clock.call_later(0.005, lambda: (ran.append(clock.now()), done.set()))  # type: ignore[arg-type, return-value]
    assert done.wait(PATIENCE)
    assert ran[0] >= began + 0.005


# A machine that has no more threads.


class Threads:
    """Let no thread of penstock's start while `none` is set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.none = False
        start = threading.Thread.start

        def may_start(thread: threading.Thread) -> None:
            if self.none and thread.name.startswith("penstock"):
                raise RuntimeError("can't start new thread")
            start(thread)

        monkeypatch.setattr(threading.Thread, "start", may_start)


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> Threads:
    return Threads(monkeypatch)


def test_a_clock_without_a_thread_refuses_a_task_and_goes_on(threads: Threads) -> None:
    clock = SystemClock()
    ran: list[str] = []
    done = threading.Event()
    for _ in range(2):
        threads.none = True
        with pytest.raises(RuntimeError, match=r"^can't start new thread$"):
            clock.call_later(0.0, lambda: ran.append("refused"))
        assert len(clock._timers) == 0
        threads.none = False
        clock.call_later(0.0, done.set)
        assert done.wait(PATIENCE)
        done.clear()
    assert ran == []


@pytest.mark.usefixtures("loop_apart")
@pytest.mark.parametrize("executor", ["pool of one", "pool", "thread", "loop"])
def test_an_executor_without_a_thread_refuses_a_task_and_goes_on(executor: str, threads: Threads) -> None:
    made = EXECUTORS[executor]()
    ran: list[str] = []
    for _ in range(2):
        threads.none = True
        with pytest.raises(RuntimeError, match=r"^can't start new thread$"):
            made.worker().submit(lambda: ran.append("refused"))
        threads.none = False
        finish(made.worker())
    assert ran == []


def test_a_worker_of_a_pool_that_refused_a_task_takes_the_next(threads: Threads) -> None:
    worker = pool(2).worker()
    threads.none = True
    with pytest.raises(RuntimeError, match=r"^can't start new thread$"):
        worker.submit(lambda: None)
    threads.none = False
    finish(worker)


@pytest.mark.usefixtures("quiet_exits")
def test_a_thread_that_a_task_exits_goes_on_if_there_is_no_other(threads: Threads) -> None:
    def leave() -> None:
        threads.none = True
        raise SystemExit

    clock, worker = SystemClock(), pool(1).worker()
    for start in (lambda task: clock.call_later(0.0, task), worker.submit):
        done, ready = threading.Event(), threading.Event()
        start(lambda: ready.wait(PATIENCE))  # noqa: B023
        start(leave)
        start(done.set)
        ready.set()
        assert done.wait(PATIENCE)
        threads.none = False


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


def test_steps_of_a_virtual_clock_on_two_threads_add_up() -> None:
    clock, called = VirtualClock(), list[float]()
    clock.call_later(1.5, lambda: called.append(clock.now()))

    def step_elsewhere() -> None:
        other = threading.Thread(target=clock.advance, args=(1.0,))
        other.start()
        other.join()  # which returns, though this step is not over
        called.append(clock.now())

    clock.call_later(0.5, step_elsewhere)
    clock.advance(1.0)
    assert called == [0.5, 1.5]
    assert clock.now() == 2.0


def test_what_interrupts_a_step_leaves_the_virtual_clock_to_others() -> None:
    clock = VirtualClock()

    def interrupt() -> None:
        raise KeyboardInterrupt

    clock.call_later(1, interrupt)
    with pytest.raises(KeyboardInterrupt):
        clock.advance(2)
    other = threading.Thread(target=clock.advance, args=(1.0,))
    other.start()
    other.join()
    assert clock.now() == 2.0
