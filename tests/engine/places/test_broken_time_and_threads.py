"""broken time and threads: a clock or an executor that raises fails the stream with that error, and nothing is left.

Clocks and executors are objects of a user's. Whichever of their calls raises, and whenever it does, the consumer gets
the error or the right result, upstream is let go of, and neither a timer nor a thread stays behind.
"""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from penstock import Clock, Executor, Stream, SystemClock, VirtualClock, inline, loop, pool, thread
from penstock.engine.words.demand import UNBOUNDED
from penstock.testing import Probe
from tests.engine.parts import in_thread
from tests.engine.places.test_time import CASES, MINDS_TIME, UNIT
from tests.engine.watch import PATIENCE, left_alive

MOST_CALLS = 6
"""Up to which of its calls a clock or an executor is made to raise."""


class Broken(Exception):
    """Say that there is no time, or no thread."""


class Fuse:
    """Raise at the nth call of a method, and at all that follow unless it is mended."""

    def __init__(self, method: str, calls: int, *, mended: bool = False) -> None:
        self.method = method
        self.left = calls
        self.mended = mended
        self.blown = False

    def __call__(self, method: str) -> None:
        if method == self.method and not (self.blown and self.mended):
            self.left -= 1
            if self.left < 0:
                self.blown = True
                raise Broken(method)


def broken(clock: VirtualClock | SystemClock, fuse: Fuse) -> Clock:
    class BrokenClock:
        def now(self) -> float:
            fuse("now")
            return clock.now()

        def call_later(self, seconds: float, task: Callable[[], None], /) -> Callable[[], None]:
            fuse("call_later")
            return clock.call_later(seconds, task)

    return BrokenClock()


class Upstream:
    """Be a stream that counts its runs, and those that are over."""

    def __init__(self, source: Stream[Any]) -> None:
        self.opened = 0
        self.closed = 0
        self._source = source
        self._lock = threading.Lock()

    def stream(self) -> Stream[Any]:
        return Stream.defer(self._open)

    def _open(self) -> Stream[Any]:
        with self._lock:
            self.opened += 1
        return self._source.do_finally(self._close)

    def _close(self) -> None:
        with self._lock:
            self.closed += 1


def forget(dropped: list[Any]) -> None:
    """Take out what nobody could be told: of two errors the second, and that a worker takes no cancel."""
    assert {entry.what for entry in dropped} <= {
        "an error came after the end or the cancel", "a worker took no task after the end or the cancel"
    }  # fmt: skip
    dropped.clear()


# What each operator makes of an upstream, by a clock whose unit of time is given.
TIMED: dict[str, Callable[[Stream[Any], Clock, float], Stream[Any]]] = {
    "buffer_timeout": lambda s, c, u: s.buffer_timeout(4, u, clock=c),
    "debounce": lambda s, c, u: s.debounce(u, clock=c),
    "delay": lambda s, c, u: s.delay(u, size=2, clock=c),
    "delay_subscription": lambda s, c, u: s.delay_subscription(u, clock=c),
    "group_by": lambda s, c, u: s.group_by(lambda n: n, size=2, patience=u, clock=c),
    "interval": lambda s, c, u: s.merge(Stream.interval(u, clock=c)),
    "keep_alive": lambda s, c, u: s.keep_alive(u, "still", clock=c),
    "keep_alive with a function": lambda s, c, u: s.keep_alive(u, fn=lambda: "still", clock=c),
    "retry": lambda s, c, u: s.concat(Stream.error(KeyError("lost"))).retry(3, backoff=u, clock=c),
    "sample": lambda s, c, u: s.sample(u, clock=c),
    "throttle": lambda s, c, u: s.throttle(2, u, clock=c),
    "throttle_first": lambda s, c, u: s.throttle_first(u, clock=c),
    "time_interval": lambda s, c, u: s.time_interval(clock=c),
    "timeout": lambda s, c, u: s.timeout(u, clock=c),
    "timer": lambda s, c, u: s.merge(Stream.timer(u, clock=c)),
    "timestamp": lambda s, c, u: s.timestamp(clock=c),
    "window": lambda s, c, u: s.window(seconds=u, clock=c).flat_map(lambda window: window, concurrency=2),
}
UPSTREAMS: dict[str, Callable[[], Stream[Any]]] = {
    "ends": lambda: Stream.range(5),
    "falls silent": lambda: Stream.range(5).concat(Stream.never()),
    "fails": lambda: Stream.range(5).concat(Stream.error(ValueError("upstream"))),
    "is silent": Stream.never,
}

