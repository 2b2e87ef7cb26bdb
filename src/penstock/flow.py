"""flow: chains without a source (Flow), with an end (Sink), and with both (Pipeline), composed as values.

Composition follows pull-stream's table: Stream | Flow = Stream, Flow | Flow = Flow, Flow | Sink = Sink,
Stream | Sink = Pipeline. `branch` makes one Sink of several. Composing runs nothing.
"""

from __future__ import annotations

import importlib
import typing
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NoReturn, Protocol, TypeVar, cast, overload, runtime_checkable

from penstock.coming_from import WRAP, Follower, Named
from penstock.engine.doors.inlet import Inlet, Receiver
from penstock.engine.doors.iterate import value_async
from penstock.engine.runs.chain import Chain, Composed
from penstock.engine.runs.wiring import connect
from penstock.engine.watching.observe import observed
from penstock.engine.weaving.blame import describe, operator_name
from penstock.plan import Plan
from penstock.run import InProcess, Run
from penstock.run.block import RunBlock
from penstock.run.branches import Branches, Hole, fill
from penstock.run.explained import INPUT, explained
from penstock.run.recorded import HOLE, pieces, recorded
from penstock.sinks import Sink
from penstock.spec.interfaces import Processor
from penstock.stage import Joint, Stage
from penstock.stream import FOLLOWS, Inputs, Stream

if TYPE_CHECKING:
    from penstock.sinks.sink import ElementSink, ListSink, SetSink

A = TypeVar("A")
A_contra = TypeVar("A_contra", contravariant=True)
B_co = TypeVar("B_co", covariant=True)
R_co = TypeVar("R_co", covariant=True)
B = TypeVar("B")
C = TypeVar("C")
R = TypeVar("R")
R1 = TypeVar("R1")
R2 = TypeVar("R2")
R3 = TypeVar("R3")
R4 = TypeVar("R4")


@dataclass(frozen=True, slots=True, repr=False)
class Flow(Follower, Composed, Generic[A_contra, B_co]):
    """A chain without a source, recorded from a function; made by `@flow`.

    >>> @flow
    ... def odd(numbers: Stream[int]) -> Stream[int]:
    ...     return numbers.filter(lambda n: n % 2)
    >>> list(Stream.range(5) | odd)
    [1, 3]
    """

    _chain: Chain
    _parts: tuple[Any, ...] = field(default=(), compare=False, repr=False)
    """What it was composed of with `|`; empty if it is of one piece."""
    takes: Any = field(default=None, compare=False, repr=False)
    """The type of the elements it takes, where the function's annotations say so."""
    gives: Any = field(default=None, compare=False, repr=False)
    """The type of the elements it gives, where the function's annotations say so."""
    _before: ClassVar[type] = Stream
    """The class whose methods are looked for here by mistake."""

    def __post_init__(self) -> None:
        if not isinstance(self._chain, Chain):
            raise TypeError(f"Flow: chain must be a Chain, got {self._chain!r}; @flow makes one of a function")

    def __repr__(self) -> str:
        return f"Flow({self._chain})"

    def explain(self) -> Plan:
        """Return what it does to the stream that it gets; print it to read it, or draw it with `svg()`."""
        return explained((INPUT,), pieces(self), "behind a stream", end=False)

    def _repr_html_(self) -> str:
        return self.explain()._repr_html_()

    def __call__(self, stream: Stream[A_contra]) -> Stream[B_co]:
        if not isinstance(stream, Stream):
            raise TypeError(f"flow: a Flow follows a stream, got {stream!r}; {WRAP}")
        return Stream(fill(self._chain, stream._chain), pieces(stream) + pieces(self))

    def follow(self, stream: Stream[A_contra]) -> Stream[B_co]:
        """Return the stream continued by this flow; what `|` does."""
        return self(stream)

    def processor(self) -> Processor[A_contra, B_co]:
        """Return a fresh Processor that does what this flow does, for one upstream and one subscriber.

        >>> upper = flow(lambda lines: lines.map(str.upper)).processor()
        >>> Stream.just("a").subscribe(upper)
        >>> list(Stream.from_publisher(upper))
        ['A']
        """
        return processor(self)

    @overload
    def __or__(self, after: Flow[B_co, C]) -> Flow[A_contra, C]: ...
    @overload
    def __or__(self, after: ListSink) -> Sink[A_contra, list[B_co]]: ...
    @overload
    def __or__(self, after: SetSink) -> Sink[A_contra, set[B_co]]: ...
    @overload
    def __or__(self, after: ElementSink) -> Sink[A_contra, B_co]: ...
    @overload
    def __or__(self, after: Sink[B_co, C]) -> Sink[A_contra, C]: ...
    def __or__(self, after: Any) -> Any:
        if isinstance(after, Flow):
            return Flow(fill(after._chain, self._chain), pieces(self) + pieces(after), self.takes, after.gives)
        if isinstance(after, Sink):
            return Sink(fill(after._chain, self._chain), pieces(self) + pieces(after))
        if callable(after):
            raise TypeError(f"|: a Flow or a Sink can follow a flow, got {after!r}; {FOLLOWS}")
        return NotImplemented


