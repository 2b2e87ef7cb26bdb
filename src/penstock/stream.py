"""stream: Stream[T], the fluent face of a chain."""

from __future__ import annotations

import builtins
import typing
from collections.abc import (
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Generator,
    Hashable,
    Iterable,
    Iterator,
)
from dataclasses import dataclass, field
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, overload

from penstock.engine.arguments import count_given
from penstock.engine.chain import Chain, connect, pull
from penstock.engine.clocks import SYSTEM_CLOCK, Clock, seconds_of
from penstock.engine.emitter import Emitter, Overflow
from penstock.engine.executors import Executor
from penstock.engine.hub import Slow
from penstock.engine.iterate import WINDOW, iterate, iterate_async, value, value_async
from penstock.engine.segment import close
from penstock.operators.buffer import Buffer
from penstock.operators.checked import Checked
from penstock.operators.concat import Concat
from penstock.operators.count import Count
from penstock.operators.create import Create
from penstock.operators.debounce import Debounce
from penstock.operators.defer import Defer
from penstock.operators.do_finally import DoFinally
from penstock.operators.drop_repeats import DropRepeats
from penstock.operators.empty import Empty
from penstock.operators.enumerate import Enumerate
from penstock.operators.error import Error
from penstock.operators.filter import Filter
from penstock.operators.first import First
from penstock.operators.flat_map import FlatMap, FlatMapPublishers
from penstock.operators.flatten import Flatten
from penstock.operators.from_async_iterable import FromAsyncIterable
from penstock.operators.from_iterable import FromIterable
from penstock.operators.from_publisher import FromPublisher
from penstock.operators.generate import Generate
from penstock.operators.interval import Interval
from penstock.operators.just import Just
from penstock.operators.last import Last
from penstock.operators.map import Map
from penstock.operators.map_async import MapAsync
from penstock.operators.merge import Merge
from penstock.operators.never import Never
from penstock.operators.on_error_resume import OnErrorResume
from penstock.operators.publish_on import PublishOn
from penstock.operators.range import Range
from penstock.operators.reduce import Missing, Reduce
from penstock.operators.replay import Replay
from penstock.operators.retry import Retry
from penstock.operators.scan import Scan
from penstock.operators.share import Share
from penstock.operators.skip import Skip
from penstock.operators.stateful_map import StatefulMap
from penstock.operators.subscribe_on import SubscribeOn
from penstock.operators.take import Take
from penstock.operators.take_while import TakeWhile
from penstock.operators.tap import Tap, TapSignals
from penstock.operators.timeout import Timeout
from penstock.operators.to_list import ToList
from penstock.operators.zip import Zip
from penstock.spec.interfaces import Publisher, Subscriber
from penstock.spec.predicates import is_publisher, is_subscriber
from penstock.stage import Gate, Source, Step

if TYPE_CHECKING:
    # Only for the types of `|`: a checker infers a Sink's element from the stream if it is told what to expect.
    from penstock.flow import Flow, Pipeline, Sink

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
U = TypeVar("U")
V = TypeVar("V")
W = TypeVar("W")
S = TypeVar("S")


def _chain_of(operator: str, given: object) -> Chain:
    """Return the chain of a stream, or of another publisher."""
    if isinstance(given, Stream):
        return given.chain
    if not is_publisher(given):
        raise TypeError(
            f"{operator}: each stream must be a Publisher, got {given!r}; wrap an iterable in Stream.from_iterable"
        )
    return Chain(FromPublisher(given))


def _chains(operator: str, flatten: type[Source[Any]], streams: tuple[object, ...]) -> tuple[Chain, ...]:
    """Return the chains of several streams; the same operator applied again and again stays one level deep."""
    chains: builtins.list[Chain] = []
    for given in streams:
        chain = _chain_of(operator, given)
        if type(chain.source) is flatten and not chain.steps:
            chains.extend(chain.source.streams)  # type: ignore[attr-defined]
        else:
            chains.append(chain)
    return tuple(chains)


