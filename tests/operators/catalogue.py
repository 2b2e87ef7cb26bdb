"""catalogue: every operator with a model over lists, and what it states about order, failures and reading ahead."""

from __future__ import annotations

import heapq
import logging
import operator
from collections.abc import AsyncIterator, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate, dropwhile, groupby, pairwise, takewhile, zip_longest
from typing import Any

from hypothesis import strategies as st

from penstock import (
    Completed,
    Emitter,
    Next,
    Overflow,
    Recorder,
    Registry,
    Stream,
    VirtualClock,
    inline,
    loop,
    pool,
    thread,
)
from penstock.testing import Form, Promise, Tracked
from tests.operators.proof import NUMBERS, proofs_beside

LETTERS = st.sampled_from("ab.")
CLOCK = VirtualClock()
"""It stands still; whatever waits for it when a run is over was left behind."""
SOMETHING: ContextVar[int] = ContextVar("something")
INNER: list[Tracked[Any]] = []
"""What the functions below have opened; all of it is closed when a run is over."""

logging.getLogger("penstock.catalogue").setLevel(logging.CRITICAL)


@dataclass(frozen=True)
class Entry:
    """Hold one use of an operator."""

    make: Callable[[Stream[Any]], Stream[Any]]
    model: Callable[[list[Any]], list[Any]]
    promise: Promise
    elements: Any = NUMBERS
    forms: tuple[Form, ...] = tuple(Form)


def same(make: Callable[[Stream[Any]], Stream[Any]], **states: Any) -> Entry:
    """Be an operator that passes every element on."""
    return Entry(make, lambda xs: xs, Promise(**states))


def entry(make: Callable[[Stream[Any]], Stream[Any]], model: Any, elements: Any = NUMBERS, **states: Any) -> Entry:
    return Entry(make, model, Promise(**states), elements)


def source(make: Callable[[], Stream[Any]], *expected: Any, **states: Any) -> Entry:
    """Be a stream without an upstream, which there is one form of."""
    return Entry(lambda _: make(), lambda _: [*expected], Promise(ends=True, **states), forms=(Form.ITERATED,))


def inner(*items: Any) -> Stream[Any]:
    """Be a second stream; each of its runs is to be closed."""
    INNER.append(Tracked(items))
    return Stream.from_iterable(INNER[-1])


def in_lists(count: int, step: int = 0) -> Callable[[list[Any]], list[Any]]:
    return lambda xs: [xs[at : at + count] for at in range(0, len(xs), step or count)]


def full_lists(count: int, step: int) -> Callable[[list[Any]], list[Any]]:
    return lambda xs: [tuple(xs[at : at + count]) for at in range(0, len(xs) - count + 1, step)]


def cut_behind(letters: list[str]) -> list[list[str]]:
    parts = [[*part, "."] for part in "".join(letters).split(".")]
    last = parts.pop()[:-1]
    return [*parts, last] if last else parts


def nothing(_: list[Any]) -> list[Any]:
    """Be what comes before a failure where all results come with the end."""
    return []


def copies(n: int) -> list[int]:
    return [n] * (n % 3)


def copied(elements: list[int]) -> list[int]:
    return [copy for n in elements for copy in copies(n)]


def below(n: int) -> list[int]:
    """Be a tree: n has the children n - 1 and n - 2, down to zero."""
    return [child for child in (n - 1, n - 2) if child >= 0]


def levels(elements: list[int]) -> list[int]:
    found: list[int] = []
    for root in elements:
        waiting = [root]
        while waiting:
            found.append(waiting.pop(0))
            waiting.extend(below(found[-1]))
    return found


def falling_apart(elements: list[int]) -> list[list[int]]:
    lists: list[list[int]] = []
    for element in elements:
        if not lists or element < lists[-1][-1]:
            lists.append([])
        lists[-1].append(element)
    return lists


def once_in(size: int) -> Callable[[list[Any]], list[Any]]:
    def model(elements: list[Any]) -> list[Any]:
        kept: list[Any] = []
        for element in elements:
            if element not in kept[-size:]:
                kept.append(element)
        return kept

    return model