def flow(fn: Callable[[Stream[A]], Stream[B]]) -> Flow[A, B]:
    """Record the chain that a function from stream to stream builds.

    Args:
        fn: Called once, with a stream that has no source yet; returns a stream made from it.

    >>> flow(lambda lines: lines.map(str.strip))
    Flow(hole | map(str.strip))
    """
    made = recorded("flow", fn)
    takes, gives = _annotated(fn)
    rest = list(made._parts[1:])
    if rest and made._parts[0]._chain != HOLE:
        rest.insert(0, Flow(made._parts[0]._chain, (), takes))
    return Flow(made._chain, tuple(rest) if len(rest) > 1 else (), takes, gives)


def _annotated(fn: Callable[..., Any]) -> tuple[Any, Any]:
    """Return the types of the elements that a function from stream to stream takes and gives, None if unknown."""
    try:
        hints = typing.get_type_hints(fn)
    except Exception:  # noqa: BLE001  a name that is not known yet; nothing in this process needs it
        return None, None
    gives = hints.pop("return", None)
    return _element(next(iter(hints.values()), None)), _element(gives)


def _element(hint: Any) -> Any:
    found = typing.get_args(hint)[0] if typing.get_origin(hint) is Stream else None
    return None if found is Any or isinstance(found, TypeVar) else found


# What goes in is not checked: mypy finds no type for `branch(Sink.to_list(), flow | sink)` if it is.
@overload
def branch(one: Sink[Any, R1], two: Sink[Any, R2], /) -> Sink[Any, tuple[R1, R2]]: ...
@overload
def branch(one: Sink[Any, R1], two: Sink[Any, R2], three: Sink[Any, R3], /) -> Sink[Any, tuple[R1, R2, R3]]: ...
@overload
def branch(
    one: Sink[Any, R1], two: Sink[Any, R2], three: Sink[Any, R3], four: Sink[Any, R4], /
) -> Sink[Any, tuple[R1, R2, R3, R4]]: ...
@overload
def branch(
    one: Sink[Any, Any], two: Sink[Any, Any], three: Sink[Any, Any], four: Sink[Any, Any], /, *more: Sink[Any, Any]
) -> Sink[Any, tuple[Any, ...]]: ...
def branch(*ends: Sink[Any, Any]) -> Sink[Any, tuple[Any, ...]]:
    """Let several sinks take one stream, in one run of it; the result is a tuple of theirs, in their order.

    A sink that does not ask holds the others back, and the first failure ends them all.

    >>> odd = flow(lambda numbers: numbers.filter(lambda n: n % 2))
    >>> (Stream.range(5) | branch(Sink.to_list(), odd | Sink.count())).run().wait()
    ([0, 1, 2, 3, 4], 2)
    """
    if len(ends) < 2:
        raise TypeError(f"branch: ends must be at least two Sinks, got {len(ends)}")
    for each in ends:
        if not isinstance(each, Sink):
            raise TypeError(f"branch: ends must be Sinks, got {each!r}; end a Flow with one: flow | sink")
    return Sink(Chain(Branches(HOLE, ends)))


