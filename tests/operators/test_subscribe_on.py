"""subscribe_on: what comes before is subscribed, and asked for elements, on a worker of the executor."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from hypothesis import strategies as st

from penstock import Stream, Subscriber, inline, loop, pool, thread
from penstock.engine.runs.chain import Chain
from penstock.extend import Source
from penstock.testing import ManualPublisher, Tracked, check_joint, subscribed

EXECUTORS = {"inline": inline(), "thread": thread(), "pool": pool(2), "loop": loop()}


@pytest.mark.parametrize("name", EXECUTORS)
def test_laws(name: str) -> None:
    executor = EXECUTORS[name]
    check_joint(lambda stream: stream.subscribe_on(executor), lambda xs: xs, st.integers(), examples=7)


def test_refuses_what_is_no_executor() -> None:
    with pytest.raises(
        TypeError, match=r"^subscribe_on: executor must be an Executor, got None; thread\(\), pool\(size\), "
    ):
        Stream.range(3).subscribe_on(None)  # type: ignore[arg-type]


def test_the_source_runs_there() -> None:
    names: set[str] = set()

    def letters() -> Iterator[str]:
        for letter in "ab":
            names.add(threading.current_thread().name)
            yield letter

    probe = subscribed(Stream.from_iterable(letters()).subscribe_on(thread("there")))
    probe.request(1)
    probe.wait_for(1)
    probe.request(1)
    assert probe.wait_for(2) == ["a", "b"]
    assert names == {"there"}
    probe.cancel()


def test_asks_for_what_is_asked() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).subscribe_on(inline()), 3)
    assert upstream.requests == [3]
    probe.request(2)
    assert upstream.requests == [3, 2]


def test_a_cancel_stops_a_source_that_keeps_its_thread_busy() -> None:
    items = Tracked(range(10**9))
    probe = subscribed(Stream.from_iterable(items).subscribe_on(thread()))
    probe.request()
    probe.wait_for(10)
    probe.cancel()
    items.wait_until_closed()


def test_a_bad_request_stops_a_source_that_keeps_its_thread_busy() -> None:
    items = Tracked(range(10**9))
    probe = subscribed(Stream.from_iterable(items).subscribe_on(thread()))
    probe.request()
    probe.wait_for(10)
    probe.request(-1)
    items.wait_until_closed()
    probe.wait_for_end()
    assert str(probe.error) == "rule 3.9: request(-1): a request must be positive"


def test_a_cancel_before_anything_was_subscribed() -> None:
    release = threading.Event()
    executor = thread()
    worker = executor.worker()

    class Busy:
        def worker(self) -> object:
            return worker

    worker.submit(lambda: release.wait(60) and None)
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).subscribe_on(Busy()))  # type: ignore[arg-type]
    release.set()
    upstream.wait_for_subscriber()
    probe.cancel()
    upstream.wait_for_cancel()


def test_a_request_that_waits_for_the_worker_is_not_made_after_the_end() -> None:
    tasks: list[Callable[[], None]] = []
    asked: list[int] = []

    class Later:
        submit = staticmethod(tasks.append)
        worker = close = lambda self: self

    probe = subscribed(Stream(Chain(Asked(asked))).subscribe_on(Later()))  # type: ignore[arg-type]
    tasks.pop()()
    probe.request(1)
    probe.request(2)
    tasks.pop(0)()
    assert probe.completed
    tasks.pop(0)()
    assert asked == [1]


@dataclass(frozen=True)
class Asked(Source[int]):
    """A source that completes with the first request, and writes down what is asked."""

    asked: list[int]

    def connect(self, downstream: Subscriber[int], /) -> None:
        downstream.on_subscribe(AskedRun(self.asked, downstream))


class AskedRun:
    def __init__(self, asked: list[int], downstream: Subscriber[int]) -> None:
        self.asked, self.downstream = asked, downstream

    def request(self, n: int, /) -> None:
        self.asked.append(n)
        if len(self.asked) == 1:
            self.downstream.on_complete()

    def cancel(self) -> None: ...