def in_turns(elements: list[Any], others: list[Any]) -> list[Any]:
    missing = object()
    return [x for turn in zip_longest(elements, others, fillvalue=missing) for x in turn if x is not missing]


def rising(elements: list[int]) -> list[int]:
    return list(accumulate(elements, max))


def by_third(elements: list[int]) -> list[list[int]]:
    return [[n for n in elements if n % 3 == key] for key in dict.fromkeys(n % 3 for n in elements)]


def before_the_end(signals: list[Any]) -> list[Any]:
    return [signal.element for signal in takewhile(lambda signal: signal != Completed(), signals)]


def joined(how: str) -> Callable[[list[int]], list[Any]]:
    def model(elements: list[int]) -> list[Any]:
        pairs: list[Any] = [(n, m) for n in elements for m in (1, 11, 2) if n % 10 == m % 10]
        return pairs + [(None, m) for m in (1, 11, 2) if how == "right" and m % 10 not in elements]

    return model


async def double(n: int) -> int:
    return 2 * n


def doubled(elements: list[int]) -> list[int]:
    return [2 * n for n in elements]


def collect(seen: list[int], n: int) -> tuple[list[int] | None, tuple[int, ...]]:
    """Change the state in place, and forget it with each third element."""
    seen.append(n)
    return (seen if len(seen) < 3 else None), tuple(seen)


def emit_three(emitter: Emitter[int]) -> None:
    for number in range(3):
        emitter.emit(number)
    emitter.complete()


def handed_over() -> Stream[int]:
    subject = Stream.subject(kept=9)
    for number in range(3):
        subject.emit(number)
    subject.complete()
    return subject


class Ticks:
    """Be an asynchronous iterable that starts anew for each subscriber."""

    async def __aiter__(self) -> AsyncIterator[int]:
        for number in range(3):
            yield number


def marked(batch: list[int]) -> list[int]:
    return [*batch, -len(batch)]


def small(n: int) -> bool:
    return n < 5


def odd(n: int) -> int:
    return n % 2


def is_two(n: int) -> bool:
    return n == 2


def steps(numbers: Stream[int]) -> Stream[str]:
    return numbers.flat_map(copies).map(str)


