"""boundary: the window is kept, credit comes by halves, order is kept, a lone element is delivered at once."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable
from typing import Any

import pytest

from penstock import Executor, Stream, inline, loop, pool, set_on_dropped, thread
from penstock.engine.words.part import Part
from penstock.testing import ManualPublisher, Probe, subscribed
from tests.engine.parts import INLINE, Items, Plain, ended, started
from tests.engine.stress import all_at_once, restless
from tests.engine.watch import PATIENCE, left_alive

EXECUTORS: dict[str, Callable[[], Executor]] = {
    "inline": inline,
    "thread": thread,
    "pool of one": lambda: pool(1),
    "pool": lambda: pool(3),
    "loop": loop,
    "of another make": lambda: INLINE,
}
each_executor = pytest.mark.parametrize("executor", EXECUTORS)


def across(executor: str, upstream: Any, prefetch: int = 8) -> Stream[Any]:
    stream = upstream if isinstance(upstream, Stream) else Stream.from_publisher(upstream)
    return stream.publish_on(EXECUTORS[executor](), prefetch=prefetch)


@each_executor
def test_order_is_kept_and_nothing_is_lost(executor: str) -> None:
    assert ended(across(executor, Stream.range(1_000))).elements == list(range(1_000))


@each_executor
def test_the_suite_of_stages_runs_behind_it(executor: str) -> None:
    stream = across(executor, Stream.range(200)).map(lambda n: n + 1).filter(lambda n: n % 2).buffer(3).take(5)
    assert ended(stream).elements == [[1, 3, 5], [7, 9, 11], [13, 15, 17], [19, 21, 23], [25, 27, 29]]


@each_executor
def test_a_failure_follows_the_elements_before_it(executor: str) -> None:
    probe = ended(across(executor, Stream.range(3).concat(Stream.error(KeyError("lost")))))
    assert probe.elements == [0, 1, 2]
    assert repr(probe.error) == "KeyError('lost')"


@each_executor
@pytest.mark.parametrize("window", [1, 2, 3, 8])
def test_the_window_is_filled_with_the_first_request_and_again_by_halves(executor: str, window: int) -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(across(executor, upstream, window))
    assert upstream.requests == []
    probe.request(1)
    upstream.wait_for_request(window)
    assert upstream.requests == [window]
    for n in range(window):
        upstream.next(n)
    half = (window + 1) // 2
    for taken in range(1, window + 1):
        if taken > 1:
            probe.request(1)
        probe.wait_for(taken)
        if taken % half == 0:
            upstream.wait_for_request(window + taken)
        assert upstream.requests == [window] + [half] * (taken // half)
    probe.cancel()
    upstream.wait_for_cancel()


@each_executor
def test_no_more_than_the_window_is_between_the_two_sides(executor: str) -> None:
    items = Items()
    worst = 0

    def measure(_: Any) -> None:
        nonlocal worst
        worst = max(worst, items.taken - len(probe.elements) + 1)

    probe: Probe[int] = Probe(on_signal=measure)
    across(executor, Stream.from_iterable(items)).subscribe(probe)
    for seen in range(1, 60):
        probe.request(1)
        probe.wait_for(seen)
    probe.cancel()
    assert worst <= 8 + 1  # the window, and the one that was just delivered


@each_executor
def test_a_lone_element_is_delivered_at_once(executor: str) -> None:
    upstream: ManualPublisher[str] = ManualPublisher()
    probe = subscribed(across(executor, upstream, 256), 10)
    upstream.wait_for_request(256)
    upstream.next("alone")
    assert probe.wait_for(1) == ["alone"]
    upstream.next("again")
    assert probe.wait_for(2) == ["alone", "again"]
    upstream.complete()
    probe.wait_for_end()


@pytest.mark.parametrize("executor", ["thread", "pool"])
def test_a_lone_element_of_a_source_that_blocks_is_delivered_at_once(executor: str) -> None:
    """The source has a thread of its own and waits before each element until the one before has been seen."""
    seen = threading.Semaphore(1)

    def one_by_one() -> Any:
        for n in range(600):  # more than two windows of 256
            assert seen.acquire(timeout=PATIENCE)
            yield n

    probe: Probe[int] = Probe(10_000, on_signal=lambda _: seen.release())
    Stream.defer(one_by_one).subscribe_on(thread()).publish_on(EXECUTORS[executor]()).subscribe(probe)
    assert len(probe.wait_for_end()) == 600


@each_executor
def test_elements_that_pile_up_while_it_is_busy_are_taken_as_one(executor: str) -> None:
    chunks: list[int] = []

    class Chunks(Plain, Part):
        def on_chunk(self, elements: list[Any], /) -> None:
            chunks.append(len(elements))

        def on_complete(self) -> None:
            finished.set()

    finished = threading.Event()
    across(executor, Stream.range(500), 64).subscribe(Chunks(10_000))
    assert finished.wait(PATIENCE)
    assert sum(chunks) == 500
    assert max(chunks) <= 32  # half the window, so that credit goes back in time
    if executor in {"thread", "loop"}:
        assert max(chunks) > 1


@each_executor
def test_signals_come_on_the_executor(executor: str) -> None:
    probe = ended(across(executor, Stream.range(20)))
    kind = executor.partition(" ")[0]
    name = f"penstock-{kind}" if kind in {"thread", "pool", "loop"} else threading.current_thread().name
    assert set(probe.threads) == {name}


@each_executor
def test_a_cancel_at_random_moments(executor: str) -> None:
    chance = random.Random(executor)
    for _ in range(15):
        items = Items()
        over = threading.Event()
        stream = across(executor, Stream.from_iterable(items).do_finally(over.set))
        probe: Probe[int] = Probe(chance.randrange(20))
        pause = chance.randrange(200)

        def cancel(probe: Probe[int] = probe, pause: int = pause) -> None:
            for _ in range(pause):
                pass
            probe.cancel()

        with restless():
            all_at_once(lambda stream=stream, probe=probe: stream.subscribe(probe), cancel)
        assert over.wait(PATIENCE)
        assert probe.breaches == []
        assert not probe.ended
        assert not items.opened or items.was_closed.wait(PATIENCE)


@each_executor
@pytest.mark.parametrize(
    "way", ["completion", "error", "cancel", "on_next raises", "request(0)", "on_subscribe raises"]
)
def test_its_worker_ends_however_the_run_ends(executor: str, way: str, dropped: list[Any]) -> None:
    """The fixture waits for every thread that was started here."""
    before = set(threading.enumerate())
    told = threading.Event()
    set_on_dropped(lambda what: (dropped.append(what), told.set()))  # the fixture puts back what was there
    upstream = Stream.range(5).map(lambda n: 1 // (n - 3) if way == "error" else n)
    probe: Probe[int] = Probe(2)
    if way == "on_next raises":
        probe._on_signal = lambda _: 1 // 0
    if way == "on_subscribe raises":
        probe._on_subscribe = lambda _: 1 // 0
    across(executor, upstream).subscribe(probe)
    if way == "cancel":
        probe.wait_for(1)
        probe.cancel()
    elif way == "request(0)":
        probe.wait_for(2)
        probe.request(0)
        probe.wait_for_end()
        assert repr(probe.error) == "ValueError('rule 3.9: request(0): a request must be positive')"
    elif "raises" in way:
        assert told.wait(PATIENCE)
    else:
        probe.request(10)
        probe.wait_for_end()
    assert left_alive(before) == []
    assert len(dropped) == ("raises" in way)
    dropped.clear()


def test_an_error_is_not_signalled_after_a_cancel(dropped: list[Any]) -> None:
    """The failure waits behind an element when the cancel comes: it must not overtake it."""
    probe = subscribed(Stream.just(1, 1, 0).map(lambda n: 1 // n).publish_on(inline()), 1)
    probe.cancel()
    assert probe.elements == [1]
    assert not probe.ended
    assert [(entry.what, repr(entry.error)) for entry in dropped] == [
        ("an error came after the end or the cancel", "ZeroDivisionError('integer division or modulo by zero')")
    ]
    dropped.clear()


def test_a_running_loop_is_used_where_there_is_one() -> None:
    async def main() -> list[str]:
        probe: Probe[int] = Probe(10)
        Stream.range(3).publish_on(loop()).subscribe(probe)
        while not probe.ended:
            await asyncio.sleep(0)
        return probe.threads

    assert set(asyncio.run(main())) == {threading.current_thread().name}


def test_an_executor_that_has_no_worker_fails_the_stream() -> None:
    class Closed:
        def worker(self) -> Any:
            raise RuntimeError("no more threads")

    finished: list[str] = []
    for stream in (
        Stream.range(3).publish_on(Closed()),
        Stream.range(3).publish_on(Closed()).publish_on(thread()).do_finally(lambda: finished.append("over")).map(str),
        Stream.range(3).subscribe_on(Closed()).publish_on(thread()),
    ):
        probe = ended(stream)
        assert repr(probe.error) == "RuntimeError('no more threads')"
    assert finished == ["over"]


def test_many_runs_share_a_pool() -> None:
    shared = pool(2)
    probes = [subscribed(Stream.range(100).publish_on(shared, prefetch=16), 1_000) for _ in range(20)]
    for probe in probes:
        assert probe.wait_for_end() == list(range(100))
        assert probe.breaches == []


def test_a_subscriber_that_blocks_holds_up_its_own_run_alone() -> None:
    gate = threading.Event()
    shared = pool(2)
    blocked: Probe[int] = Probe(10, on_signal=lambda _: gate.wait(PATIENCE))
    Stream.range(3).publish_on(shared).subscribe(blocked)
    assert ended(Stream.range(3).publish_on(shared)).elements == [0, 1, 2]
    gate.set()
    blocked.wait_for_end()


def test_the_subscriber_of_one_side_may_wait_for_the_other() -> None:
    """A function on the worker waits for a request made on another thread: no lock is in the way."""

    def ask_elsewhere(n: int) -> int:
        asking = started(lambda: probe.request(1))
        asking.join(PATIENCE)
        assert not asking.is_alive()
        return n

    probe: Probe[int] = Probe(1)
    asking = Stream.range(30).publish_on(thread(), prefetch=2).map(ask_elsewhere)
    asking.publish_on(thread(), prefetch=2).subscribe(probe)
    assert probe.wait_for_end() == list(range(30))