class Running(Generic[T_co]):
    """Be a running subscription: iterate over it in a `with` or an `async with`; leaving the block ends the run."""

    __slots__ = ("_async_iterator", "_chain", "_iterator", "_window")

    def __init__(self, chain: Chain, window: int = WINDOW) -> None:
        self._chain = chain
        self._window = window
        self._iterator: Any = None
        self._async_iterator: Any = None

    def __enter__(self) -> Iterator[T_co]:
        self._iterator = iterate(self._chain, self._window)
        return self._iterator  # type: ignore[no-any-return]

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        close(self._iterator)

    async def __aenter__(self) -> AsyncIterator[T_co]:
        self._async_iterator = iterate_async(self._chain, self._window)
        return self._async_iterator  # type: ignore[no-any-return]

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self._async_iterator.aclose()


@dataclass(frozen=True, slots=True, repr=False)
class Stream(Generic[T_co]):
    """Describe a stream of elements; nothing runs until it is subscribed, iterated or awaited.

    >>> list(Stream.range(10).filter(lambda n: n % 2).map(str))
    ['1', '3', '5', '7', '9']
    """

    chain: Chain
    parts: tuple[Any, ...] = field(default=(), compare=False, repr=False)
    """What it was composed of with `|`: a stream, then flows and steps; empty if it is of one piece."""

    def __post_init__(self) -> None:
        if not isinstance(self.chain, Chain):
            raise TypeError(f"Stream: chain must be a Chain, got {self.chain!r}; use Stream.from_iterable for elements")

    def __repr__(self) -> str:
        return f"Stream({self.chain})"

    def _then(self, step: Step) -> Stream[Any]:
        return Stream(self.chain.then(step), (*self.parts, step) if self.parts else ())

    # Running it.

    def subscribe(self, subscriber: Subscriber[T_co], /) -> None:
        """Start a run that signals `subscriber`."""
        if subscriber is None:
            raise TypeError("rule 1.9: subscribe(None): a subscriber is needed")
        if not is_subscriber(subscriber):
            raise TypeError(
                f"rule 1.9: subscribe({subscriber!r}): a subscriber has on_subscribe, on_next, on_error and on_complete"
            )
        connect(self.chain, subscriber)

    def __iter__(self) -> Iterator[T_co]:
        return iterate(self.chain)

    def __aiter__(self) -> AsyncIterator[T_co]:
        return iterate_async(self.chain)

    def __await__(self) -> Generator[Any, None, T_co]:
        return value_async(self.chain).__await__()

    def get(self) -> T_co:
        """Block for the first element and end the run.

        >>> Stream.range(5).count().get()
        5
        """
        return value(self.chain)  # type: ignore[no-any-return]

    def open(self, *, window: int = WINDOW) -> Running[T_co]:
        """Return a run to be used in `with` or `async with`, which ends it; at most `window` elements are read ahead.

        >>> with Stream.range(5).open() as numbers:
        ...     next(numbers)
        0
        """
        count_given("open", "window", window, 1)
        return Running(self.chain, window)

    @overload
    def __or__(self, after: Flow[T_co, U]) -> Stream[U]: ...
    @overload
    def __or__(self, after: Sink[T_co, U]) -> Pipeline[U]: ...
    def __or__(self, after: Any) -> Any:
        follow = getattr(after, "follow", None)
        if follow is not None and not isinstance(after, type):
            return follow(self)
        if callable(after) and not hasattr(after, "__ror__"):
            raise TypeError(f"|: a Flow or a Sink can follow a stream, got {after!r}; use via() for a function")
        return NotImplemented

    def pulled(self, gate: Gate | None = None) -> Iterator[T_co] | None:
        """Return an iterator over a fresh run that never waits for a signal, or None if there is none."""
        opener = pull(self.chain)
        return None if opener is None else opener(gate)

    def via(self, flow: Callable[[Stream[T_co]], Stream[U]]) -> Stream[U]:
        """Continue with a Flow, or with a function from stream to stream.

        >>> Stream.range(3).via(lambda numbers: numbers.map(str)).to_list().get()
        ['0', '1', '2']
        """
        return flow(self)

    # Sources.

    @staticmethod
    def from_iterable(items: Iterable[T]) -> Stream[T]:
        """Emit the items of an iterable.

        >>> list(Stream.from_iterable("abc"))
        ['a', 'b', 'c']
        """
        return Stream(Chain(FromIterable(items)))

    @staticmethod
    def just(*items: T) -> Stream[T]:
        """Emit the given elements.

        >>> list(Stream.just(1, 2))
        [1, 2]
        """
        return Stream(Chain(Just(items)))

    @staticmethod
    def range(start: int, stop: int | None = None, step: int = 1) -> Stream[int]:
        """Emit whole numbers, as the built-in range has them.

        >>> list(Stream.range(1, 4))
        [1, 2, 3]
        """
        numbers = builtins.range(start) if stop is None else builtins.range(start, stop, step)
        return Stream(Chain(Range(numbers)))

    @staticmethod
    def empty() -> Stream[typing.Never]:
        """Complete without an element.

        >>> list(Stream.empty())
        []
        """
        return Stream(Chain(Empty()))

    @staticmethod
    def never() -> Stream[typing.Never]:
        """Neither emit nor end.

        >>> Stream.never()
        Stream(never)
        """
        return Stream(Chain(Never()))

    @staticmethod
    def error(error: Exception) -> Stream[typing.Never]:
        """Fail without an element.

        >>> list(Stream.error(KeyError("lost")).on_error_resume(lambda error: [repr(error)]))
        ["KeyError('lost')"]
        """
        return Stream(Chain(Error(error)))

    @staticmethod
    def defer(make: Callable[[], Publisher[T] | Iterable[T] | AsyncIterable[T]]) -> Stream[T]:
        """Make the stream anew for each subscriber.

        >>> list(Stream.defer(lambda: Stream.just("fresh")))
        ['fresh']
        """
        return Stream(Chain(Defer(make)))

    @staticmethod
    def generate(seed: S, step: Callable[[S], tuple[T, S] | None]) -> Stream[T]:
        """Emit what `step` makes of a state: an element and the next state, or None for the end.

        >>> list(Stream.generate(1, lambda n: (n, n * 2) if n < 20 else None))
        [1, 2, 4, 8, 16]
        """
        return Stream(Chain(Generate(seed, step)))

    @staticmethod
    def create(
        attach: Callable[[Emitter[T]], None], *, overflow: Overflow = Overflow.BUFFER, size: int = 256
    ) -> Stream[T]:
        """Emit what callbacks hand to an emitter, with a policy for when they are too fast.

        >>> def attach(emitter):
        ...     emitter.emit("a"), emitter.complete()
        >>> list(Stream.create(attach))
        ['a']
        """
        return Stream(Chain(Create(attach, overflow, size)))

    @staticmethod
    def from_async_iterable(items: AsyncIterable[T]) -> Stream[T]:
        """Emit the items of an asynchronous iterable.

        >>> async def letters():
        ...     yield "a"
        >>> list(Stream.from_async_iterable(letters()))
        ['a']
        """
        return Stream(Chain(FromAsyncIterable(items)))

    @staticmethod
    def from_publisher(publisher: Publisher[T]) -> Stream[T]:
        """Take the elements of any publisher, whoever made it.

        >>> list(Stream.from_publisher(Stream.just(1)))
        [1]
        """
        return Stream(Chain(FromPublisher(publisher)))

    @staticmethod
    def interval(
        seconds: float | timedelta,
        *,
        overflow: Overflow = Overflow.LATEST,
        size: int = 256,
        clock: Clock = SYSTEM_CLOCK,
    ) -> Stream[int]:
        """Emit 0, 1, 2, … at a steady pace.

        >>> list(Stream.interval(0.001).take(3))
        [0, 1, 2]
        """
        return Stream(Chain(Interval(seconds_of("interval", "seconds", seconds, zero=False), overflow, size, clock)))

    # Each element alone.

    def map(self, fn: Callable[[T_co], U]) -> Stream[U]:
        """Emit what the function returns for each element.

        >>> list(Stream.range(3).map(str))
        ['0', '1', '2']
        """
        return self._then(Map(fn))

    def filter(self, predicate: Callable[[T_co], object]) -> Stream[T_co]:
        """Emit the elements for which the predicate is true.

        >>> list(Stream.range(5).filter(lambda n: n % 2))
        [1, 3]
        """
        return self._then(Filter(predicate))

    @overload
    def flat_map(self, fn: Callable[[T_co], Iterable[U]]) -> Stream[U]: ...
    @overload
    def flat_map(
        self,
        fn: Callable[[T_co], Publisher[U] | Iterable[U] | AsyncIterable[U]],
        *,
        concurrency: int,
        prefetch: int = 32,
    ) -> Stream[U]: ...
    def flat_map(self, fn: Callable[[T_co], Any], *, concurrency: int | None = None, prefetch: int = 32) -> Stream[Any]:
        """Emit the items of the iterable, or with `concurrency` the elements of the publisher, made of each element.

        >>> list(Stream.range(3).flat_map(lambda n: [n] * n))
        [1, 2, 2]
        """
        if concurrency is None:
            return self._then(FlatMap(fn))
        return self._then(FlatMapPublishers(fn, concurrency, prefetch))

    def flatten(self: Stream[Iterable[U]]) -> Stream[U]:
        """Emit the items of each element.

        >>> list(Stream.just([1, 2], [3]).flatten())
        [1, 2, 3]
        """
        return self._then(Flatten())

    def map_async(
        self,
        fn: Callable[[T_co], Awaitable[U]],
        *,
        concurrency: int = 1,
        ordered: bool = True,
        key: Callable[[T_co], Hashable] | None = None,
    ) -> Stream[U]:
        """Emit what the function's awaitables give, with at most `concurrency` of them under way.

        >>> async def double(n):
        ...     return n * 2
        >>> list(Stream.range(3).map_async(double, concurrency=2))
        [0, 2, 4]
        """
        return self._then(MapAsync(fn, concurrency, ordered, key))

    def tap(
        self,
        on_next: Callable[[T_co], object] | None = None,
        *,
        on_error: Callable[[Exception], object] | None = None,
        on_complete: Callable[[], object] | None = None,
        on_cancel: Callable[[], object] | None = None,
        on_request: Callable[[int], object] | None = None,
        on_subscribe: Callable[[], object] | None = None,
    ) -> Stream[T_co]:
        """Look at the signals that pass by.

        >>> Stream.just("a").tap(print).count().get()
        a
        1
        """
        others = (on_error, on_complete, on_cancel, on_request, on_subscribe)
        if on_next is not None and all(fn is None for fn in others):
            return self._then(Tap(on_next))
        return self._then(TapSignals(on_next, *others))

    # Neighbours matter.

    def scan(self, fn: Callable[[U, T_co], U], initial: U) -> Stream[U]:
        """Emit the result so far after each element.

        >>> list(Stream.range(1, 5).scan(lambda total, n: total + n, 0))
        [1, 3, 6, 10]
        """
        return self._then(Scan(fn, initial))

    def stateful_map(self, fn: Callable[[S, T_co], tuple[S | None, U]], create: Callable[[], S]) -> Stream[U]:
        """Change each element in the light of a state: from state and element to the next state and the result.

        >>> list(Stream.just(3, 10, 4).stateful_map(lambda last, n: (n, n - last), int))
        [3, 7, -6]
        """
        return self._then(StatefulMap(fn, create))

    def take(self, count: int) -> Stream[T_co]:
        """Emit the first elements and ask for no more than these.

        >>> list(Stream.range(1_000_000).take(2))
        [0, 1]
        """
        return self._then(Take(count))

    def take_while(self, predicate: Callable[[T_co], object]) -> Stream[T_co]:
        """Emit elements until one does not satisfy the predicate.

        >>> list(Stream.range(9).take_while(lambda n: n < 3))
        [0, 1, 2]
        """
        return self._then(TakeWhile(predicate))

    def skip(self, count: int) -> Stream[T_co]:
        """Leave out the first elements.

        >>> list(Stream.range(5).skip(3))
        [3, 4]
        """
        return self._then(Skip(count))

    def enumerate(self, start: int = 0) -> Stream[tuple[int, T_co]]:
        """Emit each element with its number.

        >>> list(Stream.just("a", "b").enumerate(1))
        [(1, 'a'), (2, 'b')]
        """
        return self._then(Enumerate(start))

    def drop_repeats(self, key: Callable[[T_co], object] | None = None) -> Stream[T_co]:
        """Let a run of equal elements through once.

        >>> list(Stream.just(1, 1, 2, 1).drop_repeats())
        [1, 2, 1]
        """
        return self._then(DropRepeats(key))

    def buffer(self, count: int) -> Stream[builtins.list[T_co]]:
        """Collect elements into lists.

        >>> list(Stream.range(5).buffer(2))
        [[0, 1], [2, 3], [4]]
        """
        return self._then(Buffer(count))

    # Several streams.

    def merge(self, *others: Publisher[U], prefetch: int = 32) -> Stream[T_co | U]:
        """Emit the elements of all streams as they come.

        >>> list(Stream.just(1, 2).merge(Stream.just(10, 20)))
        [1, 10, 2, 20]
        """
        return Stream(Chain(Merge(_chains("merge", Merge, (self, *others)), prefetch)))

    def concat(self, *others: Publisher[U]) -> Stream[T_co | U]:
        """Emit one stream after the other.

        >>> list(Stream.just(1).concat(Stream.just(2), Stream.just(3)))
        [1, 2, 3]
        """
        return Stream(Chain(Concat(_chains("concat", Concat, (self, *others)))))

    @overload
    def zip(self, other: Publisher[U], /, *, prefetch: int = 32) -> Stream[tuple[T_co, U]]: ...
    @overload
    def zip(self, other: Publisher[U], third: Publisher[V], /, *, prefetch: int = 32) -> Stream[tuple[T_co, U, V]]: ...
    @overload
    def zip(
        self, other: Publisher[U], third: Publisher[V], fourth: Publisher[W], /, *, prefetch: int = 32
    ) -> Stream[tuple[T_co, U, V, W]]: ...
    @overload
    def zip(self, *others: Publisher[Any], prefetch: int = 32) -> Stream[tuple[Any, ...]]: ...
    def zip(self, *others: Publisher[Any], prefetch: int = 32) -> Stream[Any]:
        """Pair the elements of several streams.

        >>> list(Stream.range(3).zip(Stream.just("a", "b")))
        [(0, 'a'), (1, 'b')]
        """
        return Stream(Chain(Zip(tuple(_chain_of("zip", given) for given in (self, *others)), prefetch)))

    # When it fails, and when it is over.

    def on_error_resume(
        self, fn: Callable[[Exception], Publisher[U] | Iterable[U] | AsyncIterable[U]]
    ) -> Stream[T_co | U]:
        """Go on with another stream after a failure.

        >>> list(Stream.just(1, 0).map(lambda n: 6 // n).on_error_resume(lambda error: [-1]))
        [6, -1]
        """
        return self._then(OnErrorResume(fn))

    def retry(
        self, times: int | None = None, *, backoff: float | timedelta = 0.0, clock: Clock = SYSTEM_CLOCK
    ) -> Stream[T_co]:
        """Subscribe again after a failure, waiting longer each time.

        >>> attempts = iter([ValueError("first"), "second"])
        >>> list(Stream.defer(lambda: Stream.error(e) if isinstance(e := next(attempts), Exception) else [e]).retry(1))
        ['second']
        """
        return Stream(Chain(Retry(self.chain, times, seconds_of("retry", "backoff", backoff), clock)))

    def do_finally(self, fn: Callable[[], object]) -> Stream[T_co]:
        """Call a function once the stream is over, however it ends.

        >>> list(Stream.just(1).do_finally(lambda: print("over")))
        over
        [1]
        """
        return self._then(DoFinally(fn))

    # Threads, loops and time.

    def publish_on(self, executor: Executor, *, prefetch: int = 256) -> Stream[T_co]:
        """Let what follows run on the executor.

        >>> from penstock import thread
        >>> list(Stream.range(3).publish_on(thread()))
        [0, 1, 2]
        """
        return self._then(PublishOn(executor, prefetch))

    def subscribe_on(self, executor: Executor) -> Stream[T_co]:
        """Let what comes before run on the executor.

        >>> from penstock import thread
        >>> list(Stream.range(3).subscribe_on(thread()))
        [0, 1, 2]
        """
        return Stream(Chain(SubscribeOn(self.chain, executor)))

    def timeout(self, seconds: float | timedelta, *, clock: Clock = SYSTEM_CLOCK) -> Stream[T_co]:
        """Fail when an element that was asked for does not come in time.

        >>> list(Stream.range(2).timeout(5.0))
        [0, 1]
        """
        return self._then(Timeout(seconds_of("timeout", "seconds", seconds, zero=False), clock))

    def debounce(self, seconds: float | timedelta, *, clock: Clock = SYSTEM_CLOCK) -> Stream[T_co]:
        """Emit an element once things have been quiet for a while.

        >>> list(Stream.range(100).debounce(1.0))
        [99]
        """
        return self._then(Debounce(seconds_of("debounce", "seconds", seconds), clock))

    # One run for several subscribers.

    def share(self, *, size: int = 256, slow: Slow = Slow.ERROR) -> Stream[T_co]:
        """Let several subscribers take part in one run.

        >>> list(Stream.range(3).share())
        [0, 1, 2]
        """
        return Stream(Chain(Share(self.chain, size, slow)))

    def replay(self, count: int, *, size: int = 256, slow: Slow = Slow.ERROR) -> Stream[T_co]:
        """Let late subscribers see the last elements that came before them.

        >>> letters = Stream.just("a", "b", "c").replay(2)
        >>> list(letters), list(letters)
        (['a', 'b', 'c'], ['b', 'c'])
        """
        return Stream(Chain(Replay(self.chain, count, size, slow)))

    # One value of all.

    @overload
    def reduce(self: Stream[T], fn: Callable[[T, T], T]) -> Stream[T]: ...
    @overload
    def reduce(self, fn: Callable[[U, T_co], U], initial: U) -> Stream[U]: ...
    def reduce(
        self, fn: Callable[[Any, Any], Any], initial: Any | Literal[Missing.MISSING] = Missing.MISSING
    ) -> Stream[Any]:
        """Fold all elements into one.

        >>> Stream.range(5).reduce(lambda total, n: total + n, 0).get()
        10
        """
        return self._then(Reduce(fn, initial))

    def count(self) -> Stream[int]:
        """Emit how many elements there were.

        >>> Stream.just("a", "b").count().get()
        2
        """
        return self._then(Count())

    def to_list(self) -> Stream[builtins.list[T_co]]:
        """Emit all elements as one list.

        >>> Stream.range(3).to_list().get()
        [0, 1, 2]
        """
        return self._then(ToList())

    def first(self) -> Stream[T_co]:
        """Emit the first element alone.

        >>> Stream.range(5, 9).first().get()
        5
        """
        return self._then(First())

    def last(self) -> Stream[T_co]:
        """Emit the last element alone.

        >>> Stream.range(5, 9).last().get()
        8
        """
        return self._then(Last())

    # Watching it.

    def checked(self) -> Stream[T_co]:
        """Watch the contract at this place and report whoever breaks it, by rule.

        >>> list(Stream.range(3).checked())
        [0, 1, 2]
        """
        return Stream(Chain(Checked(self.chain)))


__all__ = ["Running", "Stream"]
