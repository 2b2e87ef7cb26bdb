"""reading ahead: a request reads no more than the operators state, however long the row of them and however deep."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from penstock import Stream, VirtualClock
from penstock.engine.grounds.sequence import Sequence
from penstock.testing import subscribed
from tests.engine.parts import FORMS, Items, noop

CLOCK = VirtualClock()
FLAT = 300
Step = Callable[[Stream[Any]], Stream[Any]]

# Joints that state no reading ahead.
JOINTS: dict[str, Step] = {
    "do_finally": lambda stream: stream.do_finally(noop),
    "on_error_resume": lambda stream: stream.on_error_resume(Stream.error),
    "timeout": lambda stream: stream.timeout(60.0, clock=CLOCK),
    "tap": lambda stream: stream.tap(on_request=noop),
    "concat_map": lambda stream: stream.concat_map(lambda n: Stream.just(n)),
    "flat_map": lambda stream: stream.flat_map(lambda n: Stream.just(n), concurrency=1),
    "on_error_return": lambda stream: stream.on_error_return(-1, when=KeyError),
    "map_error": lambda stream: stream.map_error(lambda error: error),
    "do_finally and map": lambda stream: stream.do_finally(noop).map(lambda n: n),
    "do_finally and take": lambda stream: stream.do_finally(noop).take(500),
    "throttle": lambda stream: stream.throttle(9, 60.0, clock=CLOCK),
    "keep_alive": lambda stream: stream.keep_alive(60.0, -1, clock=CLOCK),
    "delay": lambda stream: stream.delay(0.0, clock=CLOCK),
    "limit_rate": lambda stream: stream.limit_rate(9),
}
# Sources that hold a stream and state no reading ahead.
NESTED: dict[str, Step] = {
    "concat": lambda stream: stream.concat(Stream.just(1)),
    "concat and map": lambda stream: stream.concat(Stream.just(1)).map(lambda n: n),
    "retry": lambda stream: stream.retry(1),
    "defer": lambda stream: Stream.defer(lambda: stream),
    "repeat": lambda stream: stream.repeat(2),
    "from_publisher": Stream.from_publisher,
    "switch_if_empty": lambda stream: stream.switch_if_empty(Stream.just(1)),
    "take_until": lambda stream: stream.take_until(Stream.never()),
    "using": lambda stream: Stream.using(object, lambda _: stream, noop),
}
# Stages of which one element takes several of the source, or of which several make one.
GATHERING: dict[str, Step] = {
    "sliding": lambda stream: stream.sliding(4),
    "sliding that overlaps": lambda stream: stream.sliding(3, 2),
    "sliding apart": lambda stream: stream.sliding(2, 5),
    "buffer": lambda stream: stream.buffer(3),
    "buffer that overlaps": lambda stream: stream.buffer(3, 2),
    "buffer apart": lambda stream: stream.buffer(2, 3),
    "filter and buffer": lambda stream: stream.filter(lambda n: n % 3 > 0).buffer(2),
    "skip and map_batches": lambda stream: stream.skip(1).map_batches(lambda batch: batch, 2),
    "map_batches and take": lambda stream: stream.map_batches(lambda batch: batch, 2).take(3),
    "buffer and flat_map": lambda stream: stream.buffer(2, 3).flat_map(lambda items: items),
    "take and flat_map": lambda stream: stream.take(4).flat_map(lambda n: [n, n]),
    "filter and map_batches": lambda stream: stream.filter(lambda n: n % 3 > 0).map_batches(lambda batch: batch, 3),
    "take and map_batches": lambda stream: stream.take(5).map_batches(lambda batch: batch, 3),
    "flat_map, skip and buffer": lambda stream: stream.flat_map(lambda n: [n] * n).skip(2).buffer(3),
    "pairwise and buffer": lambda stream: stream.pairwise().buffer(2),
    "sliding and sliding": lambda stream: stream.sliding(2, 3).sliding(3, 2),
    "skip, sliding, filter and buffer": lambda stream: (
        stream.skip(2).sliding(3, 2).filter(lambda three: sum(three) % 2 > 0).buffer(2)
    ),
    "element_at": lambda stream: stream.skip(2).filter(lambda n: n % 2 > 0).element_at(2),
    "single": lambda stream: stream.filter(lambda n: n > 5).single(),
}
# Stages that add three elements of their own once upstream has completed.
ADDING: dict[str, Step] = {
    "take_last": lambda stream: stream.take_last(3),
    "buffer that overlaps": lambda stream: stream.buffer(5, 1),
    "end_with": lambda stream: stream.skip(3).end_with(0, 1, 2),
    "default_if_empty": lambda stream: stream.skip(3).default_if_empty(0, 1, 2),
}


def stack() -> int:
    frame: Any = sys._getframe()
    found = 0
    while frame is not None:
        frame, found = frame.f_back, found + 1
    return found


def sequences() -> int:
    """Count the relays of streams that follow each other; other tests may keep some of theirs."""
    gc.collect()
    return sum(isinstance(part, Sequence) for part in gc.get_objects())


@pytest.mark.parametrize("count", [1, 23, 25, 200])
@pytest.mark.parametrize("name", [*JOINTS, *NESTED])
def test_a_request_reads_as_many_as_it_asks_for(name: str, count: int) -> None:
    items = Items()
    stream = Stream.from_iterable(items)
    for _ in range(count):
        stream = {**JOINTS, **NESTED}[name](stream)
    probe = subscribed(stream)
    assert items.taken == 0
    for asked in (1, 4):
        probe.request(asked - len(probe.elements))
        while CLOCK.pending and len(probe.elements) < asked and name == "delay":
            CLOCK.advance(0)
        assert probe.elements == list(range(asked))
        assert items.taken == asked
    probe.cancel()
    assert items.opened == items.closed


@pytest.mark.parametrize("requests", [(1, 1, 1, 1, 1, 1), (2, 1, 3), (3, 3), (1, 4), (5,)])
@pytest.mark.parametrize("name", GATHERING)
def test_stages_behind_a_joint_read_what_the_loop_reads(name: str, requests: tuple[int, ...]) -> None:
    sources = looped, signalled = Items(40), Items(40)
    loop = subscribed(GATHERING[name](Stream.from_iterable(looped)))
    signals = subscribed(GATHERING[name](Stream.from_iterable(signalled).do_finally(noop)))
    for asked in requests:
        loop.request(asked)
        signals.request(asked)
        assert signals.elements == loop.elements
        assert signalled.taken == looped.taken
    loop.cancel()
    signals.cancel()
    assert [items.opened for items in sources] == [items.closed for items in sources]


@pytest.mark.parametrize("form", ["sync", "fed", "chunked", "nested"])
@pytest.mark.parametrize("name", ADDING)
def test_what_is_added_at_the_end_is_worked_on_as_it_is_asked_for(name: str, form: str) -> None:
    seen: list[Any] = []
    probe = subscribed(ADDING[name](FORMS[form](Items(3))).tap(seen.append))
    for asked in (1, 2, 3):
        probe.request(1)
        assert len(seen) == len(probe.elements) == asked
    assert probe.completed


@pytest.mark.parametrize("name", [name for name in JOINTS if name != "delay"])
def test_ten_thousand_joints_in_a_row(name: str) -> None:
    here, deepest = stack(), 0

    def numbers() -> Iterator[int]:
        nonlocal deepest
        for n in range(3):
            deepest = max(deepest, stack() - here)
            yield n

    stream = Stream.defer(numbers)
    for _ in range(10_000 if " and " not in name else 5_000):
        stream = JOINTS[name](stream)
    probe = subscribed(stream, 9)
    assert probe.wait_for_end() == [0, 1, 2]
    assert probe.completed
    assert deepest < FLAT


def test_pages_that_follow_each_other_in_a_recursion_take_neither_stack_nor_memory() -> None:
    before, here, opened, deepest, most = sequences(), stack(), 0, 0, 0

    def page() -> Stream[int]:
        nonlocal opened, deepest, most
        opened += 1
        deepest = max(deepest, stack() - here)
        if opened % 5_000 == 0:
            most = max(most, sequences() - before)
        return Stream.just(1, 2).concat(Stream.defer(page))

    assert sum(1 for _ in page().take(20_000)) == 20_000
    assert opened == 10_000
    assert deepest < FLAT
    assert most <= 2


def test_replacements_that_follow_each_other_in_a_recursion_take_neither_stack_nor_memory() -> None:
    before, here, attempts, deepest, most = sequences(), stack(), 0, 0, 0

    def attempt() -> Stream[int]:
        nonlocal attempts, deepest, most
        attempts += 1
        deepest = max(deepest, stack() - here)
        if attempts % 2_500 == 0:
            most = max(most, sequences() - before)
        if attempts == 5_000:
            return Stream.just(7)
        return Stream.error(ValueError(attempts)).on_error_resume(lambda _: Stream.defer(attempt))

    assert list(attempt()) == [7]
    assert deepest < FLAT
    assert most <= 2


@pytest.mark.parametrize(
    "make",
    [
        lambda page: Stream.concat(*[Stream.defer(partial(page, n)) for n in range(1_000)]),
        lambda page: Stream.range(1_000).concat_map(page),
        lambda page: Stream.range(1_000).map(page).concat_map(lambda stream: stream),
        lambda page: Stream.range(1_000).flat_map(lambda n: list(page(n))),
    ],
    ids=["concat", "concat_map", "map and concat_map", "flat_map"],
)
def test_no_page_is_opened_that_nobody_has_asked_for(
    make: Callable[[Callable[[int], Stream[int]]], Stream[int]],
) -> None:
    opened: list[int] = []

    def page(number: int) -> Stream[int]:
        opened.append(number)
        return Stream.just(number, number)

    probe = subscribed(make(page), 24)
    assert len(probe.elements) == 24
    assert opened == list(range(12))
    probe.cancel()


@pytest.mark.parametrize(
    "make",
    [
        lambda one, other: one.zip(other),
        lambda one, other: one.merge(other),
        lambda one, other: one.interleave(other),
        lambda one, other: one.merge_sorted(other),
        lambda one, other: one.combine_latest(other),
        lambda one, other: one.join(other, lambda n: n),
        lambda one, other: one.sequence_equal(other),
        lambda one, other: one.concat(other),
        lambda one, other: one.race(other),
        lambda one, other: one.flat_map(lambda _: other, concurrency=4),
    ],
    ids=[
        "zip", "merge", "interleave", "merge_sorted", "combine_latest", "join", "sequence_equal", "concat", "race",
        "flat_map",
    ],
)  # fmt: skip
@pytest.mark.parametrize("signals", [False, True])
def test_nothing_is_read_before_somebody_asks(make: Callable[..., Stream[Any]], signals: bool) -> None:
    sources = [Items(5), Items(5)]
    streams = [Stream.from_iterable(items) for items in sources]
    if signals:
        streams = [stream.do_finally(noop) for stream in streams]
    probe = subscribed(make(*streams))
    assert [items.taken for items in sources] == [0, 0]
    assert probe.signals == []
    probe.cancel()
