"""stream: Stream[T], the fluent face of a chain."""

from __future__ import annotations

import builtins
import logging
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
    Mapping,
)
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar, TypeVarTuple, overload

from penstock.coming_from import Named
from penstock.engine.doors.iterate import WINDOW, iterate, iterate_async, value, value_async
from penstock.engine.doors.processed import Via, processes
from penstock.engine.grounds.async_work import CONCURRENCY
from penstock.engine.many.broadcast import Connection
from penstock.engine.many.emitter import EmitResult, Emitter, Overflow
from penstock.engine.many.shared_run import Slow
from penstock.engine.places.clocks import SYSTEM_CLOCK, Clock, clock_given, seconds_of
from penstock.engine.places.lent_executors import AnyExecutor, executor_given
from penstock.engine.runs.chain import Chain, Composed
from penstock.engine.runs.one_result import refuse_several
from penstock.engine.runs.wiring import connect, pull
from penstock.engine.watching.observe import Listener, Observer, observed
from penstock.engine.weaving.assembly import places_with, tracing
from penstock.engine.weaving.handled_errors import When
from penstock.engine.weaving.segment import close
from penstock.engine.words.abilities import Added, Ordered, Shared
from penstock.engine.words.arguments import (
    Missing,
    awaits,
    count_given,
    elements_given,
    function_given,
    functions_given,
    of_class,
)
from penstock.engine.words.ranked import key_given
from penstock.engine.words.required import Required
from penstock.engine.words.several import Iterated
from penstock.engine.words.signals import Completed, Failed, Next, Signal
from penstock.operators.all import All
from penstock.operators.any import Any as AnyElement
from penstock.operators.average import Average
from penstock.operators.buffer import Buffer
from penstock.operators.buffer_timeout import BufferTimeout
from penstock.operators.buffer_until import BufferUntil
from penstock.operators.buffer_while import BufferWhile
from penstock.operators.cache import Cache
from penstock.operators.cast import Cast
from penstock.operators.checked import Checked
from penstock.operators.checkpoint import Checkpoint
from penstock.operators.combine_latest import CombineLatest
from penstock.operators.concat import Concat
from penstock.operators.concat_map import ConcatMap
from penstock.operators.conflate import Conflate
from penstock.operators.contains import Contains, EqualTo
from penstock.operators.count import Count
from penstock.operators.create import Create
from penstock.operators.debounce import Debounce
from penstock.operators.default_if_empty import DefaultIfEmpty
from penstock.operators.defer import Defer
from penstock.operators.delay import Delay
from penstock.operators.delay_subscription import DelaySubscription
from penstock.operators.dematerialize import Dematerialize
from penstock.operators.distinct import Distinct
from penstock.operators.do_finally import DoFinally
from penstock.operators.drop_repeats import DropRepeats
from penstock.operators.element_at import ElementAt
from penstock.operators.empty import Empty
from penstock.operators.end_with import EndWith
from penstock.operators.enumerate import Enumerate
from penstock.operators.error import Error
from penstock.operators.expand import Expand, ExpandPublishers
from penstock.operators.filter import Filter, FilterAsync
from penstock.operators.first import First
from penstock.operators.flat_map import FlatMap, FlatMapPublishers
from penstock.operators.flatten import Flatten
from penstock.operators.for_each import ForEach, ForEachAsync
from penstock.operators.from_async_iterable import FromAsyncIterable
from penstock.operators.from_awaitable import FromAwaitable
from penstock.operators.from_callable import FromCallable
from penstock.operators.from_iterable import FromIterable
from penstock.operators.from_publisher import FromPublisher
from penstock.operators.generate import Generate
from penstock.operators.group_by import GroupBy
from penstock.operators.ignore_elements import IgnoreElements
from penstock.operators.interleave import Interleave
from penstock.operators.interval import Interval
from penstock.operators.is_empty import IsEmpty
from penstock.operators.join import How, Join
from penstock.operators.just import Just
from penstock.operators.keep_alive import KeepAlive
from penstock.operators.last import Last
from penstock.operators.limit_rate import LimitRate
from penstock.operators.log import Log
from penstock.operators.map import Map
from penstock.operators.map_async import MapAsync
from penstock.operators.map_batches import MapBatches
from penstock.operators.map_error import MapError
from penstock.operators.materialize import Materialize
from penstock.operators.max import Max
from penstock.operators.merge import Merge
from penstock.operators.merge_sorted import MergeSorted
from penstock.operators.metrics import REGISTRY, Metrics, Registry
from penstock.operators.min import Min
from penstock.operators.never import Never
from penstock.operators.observed import Observed
from penstock.operators.of_type import OfType
from penstock.operators.on_backpressure_buffer import OnBackpressureBuffer
from penstock.operators.on_backpressure_drop import OnBackpressureDrop
from penstock.operators.on_backpressure_error import OnBackpressureError
from penstock.operators.on_backpressure_latest import OnBackpressureLatest
from penstock.operators.on_error_complete import OnErrorComplete
from penstock.operators.on_error_resume import OnErrorResume
from penstock.operators.on_error_return import OnErrorReturn
from penstock.operators.pairwise import Pairwise
from penstock.operators.parallel import Parallel
from penstock.operators.partition import Fork, Partition
from penstock.operators.publish import Publish
from penstock.operators.publish_on import PublishOn
from penstock.operators.race import Race
from penstock.operators.range import Range, numbers_given
from penstock.operators.reduce import Reduce
from penstock.operators.repeat import Repeat
from penstock.operators.replay import Replay
from penstock.operators.resumable import UNCOMMITTED, Opened, Resumable
from penstock.operators.retry import Retry
from penstock.operators.sample import Sample
from penstock.operators.scan import Scan
from penstock.operators.sequence_equal import SequenceEqual
from penstock.operators.share import Share
from penstock.operators.single import Single
from penstock.operators.skip import Skip
from penstock.operators.skip_last import SkipLast
from penstock.operators.skip_until import SkipUntil
from penstock.operators.skip_while import SkipWhile
from penstock.operators.sliding import Sliding
from penstock.operators.split_when import SplitWhen
from penstock.operators.starmap import Starmap
from penstock.operators.start_with import StartWith
from penstock.operators.stateful_map import StatefulMap
from penstock.operators.subject import SubjectSource
from penstock.operators.subscribe_on import SubscribeOn
from penstock.operators.sum import Sum
from penstock.operators.switch_if_empty import SwitchIfEmpty
from penstock.operators.switch_map import SwitchMap
from penstock.operators.take import Take
from penstock.operators.take_last import TakeLast
from penstock.operators.take_until import TakeUntil
from penstock.operators.take_while import TakeWhile
from penstock.operators.tap import Tap, TapSignals
from penstock.operators.throttle import Throttle
from penstock.operators.throttle_first import ThrottleFirst
from penstock.operators.time_interval import TimeInterval
from penstock.operators.timeout import Timeout
from penstock.operators.timer import Timer
from penstock.operators.timestamp import Timestamp
from penstock.operators.to_dict import ToDict
from penstock.operators.to_list import ToList
from penstock.operators.to_set import ToSet
from penstock.operators.using import Using
from penstock.operators.window import Window, WindowSeconds, WindowUntil
from penstock.operators.with_context import WithContext
from penstock.operators.with_latest_from import WithLatestFrom
from penstock.operators.zip import Zip
from penstock.plan import Plan
from penstock.plan.chains import explained
from penstock.spec.dialects.strangers import cure_for, library_of
from penstock.spec.interfaces import Processor, Publisher, Subscriber
from penstock.spec.predicates import SUBSCRIBER_METHODS, is_publisher, missing_methods
from penstock.stage import Joint, LoopGate, Source, Stage, Step

if TYPE_CHECKING:
    # Only for the types of `|`: a checker infers a Sink's element from the stream if it is told what to expect.
    from penstock.flow import Flow, Pipeline, Sink
    from penstock.sinks.sink import ElementSink, ListSink, SetSink

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
U = TypeVar("U")
V = TypeVar("V")
W = TypeVar("W")
S = TypeVar("S")
K_co = TypeVar("K_co", covariant=True)
K = TypeVar("K")
Ts = TypeVarTuple("Ts")
OrderedT = TypeVar("OrderedT", bound=Ordered)
AddedT = TypeVar("AddedT", bound=Added)
SharedT = TypeVar("SharedT", bound=Shared)


NOTHING: Any = Missing.MISSING
"""What stands for the first stream where `Stream.concat` is called without any."""


def _subscribing(given: object) -> str:
    """Return how to subscribe with what is no subscriber, as the end of a sentence; empty if it is not known."""
    if isinstance(given, type):
        return of_class(given) if hasattr(given, "on_next") else ""
    if isinstance(given, Named):
        return "; end the stream with a sink and run it: (stream | sink).run().wait()"
    return "; call a function with each element by stream.for_each(fn).get()" if callable(given) else ""


_OF_TUPLES = frozenset({"zip", "combine_latest", "with_latest_from"})
"""What gives a tuple of elements, to which other libraries apply a function themselves."""


def _joining(operator: str, given: object) -> str:
    """Return what to write in place of what is no publisher, as the end of a sentence."""
    if isinstance(given, builtins.list | tuple) and given and all(map(is_publisher, given)):
        return f"; give the streams one by one: {operator}(*streams)"
    if operator in _OF_TUPLES and callable(given):
        return f"; a function of their elements goes behind it: {operator}(...).starmap(fn)"
    return "; wrap an iterable in Stream.from_iterable"


def _chain_of(operator: str, given: object) -> Chain:
    """Return the chain of a stream, or of another publisher."""
    if isinstance(given, Stream):
        return given._chain
    if not is_publisher(given) or library_of(given) is not None:
        cure = cure_for(given) or _joining(operator, given)
        raise TypeError(f"{operator}: each stream must be a Publisher, got {given!r}{cure}")
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


@dataclass(frozen=True, slots=True)
class Inputs:
    """Streams that were merged, as the first part of a pipeline that another engine runs."""

    _chain: Chain
    streams: tuple[Stream[Any], ...]


def _inputs(chain: Chain, given: tuple[object, ...]) -> tuple[Inputs, ...]:
    """Return the parts of a merged stream; none, as of any source, if all can run in this process."""
    streams = tuple(each if isinstance(each, Stream) else Stream(_chain_of("merge", each)) for each in given)
    parts = (part for stream in streams for part in stream._parts or (stream,))
    names_engine = (hasattr(getattr(part, "_chain", chain).source, "engine") for part in parts)
    return (Inputs(chain, streams),) if any(names_engine) or any(_merged(each) for each in streams) else ()


def _merged(stream: Stream[Any]) -> bool:
    return bool(stream._parts) and isinstance(stream._parts[0], Inputs)


class Running(Generic[T_co]):
    """A running subscription: iterate over it in a `with` or an `async with`; leaving the block ends the run."""

    __slots__ = ("_async_iterator", "_chain", "_iterator", "_window")

    def __init__(self, chain: Chain, window: int = WINDOW) -> None:
        self._chain = chain
        self._window = window
        self._iterator: Any = None
        self._async_iterator: Any = None

    def __enter__(self) -> Iterator[T_co]:
        iterator = iterate(self._chain, self._window)
        # Python's own, of a range say, cannot be closed, and would go on behind the block.
        self._iterator = iterator if hasattr(iterator, "close") else (element for element in iterator)
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


FOLLOWS = (
    "call what makes one, as in Sink.to_list(), mark a function from stream to stream with @flow, and give one of"
    " elements to map()"
)
"""What can be done with a function behind `|`."""