OPERATORS: dict[str, list[Entry]] = {
    "all": [entry(lambda s: s.all(small), lambda xs: [all(map(small, xs))], ends=True)],
    "any": [entry(lambda s: s.any(is_two), lambda xs: [2 in xs], st.integers(0, 4), ends=True)],
    "average": [
        entry(lambda s: s.average(), lambda xs: [sum(xs) / len(xs)] if xs else []),
        entry(lambda s: s.average(default=-1), lambda xs: [sum(xs) / len(xs)] if xs else [-1]),
    ],
    "buffer": [
        entry(lambda s: s.buffer(2), in_lists(2)),
        entry(lambda s: s.buffer(3, 2), in_lists(3, 2)),
        entry(lambda s: s.buffer(2, 3), in_lists(2, 3)),
    ],
    "buffer_timeout": [
        entry(lambda s: s.buffer_timeout(2, 60, clock=CLOCK), in_lists(2), before=in_lists(2), reads=lambda n: 2 * n),
    ],
    "buffer_until": [entry(lambda s: s.buffer_until(".".__eq__), cut_behind, LETTERS)],
    "buffer_while": [
        entry(lambda s: s.buffer_while(".".__ne__), lambda xs: [[*p] for p in "".join(xs).split(".") if p], LETTERS)
    ],
    "cache": [same(lambda s: s.cache(), shared=True)],
    "cast": [same(lambda s: s.cast(int))],
    "checked": [same(lambda s: s.checked())],
    "checkpoint": [same(lambda s: s.checkpoint("here"))],
    "combine_latest": [
        entry(lambda s: Stream.just("x").combine_latest(s, prefetch=2), lambda xs: [("x", x) for x in xs], ahead=2),
        entry(
            lambda s: inner("x").publish_on(inline()).combine_latest(s, prefetch=2),
            lambda xs: [("x", x) for x in xs],
            ahead=2,
        ),
    ],
    "concat": [
        same(lambda s: Stream.empty().concat(s)),
        same(lambda s: Stream.concat(s)),
        entry(lambda s: s.concat(Stream.just(10, 11)), lambda xs: [*xs, 10, 11]),
        entry(lambda s: Stream.just(10, 11).concat(s), lambda xs: [10, 11, *xs], tells=False),
        entry(lambda s: inner(10).publish_on(inline()).concat(s, Stream.empty()), lambda xs: [10, *xs], tells=False),
    ],
    "concat_map": [
        entry(lambda s: s.concat_map(copies), copied),
        entry(lambda s: s.concat_map(lambda n: Stream.just(*copies(n))), copied),
        entry(lambda s: s.concat_map(lambda n: inner(*copies(n)).do_finally(bool)), copied, knows=False),
        same(lambda s: Stream.just("x").concat_map(lambda _: s), tells=False),
    ],
    "conflate": [same(lambda s: s.conflate(lambda n: [n], lambda some, n: [*some, n]).flatten(), eager=True)],
    "contains": [
        entry(lambda s: s.contains(2), lambda xs: [2 in xs], st.integers(0, 4), ends=True),
        entry(
            lambda s: s.contains(2, equal=operator.lt),
            lambda xs: [any(x < 2 for x in xs)],
            st.integers(0, 4),
            ends=True,
        ),
    ],
    "count": [entry(lambda s: s.count(), lambda xs: [len(xs)])],
    "create": [source(lambda: Stream.create(emit_three), 0, 1, 2)],
    "debounce": [
        entry(lambda s: s.debounce(60, clock=CLOCK), lambda xs: xs[-1:], before=lambda xs: xs[-1:], eager=True)
    ],
    "default_if_empty": [entry(lambda s: s.default_if_empty(10, 11), lambda xs: xs or [10, 11])],
    "defer": [
        same(lambda s: Stream.defer(lambda: s)),
        source(lambda: Stream.defer(lambda: [1, 2]), 1, 2),
        source(lambda: Stream.defer(lambda: iter([1, 2])), 1, 2),
    ],
    "delay": [same(lambda s: s.delay(0, size=2))],
    "delay_subscription": [same(lambda s: s.delay_subscription(0))],
    "dematerialize": [
        entry(lambda s: s.dematerialize(), before_the_end, st.sampled_from([Next(1), Next(2), Completed()]), ends=True),
        same(lambda s: s.materialize().dematerialize(), tells=False, knows=False),
    ],
    "distinct": [
        entry(lambda s: s.distinct(), once_in(99)),
        entry(lambda s: s.distinct(size=1), once_in(1)),
        entry(lambda s: s.distinct(str, size=2), once_in(2)),
    ],
    "do_finally": [same(lambda s: s.do_finally(bool))],
    "drop_repeats": [
        entry(lambda s: s.drop_repeats(), lambda xs: [x for x, _ in groupby(xs)], st.integers(0, 2)),
        entry(lambda s: s.drop_repeats(odd), lambda xs: [next(run) for _, run in groupby(xs, odd)]),
    ],
    "element_at": [
        entry(lambda s: s.element_at(1), lambda xs: xs[1:2], ends=True),
        entry(lambda s: s.element_at(1, "none"), lambda xs: xs[1:2] or ["none"], ends=True),
    ],
    "empty": [source(Stream.empty)],
    "end_with": [
        entry(lambda s: s.end_with(10, 11), lambda xs: [*xs, 10, 11]),
        same(lambda s: s.end_with()),
        entry(lambda s: s.end_with(10, create=[lambda: 11, lambda: 12]), lambda xs: [*xs, 10, 11, 12]),
    ],
    "enumerate": [entry(lambda s: s.enumerate(7), lambda xs: [*enumerate(xs, 7)])],
    "error": [same(lambda s: Stream.error(KeyError("first")).on_error_resume(lambda _: s, when=KeyError))],
    "expand": [
        entry(lambda s: s.expand(below), levels, st.integers(0, 3), knows=False),
        entry(
            lambda s: s.expand(lambda n: inner(*below(n)), concurrency=1, prefetch=2),
            levels,
            st.integers(0, 3),
            overtakes=True,
            knows=False,
        ),
        entry(
            lambda s: s.expand(lambda n: Stream.just(*below(n)).do_finally(bool), concurrency=3),
            levels,
            st.integers(0, 2),
            ordered=False,
            overtakes=True,
            knows=False,
            ahead=3,
        ),
    ],
    "filter": [entry(lambda s: s.filter(odd), lambda xs: [x for x in xs if x % 2])],
    "first": [
        entry(lambda s: s.first(), lambda xs: xs[:1], ends=True),
        entry(lambda s: s.first(is_two, default=9), lambda xs: [2 if 2 in xs else 9], st.integers(0, 4), ends=True),
    ],
    "flat_map": [
        entry(lambda s: s.flat_map(copies), copied),
        entry(lambda s: s.flat_map(lambda n: iter(copies(n))), copied, knows=False),
        entry(
            lambda s: s.flat_map(lambda n: Stream.just(*copies(n)), concurrency=1, prefetch=2),
            copied,
            overtakes=True,
            ahead=1,
        ),
        entry(
            lambda s: s.flat_map(lambda n: inner(*copies(n)).do_finally(bool), concurrency=3, prefetch=2),
            copied,
            ordered=False,
            overtakes=True,
            knows=False,
            ahead=3,
        ),
        entry(
            lambda s: s.flat_map(lambda n: inner(*copies(n)).publish_on(thread()), concurrency=2),
            copied,
            ordered=False,
            overtakes=True,
            knows=False,
            ahead=2,
        ),
    ],
    "flatten": [
        entry(
            lambda s: s.flatten(),
            lambda xs: [x for some in xs for x in some],
            st.sampled_from([[], [1], [2, 3], [1, 2, 3]]),
        )
    ],
    "for_each": [entry(lambda s: s.for_each(str), lambda xs: [len(xs)])],
    "from_async_iterable": [source(lambda: Stream.from_async_iterable(Ticks()), 0, 1, 2, knows=False)],
    "from_awaitable": [source(lambda: Stream.from_awaitable(lambda: double(21)), 42)],
    "from_callable": [
        source(lambda: Stream.from_callable(lambda: 42), 42),
        source(lambda: Stream.from_callable(lambda: 1, lambda: 2), 1, 2),
    ],
    "from_iterable": [
        source(lambda: Stream.from_iterable([1, 2, 3]), 1, 2, 3),
        source(lambda: Stream.from_iterable({1: 0, 2: 0}), 1, 2),
        source(lambda: inner(1, 2), 1, 2, knows=False),
    ],
    "from_publisher": [same(Stream.from_publisher)],
    "generate": [source(lambda: Stream.generate(3, lambda n: (n, n - 1) if n else None), 3, 2, 1, knows=False)],
    "group_by": [
        same(
            lambda s: s.group_by(lambda n: n % 3, size=4, clock=CLOCK).flat_map(
                lambda group: group, concurrency=3, prefetch=2
            ),
            ordered=False,
            overtakes=True,
            ahead=4 + 3 * 2,
        ),
        entry(
            lambda s: s.group_by(lambda n: n % 3, clock=CLOCK).flat_map(lambda group: group.to_list(), concurrency=3),
            by_third,
            ordered=False,
            overtakes=True,
            ahead=256,
        ),
    ],
    "ignore_elements": [entry(lambda s: s.ignore_elements(), lambda xs: [])],
    "interleave": [
        entry(lambda s: s.interleave(Stream.just("a", "b"), prefetch=2), lambda xs: in_turns(xs, ["a", "b"]), ahead=2),
        entry(
            lambda s: inner("a", "b").publish_on(inline()).interleave(s, prefetch=2),
            lambda xs: in_turns(["a", "b"], xs),
            knows=False,
            ahead=2,
        ),
    ],
    "interval": [source(lambda: Stream.interval(0.0001, overflow=Overflow.BUFFER, size=9).take(3), 0, 1, 2)],
    "is_empty": [entry(lambda s: s.is_empty(), lambda xs: [not xs], ends=True)],
    "join": [
        entry(
            lambda s, how=how: s.join(Stream.just(1, 11, 2), lambda n: n % 10, how=how, prefetch=2),
            joined(how),
            before=joined("inner"),
            ordered=False,
            ahead=2,
        )
        for how in ("inner", "right")
    ],
    "just": [source(lambda: Stream.just(3, 1, 2), 3, 1, 2)],
    "keep_alive": [
        same(lambda s: s.keep_alive(60, -1, clock=CLOCK)),
        same(lambda s: s.keep_alive(60, -1, size=1, clock=CLOCK)),
    ],
    "last": [
        entry(lambda s: s.last(), lambda xs: xs[-1:]),
        entry(lambda s: s.last(small, default=-1), lambda xs: [*filter(small, xs)][-1:] or [-1]),
    ],
    "limit_rate": [same(lambda s: s.limit_rate(2)), same(lambda s: s.limit_rate(1, 0))],
    "log": [same(lambda s: s.log("catalogue")), same(lambda s: s.log("catalogue", level=100))],
    "map": [entry(lambda s: s.map(operator.neg), lambda xs: [-x for x in xs])],
    "map_async": [
        entry(lambda s: s.map_async(double, concurrency=1), doubled, ahead=2),
        entry(lambda s: s.map_async(double, concurrency=2, key=odd), doubled, ahead=4),
        entry(
            lambda s: s.map_async(double, concurrency=2, ordered=False), doubled, ordered=False, overtakes=True, ahead=4
        ),
    ],
    "map_batches": [
        entry(
            lambda s: s.map_batches(marked, 2),
            lambda xs: [n for batch in in_lists(2)(xs) for n in marked(batch)],
            before=lambda xs: [n for batch in in_lists(2)(xs) for n in marked(batch) if len(batch) == 2],
        )
    ],
    "map_error": [same(lambda s: s.map_error(lambda error: error))],
    "materialize": [
        entry(
            lambda s: s.materialize().map(str),
            lambda xs: [*(f"next({x})" for x in xs), "complete"],
            fails=lambda xs: [*(f"next({x})" for x in xs), "error(UpstreamError('upstream failed'))"],
        )
    ],
    "max": [
        entry(lambda s: s.max(), lambda xs: [max(xs)] if xs else [], before=nothing),
        entry(lambda s: s.max(less=operator.gt, default=99), lambda xs: [min(xs, default=99)], before=nothing),
    ],
    "merge": [
        entry(
            lambda s: s.merge(Stream.just(10, 11), prefetch=2),
            lambda xs: [*xs, 10, 11],
            ordered=False,
            overtakes=True,
            reads=lambda n: n,
            ahead=2,
        ),
        entry(
            lambda s: inner(10, 11).publish_on(thread()).merge(s, prefetch=2),
            lambda xs: [*xs, 10, 11],
            ordered=False,
            overtakes=True,
            reads=lambda n: n,
            ahead=2,
        ),
        same(lambda s: s.merge(Stream.empty(), prefetch=2), overtakes=True, ahead=2),
    ],
    "merge_sorted": [
        entry(
            lambda s: s.scan(max, -1).merge_sorted(Stream.just(2, 5, 5), prefetch=2),
            lambda xs: [*heapq.merge(rising(xs), [2, 5, 5])],
            before=lambda xs: [*heapq.merge(rising(xs), [n for n in (2, 5, 5) if n < max(xs, default=0)])],
            ahead=2,
        )
    ],
    "metrics": [same(lambda s: s.metrics("catalogue", registry=Registry()))],
    "min": [
        entry(lambda s: s.min(operator.neg), lambda xs: [max(xs)] if xs else [], before=nothing),
        entry(lambda s: s.min(less=operator.gt, default=99), lambda xs: [max(xs, default=99)], before=nothing),
    ],
    "observed": [entry(lambda s: s.map(operator.neg).observed(Recorder()), lambda xs: [-x for x in xs])],
    "of_type": [
        entry(
            lambda s: s.of_type(int),
            lambda xs: [x for x in xs if isinstance(x, int)],
            st.sampled_from([1, "a", 2, "b"]),
        )
    ],
    "on_backpressure_buffer": [same(lambda s: s.on_backpressure_buffer(20), eager=True)],
    "on_backpressure_drop": [same(lambda s: s.on_backpressure_drop().on_backpressure_buffer(20), eager=True)],
    "on_backpressure_error": [same(lambda s: s.on_backpressure_error().on_backpressure_buffer(20), eager=True)],
    "on_backpressure_latest": [entry(lambda s: s.on_backpressure_latest().last(), lambda xs: xs[-1:], eager=True)],
    "on_error_complete": [same(lambda s: s.on_error_complete(), fails=lambda xs: xs)],
    "on_error_resume": [
        same(lambda s: s.on_error_resume(lambda _: Stream.just(10, 11)), fails=lambda xs: [*xs, 10, 11]),
        same(lambda s: s.on_error_resume(lambda _: inner(10).publish_on(inline())), fails=lambda xs: [*xs, 10]),
        same(lambda s: s.on_error_resume(lambda _: [10], when=KeyError)),
    ],
    "on_error_return": [
        same(lambda s: s.on_error_return(10), fails=lambda xs: [*xs, 10]),
        same(lambda s: s.on_error_return(10, when=KeyError)),
    ],
    "pairwise": [entry(lambda s: s.pairwise(), lambda xs: [*pairwise(xs)])],
    "parallel": [
        *(
            entry(
                lambda s, e=e: s.parallel(2, steps, executor=e, prefetch=4), lambda xs: [*map(str, copied(xs))], ahead=4
            )
            for e in (inline(), thread())
        ),
        entry(
            lambda s: s.parallel(2, steps, executor=pool(2), ordered=False, prefetch=4),
            lambda xs: [*map(str, copied(xs))],
            ordered=False,
            overtakes=True,
            ahead=4,
        ),
    ],
    "partition": [
        entry(lambda s: s.partition(odd, size=4)[0], lambda xs: [x for x in xs if x % 2], shared=True, ahead=4),
        entry(lambda s: s.partition(odd, size=4)[1], lambda xs: [x for x in xs if not x % 2], shared=True, ahead=4),
    ],
    "publish_on": [
        same(lambda s, e=e: s.publish_on(e, prefetch=2), ahead=2) for e in (inline(), thread(), pool(2), loop())
    ],
    "race": [same(lambda s: s.race(Stream.never())), same(lambda s: Stream.never().race(s, Stream.never()))],
    "range": [
        source(lambda: Stream.range(3), 0, 1, 2),
        source(lambda: Stream.range(5, 0, -2), 5, 3, 1),
        source(lambda: Stream.range(0.5, 2, 0.5), 0.5, 1.0, 1.5),
        source(lambda: Stream.range(10, count=2), 10, 11),
    ],
    "reduce": [
        entry(lambda s: s.reduce(operator.sub, 100), lambda xs: [reduce(operator.sub, xs, 100)]),
        entry(lambda s: s.reduce(operator.sub), lambda xs: [reduce(operator.sub, xs)] if xs else []),
        entry(lambda s: s.reduce(operator.sub, default=7), lambda xs: [reduce(operator.sub, xs)] if xs else [7]),
    ],
    "repeat": [
        same(lambda s: s.repeat(1)),
        entry(lambda s: s.repeat(2), lambda xs: xs * 2, runs=2, tells=False),
        source(lambda: Stream.just(1, 2).repeat(2), 1, 2, 1, 2),
    ],
    "replay": [same(lambda s: s.replay(99, size=4), shared=True, ahead=4)],
    "retry": [same(lambda s: s.retry(0)), same(lambda s: s.retry(2, when=KeyError))],
    "sample": [entry(lambda s: s.sample(60, clock=CLOCK), lambda xs: xs[-1:], before=lambda xs: xs[-1:], eager=True)],
    "scan": [entry(lambda s: s.scan(operator.sub, 100), lambda xs: [*accumulate(xs, operator.sub, initial=100)][1:])],
    "sequence_equal": [
        entry(
            lambda s: s.sequence_equal(Stream.just(1), prefetch=2),
            lambda xs: [xs == [1]],
            st.integers(1, 3),
            ends=True,
            ahead=2,
        )
    ],
    "share": [same(lambda s: s.share(size=4), shared=True, ahead=4)],
    "single": [entry(lambda s: s.take(1).single(-1), lambda xs: xs[:1] or [-1], ends=True)],
    "skip": [entry(lambda s: s.skip(2), lambda xs: xs[2:]), same(lambda s: s.skip(0))],
    "skip_last": [entry(lambda s: s.skip_last(2), lambda xs: xs[:-2])],
    "skip_until": [
        same(lambda s: s.skip_until(Stream.just("now"))),
        entry(lambda s: s.skip_until(Stream.never()), lambda xs: []),
    ],
    "skip_while": [entry(lambda s: s.skip_while(small), lambda xs: [*dropwhile(small, xs)])],
    "sliding": [
        entry(lambda s: s.sliding(3, 2), full_lists(3, 2)),
        entry(lambda s: s.sliding(2, 3), full_lists(2, 3)),
    ],
    "split_when": [entry(lambda s: s.split_when(operator.gt), falling_apart)],
    "starmap": [
        entry(lambda s: s.starmap(operator.sub), lambda xs: [a - b for a, b in xs], st.tuples(NUMBERS, NUMBERS))
    ],
    "start_with": [
        entry(lambda s: s.start_with(10, 11), lambda xs: [10, 11, *xs]),
        entry(lambda s: s.start_with(9, create=[lambda: 10, lambda: 11]), lambda xs: [9, 10, 11, *xs], tells=False),
        entry(
            lambda s: s.start_with(1).map(lambda n: n + 1).start_with(0).filter(lambda n: n != 5).take(4),
            lambda xs: [n for n in [0, 2, *(x + 1 for x in xs)] if n != 5][:4],
            ends=True,
        ),
    ],
    "stateful_map": [
        entry(
            lambda s: s.stateful_map(collect, list),
            lambda xs: [tuple(xs[at - at % 3 : at + 1]) for at in range(len(xs))],
        )
    ],
    "subject": [source(handed_over, 0, 1, 2)],
    "subscribe_on": [same(lambda s, e=e: s.subscribe_on(e)) for e in (inline(), thread(), pool(2), loop())],
    "sum": [entry(lambda s: s.sum(), lambda xs: [sum(xs)])],
    "switch_if_empty": [
        entry(lambda s: s.switch_if_empty(Stream.just(10, 11)), lambda xs: xs or [10, 11]),
        entry(lambda s: s.switch_if_empty(inner(10).publish_on(inline())), lambda xs: xs or [10]),
        same(lambda s: Stream.empty().switch_if_empty(s)),
    ],
    "switch_map": [
        entry(
            lambda s: s.take(1).switch_map(lambda n: [n, n + 1]),
            lambda xs: [] if not xs else [xs[0], xs[0] + 1],
            ends=True,
        ),
        same(lambda s: Stream.just("x").switch_map(lambda _: s, prefetch=2), tells=False, ahead=2),
    ],
    "take": [entry(lambda s, n=n: s.take(n), lambda xs, n=n: xs[:n], ends=True) for n in (0, 1, 3)],
    "take_last": [entry(lambda s: s.take_last(2), lambda xs: xs[-2:]), entry(lambda s: s.take_last(0), lambda xs: [])],
    "take_until": [same(lambda s: s.take_until(Stream.never())), same(lambda s: s.take_until(Stream.empty()))],
    "take_while": [entry(lambda s: s.take_while(small), lambda xs: [*takewhile(small, xs)], ends=True)],
    "tap": [
        same(lambda s: s.tap(str)),
        same(lambda s: s.tap(str, on_error=str, on_complete=str, on_cancel=str, on_request=str, on_subscribe=str)),
    ],
    "throttle": [same(lambda s: s.throttle(1000, clock=CLOCK)), same(lambda s: s.throttle(2, 0.0001))],
    "throttle_first": [
        entry(lambda s: s.throttle_first(60, clock=CLOCK), lambda xs: xs[:1]),
        same(lambda s: s.throttle_first(0)),
    ],
    "time_interval": [entry(lambda s: s.time_interval(clock=CLOCK), lambda xs: [(0.0, x) for x in xs])],
    "timeout": [same(lambda s: s.timeout(60, clock=CLOCK))],
    "timer": [source(lambda: Stream.timer(0), 0)],
    "timestamp": [entry(lambda s: s.timestamp(clock=CLOCK), lambda xs: [(0.0, x) for x in xs])],
    "to_dict": [entry(lambda s: s.to_dict(odd, str), lambda xs: [{odd(x): str(x) for x in xs}])],
    "to_list": [entry(lambda s: s.to_list(), lambda xs: [xs])],
    "to_set": [entry(lambda s: s.to_set(), lambda xs: [{*xs}], before=nothing)],
    "using": [
        same(lambda s: Stream.using(object, lambda _: s, bool)),
        same(lambda s: Stream.using(object, lambda _: s.do_finally(bool), bool)),
    ],
    "window": [
        entry(
            lambda s: s.window(2, size=4, clock=CLOCK).flat_map(lambda window: window.to_list(), concurrency=1),
            in_lists(2),
            overtakes=True,
            ahead=4 + 2,
        ),
        entry(
            lambda s: s.window(seconds=1, clock=CLOCK).flat_map(lambda window: window.to_list(), concurrency=1),
            lambda xs: [xs] if xs else [],
            overtakes=True,
            ahead=256,
        ),
        entry(
            lambda s: s.window(gap=1, clock=CLOCK).flat_map(lambda window: window.to_list(), concurrency=1),
            lambda xs: [xs] if xs else [],
            overtakes=True,
            ahead=256,
        ),
        entry(
            lambda s: s.window(until=Stream.never(), clock=CLOCK).flat_map(
                lambda window: window.to_list(), concurrency=1
            ),
            lambda xs: [xs] if xs else [],
            overtakes=True,
            ahead=256,
        ),
    ],
    "with_context": [same(lambda s: s.with_context({SOMETHING: 1}))],
    "with_latest_from": [
        entry(lambda s: s.with_latest_from(Stream.just("x"), Stream.just("y")), lambda xs: [(x, "x", "y") for x in xs])
    ],
    "zip": [
        entry(lambda s: s.zip(Stream.range(99), prefetch=2), lambda xs: [*zip(xs, range(99), strict=False)], ahead=2),
        entry(
            lambda s: s.zip(Stream.range(2), prefetch=2),
            lambda xs: [*zip(xs, range(2), strict=False)],
            ends=True,
            ahead=2,
        ),
        entry(
            lambda s: inner(*range(99)).publish_on(inline()).zip(s, prefetch=2),
            lambda xs: [*zip(range(99), xs, strict=False)],
            ahead=2,
        ),
    ],
}

EXEMPT = {
    "never": "it has neither elements nor an end; race, take_until and skip_until are tried with it",
    "publish": "its run is not its subscribers': it goes on until the connection is cancelled",
}
"""Operators that no model over lists describes, and why."""
for _name, _proof in proofs_beside(OPERATORS, EXEMPT).items():
    OPERATORS[_name] = [Entry(_proof.use, _proof.model, _proof.promise, _proof.elements)]

ENTRIES = {
    f"{name}-{number}" if number else name: one
    for name, entries in OPERATORS.items()
    for number, one in enumerate(entries)
}