each_operator = pytest.mark.parametrize("name", TIMED)
each_case = pytest.mark.parametrize("name", [name for name in CASES if name != "observed"])
each_method = pytest.mark.parametrize("method", ["now", "call_later"])
each_fuse = pytest.mark.parametrize("mended", [False, True], ids=["for good", "once"])
each_call = pytest.mark.parametrize("calls", range(MOST_CALLS))


def test_no_operator_with_a_clock_is_missing() -> None:
    assert set(TIMED) >= MINDS_TIME - {"observed"}  # which sees the time, and waits for none


@each_operator
@each_method
@each_fuse
@pytest.mark.parametrize("upstream", UPSTREAMS)
@pytest.mark.parametrize("request_", [1, UNBOUNDED], ids=["one by one", "all at once"])
def test_a_clock_that_raises_fails_the_stream_and_lets_everything_go(
    name: str, method: str, mended: bool, upstream: str, request_: int, dropped: list[Any]
) -> None:
    for calls in range(MOST_CALLS):
        source = Upstream(UPSTREAMS[upstream]())
        clock, fuse = VirtualClock(), Fuse(method, calls, mended=mended)
        probe: Probe[Any] = Probe(request_)
        TIMED[name](source.stream(), broken(clock, fuse), 1.0).subscribe(probe)
        for _ in range(30):
            if not probe.ended:
                probe.request(1)
                clock.advance(1)
        assert probe.breaches == []
        if fuse.blown:
            assert probe.ended
            assert isinstance(probe.error, Broken | ValueError | None)
        if not probe.ended:
            assert upstream in {"falls silent", "is silent"} or name == "interval"
            probe.cancel()
        assert clock.pending == 0
        assert source.closed == source.opened
    forget(dropped)


@each_case
@each_method
@each_call
def test_a_clock_that_raises_gives_the_error_or_the_right_result(
    name: str, method: str, calls: int, dropped: list[Any]
) -> None:
    case, clock, fuse = CASES[name], VirtualClock(), Fuse(method, calls)
    probe: Probe[Any] = Probe(UNBOUNDED)
    case.build(broken(clock, fuse), 1.0).subscribe(probe)
    clock.advance(case.units)
    assert probe.ended
    assert probe.breaches == []
    assert clock.pending == 0
    told = isinstance(probe.error, Broken) or probe.elements == ["Broken"]  # a case may make an element of an error
    assert told or (probe.completed and probe.elements == case.expected)
    assert fuse.blown or not told
    forget(dropped)


@each_case
@each_method
@each_call
def test_it_does_so_on_the_timer_thread_too(name: str, method: str, calls: int, dropped: list[Any]) -> None:
    case, fuse = CASES[name], Fuse(method, calls)
    found = outcome(lambda: case.build(broken(SystemClock(), fuse), UNIT))
    assert found in [case.expected, ["Broken"], f"Broken('{method}')"]
    forget(dropped)


@each_operator
def test_a_time_beyond_all_times_is_waited_for(name: str) -> None:
    clock = SystemClock()
    source = Upstream(Stream.just(1).concat(Stream.never()))
    probe: Probe[Any] = Probe(UNBOUNDED)
    TIMED[name](source.stream(), clock, timedelta.max.total_seconds()).subscribe(probe)
    for _ in range(2):  # between the two the timer thread waits for the other time
        reached = threading.Event()
        clock.call_later(0.0, reached.set)
        assert reached.wait(PATIENCE)
    assert not probe.ended
    probe.cancel()
    assert source.closed == source.opened


