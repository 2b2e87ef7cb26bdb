"""stream_types: what mypy and pyright must both infer along a chain; read by the checkers and run by pytest."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Never, assert_type

from penstock import (
    AnyPublisher,
    ElementCount,
    EmitResult,
    Emitter,
    Flow,
    Overflow,
    Pipeline,
    Processor,
    Publisher,
    Receiver,
    Run,
    Sink,
    Slow,
    Stream,
    Subscriber,
    Subscription,
    flow,
    inline,
    processor,
    subscriber,
    thread,
)


async def lookup(n: int) -> str:
    return str(n)


async def ticks() -> AsyncIterator[float]:
    yield 1.0


def attach(emitter: Emitter[bytes]) -> None:
    assert_type(emitter.emit(b""), EmitResult)
    emitter.complete()


def sources() -> None:
    assert_type(Stream.from_iterable(["a"]), Stream[str])
    assert_type(Stream.just(1, 2), Stream[int])
    assert_type(Stream.range(3), Stream[int])
    assert_type(Stream.generate(0, lambda n: (str(n), n + 1)), Stream[str])
    assert_type(Stream.create(attach, overflow=Overflow.DROP), Stream[bytes])
    assert_type(Stream.from_async_iterable(ticks()), Stream[float])
    assert_type(Stream.from_publisher(Stream.range(3)), Stream[int])
    assert_type(Stream.defer(lambda: Stream.just("x")), Stream[str])
    assert_type(Stream.interval(1.0), Stream[int])
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
    assert_type(Stream.just([1], [2]).flatten(), Stream[int])
    assert_type(numbers.map_async(lookup, concurrency=2), Stream[str])
    assert_type(numbers.tap(print), Stream[int])
    assert_type(numbers.scan(lambda text, n: text + str(n), ""), Stream[str])
    assert_type(numbers.stateful_map(lambda last, n: (n, str(n - last)), int), Stream[str])
    assert_type(numbers.take(1), Stream[int])
    assert_type(numbers.take_while(bool), Stream[int])
    assert_type(numbers.skip(1), Stream[int])
    assert_type(numbers.enumerate(), Stream[tuple[int, int]])
    assert_type(numbers.drop_repeats(), Stream[int])
    assert_type(numbers.buffer(2), Stream[list[int]])


def several() -> None:
    numbers, words = Stream.range(3), Stream.just("a")
    assert_type(numbers.merge(numbers), Stream[int])
    assert_type(numbers.merge(words), Stream[int | str])
    assert_type(numbers.concat(words), Stream[int | str])
    assert_type(numbers.zip(words), Stream[tuple[int, str]])
    assert_type(numbers.zip(words, words), Stream[tuple[int, str, str]])
    assert_type(numbers.on_error_resume(lambda error: [str(error)]), Stream[int | str])
    assert_type(numbers.retry(3), Stream[int])
    assert_type(numbers.do_finally(print), Stream[int])
    assert_type(numbers.publish_on(thread()), Stream[int])
    assert_type(numbers.subscribe_on(inline()), Stream[int])
    assert_type(numbers.timeout(1.0), Stream[int])
    assert_type(numbers.debounce(1.0), Stream[int])
    assert_type(numbers.share(slow=Slow.WAIT), Stream[int])
    assert_type(numbers.replay(1), Stream[int])
    assert_type(numbers.checked(), Stream[int])


def results() -> None:
    numbers = Stream.range(3)
    assert_type(numbers.count(), Stream[int])
    assert_type(numbers.to_list(), Stream[list[int]])
    assert_type(numbers.first(), Stream[int])
    assert_type(numbers.last(), Stream[int])
    assert_type(numbers.reduce(max), Stream[int])
    assert_type(numbers.reduce(lambda text, n: text + str(n), ""), Stream[str])
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
    numbers.flatten()  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
    numbers | shout  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue, reportUnusedExpression]


def test_what_can_be_run_runs() -> None:
    sources()
    elements()
    several()
    results()
    composition()