@runtime_checkable
class Engine(Protocol):
    """The party that runs pipelines outside of this process."""

    def run(self, pipeline: Pipeline[Any], checkpoint: str | Path | None, /) -> Run[Any]:
        """Start a pipeline."""
        ...

    def explain(self, pipeline: Pipeline[Any], /) -> Plan:
        """Plan a pipeline."""
        ...


@dataclass(frozen=True, slots=True)
class EngineName:
    """The name of an engine: a module and a class in it, which is made without arguments.

    A description names its engine and does not import it: the engine imports the descriptions that it carries out.
    """

    module: str
    kind: str

    def made(self) -> Engine:
        """Import the engine and make one."""
        return cast("Engine", getattr(importlib.import_module(self.module), self.kind)())


@runtime_checkable
class Elsewhere(Protocol):
    """A source that cannot run in this process, and names the engine that can run it."""

    engine: ClassVar[EngineName]


def text_of(part: Any) -> str:
    """Return a part of a pipeline as people write it, without the source that it does not have."""
    if isinstance(part, Stage | Joint):
        return describe(part)
    steps = [describe(step) for step in part._chain.steps]
    source = part._chain.source
    return " | ".join(steps if isinstance(source, Hole) and steps else [operator_name(source), *steps])


def _elsewhere(parts: tuple[Any, ...]) -> Iterator[Elsewhere]:
    """Return the sources among parts, and in what they branch into, that cannot run in this process."""
    waiting = list(reversed(parts))
    while waiting:  # branches may be nested deeper than Python's stack
        part = waiting.pop()
        if isinstance(part, Stage | Joint):
            continue
        source = part._chain.source
        if isinstance(part, Inputs):
            waiting.extend(piece for stream in reversed(part.streams) for piece in reversed(pieces(stream)))
        elif isinstance(source, Branches):
            waiting.extend(piece for end in reversed(source.ends) for piece in reversed(pieces(end)))
        elif isinstance(source, Elsewhere):
            yield source