@dataclass(frozen=True, slots=True, repr=False)
class Stream(Named, Composed, Iterated, Generic[T_co]):
    """A description of a stream of elements; nothing runs until it is subscribed, iterated or awaited.

    >>> list(Stream.range(10).filter(lambda n: n % 2).map(str))
    ['1', '3', '5', '7', '9']
    """

    if TYPE_CHECKING:
        _chain: Chain
    else:
        _chain: Chain = None  # so that `Stream()` is told what to write, too
    _parts: tuple[Any, ...] = field(default=(), compare=False, repr=False)
    """What it was composed of with `|`: a stream, then flows and steps; empty if it is of one piece."""
    _cure: ClassVar[str] = "use Stream.just or Stream.from_iterable for elements"
    """What to write in place of the class."""

    def __post_init__(self) -> None:
        if not isinstance(self._chain, Chain):
            raise TypeError(f"{type(self).__name__}: chain must be a Chain, got {self._chain!r}; {self._cure}")
        if tracing.on:
            places = places_with(self._chain.places, 1 + len(self._chain.steps))
            object.__setattr__(self, "_chain", Chain(self._chain.source, self._chain.steps, places))

    def __repr__(self) -> str:
        return f"Stream({self._chain})"

    def _repr_html_(self) -> str:
        return self.explain()._repr_html_()

    def _then(self, step: Step) -> Stream[Any]:
        return Stream(self._chain.then(step), (*self._parts, step) if self._parts else ())

    def _one(
        self, operator: str, step: Step, default: object, required: bool, given: object = Missing.MISSING
    ) -> Stream[Any]:
        """Add a step that comes down to one element, and what there is to be where it has none."""
        if required and not (default is given is Missing.MISSING):
            raise TypeError(f"{operator}: one of default and required can be given, got both")
        stream = self._then(step)
        if default is not Missing.MISSING:
            elements_given(operator, default)
            return stream._then(DefaultIfEmpty((default,)))
        return stream._then(Required(operator)) if required else stream

    def explain(self) -> Plan:
        """Return what this stream consists of and what bounds it; print it to read it, or draw it with `svg()`.

        Nothing is run for it, and nothing but this process is needed.

        >>> from penstock import thread
        >>> print(Stream.range(3).map(str).publish_on(thread()).explain())
        in this process
          source ├─ range | map(str)
                 │
            then ├─ publish_on
                 │    at most 256 elements wait here
        """
        return explained(self._chain)

    # Running it.

    def subscribe(self, subscriber: Subscriber[T_co], /) -> None:
        """Start a run that signals `subscriber`."""
        if subscriber is None:
            raise TypeError("rule 1.9: subscribe(None): a subscriber is needed")
        if missing_methods(subscriber, SUBSCRIBER_METHODS) or library_of(subscriber) == "py4j":
            raise TypeError(
                f"rule 1.9: subscribe({subscriber!r}): a subscriber has on_subscribe, on_next, on_error and on_complete"
                f"{cure_for(subscriber) or _subscribing(subscriber)}"
            )
        on_next = subscriber.on_next
        if awaits(getattr(on_next, "__func__", on_next)):  # a function is looked at faster than a method
            raise TypeError(
                f"rule 1.9: subscribe({subscriber!r}): on_next must not be a coroutine function, since its elements "
                "would be lost; stream.for_each(fn) takes one"
            )
        connect(observed(self._chain), subscriber)

    def __iter__(self) -> Iterator[T_co]:
        return iterate(self._chain)

    def __aiter__(self) -> AsyncIterator[T_co]:
        return iterate_async(self._chain)

    def __await__(self) -> Generator[Any, None, T_co]:
        refuse_several("await", self._chain)
        return value_async(self._chain).__await__()

    def get(self) -> T_co:
        """Block for the result of a stream that has one, such as `count`, `reduce`, `to_list` or `first`.

        Returns:
            The one element.

        Raises:
            TypeError: The stream may have several elements. Say `first()` for the first one, `to_list()` for all.
            EmptyError: The stream completed without an element.

        >>> Stream.range(5).count().get()
        5
        """
        refuse_several("get", self._chain)
        return value(self._chain)  # type: ignore[no-any-return]

    def open(self, *, window: int = WINDOW) -> Running[T_co]:
        """Return a run to be used in `with` or `async with`, which ends it; at most `window` elements are read ahead.

        >>> with Stream.range(5).open() as numbers:
        ...     next(numbers)
        0
        """
        count_given("open", "window", window, 1)
        return Running(self._chain, window)

    @overload
    def __or__(self, after: Flow[T_co, U]) -> Stream[U]: ...
    @overload
    def __or__(self, after: ListSink) -> Pipeline[builtins.list[T_co]]: ...
    @overload
    def __or__(self, after: SetSink) -> Pipeline[set[T_co]]: ...
    @overload
    def __or__(self, after: ElementSink) -> Pipeline[T_co]: ...
    @overload
    def __or__(self, after: Sink[T_co, U]) -> Pipeline[U]: ...
    @overload
    def __or__(self, after: Processor[T_co, U]) -> Stream[U]: ...
    def __or__(self, after: Any) -> Any:
        if not isinstance(after, type) and processes(after):
            return self.via(after)
        follow = getattr(after, "follow", None)
        if follow is not None and not isinstance(after, type):
            return follow(self)
        if isinstance(after, type) or (callable(after) and not hasattr(after, "__ror__")):
            raise TypeError(f"|: a Flow or a Sink can follow a stream, got {after!r}; {FOLLOWS}")
        if isinstance(after, Stream):
            raise TypeError(
                f"|: a Flow or a Sink can follow a stream, got {after!r}; merge() and concat() join streams"
            )
        return NotImplemented

    def _pulled(self, gate: LoopGate | None = None) -> Iterator[T_co] | None:
        """Return an iterator over a fresh run that never waits for a signal, or None if there is none."""
        opener = pull(self._chain)
        return None if opener is None else opener(gate)

    @overload
    def via(self, flow: Callable[[Stream[T_co]], Stream[U]]) -> Stream[U]: ...
    @overload
    def via(self, flow: Processor[T_co, U]) -> Stream[U]: ...
    def via(self, flow: Any) -> Stream[Any]:
        """Continue with a Flow, with a function from stream to stream, or with a Processor of any make.

        A processor has one upstream: it is subscribed to the stream with the first run, and serves further runs if it
        serves several subscribers.

        Args:
            flow: A Flow, a function from stream to stream, or a Processor.

        Raises:
            TypeError: `flow` is none of these, or a function that returns nothing.

        >>> Stream.range(3).via(lambda numbers: numbers.map(str)).to_list().get()
        ['0', '1', '2']
        """
        if processes(flow):
            return Stream(Chain(Via(self._chain, flow)))
        if not callable(flow):
            raise TypeError(
                f"via: flow must be a Flow, a function from Stream to Stream or a Processor, got {flow!r}"
                f"{cure_for(flow)}"
            )
        made: Any = flow(self)
        if made is None:
            raise TypeError(f"via: {getattr(flow, '__name__', flow)!r} must return a Stream, got None")
        return made  # type: ignore[no-any-return]

    def apply(self, step: Stage[T_co, U] | Joint[T_co, U]) -> Stream[U]:
        """Continue with an operator of the user: a Stage or a Joint, as `penstock.extend` has them.

        Args:
            step: The Stage or the Joint.

        Raises:
            TypeError: `step` is none of these.

        >>> from penstock.operators.map import Map
        >>> list(Stream.range(3).apply(Map(str)))
        ['0', '1', '2']
        """
        if isinstance(step, type):
            raise TypeError(f"apply: step must be a Stage or a Joint, got the class {step.__name__}; make one of it")
        if not isinstance(step, Stage | Joint):
            raise TypeError(
                f"apply: step must be a Stage or a Joint, got {step!r}; use via for a Flow, a Processor, or a function "
                "from Stream to Stream"
            )
        return self._then(step)

    # Sources.

    @staticmethod
    def from_source(source: Source[T]) -> Stream[T]:
        """Emit the elements of a Source of the user, as `penstock.extend` has it.

        Args:
            source: The Source.

        Raises:
            TypeError: `source` is none of these.

        >>> from penstock.operators.just import Just
        >>> list(Stream.from_source(Just((1, 2))))
        [1, 2]
        """
        if not isinstance(source, Source):
            raise TypeError(
                f"from_source: source must be a Source, got {source!r}; use from_iterable for elements and "
                "from_publisher for a Publisher"
            )
        return Stream(Chain(source))

    @staticmethod
    def from_iterable(items: Iterable[T]) -> Stream[T]:
        """Emit the items of an iterable; a stream is given back as it is.

        Backpressures by not advancing the iterator.

        >>> list(Stream.from_iterable("abc"))
        ['a', 'b', 'c']
        """
        return items if isinstance(items, Stream) else Stream(Chain(FromIterable(items)))

    @staticmethod
    def just(*items: T) -> Stream[T]:
        """Emit the given elements.

        Backpressures by waiting.

        Args:
            items: The elements; None is none.

        >>> list(Stream.just(1, 2))
        [1, 2]
        """
        return Stream(Chain(Just(items)))

    @overload
    @staticmethod
    def range(start: int, stop: int | None = None, step: int = 1, *, count: int | None = None) -> Stream[int]: ...
    @overload
    @staticmethod
    def range(
        start: float, stop: float | None = None, step: float = 1, *, count: int | None = None
    ) -> Stream[float]: ...
    @staticmethod
    def range(start: Any, stop: Any = None, step: Any = 1, *, count: int | None = None) -> Stream[Any]:
        """Emit numbers, as the built-in range has them, or `count` of them; they need not be whole.

        Backpressures by waiting.

        Args:
            start: The first number, or, alone, the one before which it stops.
            stop: The number before which it stops.
            step: How far apart the numbers are.
            count: How many there are, in place of `stop`.

        >>> list(Stream.range(1, 4))
        [1, 2, 3]
        >>> list(Stream.range(0.5, count=3))
        [0.5, 1.5, 2.5]
        """
        return Stream(Chain(Range(numbers_given(start, stop, step, count))))

    @staticmethod
    def empty() -> Stream[typing.Never]:
        """Complete without an element.

        Backpressures never.

        >>> list(Stream.empty())
        []
        """
        return Stream(Chain(Empty()))

    @staticmethod
    def never() -> Stream[typing.Never]:
        """Neither emit nor end.

        Backpressures never.

        >>> Stream.never()
        Stream(never)
        """
        return Stream(Chain(Never()))

    @staticmethod
    def error(error: Exception) -> Stream[typing.Never]:
        """Fail without an element.

        Backpressures never.

        Args:
            error: The failure.

        >>> list(Stream.error(KeyError("lost")).on_error_resume(lambda error: [repr(error)]))
        ["KeyError('lost')"]
        """
        return Stream(Chain(Error(error)))

    @staticmethod
    def defer(make: Callable[[], Publisher[T] | Iterable[T] | AsyncIterable[T]]) -> Stream[T]:
        """Make the stream anew for each subscriber.

        Backpressures when downstream does.

        Args:
            make: Called for each subscriber; gives a stream, another publisher, or an iterable.

        Raises:
            TypeError: `make` is not callable.

        >>> list(Stream.defer(lambda: Stream.just("fresh")))
        ['fresh']
        """
        return Stream(Chain(Defer(make)))

    @overload
    @staticmethod
    def generate(seed: S, step: Callable[[S], tuple[T, S] | None]) -> Stream[T]: ...
    @overload
    @staticmethod
    def generate(*, step: Callable[[S], tuple[T, S] | None], create: Callable[[], S]) -> Stream[T]: ...
    @staticmethod
    def generate(
        seed: Any = Missing.MISSING,
        step: Callable[[Any], Any] | None = None,
        *,
        create: Callable[[], Any] | None = None,
    ) -> Stream[Any]:
        """Emit what `step` makes of a state: an element and the next state, or None for the end.

        The first state is `seed`, or what `create` makes for each run.

        Backpressures by not calling `step`.

        >>> list(Stream.generate(1, lambda n: (n, n * 2) if n < 20 else None))
        [1, 2, 4, 8, 16]
        """
        return Stream(Chain(Generate(seed, step, create)))  # type: ignore[arg-type]

    @overload
    @staticmethod
    def resumable(
        open_from: Callable[[Any], Publisher[tuple[K, T]] | Iterable[tuple[K, T]] | AsyncIterable[tuple[K, T]]],
        commit: Callable[[K], object] | None = None,
        *,
        window: int = UNCOMMITTED,
    ) -> Stream[T]: ...
    @overload
    @staticmethod
    def resumable(
        open_from: Callable[[int], Publisher[T] | Iterable[T] | AsyncIterable[T]],
        commit: Callable[[int], object] | None = None,
        *,
        counted: Literal[True],
        window: int = UNCOMMITTED,
    ) -> Stream[T]: ...
    @overload
    @staticmethod
    def resumable(
        open_from: Callable[[Any], Opened[tuple[Any, T]]], *, opens: Literal[True], window: int = UNCOMMITTED
    ) -> Stream[T]: ...
    @staticmethod
    def resumable(
        open_from: Callable[[Any], Any],
        commit: Callable[[Any], object] | None = None,
        *,
        counted: bool = False,
        opens: bool = False,
        window: int = UNCOMMITTED,
    ) -> Stream[Any]:
        """Emit what can be opened from any position, so that a run from a checkpoint goes on where it was.

        `open_from(position)` gives what follows a position, None being the beginning: pairs of a position, which is a
        JSON value, and the element before it. A plain subscriber gets the elements, from the beginning, and tells
        nothing. A run of a pipeline tells how far it is done: an element is when everything that was made of it has
        come to the end of the pipeline, or was dropped.

        Backpressures when downstream does. In such a run it also waits while `window` elements are not done.

        Args:
            open_from: Called with a position for each run.
            commit: Told, in order, the position up to which everything is done; it will not be asked for again.
            counted: Whether positions are counts: `open_from(n)` gives the elements after the first `n`, without
                positions.
            opens: Whether `open_from` returns an `Opened`, for a run that has its own connection, which gives elements
                and is told what is done.
            window: How many elements may be uncommitted at a time.

        Raises:
            TypeError: `open_from` or `commit` is not callable, or there is a `commit` besides `opens`.
            ValueError: `window` is below 1.

        >>> log = ["a", "b", "c"]
        >>> lines = Stream.resumable(lambda after: [(n, log[n - 1]) for n in range((after or 0) + 1, 4)])
        >>> list(lines)
        ['a', 'b', 'c']
        """
        return Stream(Chain(Resumable(open_from, commit, counted, opens, window)))

    @staticmethod
    def create(
        attach: Callable[[Emitter[T]], None], *, overflow: Overflow = Overflow.BUFFER, size: int = 256
    ) -> Stream[T]:
        """Emit what callbacks hand to an emitter, with a policy for when they are too fast.

        Backpressures by `overflow`: the callbacks cannot be slowed, so beyond `size` waiting elements they are refused,
        dropped, replaced by the latest, or the stream fails.

        Args:
            attach: Called with an Emitter for each subscriber; it hands elements to the emitter's `emit`, from any
                thread.
            overflow: What happens to elements that come while `size` of them wait to be asked for: they are refused,
                left out, or fail the stream.
            size: How many elements wait at most.

        Raises:
            TypeError: `attach` is not callable.
            ValueError: `size` is below 1.

        >>> def attach(emitter):
        ...     emitter.emit("a"), emitter.complete()
        >>> list(Stream.create(attach))
        ['a']
        """
        return Stream(Chain(Create(attach, overflow, size)))

    @staticmethod
    def from_async_iterable(items: AsyncIterable[T]) -> Stream[T]:
        """Emit the items of an asynchronous iterable.

        Backpressures by not asking for the next item.

        >>> async def letters():
        ...     yield "a"
        >>> list(Stream.from_async_iterable(letters()))
        ['a']
        """
        return Stream(Chain(FromAsyncIterable(items)))

    @staticmethod
    def from_awaitable(awaitable: Awaitable[T] | Callable[[], Awaitable[T]]) -> Stream[T]:
        """Emit what an awaitable gives, or the one that a function makes for each subscriber.

        Backpressures by not awaiting.

        >>> async def answer():
        ...     return 42
        >>> list(Stream.from_awaitable(answer))
        [42]
        """
        return Stream(Chain(FromAwaitable(awaitable)))

    @staticmethod
    def from_callable(fn: Callable[[], T], *more: Callable[[], T]) -> Stream[T]:
        """Emit what a function returns, called when downstream asks; several functions are called in turn.

        Backpressures by not calling the function.

        Args:
            fn: Called without arguments when an element is asked for.
            more: Functions that are called after it, in turn.

        Raises:
            TypeError: `fn` is not callable.

        >>> list(Stream.from_callable(lambda: 6 * 7))
        [42]
        """
        chains = tuple(Chain(FromCallable(each)) for each in (fn, *more))
        return Stream(Chain(Concat(chains)) if more else chains[0])

    @staticmethod
    def using(
        open: Callable[[], S],  # noqa: A002  what it does
        use: Callable[[S], Publisher[T] | Iterable[T] | AsyncIterable[T]],
        close: Callable[[S], object],
    ) -> Stream[T]:
        """Open a resource for each subscriber and close it once, however the stream made with it ends.

        Backpressures when downstream does.

        Args:
            open: Called for each subscriber; gives the resource.
            use: Called with the resource; gives a stream, another publisher, or an iterable.
            close: Called once with the resource, however the stream ends.

        Raises:
            TypeError: `open`, `use` or `close` is not callable.

        >>> import io
        >>> list(Stream.using(lambda: io.StringIO("a b"), lambda text: text.read().split(), lambda text: text.close()))
        ['a', 'b']
        """
        return Stream(Chain(Using(open, use, close)))

    @staticmethod
    def subject(*, overflow: Overflow = Overflow.ERROR, size: int = 256, kept: int = 0) -> Subject[T]:  # pyright: ignore[reportInvalidTypeVarUse]  the annotation of the subject says what T is
        """Make a stream and hand elements to it, for everybody who is subscribed; `kept` are for those who come later.

        Backpressures by `overflow`, for each subscriber by itself: one that is `size` elements behind fails with
        OverflowedError, misses elements, or has only the latest, and the others go on; with BUFFER an element that one
        of them has no room for is refused for all.

        Args:
            overflow: What happens where a subscriber has not asked and `size` elements wait for it: it fails, or
                elements are left out or refused.
            size: How many elements wait for each subscriber at most.
            kept: How many of the last elements a later subscriber gets first.

        Raises:
            ValueError: `size` is below 1 or `kept` is below 0.

        >>> orders = Stream.subject(kept=10)
        >>> orders.emit("tea"), orders.complete()
        (<EmitResult.OK: 'ok'>, <EmitResult.OK: 'ok'>)
        >>> list(orders)
        ['tea']
        """
        return Subject(Chain(SubjectSource(overflow, size, kept)))

    @staticmethod
    def from_publisher(publisher: Publisher[T]) -> Stream[T]:
        """Take the elements of any publisher, of any library.

        Backpressures by passing demand on.

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

        Backpressures by `overflow`: a clock cannot be slowed, so ticks that were not asked for are replaced by the
        latest, dropped, held up to `size`, or fail the stream.

        Args:
            seconds: How far apart the numbers come.
            overflow: What happens to numbers that are due and not asked for; with `LATEST` the newest waits.
            size: How many numbers wait at most.
            clock: Where the time comes from; a `VirtualClock` in tests.

        Raises:
            ValueError: `seconds` is not above 0 or `size` is below 1.

        >>> list(Stream.interval(0.001).take(3))
        [0, 1, 2]
        """
        return Stream(Chain(Interval(seconds_of("interval", "seconds", seconds, zero=False), overflow, size, clock)))

    @staticmethod
    def timer(seconds: float | timedelta, *, clock: Clock = SYSTEM_CLOCK) -> Stream[int]:
        """Emit 0 after a while, and complete.

        Backpressures by holding its one element.

        Args:
            seconds: How long it waits.
            clock: Where the time comes from; a `VirtualClock` in tests.

        Raises:
            ValueError: `seconds` is below 0.

        >>> list(Stream.timer(0.001))
        [0]
        """
        return Stream(Chain(Timer(seconds_of("timer", "seconds", seconds), clock)))

    # Each element alone.

    def map(self, fn: Callable[[T_co], U]) -> Stream[U]:
        """Emit what the function returns for each element.

        Backpressures when downstream does.

        Args:
            fn: Called with each element; a coroutine function belongs into `map_async`.

        Raises:
            TypeError: `fn` is not callable.

        >>> list(Stream.range(3).map(str))
        ['0', '1', '2']
        """
        return self._then(Map(fn))

    @overload
    def starmap(self: Stream[tuple[*Ts]], fn: Callable[[*Ts], U]) -> Stream[U]: ...
    @overload
    def starmap(self: Stream[Iterable[Any]], fn: Callable[..., U]) -> Stream[U]: ...
    def starmap(self: Stream[Any], fn: Callable[..., U]) -> Stream[U]:
        """Call a function with the items of each element as its arguments.

        Backpressures when downstream does.

        Args:
            fn: Called with the items of each element.

        Raises:
            TypeError: `fn` is not callable.

        >>> list(Stream.just((2, 3), (4, 5)).starmap(lambda a, b: a * b))
        [6, 20]
        """
        return self._then(Starmap(fn))

    def filter(
        self,
        predicate: Callable[[T_co], object] | Callable[[T_co], Awaitable[object]],
        *,
        concurrency: int | None = None,
    ) -> Stream[T_co]:
        """Emit the elements for which the predicate is true.

        Backpressures when downstream does; an element that is rejected is replaced by asking for one more.

        Args:
            predicate: Called with each element. A coroutine function (`async def`) is awaited; the order of the
                elements is kept.
            concurrency: How many elements an asynchronous predicate is asked about at a time, 16 if not said; as many
                more wait. Where it is given, what the predicate returns is awaited, whatever kind of function it is.

        Raises:
            TypeError: `predicate` is not callable.
            ValueError: `concurrency` is below 1.

        >>> list(Stream.range(5).filter(lambda n: n % 2))
        [1, 3]
        """
        if concurrency is None and not awaits(predicate):
            return self._then(Filter(predicate))
        return self._then(FilterAsync(predicate, CONCURRENCY if concurrency is None else concurrency))  # type: ignore[arg-type]

    def of_type(self, kind: type[U]) -> Stream[U]:
        """Emit the elements that are instances of the type.

        Backpressures when downstream does; an element that is left out is replaced by asking for one more.

        Args:
            kind: The type, or what else `isinstance` takes.

        >>> list(Stream.from_iterable([1, "a", 2]).of_type(int))
        [1, 2]
        """
        return self._then(OfType(kind))

    def cast(self, kind: type[U]) -> Stream[U]:
        """Make sure that every element is an instance of the type.

        Backpressures when downstream does.

        Args:
            kind: The type; an element that is of another one fails the stream with TypeError.

        >>> Stream.from_iterable([1, "a"]).cast(int).materialize().last().get()
        Failed(error=TypeError("cast: each element must be of type int, got 'a' of type str"))
        """
        return self._then(Cast(kind))

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
    def flat_map(
        self, fn: Callable[[T_co], Any], *, concurrency: int | None = None, prefetch: int | None = None
    ) -> Stream[Any]:
        """Emit the items of the iterable, or with `concurrency` the elements of the publisher, made of each element.

        Backpressures when downstream does, in the middle of an iterable if need be.

        Args:
            fn: Called with each element; gives an iterable, or, with `concurrency`, a publisher or an asynchronous
                iterable.
            concurrency: How many of these are subscribed at a time.
            prefetch: How many elements of each are asked for ahead, and held at most; 32 if not said.

        Raises:
            TypeError: `fn` is not callable.
            ValueError: `concurrency` is below 1 or `prefetch` is below 1.

        >>> list(Stream.range(3).flat_map(lambda n: [n] * n))
        [1, 2, 2]
        """
        if concurrency is not None:
            return self._then(FlatMapPublishers(fn, concurrency, 32 if prefetch is None else prefetch))
        if prefetch is not None:
            raise TypeError(f"flat_map: prefetch must be given together with concurrency, got {prefetch!r}")
        return self._then(FlatMap(fn))

    def concat_map(self, fn: Callable[[T_co], Publisher[U] | Iterable[U] | AsyncIterable[U]]) -> Stream[U]:
        """Turn each element into a stream, and emit one of them after the other.

        Backpressures when downstream does: it holds nothing, and asks upstream for the next element when the current
        publisher has completed and downstream asks.

        Args:
            fn: Called with each element; gives a stream, another publisher, or an iterable.

        Raises:
            TypeError: `fn` is not callable.

        >>> list(Stream.just("ab", "c").concat_map(lambda text: Stream.from_iterable(text)))
        ['a', 'b', 'c']
        """
        return self._then(ConcatMap(fn))

    def switch_map(
        self, fn: Callable[[T_co], Publisher[U] | Iterable[U] | AsyncIterable[U]], *, prefetch: int = 32
    ) -> Stream[U]:
        """Turn each element into a stream, and emit the newest of them alone; the one before is cancelled.

        Backpressures the newest publisher when downstream does, of which at most `prefetch` elements are held; upstream
        is asked for everything, once downstream asks.

        Args:
            fn: Called with each element; gives a stream, another publisher, or an iterable.
            prefetch: How many elements are asked for ahead, and held at most.

        Raises:
            TypeError: `fn` is not callable.
            ValueError: `prefetch` is below 1.

        >>> list(Stream.just("old", "new").switch_map(lambda text: Stream.timer(0.001).map(lambda _: text)))
        ['new']
        """
        return self._then(SwitchMap(fn, prefetch))

    @overload
    def expand(self: Stream[T], fn: Callable[[T], Iterable[T]], *, size: int = 10_000) -> Stream[T]: ...
    @overload
    def expand(
        self: Stream[T],
        fn: Callable[[T], Publisher[T] | Iterable[T] | AsyncIterable[T]],
        *,
        concurrency: int,
        size: int = 10_000,
        prefetch: int = 32,
    ) -> Stream[T]: ...
    def expand(
        self,
        fn: Callable[[Any], Any],
        *,
        concurrency: int | None = None,
        size: int = 10_000,
        prefetch: int | None = None,
    ) -> Stream[Any]:
        """Emit each element, what the function makes of it, what it makes of that, and so on, level by level.

        Backpressures when downstream does. At most `size` elements wait to be expanded; one more fails it with
        OverflowedError.

        Args:
            fn: Called with each element that is emitted; gives an iterable of more, or, with `concurrency`, a
                publisher.
            concurrency: How many publishers are subscribed at a time.
            size: How many elements wait to be expanded at most; one more fails the stream.
            prefetch: How many elements of each publisher are asked for ahead; 32 if not said.

        Raises:
            TypeError: `fn` is not callable.
            ValueError: `concurrency` is below 1, `size` is below 1 or `prefetch` is below 1.

        >>> list(Stream.just(8).expand(lambda n: [n // 2] if n > 1 else []))
        [8, 4, 2, 1]
        """
        if concurrency is not None:
            return self._then(ExpandPublishers(fn, concurrency, size, 32 if prefetch is None else prefetch))
        if prefetch is not None:
            raise TypeError(f"expand: prefetch must be given together with concurrency, got {prefetch!r}")
        return self._then(Expand(fn, size))

    def flatten(self: Stream[Iterable[U]]) -> Stream[U]:
        """Emit the items of each element.

        Backpressures when downstream does, in the middle of an element if need be.

        >>> list(Stream.just([1, 2], [3]).flatten())
        [1, 2, 3]
        """
        return self._then(Flatten())

    def map_async(
        self,
        fn: Callable[[T_co], Awaitable[U]],
        *,
        concurrency: int = CONCURRENCY,
        ordered: bool = True,
        key: Callable[[T_co], Hashable] | None = None,
    ) -> Stream[U]:
        """Emit what the function's awaitables give, with at most `concurrency` of them under way.

        Backpressures when downstream does: `concurrency` elements are under way and as many more wait, before or after
        their work.

        Args:
            fn: A coroutine function, or another function that returns an awaitable. It must give something: where there
                is nothing to give, use `for_each`.
            concurrency: How many elements are worked on at a time, 16 if not said; as many more wait, before or after
                their work. With 1 each begins when the one before it has ended.
            ordered: Whether results come in the order of the elements, or as they finish.
            key: Elements for which this gives the same are worked on one after the other.

        Raises:
            TypeError: `fn` or `key` is not callable.
            ValueError: `concurrency` is below 1.

        >>> async def double(n):
        ...     return n * 2
        >>> list(Stream.range(3).map_async(double, concurrency=2))
        [0, 2, 4]
        """
        return self._then(MapAsync(fn, concurrency, ordered, key))

    @overload
    def map_batches(self, fn: Callable[[builtins.list[T_co]], Iterable[U]], size: int = 1024) -> Stream[U]: ...
    @overload
    def map_batches(
        self, fn: Callable[[Any], Iterable[U]], size: int = 1024, *, form: Literal["list", "numpy", "arrow"]
    ) -> Stream[U]: ...
    def map_batches(
        self, fn: Callable[[Any], Iterable[Any]], size: int = 1024, *, form: Literal["list", "numpy", "arrow"] = "list"
    ) -> Stream[Any]:
        """Call a function with many elements at a time, as a list, a NumPy array or an Arrow record batch.

        Backpressures when downstream does, in the middle of a batch if need be; demand counts elements, and upstream is
        asked for what fills the batches that would cover it. It holds fewer than `size` elements, or the results of one
        batch.

        Args:
            fn: Called with a batch; gives an iterable of results.
            size: How many elements a batch has at most; so many are held.
            form: How the batch is given: `"list"`, `"numpy"` or `"arrow"`.

        Raises:
            TypeError: `fn` is not callable.
            ValueError: `size` is below 1.

        >>> list(Stream.range(5).map_batches(lambda batch: [n - batch[0] for n in batch], size=3))
        [0, 1, 2, 0, 1]
        """
        return self._then(MapBatches(fn, size, form))

    def materialize(self) -> Stream[Next[T_co] | Failed | Completed]:
        """Turn signals into elements, a failure included.

        Backpressures when downstream does; the end of upstream is an element too, and waits until it is asked for.

        >>> list(Stream.just(7).materialize())
        [Next(element=7), Completed()]
        """
        return Stream(Chain(Materialize(self._chain)))

    def dematerialize(self: Stream[Signal[U]]) -> Stream[U]:
        """Turn elements that stand for signals into signals again.

        Backpressures when downstream does.

        >>> list(Stream.just(7, 8).materialize().dematerialize())
        [7, 8]
        """
        return self._then(Dematerialize())

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

        Backpressures when downstream does.

        Args:
            on_next: Called with each element; what it raises fails the stream.
            on_error: Called with the failure.
            on_complete: Called when the stream completes.
            on_cancel: Called when downstream cancels.
            on_request: Called with how many elements are asked for.
            on_subscribe: Called when it is subscribed.

        Raises:
            TypeError: `on_next`, `on_error`, `on_complete`, `on_cancel`, `on_request` or `on_subscribe` is not
                callable.

        >>> Stream.just("a").tap(print).count().get()
        a
        1
        """
        others = (on_error, on_complete, on_cancel, on_request, on_subscribe)
        if on_next is not None and all(fn is None for fn in others):
            return self._then(Tap(on_next))
        return self._then(TapSignals(on_next, *others))

    # Neighbours matter.

    @overload
    def scan(self, fn: Callable[[U, T_co], U], initial: U) -> Stream[U]: ...
    @overload
    def scan(self, fn: Callable[[U, T_co], U], *, create: Callable[[], U]) -> Stream[U]: ...
    def scan(
        self,
        fn: Callable[[Any, Any], Any],
        initial: Any | Literal[Missing.MISSING] = Missing.MISSING,
        *,
        create: Callable[[], Any] | None = None,
    ) -> Stream[Any]:
        """Emit the result so far after each element, beginning with `initial` or with what `create` makes for each run.

        Backpressures when downstream does.

        Args:
            fn: Called with the result so far and an element; gives the next result.
            initial: What every run begins with; it must be hashable.
            create: Makes what a run begins with.

        Raises:
            TypeError: `fn` or `create` is not callable.

        >>> list(Stream.range(1, 5).scan(lambda total, n: total + n, 0))
        [1, 3, 6, 10]
        """
        return self._then(Scan(fn, initial, create))

    def stateful_map(self, fn: Callable[[S, T_co], tuple[S | None, U]], create: Callable[[], S]) -> Stream[U]:
        """Make one element of each by a state: from state and element to the next state and the result.

        Backpressures when downstream does.

        Args:
            fn: Called with the state and an element; gives the next state and the result.
            create: Makes the state that a run begins with.

        Raises:
            TypeError: `fn` or `create` is not callable.

        >>> list(Stream.just(3, 10, 4).stateful_map(lambda last, n: (n, n - last), int))
        [3, 7, -6]
        """
        return self._then(StatefulMap(fn, create))

    def take(self, count: int) -> Stream[T_co]:
        """Emit the first elements and ask for no more than these.

        Backpressures when downstream does.

        Args:
            count: How many elements.

        Raises:
            ValueError: `count` is below 0.

        >>> list(Stream.range(1_000_000).take(2))
        [0, 1]
        """
        return self._then(Take(count))

    def take_while(self, predicate: Callable[[T_co], object]) -> Stream[T_co]:
        """Emit elements until one does not satisfy the predicate.

        Backpressures when downstream does.

        >>> list(Stream.range(9).take_while(lambda n: n < 3))
        [0, 1, 2]
        """
        return self._then(TakeWhile(predicate))

    def take_last(self, count: int) -> Stream[T_co]:
        """Emit the last elements, once they are known.

        Backpressures then, when downstream does; before, it asks for everything and holds `count` elements.

        Args:
            count: How many elements; so many are held.

        Raises:
            ValueError: `count` is below 0.

        >>> list(Stream.range(5).take_last(2))
        [3, 4]
        """
        return self._then(TakeLast(count))

    def skip(self, count: int) -> Stream[T_co]:
        """Leave out the first elements.

        Backpressures when downstream does; an element that is left out is replaced by asking for one more.

        Args:
            count: How many elements.

        Raises:
            ValueError: `count` is below 0.

        >>> list(Stream.range(5).skip(3))
        [3, 4]
        """
        return self._then(Skip(count))

    def skip_while(self, predicate: Callable[[T_co], object]) -> Stream[T_co]:
        """Leave out elements until one does not satisfy the predicate.

        Backpressures when downstream does; an element that is left out is replaced by asking for one more.

        >>> list(Stream.just(1, 2, 9, 3).skip_while(lambda n: n < 5))
        [9, 3]
        """
        return self._then(SkipWhile(predicate))

    def skip_last(self, count: int) -> Stream[T_co]:
        """Leave out the last elements.

        Backpressures when downstream does; it holds `count` elements.

        Args:
            count: How many elements; so many are held.

        Raises:
            ValueError: `count` is below 0.

        >>> list(Stream.range(5).skip_last(2))
        [0, 1, 2]
        """
        return self._then(SkipLast(count))

    def ignore_elements(self) -> Stream[typing.Never]:
        """Let only the end through.

        Backpressures never: it asks for everything and holds nothing.

        >>> list(Stream.range(3).tap(print).take(2).ignore_elements())
        0
        1
        []
        """
        return self._then(IgnoreElements())

    def start_with(self, *items: U, create: Iterable[Callable[[], U]] = ()) -> Stream[T_co | U]:
        """Emit some elements before all others, then what the functions of `create` return, each called when asked for.

        Backpressures when downstream does; upstream is asked for nothing before the given elements are delivered.

        Args:
            items: The elements that come first.
            create: Functions without arguments, in a list.

        >>> list(Stream.just(2, 3).start_with(0, 1))
        [0, 1, 2, 3]
        """
        made = functions_given("start_with", "create", create)
        if not made:
            return self._then(StartWith(items))
        return Stream.from_callable(made[0], *made[1:]).concat(self)._then(StartWith(items))

    def end_with(self, *items: U, create: Iterable[Callable[[], U]] = ()) -> Stream[T_co | U]:
        """Emit some elements after all others, then what the functions of `create` return, each called when asked for.

        Backpressures when downstream does.

        Args:
            items: The elements that come last.
            create: Functions without arguments, in a list.

        >>> list(Stream.just(0, 1).end_with(2, 3))
        [0, 1, 2, 3]
        """
        made = functions_given("end_with", "create", create)
        ended = self._then(EndWith(items))
        return ended.concat(Stream.from_callable(made[0], *made[1:])) if made else ended

    def default_if_empty(self, *items: U) -> Stream[T_co | U]:
        """Emit the given elements if no other came.

        Backpressures when downstream does.

        Args:
            items: What is emitted where there was no element.

        >>> list(Stream.range(3).filter(lambda n: n > 9).default_if_empty(-1))
        [-1]
        """
        return self._then(DefaultIfEmpty(items))

    def enumerate(self, start: int = 0) -> Stream[tuple[int, T_co]]:
        """Emit each element with its number.

        Backpressures when downstream does.

        Args:
            start: The first number.

        Raises:
            ValueError: `start` is below 0.

        >>> list(Stream.just("a", "b").enumerate(1))
        [(1, 'a'), (2, 'b')]
        """
        return self._then(Enumerate(start))

    def drop_repeats(self, key: Callable[[T_co], object] | None = None) -> Stream[T_co]:
        """Let a run of equal elements through once.

        Backpressures when downstream does.

        Args:
            key: Called with an element; gives what is compared.

        Raises:
            TypeError: `key` is not callable.

        >>> list(Stream.just(1, 1, 2, 1).drop_repeats())
        [1, 2, 1]
        """
        return self._then(DropRepeats(key))

    def distinct(self, key: Callable[[T_co], Hashable] | None = None, *, size: int | None = None) -> Stream[T_co]:
        """Let each element, or one of each key, through once; `size` bounds how many keys are held.

        Backpressures when downstream does; an element that is left out is replaced by asking for one more. It holds the
        keys of all that it has emitted, or with `size` those of the last `size`.

        >>> list(Stream.just(1, 2, 1, 3, 2).distinct())
        [1, 2, 3]
        """
        return self._then(Distinct(key, size))

    def buffer(self, count: int, step: int | None = None) -> Stream[builtins.list[T_co]]:
        """Collect elements into lists, one beginning every `step` elements.

        Backpressures when downstream does; it holds fewer than `count` elements.

        Args:
            count: How long the lists are; fewer elements than that are held.
            step: How far apart they begin; as far as they are long if not said.

        Raises:
            ValueError: `count` is below 1 or `step` is below 1.

        >>> list(Stream.range(5).buffer(2))
        [[0, 1], [2, 3], [4]]
        >>> list(Stream.range(5).buffer(3, 2))
        [[0, 1, 2], [2, 3, 4], [4]]
        """
        return self._then(Buffer(count, step))

    def buffer_until(self, predicate: Callable[[T_co], object], *, size: int = 65_536) -> Stream[builtins.list[T_co]]:
        """Collect elements into lists that each end with one that satisfies the predicate.

        Backpressures when downstream does; it holds `size` elements at the most.

        Args:
            predicate: Called with each element.
            size: How long a list may get; a longer one fails the stream.

        Raises:
            TypeError: `predicate` is not callable.
            ValueError: `size` is below 1.

        >>> list(Stream.from_iterable("to be.").buffer_until(lambda c: c in " ."))
        [['t', 'o', ' '], ['b', 'e', '.']]
        """
        return self._then(BufferUntil(predicate, size))

    def buffer_while(self, predicate: Callable[[T_co], object], *, size: int = 65_536) -> Stream[builtins.list[T_co]]:
        """Collect runs of elements that satisfy the predicate into lists, and leave out the others.

        Backpressures when downstream does; it holds `size` elements at the most.

        Args:
            predicate: Called with each element.
            size: How long a list may get; a longer one fails the stream.

        Raises:
            TypeError: `predicate` is not callable.
            ValueError: `size` is below 1.

        >>> list(Stream.from_iterable("to be.").buffer_while(str.isalpha))
        [['t', 'o'], ['b', 'e']]
        """
        return self._then(BufferWhile(predicate, size))

    def split_when(
        self, predicate: Callable[[T_co, T_co], object], *, size: int = 65_536
    ) -> Stream[builtins.list[T_co]]:
        """Cut the stream into lists wherever the predicate is true for an element and the one after it.

        Backpressures when downstream does; it holds `size` elements at the most.

        Args:
            predicate: Called with an element and the one after it.
            size: How long a list may get; a longer one fails the stream.

        Raises:
            TypeError: `predicate` is not callable.
            ValueError: `size` is below 1.

        >>> list(Stream.just(1, 2, 5, 6, 9).split_when(lambda a, b: b - a > 1))
        [[1, 2], [5, 6], [9]]
        """
        return self._then(SplitWhen(predicate, size))

    def pairwise(self) -> Stream[tuple[T_co, T_co]]:
        """Emit each element together with the one before it.

        Backpressures when downstream does; it holds one element.

        >>> list(Stream.just(1, 4, 9).pairwise())
        [(1, 4), (4, 9)]
        """
        return self._then(Pairwise())

    def sliding(self, count: int, step: int = 1) -> Stream[tuple[T_co, ...]]:
        """Emit a window that moves over the elements.

        Backpressures when downstream does; it holds fewer than `count` elements.

        Args:
            count: How many elements the window has; so many are held.
            step: How far it moves.

        Raises:
            ValueError: `count` is below 1 or `step` is below 1.

        >>> list(Stream.range(5).sliding(3))
        [(0, 1, 2), (1, 2, 3), (2, 3, 4)]
        """
        return self._then(Sliding(count, step))

    def buffer_timeout(
        self, count: int, seconds: float | timedelta, *, clock: Clock = SYSTEM_CLOCK
    ) -> Stream[builtins.list[T_co]]:
        """Collect elements into lists, for so many or so long.

        Backpressures when downstream does: at most `count` elements are held; a list whose time is up while downstream
        asks for nothing goes on to fill.

        Args:
            count: How long a list may get; so many elements are held.
            seconds: How long the first element of a list waits for the others.
            clock: Where the time comes from; a `VirtualClock` in tests.

        Raises:
            ValueError: `count` is below 1 or `seconds` is not above 0.

        >>> list(Stream.range(5).buffer_timeout(2, 1.0))
        [[0, 1], [2, 3], [4]]
        """
        return self._then(BufferTimeout(count, seconds_of("buffer_timeout", "seconds", seconds, zero=False), clock))

    def window(
        self,
        count: int | None = None,
        *,
        seconds: float | timedelta | None = None,
        gap: float | timedelta | None = None,
        until: Publisher[object] | None = None,
        size: int = 256,
        patience: float | timedelta = 5.0,
        clock: Clock = SYSTEM_CLOCK,
    ) -> Stream[Stream[T_co]]:
        """Split into streams that follow one another.

        A window has `count` elements, lasts `seconds`, lasts until none has come for `gap` seconds (a session), or
        lasts `until` another stream emits.

        Backpressures when neither the current window nor another one is asked for: at most `size` elements wait, for
        all windows together. Fails when all elements that wait are in windows that get no subscriber within `patience`
        seconds.

        Args:
            count: How many elements each has.
            seconds: How long each lasts.
            gap: For how many seconds no element has come when it ends.
            until: A stream; with each of its elements the next window begins.
            size: How many elements wait for the subscribers of the windows at most.
            patience: For how many seconds streams that get no subscriber may hold all others up, before it fails.
            clock: Where the time comes from; a `VirtualClock` in tests.

        Raises:
            ValueError: `count` or `size` is below 1, `seconds` or `gap` is not above 0, or `patience` is below 0.

        >>> list(Stream.range(5).window(2).flat_map(lambda window: window.to_list(), concurrency=1))
        [[0, 1], [2, 3], [4]]
        """
        wait = seconds_of("window", "patience", patience)
        if [count, seconds, gap, until].count(None) != 3:
            raise TypeError(
                "window: one of count, seconds, gap and until must be given, "
                f"got count={count!r}, seconds={seconds!r}, gap={gap!r}, until={until!r}"
            )
        if count is not None:
            return self._then(Window(count, Stream, size, wait, clock))
        if seconds is not None:
            length = seconds_of("window", "seconds", seconds, zero=False)
            return self._then(WindowSeconds(length, Stream, size, wait, clock))
        if gap is not None:
            length = seconds_of("window", "gap", gap, zero=False)
            return self._then(WindowSeconds(length, Stream, size, wait, clock, gap=True))
        return Stream(Chain(WindowUntil(self._chain, _chain_of("window", until), Stream, size, wait, clock)))

    def group_by(
        self,
        key: Callable[[T_co], K],
        *,
        groups: int = 1024,
        size: int = 256,
        patience: float | timedelta = 5.0,
        clock: Clock = SYSTEM_CLOCK,
    ) -> Stream[GroupedStream[K, T_co]]:
        """Split into one stream per key, of at most `groups` at a time that hold `size` elements together.

        Backpressures when neither elements of the groups nor more groups are asked for: at most `size` elements wait,
        for all groups together, and a slow group holds the others back. Fails when more than `groups` are open, and
        when all elements that wait are in groups that have no subscriber and get none within `patience` seconds.

        Args:
            key: Called with an element; gives what its group is known by.
            groups: How many groups there are at a time; one more fails the stream.
            size: How many elements wait in all groups together.
            patience: For how many seconds streams that get no subscriber may hold all others up, before it fails.
            clock: Where the time comes from; a `VirtualClock` in tests.

        Raises:
            TypeError: `key` is not callable.
            ValueError: `groups` is below 1, `size` is below 1 or `patience` is below 0.

        >>> even = Stream.range(5).group_by(lambda n: n % 2 == 0)
        >>> list(even.flat_map(lambda group: group.to_list().map(lambda some: (group.key, some)), concurrency=2))
        [(True, [0, 2, 4]), (False, [1, 3])]
        """
        wait = seconds_of("group_by", "patience", patience)
        return self._then(GroupBy(key, _grouped, groups, size, wait, clock))

    # Several streams.

    def merge(self, *others: Publisher[U], prefetch: int = 32) -> Stream[T_co | U]:
        """Emit the elements of all streams as they come.

        Backpressures when downstream does: at most `prefetch` elements of each stream are held, and none before
        downstream asks.

        Args:
            others: The other streams, or other publishers.
            prefetch: How many elements of each stream are asked for ahead, and held at most.

        Raises:
            ValueError: `prefetch` is below 1.

        >>> list(Stream.just(1, 2).merge(Stream.just(10, 20)))
        [1, 10, 2, 20]
        """
        chain = Chain(Merge(_chains("merge", Merge, (self, *others)), prefetch))
        return Stream(chain, _inputs(chain, (self, *others)))

    def concat(self=NOTHING, *others: Publisher[U]) -> Stream[T_co | U]:
        """Emit one stream after the other; `Stream.concat(...)` takes any publishers, or none.

        Backpressures when downstream does; demand left over moves on to the next, which is not subscribed before
        downstream asks for its elements.

        Args:
            others: The other streams, or other publishers.

        >>> list(Stream.just(1).concat(Stream.just(2), Stream.just(3)))
        [1, 2, 3]
        >>> list(Stream.concat())
        []
        """
        streams = others if self is NOTHING else (self, *others)
        return Stream(Chain(Concat(_chains("concat", Concat, streams)) if streams else Empty()))

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

        Backpressures when downstream does: at most `prefetch` elements of each stream are held, and none before
        downstream asks.

        Args:
            others: The other streams, or other publishers.
            prefetch: How many elements of each stream are asked for ahead, and held at most.

        Raises:
            ValueError: `prefetch` is below 1.

        >>> list(Stream.range(3).zip(Stream.just("a", "b")))
        [(0, 'a'), (1, 'b')]
        """
        return Stream(Chain(Zip(tuple(_chain_of("zip", given) for given in (self, *others)), prefetch)))

    @overload
    def combine_latest(self, other: Publisher[U], /, *, prefetch: int = 32) -> Stream[tuple[T_co, U]]: ...
    @overload
    def combine_latest(
        self, other: Publisher[U], third: Publisher[V], /, *, prefetch: int = 32
    ) -> Stream[tuple[T_co, U, V]]: ...
    @overload
    def combine_latest(
        self, other: Publisher[U], third: Publisher[V], fourth: Publisher[W], /, *, prefetch: int = 32
    ) -> Stream[tuple[T_co, U, V, W]]: ...
    @overload
    def combine_latest(self, *others: Publisher[Any], prefetch: int = 32) -> Stream[tuple[Any, ...]]: ...
    def combine_latest(self, *others: Publisher[Any], prefetch: int = 32) -> Stream[Any]:
        """Emit the latest elements of several streams whenever one of them changes.

        Backpressures when downstream does: no combination is left out, and at most `prefetch` elements of each stream
        wait.

        Args:
            others: The other streams, or other publishers.
            prefetch: How many elements of each stream are asked for ahead, and held at most.

        Raises:
            ValueError: `prefetch` is below 1.

        >>> list(Stream.just(1, 2).combine_latest(Stream.just("a", "b")))
        [(1, 'a'), (2, 'a'), (2, 'b')]
        """
        chains = tuple(_chain_of("combine_latest", given) for given in (self, *others))
        return Stream(Chain(CombineLatest(chains, prefetch)))

    @overload
    def with_latest_from(self, other: Publisher[U], /) -> Stream[tuple[T_co, U]]: ...
    @overload
    def with_latest_from(self, other: Publisher[U], third: Publisher[V], /) -> Stream[tuple[T_co, U, V]]: ...
    @overload
    def with_latest_from(
        self, other: Publisher[U], third: Publisher[V], fourth: Publisher[W], /
    ) -> Stream[tuple[T_co, U, V, W]]: ...
    @overload
    def with_latest_from(self, *others: Publisher[Any]) -> Stream[tuple[Any, ...]]: ...
    def with_latest_from(self, *others: Publisher[Any]) -> Stream[Any]:
        """Emit each element together with the latest of other streams.

        Backpressures when downstream does; the others are asked for everything, and only their latest element is kept.

        Args:
            others: The other streams, or other publishers. One element of each is held.

        >>> list(Stream.range(3).with_latest_from(Stream.just("a")))
        [(0, 'a'), (1, 'a'), (2, 'a')]
        """
        chains = tuple(_chain_of("with_latest_from", given) for given in others)
        return Stream(Chain(WithLatestFrom(self._chain, chains)))

    def race(self, *others: Publisher[U]) -> Stream[T_co | U]:
        """Emit the stream that answers first, and no other.

        Backpressures when downstream does: until one has answered, each is asked for what downstream asks for.

        Args:
            others: The other streams, or other publishers.

        >>> list(Stream.never().race(Stream.just("here")))
        ['here']
        """
        return Stream(Chain(Race(_chains("race", Race, (self, *others)))))

    def switch_if_empty(self, other: Publisher[U]) -> Stream[T_co | U]:
        """Go on with another stream if there was no element.

        Backpressures when downstream does; demand moves on to the other one.

        Args:
            other: The other stream, or another publisher.

        >>> list(Stream.empty().switch_if_empty(Stream.just("nothing found")))
        ['nothing found']
        """
        return Stream(Chain(SwitchIfEmpty(self._chain, _chain_of("switch_if_empty", other))))

    def take_until(self, other: Publisher[object]) -> Stream[T_co]:
        """Let elements through until another stream emits.

        Backpressures when downstream does; of the other stream one element is asked for.

        Args:
            other: The other stream, or another publisher.

        >>> list(Stream.range(3).take_until(Stream.never()))
        [0, 1, 2]
        """
        return Stream(Chain(TakeUntil(self._chain, _chain_of("take_until", other))))

    def skip_until(self, other: Publisher[object]) -> Stream[T_co]:
        """Leave out elements until another stream emits.

        Backpressures when downstream does; what is left out does not count, so until then the stream is asked for more
        at once.

        Args:
            other: The other stream, or another publisher.

        >>> list(Stream.range(3).skip_until(Stream.just("now")))
        [0, 1, 2]
        """
        return Stream(Chain(SkipUntil(self._chain, _chain_of("skip_until", other))))

    def merge_sorted(
        self, *others: Publisher[U], key: Callable[[T_co | U], Ordered] | None = None, prefetch: int = 32
    ) -> Stream[T_co | U]:
        """Merge sorted streams into one sorted stream.

        Backpressures when downstream does: at most `prefetch` elements of each stream are held.

        Args:
            others: The other streams, or other publishers.
            key: Called with an element; gives what is compared.
            prefetch: How many elements of each stream are asked for ahead, and held at most.

        Raises:
            TypeError: `key` is not callable.
            ValueError: `prefetch` is below 1.

        >>> list(Stream.just(1, 4).merge_sorted(Stream.just(2, 3)))
        [1, 2, 3, 4]
        """
        chains = tuple(_chain_of("merge_sorted", given) for given in (self, *others))
        return Stream(Chain(MergeSorted(chains, key, prefetch)))

    def interleave(self, *others: Publisher[U], count: int = 1, prefetch: int = 32) -> Stream[T_co | U]:
        """Take elements of several streams in turns, `count` at a time.

        Backpressures when downstream does: at most `prefetch` elements of each stream are held.

        Args:
            others: The other streams, or other publishers.
            count: How many elements of one come before the next has its turn.
            prefetch: How many elements of each stream are asked for ahead, and held at most.

        Raises:
            ValueError: `count` is below 1 or `prefetch` is below 1.

        >>> list(Stream.range(4).interleave(Stream.just("a")))
        [0, 'a', 1, 2, 3]
        """
        chains = tuple(_chain_of("interleave", given) for given in (self, *others))
        return Stream(Chain(Interleave(chains, count, prefetch)))

    def sequence_equal(
        self, other: Publisher[U], equal: Callable[[T_co, U], object] | None = None, *, prefetch: int = 32
    ) -> Stream[bool]:
        """Tell whether two streams have the same elements in the same order.

        Backpressures when downstream does; nothing is compared before downstream asks, and at most `prefetch` elements
        of each stream are held.

        Args:
            other: The other stream, or another publisher.
            equal: Called with an element of each; tells whether they are equal. Without it `==` does.
            prefetch: How many elements of each stream are asked for ahead, and held at most.

        Raises:
            TypeError: `equal` is not callable.
            ValueError: `prefetch` is below 1.

        >>> Stream.range(3).sequence_equal(Stream.just(0, 1, 2)).get()
        True
        """
        return Stream(Chain(SequenceEqual(self._chain, _chain_of("sequence_equal", other), equal, prefetch)))

    @overload
    def join(
        self,
        other: Publisher[U],
        key: Callable[[T_co], Hashable],
        other_key: Callable[[U], Hashable] | None = None,
        *,
        how: Literal["inner"] = "inner",
        size: int = 10_000,
        prefetch: int = 32,
    ) -> Stream[tuple[T_co, U]]: ...
    @overload
    def join(
        self,
        other: Publisher[U],
        key: Callable[[T_co], Hashable],
        other_key: Callable[[U], Hashable] | None = None,
        *,
        how: Literal["left"],
        size: int = 10_000,
        prefetch: int = 32,
    ) -> Stream[tuple[T_co, U | None]]: ...
    @overload
    def join(
        self,
        other: Publisher[U],
        key: Callable[[T_co], Hashable],
        other_key: Callable[[U], Hashable] | None = None,
        *,
        how: Literal["right"],
        size: int = 10_000,
        prefetch: int = 32,
    ) -> Stream[tuple[T_co | None, U]]: ...
    @overload
    def join(
        self,
        other: Publisher[U],
        key: Callable[[T_co], Hashable],
        other_key: Callable[[U], Hashable] | None = None,
        *,
        how: Literal["outer"],
        size: int = 10_000,
        prefetch: int = 32,
    ) -> Stream[tuple[T_co | None, U | None]]: ...
    def join(
        self,
        other: Publisher[Any],
        key: Callable[[Any], Hashable],
        other_key: Callable[[Any], Hashable] | None = None,
        *,
        how: How = "inner",
        size: int = 10_000,
        prefetch: int = 32,
    ) -> Stream[Any]:
        """Pair the elements of two streams that have the same key, holding at most `size` of each.

        Backpressures when downstream does; an element is held while the other stream goes on. At most `size` elements
        of each stream are held, besides `prefetch` that wait: a stream that has no room waits for the other one to
        complete, and if both have none, it fails with OverflowedError.

        Args:
            other: The other stream, or another publisher.
            key: Called with an element; gives its key.
            other_key: The same for elements of the other stream; `key` if not said.
            how: Whether elements without a partner are left out, `"inner"`, or come with None: `"left"`, `"right"`,
                `"outer"`.
            size: How many elements of each stream are held at most; one more fails the stream.
            prefetch: How many elements of each stream are asked for ahead, and held at most.

        Raises:
            TypeError: `key` or `other_key` is not callable.
            ValueError: `size` is below 1 or `prefetch` is below 1.

        >>> list(Stream.just("apple", "banana").join(Stream.just("ant", "bee", "bat"), key=lambda word: word[0]))
        [('apple', 'ant'), ('banana', 'bee'), ('banana', 'bat')]
        """
        chain = _chain_of("join", other)
        return Stream(
            Chain(Join(self._chain, chain, key, key if other_key is None else other_key, how, size, prefetch))
        )

    def partition(
        self, predicate: Callable[[T_co], object], *, size: int = 256, slow: Slow = Slow.ERROR
    ) -> tuple[Stream[T_co], Stream[T_co]]:
        """Send each element to one of two streams: the first if the predicate is true, else the second.

        Backpressures when both sides do; elements that the other side has not asked for wait, up to `size`, also before
        it is subscribed. Then by `slow` that side fails with OverflowedError and this one goes on, or it misses
        elements, or if told to WAIT this one waits for it, for a subscriber that is yet to come too.

        Args:
            predicate: Called with each element.
            size: How many elements wait for one of the two while the other asks.
            slow: What becomes of a subscriber that is `size` elements behind: it fails, misses elements, or all wait
                for it.

        Raises:
            TypeError: `predicate` is not callable.
            ValueError: `size` is below 1.

        >>> odd, even = Stream.range(5).partition(lambda n: n % 2)
        >>> list(odd), list(even)
        ([1, 3], [0, 2, 4])
        """
        fork = Fork()
        return (
            Stream(Chain(Partition(self._chain, predicate, True, size, slow, fork))),
            Stream(Chain(Partition(self._chain, predicate, False, size, slow, fork))),
        )

    # When it fails, and when it is over.

    def on_error_resume(
        self,
        fn: Callable[[Exception], Publisher[U] | Iterable[U] | AsyncIterable[U]],
        *,
        when: When | None = None,
    ) -> Stream[T_co | U]:
        """Go on with another stream after a failure, or after one that `when` names: a type, types or a function.

        Backpressures when downstream does; demand left over moves on.

        Args:
            fn: Called with the error; gives a stream, another publisher, or an iterable.
            when: Which failures are meant: a type, several, or a function of the error; without it all are.

        Raises:
            TypeError: `fn` is not callable.

        >>> list(Stream.just(1, 0).map(lambda n: 6 // n).on_error_resume(lambda error: [-1], when=ArithmeticError))
        [6, -1]
        """
        return self._then(OnErrorResume(fn, when))

    @overload
    def on_error_return(self, value: U, *, when: When | None = None) -> Stream[T_co | U]: ...
    @overload
    def on_error_return(self, *, fn: Callable[[Exception], U], when: When | None = None) -> Stream[T_co | U]: ...
    def on_error_return(
        self,
        value: Any | Literal[Missing.MISSING] = Missing.MISSING,
        *,
        fn: Callable[[Exception], Any] | None = None,
        when: When | None = None,
    ) -> Stream[Any]:
        """End with a last element in place of a failure, or with what a function makes of the error.

        Backpressures when downstream does; the value waits to be asked for.

        Args:
            value: The last element.
            fn: Called with the error; gives the last element.
            when: Which failures are meant: a type, several, or a function of the error; without it all are.

        Raises:
            TypeError: `fn` is not callable.

        >>> list(Stream.just(1, 0).map(lambda n: 6 // n).on_error_return(-1))
        [6, -1]
        """
        return self._then(OnErrorReturn(value, fn, when))

    def on_error_complete(self, *, when: When | None = None) -> Stream[T_co]:
        """Complete in place of a failure.

        Backpressures when downstream does.

        Args:
            when: Which failures are meant: a type, several, or a function of the error; without it all are.

        >>> list(Stream.just(1, 0).map(lambda n: 6 // n).on_error_complete(when=ZeroDivisionError))
        [6]
        """
        return self._then(OnErrorComplete(when))

    def map_error(self, fn: Callable[[Exception], Exception], *, when: When | None = None) -> Stream[T_co]:
        """Fail with another error, of which the one before is the cause.

        Backpressures when downstream does.

        Args:
            fn: Called with the error; gives another.
            when: Which failures are meant: a type, several, or a function of the error; without it all are.

        Raises:
            TypeError: `fn` is not callable.

        >>> list(Stream.error(KeyError("id")).map_error(lambda error: ValueError("no id")).on_error_return(fn=repr))
        ["ValueError('no id')"]
        """
        return self._then(MapError(fn, when))

    def retry(
        self,
        times: int | None = None,
        *,
        when: When | None = None,
        backoff: float | timedelta = 0.0,
        jitter: float | Callable[[float], float] = 0.0,
        max_delay: float | timedelta | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> Stream[T_co]:
        """Subscribe again after a failure, waiting twice as long each time, more or less by a share of `jitter`.

        Backpressures when downstream does; demand left over moves on to the next attempt.

        Args:
            times: How often it is tried again; without end if not said.
            when: Which failures are meant: a type, several, or a function of the error; without it all are.
            backoff: How many seconds it waits before it tries again for the first time.
            jitter: A share of the wait by which it is longer or shorter at random, or a function of the wait.
            max_delay: The longest wait.
            clock: Where the time comes from; a `VirtualClock` in tests.

        Raises:
            ValueError: `times` is below 0, `backoff` is below 0 or `max_delay` is below 0.

        >>> attempts = iter([ValueError("first"), "second"])
        >>> list(Stream.defer(lambda: Stream.error(e) if isinstance(e := next(attempts), Exception) else [e]).retry(1))
        ['second']
        """
        seconds = seconds_of("retry", "backoff", backoff)
        most = None if max_delay is None else seconds_of("retry", "max_delay", max_delay)
        return Stream(Chain(Retry(self._chain, times, seconds, clock, when, jitter, most)))

    def repeat(self, times: int | None = None, *, while_: Callable[[], object] | None = None) -> Stream[T_co]:
        """Run the stream so many times, or for ever, as long as `while_` is true after a run.

        Backpressures when downstream does: a further run is started when downstream asks.

        >>> list(Stream.just("a", "b").repeat(2))
        ['a', 'b', 'a', 'b']
        """
        return Stream(Chain(Repeat(self._chain, times, while_)))

    def do_finally(self, fn: Callable[[], object]) -> Stream[T_co]:
        """Call a function once the stream is over, however it ends.

        Backpressures when downstream does.

        Args:
            fn: Called once without arguments.

        Raises:
            TypeError: `fn` is not callable.

        >>> list(Stream.just(1).do_finally(lambda: print("over")))
        over
        [1]
        """
        return self._then(DoFinally(fn))

    # Threads, loops and time.

    def publish_on(self, executor: AnyExecutor, *, prefetch: int = 256) -> Stream[T_co]:
        """Let what follows run on the executor: one of penstock's, of concurrent.futures, or an asyncio loop.

        Backpressures when downstream does: at most `prefetch` elements are between the two sides.

        Args:
            executor: Where it runs.
            prefetch: How many elements are asked for ahead, and held at most.

        Raises:
            ValueError: `prefetch` is below 1.

        >>> from penstock import thread
        >>> list(Stream.range(3).publish_on(thread()))
        [0, 1, 2]
        """
        return self._then(PublishOn(executor_given("publish_on", executor), prefetch))

    def subscribe_on(self, executor: AnyExecutor) -> Stream[T_co]:
        """Let what comes before run on the executor: one of penstock's, of concurrent.futures, or an asyncio loop.

        Backpressures when downstream does.

        >>> from penstock import thread
        >>> list(Stream.range(3).subscribe_on(thread()))
        [0, 1, 2]
        """
        return Stream(Chain(SubscribeOn(self._chain, executor_given("subscribe_on", executor))))

    def parallel(
        self,
        rails: int,
        flow: Callable[[Stream[T_co]], Stream[U]],
        *,
        executor: AnyExecutor | None = None,
        ordered: bool = True,
        prefetch: int = 256,
    ) -> Stream[U]:
        """Run the steps of a flow on several workers, each on a share of the elements.

        Backpressures when downstream does: at most `prefetch` elements are under way, from being asked for to their
        last result being delivered.

        Args:
            rails: How many workers.
            flow: What each does: a Flow, or a function from stream to stream.
            executor: Where they run; a pool of as many threads if not said.
            ordered: Whether results come in the order of the elements.
            prefetch: How many elements are on their way at most, in all of them together.

        Raises:
            TypeError: `flow` is none of these.
            ValueError: `rails` is below 1 or `prefetch` is below 1.

        >>> list(Stream.range(5).parallel(2, lambda numbers: numbers.map(lambda n: n * n)))
        [0, 1, 4, 9, 16]
        """
        if not callable(flow):
            raise TypeError(f"parallel: flow must be a function from Stream to Stream, got {flow!r}")
        start: Stream[Any] = Stream(Chain(Empty()))
        made = flow(start)
        if not isinstance(made, Stream) or made._chain.source is not start._chain.source:
            raise TypeError(f"parallel: flow must return a stream made from its argument, got {made!r}")
        return self._then(
            Parallel(
                rails,
                made._chain.steps,
                None if executor is None else executor_given("parallel", executor),
                ordered,
                prefetch,
            )
        )

    def with_context(self, values: Mapping[ContextVar[Any], Any]) -> Stream[T_co]:
        """Set context variables for what comes before, and for nothing else.

        Backpressures when downstream does.

        Args:
            values: What each variable is set to.

        >>> user = ContextVar("user", default="nobody")
        >>> list(Stream.just("hello").map(lambda word: (word, user.get())).with_context({user: "ada"}))
        [('hello', 'ada')]
        """
        if not isinstance(values, Mapping):
            raise TypeError(f"with_context: values must be a Mapping, got {values!r}")
        return Stream(Chain(WithContext(self._chain, tuple(values.items()))))

    def timeout(self, seconds: float | timedelta, *, clock: Clock = SYSTEM_CLOCK) -> Stream[T_co]:
        """Fail when an element that was asked for does not come in time.

        Backpressures when downstream does; while nothing is asked for, no time passes.

        Args:
            seconds: How long an element that was asked for may take.
            clock: Where the time comes from; a `VirtualClock` in tests.

        Raises:
            ValueError: `seconds` is not above 0.

        >>> list(Stream.range(2).timeout(5.0))
        [0, 1]
        """
        return self._then(Timeout(seconds_of("timeout", "seconds", seconds, zero=False), clock))

    def debounce(self, seconds: float | timedelta, *, clock: Clock = SYSTEM_CLOCK) -> Stream[T_co]:
        """Emit an element once no other has come for a while.

        Backpressures never: it asks for everything and holds, beyond what was asked for, the latest element alone; an
        element that was not asked for gives way to a newer one.

        Args:
            seconds: How long it has to be quiet; one element is held.
            clock: Where the time comes from; a `VirtualClock` in tests.

        Raises:
            ValueError: `seconds` is below 0.

        >>> list(Stream.range(100).debounce(1.0))
        [99]
        """
        return self._then(Debounce(seconds_of("debounce", "seconds", seconds), clock))

    def delay(self, seconds: float | timedelta, *, size: int = 256, clock: Clock = SYSTEM_CLOCK) -> Stream[T_co]:
        """Emit everything a while later, holding `size` elements at the most.

        Backpressures when downstream does, and while `size` elements wait: nothing is asked for that was not asked for
        below.

        Args:
            seconds: How much later.
            size: How many elements are held.
            clock: Where the time comes from; a `VirtualClock` in tests.

        Raises:
            ValueError: `seconds` is below 0 or `size` is below 1.

        >>> list(Stream.range(3).delay(0.001))
        [0, 1, 2]
        """
        return self._then(Delay(seconds_of("delay", "seconds", seconds), size, clock))

    def delay_subscription(self, seconds: float | timedelta, *, clock: Clock = SYSTEM_CLOCK) -> Stream[T_co]:
        """Subscribe a while later.

        Backpressures when downstream does; what is asked for meanwhile is kept for the stream.

        Args:
            seconds: How much later.
            clock: Where the time comes from; a `VirtualClock` in tests.

        Raises:
            ValueError: `seconds` is below 0.

        >>> list(Stream.range(3).delay_subscription(0.001))
        [0, 1, 2]
        """
        late = seconds_of("delay_subscription", "seconds", seconds)
        return Stream(Chain(DelaySubscription(self._chain, late, clock)))

    def throttle(self, count: int, per: float | timedelta = 1.0, *, clock: Clock = SYSTEM_CLOCK) -> Stream[T_co]:
        """Let at most `count` elements pass in any `per` seconds, asking for no more; none is lost.

        Backpressures when downstream does, and when `count` elements have passed in the last `per` seconds: no more
        than `count` are ever asked for at a time.

        Args:
            count: How many elements.
            per: In how many seconds.
            clock: Where the time comes from; a `VirtualClock` in tests.

        Raises:
            ValueError: `count` is below 1 or `per` is not above 0.

        >>> list(Stream.range(4).throttle(2, per=0.001))
        [0, 1, 2, 3]
        """
        return self._then(Throttle(count, seconds_of("throttle", "per", per, zero=False), clock))

    def throttle_first(self, seconds: float | timedelta, *, clock: Clock = SYSTEM_CLOCK) -> Stream[T_co]:
        """Let an element through, then none for a while.

        Backpressures when downstream does.

        Args:
            seconds: How long none passes.
            clock: Where the time comes from; a `VirtualClock` in tests.

        Raises:
            ValueError: `seconds` is below 0.

        >>> list(Stream.range(100).throttle_first(60))
        [0]
        """
        return self._then(ThrottleFirst(seconds_of("throttle_first", "seconds", seconds), clock))

    def sample(self, every: float | timedelta | Publisher[object], *, clock: Clock = SYSTEM_CLOCK) -> Stream[T_co]:
        """Emit the latest element every so many seconds, or whenever another stream emits.

        Backpressures never: it asks for everything and holds the latest element and one that was sampled; a sampled
        element that was not asked for gives way to a newer one.

        Args:
            every: How many seconds, or a stream; one element is held.
            clock: Where the time comes from; a `VirtualClock` in tests.

        Raises:
            ValueError: `every` is not above 0.

        >>> list(Stream.range(100).sample(1.0))
        [99]
        """
        if isinstance(every, int | float | timedelta):
            clock_given("sample", clock)
            every = Stream.interval(seconds_of("sample", "every", every, zero=False), clock=clock)
        elif not is_publisher(every):
            raise TypeError(
                f"sample: every must be seconds, a timedelta or a Publisher, got {every!r}{cure_for(every)}"
            )
        return Stream(Chain(Sample(self._chain, _chain_of("sample", every))))

    @overload
    def keep_alive(
        self, seconds: float | timedelta, value: U, *, size: int = 256, clock: Clock = SYSTEM_CLOCK
    ) -> Stream[T_co | U]: ...
    @overload
    def keep_alive(
        self, seconds: float | timedelta, *, fn: Callable[[], U], size: int = 256, clock: Clock = SYSTEM_CLOCK
    ) -> Stream[T_co | U]: ...
    def keep_alive(
        self,
        seconds: float | timedelta,
        value: Any = Missing.MISSING,
        *,
        fn: Callable[[], Any] | None = None,
        size: int = 256,
        clock: Clock = SYSTEM_CLOCK,
    ) -> Stream[Any]:
        """Emit a value, or what a function returns, when an element that was asked for does not come for a while.

        Backpressures when downstream does: while nothing is asked for no time passes, and at most `size` elements are
        held, those whose place was taken meanwhile.

        Args:
            seconds: How long it waits for an element.
            value: What is emitted then.
            fn: Called without arguments in place of it.
            size: How many elements are held at most.
            clock: Where the time comes from; a `VirtualClock` in tests.

        Raises:
            TypeError: `fn` is not callable.
            ValueError: `seconds` is not above 0 or `size` is below 1.

        >>> list(Stream.timer(0.01).keep_alive(0.001, "still here").take(1))
        ['still here']
        """
        idle = seconds_of("keep_alive", "seconds", seconds, zero=False)
        return self._then(KeepAlive(idle, value, fn, size, clock))

    def timestamp(self, *, clock: Clock = SYSTEM_CLOCK) -> Stream[tuple[float, T_co]]:
        """Emit each element with the clock's time at which it came.

        Backpressures when downstream does.

        >>> from penstock import VirtualClock
        >>> list(Stream.just("a").timestamp(clock=VirtualClock(5.0)))
        [(5.0, 'a')]
        """
        return self._then(Timestamp(clock))

    def time_interval(self, *, clock: Clock = SYSTEM_CLOCK) -> Stream[tuple[float, T_co]]:
        """Emit each element with the seconds since the one before it.

        Backpressures when downstream does.

        Args:
            clock: Where the time comes from; a `VirtualClock` in tests.

        >>> from penstock import VirtualClock
        >>> list(Stream.just("a", "b").time_interval(clock=VirtualClock()))
        [(0.0, 'a'), (0.0, 'b')]
        """
        return self._then(TimeInterval(clock))

    # When it comes faster than it is asked for.

    def on_backpressure_buffer(
        self, size: int, *, overflow: Overflow = Overflow.ERROR, on_drop: Callable[[T_co], object] | None = None
    ) -> Stream[T_co]:
        """Ask for everything and hold up to `size` elements that downstream has not asked for.

        Backpressures never: it asks for everything. When `size` elements wait and another comes, the stream fails
        (ERROR), or the new one is left out (DROP), or the oldest one (LATEST), and given to `on_drop`.

        Args:
            size: How many elements are held.
            overflow: What happens to one more: it fails the stream (`ERROR`), or it (`DROP`) or the oldest (`LATEST`)
                is left out.
            on_drop: Called with each element that is left out.

        Raises:
            TypeError: `on_drop` is not callable.
            ValueError: `size` is below 1.

        >>> list(Stream.range(5).on_backpressure_buffer(5))
        [0, 1, 2, 3, 4]
        """
        return self._then(OnBackpressureBuffer(size, overflow, on_drop))

    def on_backpressure_drop(self, on_drop: Callable[[T_co], object] | None = None) -> Stream[T_co]:
        """Ask for everything and leave out what downstream has not asked for.

        Backpressures never: it asks for everything and holds nothing.

        Args:
            on_drop: Called with each element that is left out.

        Raises:
            TypeError: `on_drop` is not callable.

        >>> Stream.range(5).on_backpressure_drop().count().get()
        5
        """
        return self._then(OnBackpressureDrop(on_drop))

    def on_backpressure_latest(self) -> Stream[T_co]:
        """Ask for everything and hold the latest element alone.

        Backpressures never: it asks for everything and holds one element.

        >>> list(Stream.range(5).on_backpressure_latest().limit_rate(1).last())
        [4]
        """
        return self._then(OnBackpressureLatest())

    def on_backpressure_error(self) -> Stream[T_co]:
        """Ask for everything and fail when an element comes that downstream has not asked for.

        Backpressures never: it asks for everything and holds nothing.

        >>> Stream.range(5).on_backpressure_error().count().get()
        5
        """
        return self._then(OnBackpressureError())

    def conflate(self, seed: Callable[[T_co], U], fn: Callable[[U, T_co], U]) -> Stream[U]:
        """Ask for everything and merge what downstream has not asked for into one element.

        Backpressures never: it asks for everything and holds one merged element.

        Args:
            seed: Called with the first element that is not asked for; gives what is merged into.
            fn: Called with that and a further element; gives the merged one. One is held.

        Raises:
            TypeError: `seed` or `fn` is not callable.

        >>> Stream.range(5).conflate(lambda n: [n], lambda some, n: [*some, n]).flatten().count().get()
        5
        """
        return self._then(Conflate(seed, fn))

    def limit_rate(self, high: int, low: int | None = None) -> Stream[T_co]:
        """Ask for at most `high` elements at a time, and again once `low` of them, by default half, are to come.

        Backpressures when downstream does: nothing is held, and nothing asked for that was not asked for below.

        >>> Stream.range(5).tap(on_request=print).limit_rate(4, 1).to_list().get()
        4
        3
        [0, 1, 2, 3, 4]
        """
        count_given("limit_rate", "high", high, 1)
        return self._then(LimitRate(high, high // 2 if low is None else low))

    # One run for several subscribers.

    def share(self, *, size: int = 256, slow: Slow = Slow.ERROR) -> Stream[T_co]:
        """Let several subscribers take part in one run.

        Backpressures by `slow`: a subscriber that is `size` elements behind fails with OverflowedError, or misses
        elements, or holds back all others if told to WAIT.

        Args:
            size: How many elements the fastest subscriber may be ahead of the slowest.
            slow: What becomes of a subscriber that is `size` elements behind: it fails, misses elements, or all wait
                for it.

        Raises:
            ValueError: `size` is below 1.

        >>> list(Stream.range(3).share())
        [0, 1, 2]
        """
        return Stream(Chain(Share(self._chain, size, slow)))

    def replay(self, count: int, *, size: int = 256, slow: Slow = Slow.ERROR) -> Stream[T_co]:
        """Let late subscribers see the last elements that came before them.

        Backpressures by `slow`: a subscriber that is `size` live elements behind fails with OverflowedError, or misses
        elements, or holds back all others if told to WAIT.

        Args:
            count: How many elements; so many are held.
            size: How many elements the fastest subscriber may be ahead of the slowest.
            slow: What becomes of a subscriber that is `size` elements behind: it fails, misses elements, or all wait
                for it.

        Raises:
            ValueError: `count` is below 1 or `size` is below 1.

        >>> letters = Stream.just("a", "b", "c").replay(2)
        >>> list(letters), list(letters)
        (['a', 'b', 'c'], ['b', 'c'])
        """
        return Stream(Chain(Replay(self._chain, count, size, slow)))

    def cache(self, *, size: int = 10_000) -> Stream[T_co]:
        """Run the stream once and give all of it to everybody, early or late.

        Backpressures when the most eager subscriber does; a slow one holds back no other. At most `size` elements are
        kept; one more fails it with OverflowedError.

        Args:
            size: How many elements are held at most; one more fails the stream.

        Raises:
            ValueError: `size` is below 1.

        >>> times = iter(range(9))
        >>> cached = Stream.from_callable(lambda: next(times)).cache()
        >>> list(cached), list(cached)
        ([0], [0])
        """
        return Stream(Chain(Cache(self._chain, size)))

    def publish(self, *, size: int = 256, slow: Slow = Slow.ERROR) -> Connectable[T_co]:
        """Let several subscribers take part in one run that begins when `connect` is called.

        Backpressures by `slow`: a subscriber that is `size` elements behind fails with OverflowedError, or misses
        elements, or holds back all others if told to WAIT; while there is no subscriber nothing is read.

        Args:
            size: How many elements the fastest subscriber may be ahead of the slowest.
            slow: What becomes of a subscriber that is `size` elements behind: it fails, misses elements, or all wait
                for it.

        Raises:
            ValueError: `size` is below 1.

        >>> from penstock.testing import Probe
        >>> letters, probe = Stream.just("a", "b").publish(), Probe(request=2)
        >>> letters.subscribe(probe), probe.elements, letters.connect().over
        (None, [], True)
        >>> probe.elements
        ['a', 'b']
        """
        return Connectable(Chain(Publish(self._chain, size, slow)))

    # One value of all.

    @overload
    def reduce(self: Stream[T], fn: Callable[[T, T], T], *, required: bool = False) -> Stream[T]: ...
    @overload
    def reduce(self: Stream[T], fn: Callable[[T, T], T], *, default: U) -> Stream[T | U]: ...
    @overload
    def reduce(self, fn: Callable[[U, T_co], U], initial: U) -> Stream[U]: ...
    @overload
    def reduce(self, fn: Callable[[U, T_co], U], *, create: Callable[[], U]) -> Stream[U]: ...
    def reduce(
        self,
        fn: Callable[[Any, Any], Any],
        initial: Any | Literal[Missing.MISSING] = Missing.MISSING,
        *,
        create: Callable[[], Any] | None = None,
        default: Any | Literal[Missing.MISSING] = Missing.MISSING,
        required: bool = False,
    ) -> Stream[Any]:
        """Fold all elements into one, from `initial`, from what `create` makes for each run, or from the first element.

        Backpressures never: it asks for everything and holds one result.

        Args:
            fn: Called with the result so far and an element; gives the next result.
            initial: What every run begins with; it must be hashable.
            create: Makes what a run begins with.
            default: Emitted where there is no such element.
            required: Whether it is an error, EmptyError, that there is no such element.

        Raises:
            TypeError: `fn` or `create` is not callable.

        >>> Stream.range(5).reduce(lambda total, n: total + n, 0).get()
        10
        >>> Stream.just("tea", "milk").reduce(lambda lengths, word: lengths | {word: len(word)}, create=dict).get()
        {'tea': 3, 'milk': 4}
        """
        begun = initial is not Missing.MISSING or create is not None
        if begun and (default is not Missing.MISSING or required):
            raise TypeError("reduce: default and required are for a fold that begins with the first element")
        return self._one("reduce", Reduce(fn, initial, create), default, required)

    def count(self) -> Stream[int]:
        """Emit how many elements there were.

        Backpressures never: it asks for everything and holds a number.

        >>> Stream.just("a", "b").count().get()
        2
        """
        return self._then(Count())

    def to_list(self) -> Stream[builtins.list[T_co]]:
        """Emit all elements as one list.

        Backpressures never: it asks for everything and holds it.

        >>> Stream.range(3).to_list().get()
        [0, 1, 2]
        """
        return self._then(ToList())

    def to_set(self) -> Stream[set[T_co]]:
        """Emit all elements as one set.

        Backpressures never: it asks for everything and holds each distinct element.

        >>> Stream.just("a", "b", "a").to_set().get() == {"a", "b"}
        True
        """
        return self._then(ToSet())

    @overload
    def to_dict(self: Stream[tuple[K, V]]) -> Stream[dict[K, V]]: ...
    @overload
    def to_dict(self, key: Callable[[T_co], K]) -> Stream[dict[K, T_co]]: ...
    @overload
    def to_dict(self, key: Callable[[T_co], K], value: Callable[[T_co], V]) -> Stream[dict[K, V]]: ...
    def to_dict(
        self, key: Callable[[Any], Any] | None = None, value: Callable[[Any], Any] | None = None
    ) -> Stream[dict[Any, Any]]:
        """Emit all elements as one dictionary, by the keys that a function gives or as pairs.

        Backpressures never: it asks for everything and holds what it emits.

        Args:
            key: Gives the key of an element; without it elements are pairs.
            value: Gives the value of an element; without it that is the element.

        Raises:
            TypeError: `key` is not callable.

        >>> Stream.just("to", "be", "or").to_dict(lambda word: word[0], len).get()
        {'t': 2, 'b': 2, 'o': 2}
        """
        return self._then(ToDict(key, value))

    @overload
    def first(self, predicate: Callable[[T_co], object] | None = None, *, required: bool = False) -> Stream[T_co]: ...
    @overload
    def first(self, predicate: Callable[[T_co], object] | None = None, *, default: U) -> Stream[T_co | U]: ...
    def first(
        self,
        predicate: Callable[[T_co], object] | None = None,
        *,
        default: Any | Literal[Missing.MISSING] = Missing.MISSING,
        required: bool = False,
    ) -> Stream[Any]:
        """Emit the first element alone, or the first that satisfies a predicate; fail without one if `required`.

        Backpressures when downstream does; it asks for one element, or with a predicate for everything until it has
        found one.

        Args:
            predicate: Called with each element until it is true.
            default: Emitted where there is no such element.
            required: Whether it is an error, EmptyError, that there is no such element.

        Raises:
            TypeError: `predicate` is not callable.

        >>> Stream.range(5, 9).first().get()
        5
        """
        return self._one("first", First(predicate, default), Missing.MISSING, required, default)

    @overload
    def last(self, predicate: Callable[[T_co], object] | None = None, *, required: bool = False) -> Stream[T_co]: ...
    @overload
    def last(self, predicate: Callable[[T_co], object] | None = None, *, default: U) -> Stream[T_co | U]: ...
    def last(
        self,
        predicate: Callable[[T_co], object] | None = None,
        *,
        default: Any | Literal[Missing.MISSING] = Missing.MISSING,
        required: bool = False,
    ) -> Stream[Any]:
        """Emit the last element alone, or the last that satisfies a predicate; fail without one if `required`.

        Backpressures never: it asks for everything and holds one element.

        Args:
            predicate: Called with each element.
            default: Emitted where there is no such element.
            required: Whether it is an error, EmptyError, that there is no such element.

        Raises:
            TypeError: `predicate` is not callable.

        >>> Stream.range(5, 9).last().get()
        8
        """
        return self._one("last", Last(predicate, default), Missing.MISSING, required, default)

    @overload
    def element_at(self, index: int, *, required: bool = False) -> Stream[T_co]: ...
    @overload
    def element_at(self, index: int, default: U) -> Stream[T_co | U]: ...
    def element_at(
        self, index: int, default: Any | Literal[Missing.MISSING] = Missing.MISSING, *, required: bool = False
    ) -> Stream[Any]:
        """Emit the element at one place alone, counted from 0; fail without one if `required`.

        Backpressures when downstream does; it asks for no element after that one.

        Args:
            index: The place, counted from 0.
            default: Emitted where there is no such element.
            required: Whether it is an error, EmptyError, that there is no such element.

        Raises:
            ValueError: `index` is below 0.

        >>> Stream.just("a", "b", "c").element_at(1).get()
        'b'
        """
        return self._one("element_at", ElementAt(index, default), Missing.MISSING, required, default)

    @overload
    def single(self) -> Stream[T_co]: ...
    @overload
    def single(self, default: U) -> Stream[T_co | U]: ...
    def single(self, default: Any | Literal[Missing.MISSING] = Missing.MISSING) -> Stream[Any]:
        """Emit the only element, and fail if there is none or more than one.

        Backpressures when downstream does; it asks for two elements at the most and holds one.

        Args:
            default: Emitted where there is no element.

        >>> Stream.range(9).filter(lambda n: n > 7).single().get()
        8
        """
        return self._then(Single(default))

    @overload
    def sum(self: Stream[int]) -> Stream[int]: ...
    @overload
    def sum(self: Stream[AddedT]) -> Stream[AddedT | int]: ...
    @overload
    def sum(self, start: U) -> Stream[T_co | U]: ...
    def sum(self: Stream[Any], start: Any = 0) -> Stream[Any]:
        """Add up all elements.

        Backpressures never: it asks for everything and holds the sum.

        Args:
            start: What is added to.

        >>> Stream.range(5).sum().get()
        10
        """
        return self._then(Sum(start))

    @overload
    def average(self: Stream[float], *, required: bool = False) -> Stream[float]: ...
    @overload
    def average(self: Stream[SharedT], *, required: bool = False) -> Stream[SharedT]: ...
    @overload
    def average(self: Stream[SharedT], *, default: U) -> Stream[SharedT | U]: ...
    def average(
        self: Stream[Any], *, default: Any | Literal[Missing.MISSING] = Missing.MISSING, required: bool = False
    ) -> Stream[Any]:
        """Emit the mean of the elements; where there are none `default`, nothing, or a failure if `required`.

        Backpressures never: it asks for everything and holds the sum.

        >>> Stream.just(1, 2, 6).average().get()
        3.0
        """
        return self._one("average", Average(), default, required)

    @overload
    def min(self: Stream[OrderedT], *, required: bool = False) -> Stream[OrderedT]: ...
    @overload
    def min(self: Stream[OrderedT], *, default: U) -> Stream[OrderedT | U]: ...
    @overload
    def min(self, key: Callable[[T_co], Ordered], *, required: bool = False) -> Stream[T_co]: ...
    @overload
    def min(self, key: Callable[[T_co], Ordered], *, default: U) -> Stream[T_co | U]: ...
    @overload
    def min(self, *, less: Callable[[T_co, T_co], object], required: bool = False) -> Stream[T_co]: ...
    @overload
    def min(self, *, less: Callable[[T_co, T_co], object], default: U) -> Stream[T_co | U]: ...
    def min(
        self: Stream[Any],
        key: Callable[[Any], Any] | None = None,
        *,
        less: Callable[[Any, Any], object] | None = None,
        default: Any | Literal[Missing.MISSING] = Missing.MISSING,
        required: bool = False,
    ) -> Stream[Any]:
        """Emit the smallest element: by its key, or by a function that tells whether one is `less` than another.

        Backpressures never: it asks for everything and holds one element.

        Args:
            key: Called with an element; gives what is compared.
            less: Called with two elements; tells whether the first is less.
            default: Emitted where there is no such element.
            required: Whether it is an error, EmptyError, that there is no such element.

        Raises:
            TypeError: `key` or `less` is not callable.

        >>> Stream.just("three", "two", "four").min(len).get()
        'two'
        """
        return self._one("min", Min(key_given("min", key, less)), default, required)

    @overload
    def max(self: Stream[OrderedT], *, required: bool = False) -> Stream[OrderedT]: ...
    @overload
    def max(self: Stream[OrderedT], *, default: U) -> Stream[OrderedT | U]: ...
    @overload
    def max(self, key: Callable[[T_co], Ordered], *, required: bool = False) -> Stream[T_co]: ...
    @overload
    def max(self, key: Callable[[T_co], Ordered], *, default: U) -> Stream[T_co | U]: ...
    @overload
    def max(self, *, less: Callable[[T_co, T_co], object], required: bool = False) -> Stream[T_co]: ...
    @overload
    def max(self, *, less: Callable[[T_co, T_co], object], default: U) -> Stream[T_co | U]: ...
    def max(
        self: Stream[Any],
        key: Callable[[Any], Any] | None = None,
        *,
        less: Callable[[Any, Any], object] | None = None,
        default: Any | Literal[Missing.MISSING] = Missing.MISSING,
        required: bool = False,
    ) -> Stream[Any]:
        """Emit the largest element: by its key, or by a function that tells whether one is `less` than another.

        Backpressures never: it asks for everything and holds one element.

        Args:
            key: Called with an element; gives what is compared.
            less: Called with two elements; tells whether the first is less.
            default: Emitted where there is no such element.
            required: Whether it is an error, EmptyError, that there is no such element.

        Raises:
            TypeError: `key` or `less` is not callable.

        >>> Stream.just(3, 9, 4).max().get()
        9
        """
        return self._one("max", Max(key_given("max", key, less)), default, required)

    def contains(self, element: object, *, equal: Callable[[Any, Any], object] | None = None) -> Stream[bool]:
        """Emit whether one of the elements equals the given one, perhaps by a function; ends the run once it is known.

        Backpressures never: it asks for everything and holds nothing.

        Args:
            element: What is looked for.
            equal: Called with an element and what is looked for; tells whether they are equal. Without it `==` does.

        Raises:
            TypeError: `equal` is not callable.

        >>> Stream.range(1_000_000).contains(3).get()
        True
        """
        found = Contains(element)
        if equal is None:
            return self._then(found)
        function_given("contains", "equal", equal)
        return self._then(AnyElement(EqualTo(equal, element)))

    def is_empty(self) -> Stream[bool]:
        """Emit whether there is no element at all.

        Backpressures when downstream does; it asks for one element.

        >>> Stream.range(1_000_000).is_empty().get()
        False
        """
        return self._then(IsEmpty())

    def all(self, predicate: Callable[[T_co], object]) -> Stream[bool]:
        """Emit whether every element satisfies the predicate; ends the run as soon as it is known.

        Backpressures never: it asks for everything and holds nothing.

        >>> Stream.range(1_000_000).all(lambda n: n < 3).get()
        False
        """
        return self._then(All(predicate))

    def any(self, predicate: Callable[[T_co], object]) -> Stream[bool]:
        """Emit whether any element satisfies the predicate; ends the run as soon as it is known.

        Backpressures never: it asks for everything and holds nothing.

        >>> Stream.range(1_000_000).any(lambda n: n > 3).get()
        True
        """
        return self._then(AnyElement(predicate))

    def for_each(
        self, fn: Callable[[T_co], object] | Callable[[T_co], Awaitable[object]], *, concurrency: int | None = None
    ) -> Stream[int]:
        """Call a function with each element, once it is run with `get` or `await`, and emit how many there were.

        Backpressures never: it asks for everything, as fast as the function returns, and holds a number.

        Args:
            fn: Called with each element; what it returns is left alone. A coroutine function (`async def`) is awaited.
            concurrency: How many elements an asynchronous function works on at a time, 1 if not said; as many more
                wait. Where it is given, what the function returns is awaited, whatever kind of function it is.

        Raises:
            TypeError: `fn` is not callable.
            ValueError: `concurrency` is below 1.

        >>> Stream.just("a", "b").for_each(print).get()
        a
        b
        2
        """
        if concurrency is None and not awaits(fn):
            return self._then(ForEach(fn))
        return self._then(ForEachAsync(fn, 1 if concurrency is None else concurrency))._then(Count())  # type: ignore[arg-type]

    # Watching it.

    def log(self, name: str, *, level: int = logging.INFO) -> Stream[T_co]:
        """Write every signal that passes to the logger `penstock.<name>`.

        Backpressures when downstream does.

        Args:
            name: The name of the logger.
            level: The level of what is written.

        >>> list(Stream.range(3).log("numbers", level=logging.DEBUG))
        [0, 1, 2]
        """
        return self._then(Log(name, level))

    def checkpoint(self, name: str) -> Stream[T_co]:
        """Add a note with the name to every error that passes.

        Backpressures when downstream does.

        >>> list(Stream.just("1", "2").map(int).checkpoint("numbers"))
        [1, 2]
        """
        return self._then(Checkpoint(name))

    def metrics(self, name: str, *, registry: Registry = REGISTRY) -> Stream[T_co]:
        """Count what passes, under a name.

        Backpressures when downstream does.

        Args:
            name: The name under which it is counted.
            registry: Where the counts are kept.

        >>> counts = Registry()
        >>> list(Stream.range(3).metrics("numbers", registry=counts)), counts["numbers"].delivered
        ([0, 1, 2], 3)
        """
        return Stream(Chain(Metrics(self._chain, name, registry)))

    def observed(
        self, listener: Listener, *, every: float | timedelta = 1.0, clock: Clock = SYSTEM_CLOCK
    ) -> Stream[T_co]:
        """Let a listener see every step that comes before, in every run.

        Backpressures when downstream does.

        Args:
            listener: What sees the steps.
            every: How many seconds lie between two readings.
            clock: Where the time comes from; a `VirtualClock` in tests.

        Raises:
            ValueError: `every` is below 0.

        >>> from penstock import Recorder
        >>> recorder = Recorder()
        >>> list(Stream.range(3).map(str).observed(recorder)), recorder.runs
        (['0', '1', '2'], 1)
        """
        return Stream(Chain(Observed(self._chain, Observer(listener, seconds_of("observed", "every", every), clock))))

    def checked(self) -> Stream[T_co]:
        """Watch the contract at this place and report each breach with its rule, and who broke it.

        Backpressures when downstream does.

        >>> list(Stream.range(3).checked())
        [0, 1, 2]
        """
        return Stream(Chain(Checked(self._chain)))


@dataclass(frozen=True, slots=True, repr=False)
class GroupedStream(Stream[T_co], Generic[K_co, T_co]):
    """A stream of the elements that have one key."""

    key: K_co = field(kw_only=True)

    def __repr__(self) -> str:
        return f"GroupedStream(key={self.key!r}, {self._chain})"


def _grouped(key: K, chain: Chain) -> GroupedStream[K, Any]:
    return GroupedStream(chain, key=key)


@dataclass(frozen=True, slots=True, repr=False)
class Connectable(Stream[T_co]):
    """A stream whose one run begins when it is told to; made by `publish`."""

    def connect(self) -> Connection:
        """Begin the run for those who are subscribed and those to come; return it, to be cancelled."""
        source = self._chain.source
        assert isinstance(source, Publish)
        return source.begin()


@dataclass(frozen=True, slots=True, repr=False)
class Subject(Stream[T]):
    """A stream that a program feeds, from any thread; made by `Stream.subject`."""

    _cure: ClassVar[str] = "Stream.subject() makes a subject"

    @property
    def _source(self) -> SubjectSource[T]:
        source = self._chain.source
        assert isinstance(source, SubjectSource)
        return source

    @property
    def subscribers(self) -> int:
        """Return how many are subscribed."""
        return self._source.hot.subscribers

    @property
    def requested(self) -> int:
        """Return how many elements every subscriber has asked for, not counting those on their way."""
        return self._source.hot.requested

    def emit(self, element: T) -> EmitResult:
        """Pass an element on to all subscribers, or say why not.

        OK: all have got it, or it is kept. OVERFLOW: at least one has not. CANCELLED: there are no subscribers.
        TERMINATED: the subject has ended.
        """
        source: Any = self._chain.source  # not checked again for each element
        return source.hot.emit(element, source.overflow, source.kept)  # type: ignore[no-any-return]

    def complete(self) -> EmitResult:
        """End the stream, for those who come later too."""
        return self._source.hot.end(None)

    def fail(self, error: Exception) -> EmitResult:
        """Fail the stream, for those who come later too.

        Args:
            error: The failure.
        """
        if not isinstance(error, Exception):
            raise TypeError(f"fail: error must be an Exception, got {error!r}{of_class(error)}")
        return self._source.hot.end(error)


__all__ = ["Connectable", "GroupedStream", "Running", "Stream", "Subject"]
