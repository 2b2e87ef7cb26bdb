"""stream_types: what mypy and pyright must both infer along a chain; read by the checkers and run by pytest."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextvars import ContextVar
from datetime import timedelta
from decimal import Decimal
from typing import Any, Never, assert_type

from penstock import (
    AnyPublisher,
    Clock,
    Completed,
    Connectable,
    Connection,
    ElementCount,
    EmitResult,
    Emitter,
    Failed,
    Flow,
    GroupedStream,
    Listener,
    Next,
    Overflow,
    Pipeline,
    Processor,
    Publisher,
    Receiver,
    Recorder,
    Registry,
    Resumption,
    Run,
    Sink,
    Slow,
    Stream,
    Subject,
    Subscriber,
    Subscription,
    VirtualClock,
    assembly_trace,
    branch,
    flow,
    inline,
    observe,
    processor,
    subscriber,
    thread,
)
from penstock.operators.just import Just
from penstock.operators.map import Map
from penstock.operators.skip import Skip


async def lookup(n: int) -> str:
    return str(n)


def alone(n: int) -> list[int]:
    return [n]


def more(some: list[int], n: int) -> list[int]:
    return [*some, n]


def taken(some: list[int]) -> tuple[int, list[int]] | None:
    return (some[0], some[1:]) if some else None


def repeated(times: int, of: int) -> str:
    return str(of) * times


def totals(batch: object) -> list[float]:
    return [1.0]


async def forever() -> str:
    return "x"


async def ticks() -> AsyncIterator[float]:
    yield 1.0


def attach(emitter: Emitter[bytes]) -> None:
    assert_type(emitter.emit(b""), EmitResult)
    emitter.complete()


def with_positions(after: int | None) -> list[tuple[int, str]]:
    return [(1, "a")][after or 0 :]


def with_counts(count: int) -> str:
    return "ab"[count:]


def told(position: int) -> None:
    assert_type(position, int)


def sources() -> None:
    assert_type(Stream.from_iterable(["a"]), Stream[str])
    assert_type(Stream.just(1, 2), Stream[int])
    assert_type(Stream.range(3), Stream[int])
    assert_type(Stream.generate(0, lambda n: (str(n), n + 1)), Stream[str])
    assert_type(Stream.generate(step=taken, create=list[int]), Stream[int])
    assert_type(Stream.resumable(with_positions, told), Stream[str])
    assert_type(Stream.resumable(with_counts, told, counted=True), Stream[str])
    for _, element in Resumption.of(Stream.resumable(with_positions)).open():
        assert_type(element, str)
    assert_type(Stream.create(attach, overflow=Overflow.DROP), Stream[bytes])
    assert_type(Stream.from_async_iterable(ticks()), Stream[float])
    assert_type(Stream.from_publisher(Stream.range(3)), Stream[int])
    assert_type(Stream.defer(lambda: Stream.just("x")), Stream[str])
    assert_type(Stream.interval(1.0), Stream[int])
    assert_type(Stream.timer(1.0), Stream[int])
    assert_type(Stream.from_callable(lambda: "x"), Stream[str])
    assert_type(Stream.from_awaitable(lambda: lookup(1)), Stream[str])
    assert_type(Stream.from_awaitable(forever), Stream[str])
    assert_type(Stream.using(lambda: [1], lambda numbers: numbers, lambda numbers: numbers.clear()), Stream[int])
    assert_type(Stream.empty(), Stream[Never])
    assert_type(Stream.never(), Stream[Never])
    assert_type(Stream.error(ValueError()).on_error_resume(lambda error: ["x"]), Stream[str])


def elements() -> None:
    numbers = Stream.range(3)
    assert_type(numbers.map(str), Stream[str])
    assert_type(numbers.map(lambda n: n / 2), Stream[float])
    assert_type(numbers.filter(bool), Stream[int])
    assert_type(numbers.flat_map(lambda n: [str(n)]), Stream[str])
    assert_type(numbers.flat_map(lambda n: Stream.just(str(n)), concurrency=2), Stream[str])
    assert_type(numbers.concat_map(lambda n: Stream.just(str(n))), Stream[str])
    assert_type(numbers.switch_map(lambda n: [str(n)]), Stream[str])
    assert_type(numbers.expand(lambda n: [n + 1]), Stream[int])
    assert_type(numbers.expand(lambda n: Stream.just(n + 1), concurrency=2), Stream[int])
    assert_type(numbers.parallel(2, lambda rail: rail.map(str)), Stream[str])
    assert_type(Stream.just([1], [2]).flatten(), Stream[int])
    assert_type(numbers.map_async(lookup, concurrency=2), Stream[str])
    assert_type(numbers.tap(print), Stream[int])
    assert_type(numbers.scan(lambda text, n: text + str(n), ""), Stream[str])
    assert_type(numbers.scan(more, create=list[int]), Stream[list[int]])
    assert_type(numbers.stateful_map(lambda last, n: (n, str(n - last)), int), Stream[str])
    assert_type(numbers.take(1), Stream[int])
    assert_type(numbers.take_while(bool), Stream[int])
    assert_type(numbers.skip(1), Stream[int])
    assert_type(numbers.enumerate(), Stream[tuple[int, int]])
    assert_type(numbers.drop_repeats(), Stream[int])
    assert_type(numbers.buffer(2), Stream[list[int]])
    assert_type(numbers.enumerate().starmap(lambda a, b: str(a + b)), Stream[str])
    assert_type(Stream.just([1, 2]).starmap(repeated), Stream[str])
    mixed: Stream[object] = Stream.from_iterable([1, "a"])
    assert_type(mixed.of_type(int), Stream[int])
    assert_type(mixed.cast(str), Stream[str])
    assert_type(numbers.distinct(size=3), Stream[int])
    assert_type(numbers.take_last(1), Stream[int])
    assert_type(numbers.skip_while(bool), Stream[int])
    assert_type(numbers.skip_last(1), Stream[int])
    assert_type(numbers.apply(Skip(1)), Stream[int])
    assert_type(numbers.apply(Map(str)), Stream[str])
    assert_type(Stream.from_source(Just((1, 2))), Stream[int])
    assert_type(numbers.ignore_elements(), Stream[Never])
    assert_type(numbers.start_with(7), Stream[int])
    assert_type(numbers.start_with("a"), Stream[int | str])
    assert_type(numbers.end_with("a"), Stream[int | str])
    assert_type(numbers.default_if_empty("a"), Stream[int | str])
    assert_type(numbers.buffer(2, 1), Stream[list[int]])
    assert_type(numbers.buffer_until(bool), Stream[list[int]])
    assert_type(numbers.buffer_while(bool), Stream[list[int]])
    assert_type(numbers.split_when(lambda a, b: a > b), Stream[list[int]])
    assert_type(numbers.pairwise(), Stream[tuple[int, int]])
    assert_type(numbers.sliding(3), Stream[tuple[int, ...]])
    assert_type(numbers.map_batches(lambda batch: [str(n) for n in batch]), Stream[str])
    assert_type(numbers.map_batches(totals, form="numpy"), Stream[float])
    assert_type(numbers.materialize(), Stream[Next[int] | Failed | Completed])
    assert_type(numbers.materialize().dematerialize(), Stream[int])


def several() -> None:
    numbers, words = Stream.range(3), Stream.just("a")
    assert_type(numbers.merge(numbers), Stream[int])
    assert_type(numbers.merge(words), Stream[int | str])
    assert_type(numbers.concat(words), Stream[int | str])
    assert_type(numbers.zip(words), Stream[tuple[int, str]])
    assert_type(numbers.zip(words, words), Stream[tuple[int, str, str]])
    assert_type(numbers.combine_latest(words), Stream[tuple[int, str]])
    assert_type(numbers.combine_latest(words, words), Stream[tuple[int, str, str]])
    assert_type(numbers.with_latest_from(words), Stream[tuple[int, str]])
    assert_type(numbers.with_latest_from(words, numbers), Stream[tuple[int, str, int]])
    assert_type(numbers.race(words), Stream[int | str])
    assert_type(numbers.switch_if_empty(words), Stream[int | str])
    assert_type(numbers.take_until(words), Stream[int])
    assert_type(numbers.skip_until(words), Stream[int])
    assert_type(numbers.merge_sorted(numbers), Stream[int])
    assert_type(numbers.merge_sorted(words, key=str), Stream[int | str])
    assert_type(numbers.interleave(words), Stream[int | str])
    assert_type(numbers.sequence_equal(words), Stream[bool])
    assert_type(numbers.join(words, lambda n: n, len), Stream[tuple[int, str]])
    assert_type(numbers.join(words, lambda n: n, len, how="left"), Stream[tuple[int, str | None]])
    assert_type(numbers.join(words, lambda n: n, len, how="right"), Stream[tuple[int | None, str]])
    assert_type(numbers.join(words, lambda n: n, len, how="outer"), Stream[tuple[int | None, str | None]])
    assert_type(numbers.partition(bool), tuple[Stream[int], Stream[int]])
    assert_type(numbers.on_error_resume(lambda error: [str(error)]), Stream[int | str])
    assert_type(numbers.on_error_resume(lambda error: [str(error)], when=(KeyError, ValueError)), Stream[int | str])
    assert_type(numbers.on_error_return("lost"), Stream[int | str])
    assert_type(numbers.on_error_return(fn=lambda error: str(error), when=KeyError), Stream[int | str])
    assert_type(numbers.on_error_complete(when=lambda error: bool(error.args)), Stream[int])
    assert_type(numbers.map_error(lambda error: ValueError(str(error))), Stream[int])
    assert_type(numbers.retry(3), Stream[int])
    assert_type(numbers.retry(3, when=OSError, backoff=1.0, jitter=0.5, max_delay=60.0), Stream[int])
    assert_type(numbers.repeat(2), Stream[int])
    assert_type(numbers.do_finally(print), Stream[int])
    assert_type(numbers.publish_on(thread()), Stream[int])
    assert_type(numbers.subscribe_on(inline()), Stream[int])
    assert_type(numbers.timeout(1.0), Stream[int])
    assert_type(numbers.debounce(1.0), Stream[int])
    assert_type(numbers.delay(timedelta(seconds=1), size=3), Stream[int])
    assert_type(numbers.delay_subscription(1.0), Stream[int])
    assert_type(numbers.throttle(2, per=timedelta(seconds=1)), Stream[int])
    assert_type(numbers.throttle_first(1.0), Stream[int])
    assert_type(numbers.sample(1.0), Stream[int])
    assert_type(numbers.sample(words), Stream[int])
    assert_type(numbers.keep_alive(1.0, 0), Stream[int])
    assert_type(numbers.keep_alive(1.0, "still here"), Stream[int | str])
    assert_type(numbers.keep_alive(1.0, fn=lambda: "still here"), Stream[int | str])
    assert_type(numbers.timestamp(), Stream[tuple[float, int]])
    assert_type(numbers.time_interval(), Stream[tuple[float, int]])
    assert_type(numbers.buffer_timeout(2, 1.0), Stream[list[int]])
    assert_type(numbers.on_backpressure_buffer(3, overflow=Overflow.LATEST, on_drop=print), Stream[int])
    assert_type(numbers.on_backpressure_drop(print), Stream[int])
    assert_type(numbers.on_backpressure_latest(), Stream[int])
    assert_type(numbers.on_backpressure_error(), Stream[int])
    assert_type(numbers.conflate(alone, more), Stream[list[int]])
    assert_type(numbers.limit_rate(4), Stream[int])
    assert_type(numbers.window(2), Stream[Stream[int]])
    assert_type(numbers.window(until=words).flat_map(lambda window: window.map(str), concurrency=1), Stream[str])
    assert_type(words.group_by(len), Stream[GroupedStream[int, str]])
    assert_type(words.group_by(len).map(lambda group: group.key), Stream[int])
    assert_type(words.group_by(len).flat_map(lambda group: group.count(), concurrency=2), Stream[int])
    assert_type(words.group_by(len).flat_map(lambda group: group, concurrency=2), Stream[str])
    assert_type(numbers.share(slow=Slow.WAIT), Stream[int])
    assert_type(numbers.replay(1), Stream[int])
    assert_type(numbers.cache(), Stream[int])
    assert_type(numbers.publish(), Connectable[int])
    assert_type(numbers.publish().map(str), Stream[str])
    assert_type(numbers.publish().connect(), Connection)
    assert_type(numbers.checked(), Stream[int])
    assert_type(numbers.log("numbers"), Stream[int])
    assert_type(numbers.checkpoint("numbers"), Stream[int])
    assert_type(numbers.metrics("numbers", registry=Registry()), Stream[int])
    assert_type(numbers.observed(Recorder()), Stream[int])
    assert_type(numbers.with_context({ContextVar[str]("who"): "ada"}), Stream[int])
    listener: Listener = Recorder()
    clock: Clock = VirtualClock()
    with observe(listener, clock=clock), assembly_trace():
        assert_type(numbers.map(str).count().get(), int)


def subjects() -> None:
    orders: Subject[str] = Stream.subject(kept=1)
    assert_type(orders.emit("tea"), EmitResult)
    assert_type(orders.map(len), Stream[int])
    assert_type(orders.first(), Stream[str])
    orders.emit(1)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def results() -> None:
    numbers = Stream.range(3)
    assert_type(numbers.count(), Stream[int])
    assert_type(numbers.to_list(), Stream[list[int]])
    assert_type(numbers.first(), Stream[int])
    assert_type(numbers.last(), Stream[int])
    assert_type(numbers.first(bool, default="none"), Stream[int | str])
    assert_type(numbers.last(default="none"), Stream[int | str])
    assert_type(numbers.element_at(1), Stream[int])
    assert_type(numbers.element_at(1, "none"), Stream[int | str])
    assert_type(numbers.single(), Stream[int])
    assert_type(numbers.single("none"), Stream[int | str])
    assert_type(numbers.sum(), Stream[int])
    assert_type(Stream.just(Decimal(1)).sum(), Stream[Decimal | int])
    assert_type(Stream.just(timedelta(1)).sum(timedelta()), Stream[timedelta])
    assert_type(numbers.average(), Stream[float])
    assert_type(Stream.just(timedelta(1)).average(), Stream[timedelta])
    assert_type(numbers.min(), Stream[int])
    assert_type(Stream.just("a").max(len), Stream[str])
    assert_type(numbers.contains(3), Stream[bool])
    assert_type(numbers.is_empty(), Stream[bool])
    assert_type(numbers.all(bool), Stream[bool])
    assert_type(numbers.any(bool), Stream[bool])
    assert_type(numbers.for_each(print), Stream[int])
    assert_type(numbers.to_set(), Stream[set[int]])
    assert_type(numbers.to_dict(str), Stream[dict[str, int]])
    assert_type(numbers.to_dict(str, float), Stream[dict[str, float]])
    assert_type(numbers.enumerate().to_dict(), Stream[dict[int, int]])
    assert_type(numbers.reduce(max), Stream[int])
    assert_type(numbers.reduce(lambda text, n: text + str(n), ""), Stream[str])
    assert_type(numbers.reduce(more, create=list[int]), Stream[list[int]])
    assert_type(numbers.to_list().get(), list[int])
    assert_type(iter(numbers), Iterator[int])
    with numbers.open() as running:
        assert_type(next(running), int)


async def asynchronous() -> None:
    assert_type(await Stream.range(3).count(), int)
    async for text in Stream.range(3).map(str):
        assert_type(text, str)
    async with Stream.range(3).open() as running:
        assert_type(await anext(running), int)


@flow
def shout(lines: Stream[str]) -> Stream[bytes]:
    return lines.map(lambda line: line.upper().encode())


@flow
def sizes(lines: Stream[bytes]) -> Stream[int]:
    return lines.map(len)


@flow
def shout_again(lines: Stream[bytes]) -> Stream[int]:
    return lines.map(len)


def composition() -> None:
    words = Stream.just("a")
    assert_type(shout, Flow[str, bytes])
    assert_type(shout | sizes, Flow[str, int])
    assert_type(words | shout, Stream[bytes])
    assert_type(words | shout | sizes, Stream[int])
    assert_type(words.via(shout), Stream[bytes])
    total: Sink[int, int] = Sink.of(lambda numbers: numbers.reduce(max))
    assert_type(sizes | total, Sink[bytes, int])
    assert_type(words | shout | (sizes | total), Pipeline[int])
    assert_type((words | shout | sizes | total).run(), Run[int])
    assert_type((words | shout | sizes | total).run().wait(), int)
    ends = branch(sizes | total, Sink.count(), shout_again | branch(Sink.count(), total))
    assert_type(ends, Sink[Any, tuple[int, int, tuple[int, int]]])
    assert_type((words | shout | ends).run().wait(), tuple[int, int, tuple[int, int]])
    assert_type(processor(shout), Processor[str, bytes])
    assert_type(subscriber(total), Receiver[int, int])


def contract(publisher: Publisher[int], receiver: Subscriber[object], subscription: Subscription) -> None:
    covariant: Publisher[object] = publisher
    contravariant: Subscriber[int] = receiver
    covariant.subscribe(receiver)
    publisher.subscribe(contravariant)
    subscription.request(ElementCount(3))
    stream_is_a_publisher: Publisher[int] = Stream.range(3)
    assert_type(AnyPublisher(stream_is_a_publisher), AnyPublisher[int])


def wrong() -> None:
    """Hold the checkers to their word: each line must be an error, or the ignore itself is one."""
    numbers = Stream.range(3)
    numbers.map(str.upper)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    numbers.filter(3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    numbers.group_by(str.upper)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    numbers.conflate(str, str.upper)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    numbers.flatten()  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
    numbers.starmap(max)  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
    numbers.dematerialize()  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
    Stream.just("a").sum()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    Stream.just(1j).max()  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    numbers | shout  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue, reportUnusedExpression]


def test_what_can_be_run_runs() -> None:
    sources()
    elements()
    several()
    subjects()
    results()
    composition()


def ends() -> None:
    numbers = Stream.range(3)
    assert_type(numbers | Sink.to_list(), Pipeline[list[int]])
    assert_type((numbers | Sink.to_list()).run().wait(), list[int])
    assert_type((numbers.map(str) | Sink.to_set()).run().wait(), set[str])
    assert_type((numbers | sink_of_text()).run().wait(), str)
    assert_type((numbers | Sink.first()).run().wait(), int)
    assert_type((numbers | Sink.last()).run().wait(), int)
    assert_type((numbers | Sink.to_dict(number_as_text)).run().wait(), dict[str, int])
    assert_type((numbers | Sink.to_dict(number_as_text, float)).run().wait(), dict[str, float])
    assert_type((numbers | Sink.for_each(print)).run().wait(), int)
    assert_type((numbers | Sink.for_each(later, concurrency=2)).run().wait(), int)
    assert_type((numbers | Sink.foreach_batch(print, 2)).run().wait(), int)
    assert_type((numbers.map(str) | Sink.to_file("lines")).run().wait(), int)
    assert_type(numbers.filter(later), Stream[int])
    assert_type(numbers.filter(later, concurrency=2), Stream[int])
    with (numbers | Sink.to_list()).running() as run:
        assert_type(run, Run[list[int]])


def number_as_text(n: int) -> str:
    return str(n)


async def later(n: int) -> bool:
    return n > 1


def sink_of_text() -> Sink[int, str]:
    return Sink.fold(lambda text, n: f"{text}{n}", "")


async def awaited() -> None:
    assert_type(await (Stream.range(3) | Sink.to_list()).run(), list[int])
    async with (Stream.range(3) | Sink.to_list()).running() as run:
        assert_type(run, Run[list[int]])