def outcome(make: Callable[[], Stream[Any]]) -> Any:
    """Return what a stream gives to a loop on another thread, or what it raises there."""
    found: list[Any] = []

    def consume() -> None:
        try:
            found.append(list(make()))
        except Exception as error:
            found.append(repr(error))

    in_thread(consume)
    return found[0]


# Executors.


def faulty(executor: Executor, fuse: Fuse) -> Executor:
    class FaultyExecutor:
        def worker(self) -> FaultyWorker:
            fuse("worker")
            return FaultyWorker()

    class FaultyWorker:
        def __init__(self) -> None:
            self._worker = executor.worker()

        def submit(self, task: Callable[[], None], /) -> None:
            fuse("submit")
            self._worker.submit(task)

        def close(self) -> None:
            self._worker.close()

    return FaultyExecutor()


EXECUTORS: dict[str, Callable[[], Executor]] = {
    "inline": inline, "loop": loop, "pool of one": lambda: pool(1), "pool": lambda: pool(2), "thread": thread,
}  # fmt: skip
MOVED: dict[str, Callable[[Stream[Any], Executor], Stream[Any]]] = {
    "publish_on": lambda s, e: s.publish_on(e, prefetch=2),
    "publish_on twice": lambda s, e: s.publish_on(e, prefetch=3).map(abs).publish_on(e, prefetch=1),
    "subscribe_on": lambda s, e: s.subscribe_on(e),
    "subscribe_on before a boundary": lambda s, e: s.subscribe_on(e).publish_on(inline(), prefetch=2),
    "subscribe_on behind a boundary": lambda s, e: s.publish_on(thread(), prefetch=2).subscribe_on(e),
    "parallel": lambda s, e: s.parallel(2, lambda rail: rail.map(abs), executor=e, prefetch=4),
    "parallel in any order": lambda s, e: (
        s.parallel(2, lambda rail: rail.map(abs), executor=e, ordered=False, prefetch=4).to_list().map(sorted).flatten()
    ),
}
each_move = pytest.mark.parametrize("name", MOVED)
each_executor = pytest.mark.parametrize("executor", EXECUTORS)


@each_move
@each_executor
@each_fuse
@pytest.mark.parametrize("method", ["worker", "submit"])
def test_an_executor_that_raises_fails_the_stream_and_lets_everything_go(
    name: str, executor: str, mended: bool, method: str, dropped: list[Any]
) -> None:
    for calls in range(MOST_CALLS):
        source, fuse = Upstream(Stream.range(50)), Fuse(method, calls, mended=mended)
        found = outcome(lambda: MOVED[name](source.stream(), faulty(EXECUTORS[executor](), fuse)))  # noqa: B023
        assert found == list(range(50)) or (fuse.blown and found == f"Broken('{method}')")
        assert source.closed == source.opened
    forget(dropped)


@each_move
@each_executor
@pytest.mark.parametrize("asked", range(1, 4))
def test_a_request_that_no_worker_takes_fails_the_stream(
    name: str, executor: str, asked: int, dropped: list[Any]
) -> None:
    source, fuse = Upstream(Stream.range(50)), Fuse("submit", 10**6)
    probe: Probe[Any] = Probe()
    MOVED[name](source.stream(), faulty(EXECUTORS[executor](), fuse)).subscribe(probe)
    probe.wait_until(lambda: probe.subscription, "the subscription")
    for _ in range(asked):
        probe.request(1)
    fuse.left = 0
    while not probe.ended and not fuse.blown:
        probe.request(1)
    probe.request()  # what was there before comes before the error
    probe.wait_for_end()
    assert repr(probe.error) == "Broken('submit')" or (probe.completed and probe.elements == list(range(50)))
    assert probe.breaches == []
    assert source.closed == source.opened
    forget(dropped)


