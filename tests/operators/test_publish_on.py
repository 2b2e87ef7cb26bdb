"""publish_on: what follows runs on a worker of the executor, under credit."""

from __future__ import annotations

import asyncio
import threading

import pytest
from hypothesis import strategies as st

from penstock import Stream, inline, loop, pool, thread
from penstock.engine.places.executors import Executor
from penstock.testing import ManualPublisher, Probe, check_joint, subscribed

EXECUTORS = {"inline": inline(), "thread": thread(), "pool": pool(2), "loop": loop()}


@pytest.mark.parametrize("name", EXECUTORS)
def test_laws(name: str) -> None:
    executor = EXECUTORS[name]
    check_joint(lambda stream: stream.publish_on(executor, prefetch=3), lambda xs: xs, st.integers(), examples=7)


def test_refuses_what_is_no_executor() -> None:
    with pytest.raises(
        TypeError, match=r"^publish_on: executor must be an Executor, got 'thread'; thread\(\), pool\(size\), "
    ):
        Stream.range(3).publish_on("thread")  # type: ignore[arg-type]


def test_refuses_a_prefetch_below_one() -> None:
    with pytest.raises(ValueError, match=r"^publish_on: prefetch must be >= 1, got 0$"):
        Stream.range(3).publish_on(inline(), prefetch=0)


def test_what_comes_before_stays_where_it_was_and_what_follows_moves() -> None:
    before: set[str] = set()
    after: set[str] = set()

    def here(names: set[str]) -> None:
        names.add(threading.current_thread().name)

    probe: Probe[int] = Probe(9)
    Stream.range(5).tap(lambda _: here(before)).publish_on(thread("there")).tap(lambda _: here(after)).subscribe(probe)
    assert probe.wait_for_end() == [0, 1, 2, 3, 4]
    assert (before, after, set(probe.threads)) == ({threading.current_thread().name}, {"there"}, {"there"})


def test_runs_on_the_event_loop_it_is_subscribed_on() -> None:
    async def main() -> set[str]:
        names: set[str] = set()
        stream = Stream.range(3).publish_on(loop()).tap(lambda _: names.add(threading.current_thread().name))
        assert [element async for element in stream] == [0, 1, 2]
        return names

    assert asyncio.run(main()) == {threading.current_thread().name}


def test_no_more_than_prefetch_are_between_the_two_sides() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).publish_on(inline(), prefetch=4))
    assert upstream.requests == []
    probe.request(1)
    assert upstream.requests == [4]
    upstream.next(1, 2, 3, 4)
    assert upstream.demand == 0
    assert upstream.requests == [4]
    probe.request(1)
    assert upstream.requests == [4, 2]
    assert probe.elements == [1, 2]


def test_the_end_follows_what_is_on_its_way() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).publish_on(inline()), 1)
    upstream.next(1, 2)
    upstream.fail(ValueError("lost"))
    assert not probe.ended
    probe.request(1)
    assert probe.elements == [1, 2]
    assert repr(probe.error) == "ValueError('lost')"


def test_the_end_needs_no_demand() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).publish_on(inline()))
    upstream.complete()
    assert probe.completed


def test_a_single_element_is_never_stuck() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).publish_on(thread(), prefetch=64), 9)
    for element in range(5):
        upstream.next(element)
        assert probe.wait_for(element + 1)[-1] == element
    probe.cancel()


def test_a_cancel_reaches_upstream_at_once() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    subscribed(Stream.from_publisher(upstream).publish_on(thread())).cancel()
    assert upstream.cancelled


class Ledger:
    """Be an executor that counts its workers and those that were closed."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self.opened = 0
        self.closed = threading.Semaphore(0)

    def worker(self) -> object:
        worker = self._executor.worker()
        ledger = self
        self.opened += 1

        class Counted:
            def submit(self, task: object, /) -> None:
                worker.submit(task)  # type: ignore[arg-type]

            def close(self) -> None:
                ledger.closed.release()
                worker.close()

        return Counted()


@pytest.mark.parametrize("end", ["complete", "fail", "cancel"])
def test_lets_its_worker_go_however_it_ends(end: str) -> None:
    ledger = Ledger(thread())
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).publish_on(ledger), 1)  # type: ignore[arg-type]
    {"complete": upstream.complete, "fail": lambda: upstream.fail(ValueError()), "cancel": probe.cancel}[end]()
    assert ledger.closed.acquire(timeout=60)
    assert ledger.opened == 1


def test_many_boundaries_in_a_row() -> None:
    stream = Stream.range(50)
    for _ in range(40):
        stream = stream.publish_on(inline(), prefetch=3).map(lambda n: n + 1)
    assert list(stream) == list(range(40, 90))
