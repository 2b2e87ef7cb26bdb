"""cancel reaches: a run that never emits stops all the same, from any thread and in every form."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest

from penstock import Stream, inline, pool, thread
from penstock.testing import Probe
from tests.engine.parts import FORMS, INLINE, Items, Plain, never, noop, started
from tests.engine.watch import PATIENCE

UNBOUNDED = 2**63 - 1

SILENT: dict[str, Callable[[Stream[int]], Stream[Any]]] = {
    "filter": lambda stream: stream.filter(never),
    "filter after map": lambda stream: stream.map(lambda n: n + 1).filter(never),
    "skip": lambda stream: stream.skip(10**12),
    "drop_repeats": lambda stream: stream.drop_repeats(lambda _: 0).skip(1),
    "reduce": lambda stream: stream.reduce(lambda total, n: total + n),
    "count": lambda stream: stream.count(),
    "last": lambda stream: stream.last(),
    "buffer": lambda stream: stream.buffer(10**9),
    "flat_map without items": lambda stream: stream.flat_map(lambda _: ()),
    "flat_map whose items are rejected": lambda stream: stream.flat_map(lambda n: (n, n)).filter(never),
    "flat_map of streams without elements": lambda stream: stream.flat_map(lambda n: Stream.just(n).filter(never)),
    "flatten": lambda stream: stream.map(lambda _: ()).flatten(),
    "take behind": lambda stream: stream.filter(never).take(5),
    "nested loops": lambda stream: stream.flat_map(lambda n: [[n]]).flatten().filter(never).take(5).buffer(2),
    "three hundred stages": lambda stream: many(stream, lambda each: each.filter(lambda n: n >= 0), 300).filter(never),
    "behind a joint": lambda stream: stream.do_finally(noop).filter(never),
    "behind a boundary": lambda stream: stream.publish_on(inline()).filter(never),
    "two joints": lambda stream: stream.filter(lambda n: n >= 0).do_finally(noop).filter(never).do_finally(noop),
    "publishers without elements": lambda stream: stream.flat_map(lambda _: Stream.empty(), concurrency=1),
}
NESTED: dict[str, Callable[[Stream[int]], Stream[Any]]] = {
    "merge": lambda stream: stream.filter(never).merge(Stream.empty()),
    "concat": lambda stream: Stream.empty().concat(stream.filter(never)),
    "zip": lambda stream: stream.filter(never).zip(Stream.range(5)),
    "retry": lambda stream: stream.filter(never).retry(3),
    "share": lambda stream: stream.filter(never).share(),
    "defer": lambda stream: Stream.defer(lambda: stream.filter(never)),
    "from_publisher": lambda stream: Stream.from_publisher(stream.filter(never)),
    "subscribe_on": lambda stream: stream.filter(never).subscribe_on(thread()),
    "publish_on a thread": lambda stream: stream.publish_on(thread()).filter(never),
    "publish_on a pool": lambda stream: stream.publish_on(pool(1)).filter(never),
}


# What goes on when a stream has ended, which a loop that was left has not.
AROUND: dict[str, Callable[[Stream[int]], Stream[Any]]] = {
    "another loop": lambda stream: stream.flat_map(lambda n: [n]).take(3).default_if_empty(0).count(),
    "concat": lambda stream: stream.concat(Stream.just(1)),
    "end_with": lambda stream: stream.end_with(1, create=[lambda: 2]),
    "switch_if_empty": lambda stream: stream.switch_if_empty(Stream.just(1)),
    "repeat": lambda stream: stream.repeat(2).count(),
    "repeat for ever": lambda stream: stream.repeat().default_if_empty(0),
    "retry": lambda stream: stream.retry(2).count(),
    "zip": lambda stream: stream.zip(Stream.range(5)).count(),
    "combine_latest": lambda stream: stream.combine_latest(Stream.just(1)).count(),
    "with_latest_from": lambda stream: stream.with_latest_from(Stream.just(1)).count(),
    "interleave": lambda stream: stream.interleave(Stream.just(1)),
    "merge_sorted": lambda stream: stream.merge_sorted(Stream.just(1)),
    "join": lambda stream: stream.join(Stream.just(1), lambda n: n, how="outer"),
    "sequence_equal": lambda stream: stream.sequence_equal(Stream.empty()),
    "materialize": lambda stream: stream.materialize().count(),
    "concat_map": lambda stream: Stream.just(0, 1).concat_map(lambda n: [1] if n else stream),
    "defer": lambda stream: Stream.defer(lambda: stream).count(),
    "using": lambda stream: Stream.using(object, lambda _: stream, noop).count(),
    "with_context": lambda stream: stream.with_context({}).count(),
    "on_error_resume": lambda stream: stream.on_error_resume(lambda _: Stream.just(1)).count(),
    "parallel": lambda stream: stream.parallel(1, lambda rail: rail.filter(never), executor=inline()).count(),
}


def many(stream: Stream[Any], step: Callable[[Stream[Any]], Stream[Any]], times: int) -> Stream[Any]:
    for _ in range(times):
        stream = step(stream)
    return stream


def check_that_cancel_stops(stream: Stream[Any], items: Items, how_many: int) -> None:
    """Subscribe on one thread, cancel from another while the source is being read, and see the source closed."""
    probe: Probe[Any] = Probe(how_many)
    running = started(lambda: stream.subscribe(probe))
    assert items.reached.wait(PATIENCE)
    probe.cancel()
    running.join(PATIENCE)
    assert not running.is_alive()
    assert probe.signals == []
    assert probe.breaches == []


@pytest.mark.parametrize("how_many", [1, UNBOUNDED])
@pytest.mark.parametrize("form", ["sync", "fed", "chunked", "nested"])
@pytest.mark.parametrize("silent", SILENT)
def test_from_another_thread(silent: str, form: str, how_many: int) -> None:
    items = Items()
    check_that_cancel_stops(SILENT[silent](FORMS[form](items)), items, how_many)
    assert items.closed == 1


@pytest.mark.parametrize("silent", [name for name in SILENT if name != "three hundred stages"])
def test_from_another_thread_while_a_task_runs(silent: str) -> None:
    items = Items()
    probe: Probe[Any] = Probe(1)
    SILENT[silent](FORMS["async"](items)).subscribe(probe)
    assert items.reached.wait(PATIENCE)
    probe.cancel()  # the fixture waits for the loop's thread, which ends after the source has been closed
    assert probe.signals == []


@pytest.mark.parametrize("nested", NESTED)
def test_a_source_inside_another_source(nested: str) -> None:
    items = Items()
    check_that_cancel_stops(NESTED[nested](Stream.from_iterable(items)), items, 1)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("behind", ["nothing", "joint", "inline", "other inline"])
def test_from_inside_the_function_that_rejects(form: str, behind: str) -> None:
    items = Items()
    subscriber = Plain(1)

    def reject(n: int) -> bool:
        if n == 1000:
            assert subscriber.subscription is not None
            subscriber.subscription.cancel()
        return False

    stream = FORMS[form](items).filter(reject)
    if behind == "joint":
        stream = stream.do_finally(noop)
    elif behind != "nothing":
        stream = stream.publish_on(inline() if behind == "inline" else INLINE)
    stream.subscribe(subscriber)
    assert subscriber.signals == []
    if "async" not in form:
        assert items.closed == 1
        assert items.taken <= 1009  # a boundary before the filter may have asked for eight more


@pytest.mark.parametrize("form", ["sync", "fed", "chunked", "nested"])
def test_from_inside_the_function_that_rejects_what_is_added_at_the_end(form: str) -> None:
    subscriber, seen = Plain(1), 0

    def reject(_: int) -> bool:
        nonlocal seen
        seen += 1
        assert subscriber.subscription is not None
        subscriber.subscription.cancel()
        return False

    FORMS[form](Items(9)).take_last(9).filter(reject).subscribe(subscriber)
    assert subscriber.signals == []
    assert seen == 1


@pytest.mark.parametrize("form", ["sync", "fed", "chunked", "nested"])
@pytest.mark.parametrize("around", AROUND)
def test_a_loop_that_is_left_has_not_come_to_its_end(around: str, form: str) -> None:
    items, subscriber = Items(9), Plain(9)
    called: list[Any] = []

    def reject(_: int) -> bool:
        assert subscriber.subscription is not None
        subscriber.subscription.cancel()
        return False

    AROUND[around](FORMS[form](items).filter(reject)).map(called.append).subscribe(subscriber)
    assert subscriber.signals == []
    assert called == []
    assert items.opened == items.closed


def test_a_stream_inside_a_loop_that_is_left_has_not_come_to_its_end() -> None:
    subscriber = Plain(9)

    def reject(_: int) -> bool:
        assert subscriber.subscription is not None
        subscriber.subscription.cancel()
        return False

    stream = Stream.range(9).filter(reject)
    Stream.just(0, 1).flat_map(lambda n: [1] if n else stream).count().subscribe(subscriber)
    assert subscriber.signals == []


def test_a_cancelled_run_closes_the_inner_iterator_as_well() -> None:
    inner = Items()
    check_that_cancel_stops(Stream.just(1).flat_map(lambda _: inner).filter(never), inner, 1)
    assert inner.closed == 1


@pytest.mark.parametrize("form", ["sync", "fed"])
def test_inner_iterators_are_closed_however_they_end(form: str) -> None:
    inner = Items(3)
    subscriber = Plain()
    FORMS[form](Items(2)).flat_map(lambda _: inner).subscribe(subscriber)
    assert subscriber.subscription is not None
    subscriber.subscription.request(4)
    assert (inner.opened, inner.closed) == (2, 1)
    subscriber.subscription.cancel()
    assert (inner.opened, inner.closed) == (2, 2)
    assert subscriber.signals == [0, 1, 2, 0]


def test_leaving_a_loop_closes_both_iterators_once() -> None:
    outer, inner = Items(), Items(3)
    for _ in Stream.from_iterable(outer).flat_map(lambda _: inner):
        break
    assert (outer.opened, outer.closed, inner.opened, inner.closed) == (1, 1, 1, 1)


def test_an_endless_generator_is_closed_where_it_stands() -> None:
    closed: list[int] = []

    def numbers() -> Iterator[int]:
        n = 0
        try:
            for n in count():
                yield n
        finally:
            closed.append(n)

    subscriber = Plain(3)
    Stream.defer(numbers).map(str).subscribe(subscriber)
    assert closed == []
    assert subscriber.subscription is not None
    subscriber.subscription.cancel()
    assert closed == [2]