@dataclass(frozen=True, slots=True, repr=False)
class Pipeline(Named, Generic[R_co]):
    """A whole pipeline: a source, what happens on the way, and an end; a value that can be drawn and run."""

    _chain: Chain
    _parts: tuple[Any, ...] = field(default=(), compare=False, repr=False)
    """What it was composed of with `|`: a stream, then flows and steps, then a sink."""
    _before: ClassVar[type] = Stream

    def __repr__(self) -> str:
        return f"Pipeline({self._chain})"

    def _repr_html_(self) -> str:
        try:
            return self.explain()._repr_html_()
        except Exception as error:  # noqa: BLE001  a notebook shows why it cannot be run
            from penstock.run.html import refused  # noqa: PLC0415

            return refused(self, error)

    def __or__(self, after: Any) -> NoReturn:
        raise TypeError(
            f"|: a pipeline has its end, and nothing can follow it, got {after!r}; several sinks take one stream with"
            " stream | branch(sink, sink)"
        )

    def run(self, spark: Engine | None = None, checkpoint: str | Path | None = None) -> Run[R_co]:
        """Start it and return a handle: `.wait()` blocks for the result, `await` waits for it.

        It runs on the given Spark, or on a new one if a part needs Spark; else in this process, on a separate thread.
        In a coroutine its asynchronous sources, functions and sinks run on the event loop of that coroutine.

        Args:
            spark: The Spark to run on.
            checkpoint: A folder from which a run goes on where the one before has ended. In this process it keeps the
                positions of the sources up to which everything is done; what steps remember begins anew.

        Raises:
            TypeError: `spark` is not a Spark.
            NotCarriedError: A source is to be told what is done, or there is a `checkpoint`, and positions do not
                travel through a step.
            NotResumableError: There is a `checkpoint`, and a source cannot go on behind a position.

        >>> (Stream.range(3) | Sink.count()).run().wait()
        3
        """
        engine = self._engine(spark)
        if engine is not None:
            return engine.run(self, checkpoint)
        return Run(InProcess(self._chain, self._parts, checkpoint))

    def running(self, spark: Engine | None = None, checkpoint: str | Path | None = None) -> RunBlock[R_co]:
        """Return a run for an `async with` or a `with` block, which begins there and is over behind it.

        Leaving the block waits for the end, and raises the failure of the run; `stop()` the run before, if its source
        has no end. An error that leaves the block cancels the run, waits until it has ended, and goes on.

        Args:
            spark: Where it runs, as for `run`.
            checkpoint: A folder from which a run on Spark goes on, as for `run`.

        >>> with (Stream.range(3) | Sink.count()).running() as run:
        ...     pass
        >>> run.wait()
        3
        """
        return RunBlock(lambda: self.run(spark, checkpoint))

    def explain(self, spark: Engine | None = None) -> Plan:
        """Return what would run where and what bounds what; print it to read it.

        Args:
            spark: The Spark that it would run on; without it that which `run` would start.

        >>> print((Stream.range(3).map(str) | Sink.count()).explain())
        in this process
          source ├─ range | map(str)
                 │
             end ├─ count
                 │    asks for all there is, one after the other
        """
        engine = self._engine(spark)
        if engine is not None:
            return engine.explain(self)
        return explained((), self._parts or (self,), "in this process")

    def _engine(self, given: Engine | None) -> Engine | None:
        """Return the engine that was given, or the one that a part needs, or None for this process."""
        if given is not None and (isinstance(given, type) or not isinstance(given, Engine)):
            raise TypeError(
                f"run: spark must be a penstock.spark.Spark, got {given!r}; Spark(master=...) makes one,"
                " Spark(session=...) makes one of a session"
            )
        return given or next((source.engine.made() for source in _elsewhere(self._parts)), None)

    def __await__(self) -> Generator[Any, None, R_co]:
        return value_async(self._chain).__await__()


def processor(flow: Flow[A, B]) -> Processor[A, B]:
    """Make a Processor of a Flow, for one upstream and one subscriber.

    Args:
        flow: What it does to its elements.

    >>> upper = processor(flow(lambda lines: lines.map(str.upper)))
    >>> Stream.just("a").subscribe(upper)
    >>> list(Stream.from_publisher(upper))
    ['A']
    """
    if not isinstance(flow, Flow):
        raise TypeError(f"processor: flow must be a Flow, got {flow!r}")
    return Inlet(lambda source, subscriber: connect(observed(fill(flow._chain, Chain(source))), subscriber))


def subscriber(sink: Sink[A, R]) -> Receiver[A, R]:
    """Make a Subscriber of a Sink; its result is waited for with `get()` or `await`.

    Args:
        sink: What it does with its elements.

    >>> total = subscriber(Sink.count())
    >>> Stream.range(5).subscribe(total)
    >>> total.get()
    5
    """
    if not isinstance(sink, Sink):
        raise TypeError(f"subscriber: sink must be a Sink, got {sink!r}")
    return Receiver(Inlet(lambda source, below: connect(observed(fill(sink._chain, Chain(source))), below)))


__all__ = [
    "Branches", "Elsewhere", "Engine", "EngineName", "Flow", "Hole", "Pipeline", "Sink", "branch", "flow", "pieces",
    "processor", "subscriber", "text_of",
]  # fmt: skip