@each_move
def test_a_cancel_that_no_worker_takes_lets_everything_go(name: str, dropped: list[Any]) -> None:
    source, fuse = Upstream(Stream.range(50)), Fuse("submit", 10**6)
    probe: Probe[Any] = Probe()
    MOVED[name](source.stream(), faulty(thread(), fuse)).subscribe(probe)
    probe.wait_until(lambda: probe.subscription, "the subscription")
    probe.request(1)
    probe.wait_for(1) if "any order" not in name else None
    fuse.left = 0
    probe.cancel()
    forget(dropped)


@each_move
def test_a_worker_that_cannot_be_closed_keeps_no_end_back(name: str, dropped: list[Any]) -> None:
    class Open:
        def worker(self) -> Open:
            return self

        def submit(self, task: Callable[[], None], /) -> None:
            task()

        def close(self) -> None:
            raise Broken("close")

    assert outcome(lambda: MOVED[name](Stream.range(50), Open())) == list(range(50))
    assert {(entry.what, repr(entry.error)) for entry in dropped} == {
        ("a worker raised when it was closed", "Broken('close')")
    }
    dropped.clear()


@pytest.mark.usefixtures("loop_apart")
@pytest.mark.parametrize("interruption", [SystemExit, KeyboardInterrupt])
@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("executor", ["inline", "loop", "pool of one", "pool", "thread"])
def test_an_interruption_on_a_rail_ends_the_stream(
    interruption: type[BaseException], ordered: bool, executor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def leave(n: int) -> int:
        if n == 20:
            raise interruption("bye")
        return n

    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    before = set(threading.enumerate())
    source = Upstream(Stream.range(50))
    probe: Probe[Any] = Probe(UNBOUNDED)
    moved = source.stream().parallel(
        2, lambda rail: rail.map(leave), executor=EXECUTORS[executor](), ordered=ordered, prefetch=4
    )
    try:
        moved.subscribe(probe)
    except interruption:
        assert executor == "inline"
    probe.wait_for_end()
    assert repr(probe.error) == f'InterruptionError("the stream was interrupted by {interruption("bye")!r}")'
    assert probe.breaches == []
    if ordered:
        assert probe.elements == list(range(20))
    assert left_alive(before) == []
    assert source.closed == source.opened


# No more threads.


STARTS: dict[str, Callable[[], Stream[Any]]] = {
    "timer": lambda: Stream.timer(0.0).map(lambda _: [0, 1, 2]).flatten(),
    "pool": lambda: Stream.range(3).publish_on(SHARED),
    "thread": lambda: Stream.range(3).publish_on(thread()),
    "loop": lambda: Stream.range(3).publish_on(loop()),
    "subscribe_on": lambda: Stream.range(3).subscribe_on(SHARED),
    "map_async": lambda: Stream.range(3).map_async(soon),
    "parallel": lambda: Stream.range(3).parallel(2, lambda rail: rail.map(abs)),
}
SHARED = pool(1)


async def soon(n: int) -> int:
    return n


@pytest.mark.usefixtures("loop_apart")
@pytest.mark.parametrize("name", STARTS)
def test_a_thread_that_cannot_be_started_fails_one_run_and_no_other(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    start = threading.Thread.start

    def no_more(thread: threading.Thread) -> None:
        if thread.name.startswith("penstock"):
            raise RuntimeError("can't start new thread")
        start(thread)

    before = set(threading.enumerate())
    for _ in range(2):
        assert left_alive(before) == []  # an own loop may still be there
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", no_more)
            assert outcome(STARTS[name]) == 'RuntimeError("can\'t start new thread")'
        assert outcome(STARTS[name]) == [0, 1, 2]


# Pools as values.


def test_a_pickled_pool_equals_its_original_and_has_threads_of_its_own() -> None:
    made = pool(2, "mine")
    copied = pickle.loads(pickle.dumps(made))
    assert copied == made
    assert hash(copied) == hash(made)
    assert copied is not made
    assert pool(3, "mine") != made
    assert pool(2) != made
    assert repr(copied) == "pool(2, 'mine')"
    stream = Stream.range(3).publish_on(made)
    again = pickle.loads(pickle.dumps(stream))
    assert again._chain == stream._chain
    assert list(again) == [0, 1, 2]
