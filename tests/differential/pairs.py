"""pairs: every operator that reactivex and penstock both have, written for each of them, and the inputs to try."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import reactivex as rx
from reactivex import operators as ops

from penstock import Failed, Next, Signal, Stream
from tests.differential.timelines import Timeline, timeline
from tests.operators.proof import proofs_beside

EPOCH = datetime.fromtimestamp(0, UTC).replace(tzinfo=None)

ONE_INPUT: dict[str, tuple[Timeline, ...]] = {
    "nothing": (timeline(ends=3),),
    "one element": (timeline((1, 5), ends=2),),
    "several elements": (timeline((1, 1), (2, 2), (4, 2), (5, 3), (9, 1), ends=10),),
    "several at a time": (timeline((1, 1), (1, 2), (1, 3), (6, 4), ends=6),),
    "a failure": (timeline((1, 1), (3, 2), fails=4),),
    "a failure at the start": (timeline(fails=1),),
    "no end": (timeline((1, 1), (2, 4)),),
}
TWO_INPUTS: dict[str, tuple[Timeline, ...]] = {
    "in turns": (timeline((1, 1), (3, 2), (5, 3), ends=6), timeline((2, 10), (4, 20), ends=7)),
    "one after the other": (timeline((1, 1), (2, 2), ends=3), timeline((4, 10), (5, 20), ends=6)),
    "the other first": (timeline((4, 1), (5, 2), ends=6), timeline((1, 10), (2, 20), ends=3)),
    "equal ones": (timeline((1, 1), (3, 2), ends=4), timeline((2, 1), (3, 2), ends=5)),
    "the first fails": (timeline((1, 1), fails=3), timeline((2, 10), (4, 20), ends=5)),
    "the second fails": (timeline((1, 1), (4, 2), ends=6), timeline((2, 10), fails=3)),
    "the first is empty": (timeline(ends=2), timeline((1, 10), (3, 20), ends=4)),
    "the second is empty": (timeline((1, 1), (3, 2), ends=4), timeline(ends=2)),
    "no end": (timeline((1, 1), (3, 2)), timeline((2, 10))),
}
NO_INPUT: dict[str, tuple[Timeline, ...]] = {"alone": ()}


@dataclass(frozen=True)
class Pair:
    """Hold an operator as both write it: from a scheduler or a clock, and the inputs."""

    theirs: Callable[..., Any]
    ours: Callable[..., Stream[Any]]
    inputs: dict[str, tuple[Timeline, ...]]


def one(theirs: Callable[[Any], Any], ours: Callable[[Stream[Any]], Stream[Any]]) -> Pair:
    """Hold an operator of one input that knows no time."""
    return Pair(lambda _, source: source.pipe(theirs(_)), lambda _, stream: ours(stream), ONE_INPUT)


def timed(theirs: Callable[[Any], Any], ours: Callable[[Stream[Any], Any], Stream[Any]]) -> Pair:
    """Hold an operator of one input that knows time."""
    return Pair(lambda at, source: source.pipe(theirs(at)), lambda clock, stream: ours(stream, clock), ONE_INPUT)


def two(theirs: Callable[[Any, Any], Any], ours: Callable[[Stream[Any], Stream[Any]], Stream[Any]]) -> Pair:
    """Hold an operator of two inputs."""
    return Pair(lambda _, *sources: theirs(*sources), lambda _, *streams: ours(*streams), TWO_INPUTS)


def alone(theirs: Callable[[Any], Any], ours: Callable[[Any], Stream[Any]]) -> Pair:
    """Hold a source."""
    return Pair(theirs, ours, NO_INPUT)


def even(n: int) -> bool:
    return n % 2 == 0


def small(n: int) -> bool:
    return n < 3


def broken(n: int) -> int:
    if n == 2:
        raise ValueError("two")
    return n


def inner(n: int) -> Timeline:
    return timeline((1, n * 10), (3, n * 10 + 1), ends=4)


def their_inner(at: Any) -> Callable[[int], Any]:
    return lambda n: inner(n).observable(at)


def our_inner(clock: Any) -> Callable[[int], Stream[Any]]:
    return lambda n: inner(n).stream(clock)


def their_signal(notification: Any) -> tuple[str, object]:
    kind = {"N": "next", "E": "failed", "C": "completed"}[notification.kind]
    return kind, getattr(notification, "value", str(getattr(notification, "exception", "")) or None)


def our_signal(signal: Signal[Any]) -> tuple[str, object]:
    if isinstance(signal, Next):
        return "next", signal.element
    return ("failed", str(signal.error)) if isinstance(signal, Failed) else ("completed", None)


def halved(n: int) -> list[int]:
    return [n // 2] if n > 1 else []


def seconds(moment: datetime) -> float:
    return (moment.replace(tzinfo=None) - EPOCH).total_seconds()


def merged(first: Stream[Any], second: Stream[Any]) -> Stream[Any]:
    return first.merge(second)


def their_publish(at: Any, source: Any) -> Any:
    published = source.pipe(ops.publish())
    at.schedule_relative(1, lambda *_: published.connect(at))
    return published


def our_publish(clock: Any, stream: Stream[Any]) -> Stream[Any]:
    published = stream.publish()
    clock.call_later(1, published.connect)
    return published


def nothing(*_: object) -> None:
    pass


PAIRS: dict[str, Pair] = {
    # made of nothing
    "defer": alone(lambda _: rx.defer(lambda __: rx.of(1, 2)), lambda _: Stream.defer(lambda: Stream.just(1, 2))),
    "empty": alone(lambda _: rx.empty(), lambda _: Stream.empty()),
    "error": alone(lambda _: rx.throw(ValueError("lost")), lambda _: Stream.error(ValueError("lost"))),
    "from_callable": alone(lambda _: rx.from_callable(lambda: 7), lambda _: Stream.from_callable(lambda: 7)),
    "from_iterable": alone(lambda _: rx.from_iterable([1, 2]), lambda _: Stream.from_iterable([1, 2])),
    "generate": alone(
        lambda _: rx.generate(0, lambda n: n < 3, lambda n: n + 1),
        lambda _: Stream.generate(0, lambda n: (n, n + 1) if n < 3 else None),
    ),
    "interval": alone(
        lambda at: rx.interval(10, scheduler=at).pipe(ops.take(3)),
        lambda clock: Stream.interval(10, clock=clock).take(3),
    ),
    "just": alone(lambda _: rx.of(1, 2), lambda _: Stream.just(1, 2)),
    "never": alone(lambda _: rx.never(), lambda _: Stream.never()),
    "range": alone(lambda _: rx.range(1, 4), lambda _: Stream.range(1, 4)),
    "timer": alone(lambda at: rx.timer(5, scheduler=at), lambda clock: Stream.timer(5, clock=clock)),
    "using": alone(
        lambda _: rx.using(lambda: None, lambda __: rx.of(1, 2)),
        lambda _: Stream.using(object, lambda __: Stream.just(1, 2), nothing),
    ),
    # of one input, by element
    "all": one(lambda _: ops.all(small), lambda s: s.all(small)),
    "any": one(lambda _: ops.some(even), lambda s: s.any(even)),
    "average": one(lambda _: ops.average(), lambda s: s.average()),
    "buffer": one(lambda _: ops.buffer_with_count(2), lambda s: s.buffer(2)),
    "buffer, with a step": one(lambda _: ops.buffer_with_count(2, 3), lambda s: s.buffer(2, 3)),
    "buffer, overlapping": one(lambda _: ops.buffer_with_count(3, 2), lambda s: s.buffer(3, 2)),
    "contains": one(lambda _: ops.contains(2), lambda s: s.contains(2)),
    "count": one(lambda _: ops.count(), lambda s: s.count()),
    "default_if_empty": one(lambda _: ops.default_if_empty(0), lambda s: s.default_if_empty(0)),
    "dematerialize": one(
        lambda _: rx.compose(ops.materialize(), ops.dematerialize()), lambda s: s.materialize().dematerialize()
    ),
    "distinct": one(lambda _: ops.distinct(), lambda s: s.distinct()),
    "do_finally": one(lambda _: ops.finally_action(nothing), lambda s: s.do_finally(nothing)),
    "drop_repeats": one(lambda _: ops.distinct_until_changed(), lambda s: s.drop_repeats()),
    "element_at": one(lambda _: ops.element_at(1), lambda s: s.element_at(1)),
    "element_at, with a default": one(lambda _: ops.element_at_or_default(1, 0), lambda s: s.element_at(1, 0)),
    "enumerate": one(lambda _: ops.map_indexed(lambda n, at: (at, n)), lambda s: s.enumerate()),
    "expand": one(lambda _: ops.expand(lambda n: rx.from_iterable(halved(n))), lambda s: s.expand(halved)),
    "filter": one(lambda _: ops.filter(even), lambda s: s.filter(even)),
    "first": one(lambda _: ops.first(), lambda s: s.first()),
    "first, with a predicate": one(lambda _: ops.first(even), lambda s: s.first(even)),
    "first, with a default": one(lambda _: ops.first_or_default(even, 0), lambda s: s.first(even, default=0)),
    "flat_map": one(lambda _: ops.flat_map(lambda n: rx.of(n, n)), lambda s: s.flat_map(lambda n: [n, n])),
    "ignore_elements": one(lambda _: ops.ignore_elements(), lambda s: s.ignore_elements()),
    "is_empty": one(lambda _: ops.is_empty(), lambda s: s.is_empty()),
    "last": one(lambda _: ops.last(), lambda s: s.last()),
    "last, with a default": one(lambda _: ops.last_or_default(0, even), lambda s: s.last(even, default=0)),
    "map": one(lambda _: ops.map(operator.neg), lambda s: s.map(operator.neg)),
    "map, failing": one(lambda _: ops.map(broken), lambda s: s.map(broken)),
    "materialize": one(
        lambda _: rx.compose(ops.materialize(), ops.map(their_signal)), lambda s: s.materialize().map(our_signal)
    ),
    "max": one(lambda _: ops.max(), lambda s: s.max()),
    "min": one(lambda _: ops.min(), lambda s: s.min()),
    "on_error_complete": one(lambda _: ops.catch(rx.empty()), lambda s: s.on_error_complete()),
    "on_error_resume": one(
        lambda _: ops.catch(lambda error, __: rx.of(7, 8)), lambda s: s.on_error_resume(lambda error: Stream.just(7, 8))
    ),
    "on_error_return": one(lambda _: ops.catch(rx.of(0)), lambda s: s.on_error_return(0)),
    "pairwise": one(lambda _: ops.pairwise(), lambda s: s.pairwise()),
    "partition": Pair(
        lambda _, source: rx.merge(*source.pipe(ops.share(), ops.partition(even))),
        lambda _, stream: merged(*stream.partition(even)),
        ONE_INPUT,
    ),
    "publish": Pair(their_publish, our_publish, ONE_INPUT),
    "reduce": one(lambda _: ops.reduce(operator.add), lambda s: s.reduce(operator.add)),
    "reduce, with a seed": one(lambda _: ops.reduce(operator.add, 10), lambda s: s.reduce(operator.add, 10)),
    "repeat": one(lambda _: ops.repeat(2), lambda s: s.repeat(2)),
    "replay": one(lambda _: rx.compose(ops.replay(2), ops.ref_count()), lambda s: s.replay(2)),
    "retry": one(lambda _: ops.retry(2), lambda s: s.retry(1)),
    "scan": one(lambda _: ops.scan(operator.add, 0), lambda s: s.scan(operator.add, 0)),
    "share": one(lambda _: ops.share(), lambda s: s.share()),
    "single": one(lambda _: ops.single(), lambda s: s.single()),
    "single, with a default": one(lambda _: ops.single_or_default(None, 0), lambda s: s.single(0)),
    "skip": one(lambda _: ops.skip(2), lambda s: s.skip(2)),
    "skip_last": one(lambda _: ops.skip_last(2), lambda s: s.skip_last(2)),
    "skip_while": one(lambda _: ops.skip_while(small), lambda s: s.skip_while(small)),
    "starmap": one(
        lambda _: rx.compose(ops.map(lambda n: (n, 2)), ops.starmap(operator.mul)),
        lambda s: s.map(lambda n: (n, 2)).starmap(operator.mul),
    ),
    "start_with": one(lambda _: ops.start_with(0), lambda s: s.start_with(0)),
    "sum": one(lambda _: ops.sum(), lambda s: s.sum()),
    "take": one(lambda _: ops.take(2), lambda s: s.take(2)),
    "take, none": one(lambda _: ops.take(0), lambda s: s.take(0)),
    "take_last": one(lambda _: ops.take_last(2), lambda s: s.take_last(2)),
    "take_while": one(lambda _: ops.take_while(small), lambda s: s.take_while(small)),
    "tap": one(lambda _: ops.do_action(nothing), lambda s: s.tap(nothing)),
    "to_dict": one(lambda _: ops.to_dict(even), lambda s: s.to_dict(even)),
    "to_list": one(lambda _: ops.to_list(), lambda s: s.to_list()),
    "to_set": one(lambda _: ops.to_set(), lambda s: s.to_set()),
    "group_by": one(
        lambda _: rx.compose(ops.group_by(even), ops.flat_map(lambda g: g.pipe(ops.map(lambda n: (g.key, n))))),
        lambda s: s.group_by(even).flat_map(lambda g: g.map(lambda n: (g.key, n)), concurrency=8),
    ),
    "window": one(
        lambda _: rx.compose(ops.window_with_count(2), ops.flat_map(lambda w: w.pipe(ops.to_list()))),
        lambda s: s.window(2).flat_map(lambda w: w.to_list(), concurrency=8),
    ),
    # of one input, with time
    "buffer_timeout": timed(
        lambda at: ops.buffer_with_time_or_count(3, 2, scheduler=at),
        lambda s, clock: s.buffer_timeout(2, 3, clock=clock),
    ),
    "concat_map": timed(
        lambda at: rx.compose(ops.map(their_inner(at)), ops.merge(max_concurrent=1)),
        lambda s, clock: s.concat_map(our_inner(clock)),
    ),
    "debounce": timed(lambda at: ops.debounce(1.5, scheduler=at), lambda s, clock: s.debounce(1.5, clock=clock)),
    "delay": timed(lambda at: ops.delay(2, scheduler=at), lambda s, clock: s.delay(2, clock=clock)),
    "delay_subscription": timed(
        lambda at: ops.delay_subscription(2, scheduler=at), lambda s, clock: s.delay_subscription(2, clock=clock)
    ),
    "flat_map, of publishers": timed(
        lambda at: ops.flat_map(their_inner(at)), lambda s, clock: s.flat_map(our_inner(clock), concurrency=8)
    ),
    "flat_map, two at a time": timed(
        lambda at: rx.compose(ops.map(their_inner(at)), ops.merge(max_concurrent=2)),
        lambda s, clock: s.flat_map(our_inner(clock), concurrency=2),
    ),
    "sample": timed(lambda at: ops.sample(3, scheduler=at), lambda s, clock: s.sample(3, clock=clock)),
    "switch_map": timed(lambda at: ops.switch_map(their_inner(at)), lambda s, clock: s.switch_map(our_inner(clock))),
    "throttle_first": timed(
        lambda at: ops.throttle_first(3, scheduler=at), lambda s, clock: s.throttle_first(3, clock=clock)
    ),
    "time_interval": timed(
        lambda at: rx.compose(
            ops.time_interval(scheduler=at), ops.map(lambda pair: (pair.interval.total_seconds(), pair.value))
        ),
        lambda s, clock: s.time_interval(clock=clock),
    ),
    "timeout": timed(lambda at: ops.timeout(2.5, scheduler=at), lambda s, clock: s.timeout(2.5, clock=clock)),
    "timestamp": timed(
        lambda at: rx.compose(ops.timestamp(scheduler=at), ops.map(lambda pair: (seconds(pair.timestamp), pair.value))),
        lambda s, clock: s.timestamp(clock=clock),
    ),
    "window, with time": timed(
        lambda at: rx.compose(ops.window_with_time(3, scheduler=at), ops.flat_map(lambda w: w.pipe(ops.to_list()))),
        lambda s, clock: s.window(seconds=3, clock=clock).flat_map(lambda w: w.to_list(), concurrency=8),
    ),
    # of two inputs
    "combine_latest": two(rx.combine_latest, lambda s, t: s.combine_latest(t)),
    "concat": two(rx.concat, lambda s, t: s.concat(t)),
    "merge": two(rx.merge, lambda s, t: s.merge(t)),
    "race": two(rx.amb, lambda s, t: s.race(t)),
    "sample, by another": two(lambda s, t: s.pipe(ops.sample(t)), lambda s, t: s.sample(t)),
    "sequence_equal": two(lambda s, t: s.pipe(ops.sequence_equal(t)), lambda s, t: s.sequence_equal(t)),
    "skip_until": two(lambda s, t: s.pipe(ops.skip_until(t)), lambda s, t: s.skip_until(t)),
    "take_until": two(lambda s, t: s.pipe(ops.take_until(t)), lambda s, t: s.take_until(t)),
    "with_latest_from": two(lambda s, t: s.pipe(ops.with_latest_from(t)), lambda s, t: s.with_latest_from(t)),
    "zip": two(rx.zip, lambda s, t: s.zip(t)),
}

NO_COUNTERPART = "reactivex has none"
NOT_COMPARED = {
    "buffer_until": NO_COUNTERPART,
    "buffer_while": NO_COUNTERPART,
    "cache": "a connectable that keeps all; see `replay`",
    "cast": NO_COUNTERPART,
    "checked": NO_COUNTERPART,
    "checkpoint": NO_COUNTERPART,
    "conflate": NO_COUNTERPART,
    "create": "the inputs of both are made with it",
    "end_with": NO_COUNTERPART,
    "flatten": NO_COUNTERPART,
    "for_each": NO_COUNTERPART,
    "from_async_iterable": "waits for an event loop, and knows no virtual time",
    "from_awaitable": "waits for an event loop, and knows no virtual time",
    "from_publisher": NO_COUNTERPART,
    "interleave": NO_COUNTERPART,
    "join": "by key here, by time there",
    "keep_alive": NO_COUNTERPART,
    "limit_rate": NO_COUNTERPART,
    "log": NO_COUNTERPART,
    "map_async": NO_COUNTERPART,
    "map_batches": NO_COUNTERPART,
    "map_error": NO_COUNTERPART,
    "merge_sorted": NO_COUNTERPART,
    "metrics": NO_COUNTERPART,
    "observed": NO_COUNTERPART,
    "of_type": NO_COUNTERPART,
    "on_backpressure_buffer": NO_COUNTERPART,
    "on_backpressure_drop": NO_COUNTERPART,
    "on_backpressure_error": NO_COUNTERPART,
    "on_backpressure_latest": NO_COUNTERPART,
    "parallel": NO_COUNTERPART,
    "publish_on": "moves to another thread, and knows no virtual time",
    "sliding": NO_COUNTERPART,
    "split_when": NO_COUNTERPART,
    "stateful_map": NO_COUNTERPART,
    "subject": "is handed its elements; the inputs of both are made so",
    "subscribe_on": "moves to another thread, and knows no virtual time",
    "switch_if_empty": NO_COUNTERPART,
    "throttle": NO_COUNTERPART,
    "with_context": NO_COUNTERPART,
}
"""Operators of which no scenario is run through both, and why."""
for _name, _proof in proofs_beside((name.partition(",")[0] for name in PAIRS), NOT_COMPARED).items():
    if _proof.theirs is None:
        NOT_COMPARED[_name] = NO_COUNTERPART
    else:
        PAIRS[_name] = one(lambda _, theirs=_proof.theirs: theirs(), _proof.use)  # type: ignore[misc]
