"""sink: Sink, the end of a pipeline, and the ends that most pipelines need."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, cast, overload

from penstock.coming_from import Follower
from penstock.engine.places.clocks import seconds_of
from penstock.engine.runs.chain import Chain, Composed
from penstock.engine.runs.one_result import one_result
from penstock.engine.words.arguments import (
    Missing,
    async_function_given,
    awaits,
    count_given,
    effect_given,
    function_given,
    initial_given,
)
from penstock.operators.for_each import ForEachAsync
from penstock.plan import Plan
from penstock.run.branches import fill
from penstock.run.explained import INPUT, explained
from penstock.run.recorded import pieces, recorded
from penstock.sinks.new_file import Form, MakeNewFile
from penstock.sinks.poured import poured
from penstock.sinks.steps import Fold, ForeachBatch, Lengths
from penstock.stream import Stream

if TYPE_CHECKING:
    from penstock.bridges.asyncio import FilledLoopQueue
    from penstock.bridges.threads import FilledQueue
    from penstock.flow import Pipeline

A_contra = TypeVar("A_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)
X = TypeVar("X")  # static methods need their own variables: the class's are unknown to pyright there
Y = TypeVar("Y")
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass(frozen=True, slots=True, repr=False)
class Sink(Follower, Composed, Generic[A_contra, R_co]):
    """The end of a pipeline: a chain without a source that comes down to one result.

    A sink runs in this process, on Spark too, where the rows that it asks for come here.
    """

    _chain: Chain
    _parts: tuple[Any, ...] = field(default=(), compare=False, repr=False)
    """What it was composed of with `|`; empty if it is of one piece."""

    def __post_init__(self) -> None:
        if not isinstance(self._chain, Chain):
            raise TypeError(f"Sink: chain must be a Chain, got {self._chain!r}; Sink.for_each(fn) makes a sink")

    def __repr__(self) -> str:
        return f"Sink({self._chain})"

    def explain(self) -> Plan:
        """Return what it does to the stream that it gets; print it to read it, or draw it with `svg()`."""
        return explained((INPUT,), pieces(self), "behind a stream")

    def _repr_html_(self) -> str:
        return self.explain()._repr_html_()

    def follow(self, stream: Stream[A_contra]) -> Pipeline[R_co]:
        """Return the pipeline that ends in this sink; what `|` does.

        Args:
            stream: What is to end in it.
        """
        from penstock.flow import Pipeline  # noqa: PLC0415  a pipeline knows what a sink is

        return Pipeline(fill(self._chain, stream._chain), pieces(stream) + pieces(self))

    @staticmethod
    def of(fn: Callable[[Stream[X]], Stream[Y]]) -> Sink[X, Y]:
        """Make a sink of a function that brings a stream down to one result.

        Args:
            fn: Gets a stream and returns one made from it that has one element, such as `stream.count()`. It holds what
                its operators hold.

        Raises:
            TypeError: `fn` is not a function, or what it returns is not a stream made from its argument, or may have
                several elements.

        >>> (Stream.range(5) | Sink.of(lambda numbers: numbers.reduce(max))).run().wait()
        4
        """
        made = recorded("Sink.of", fn)
        if not one_result(made._chain):
            raise TypeError(
                f"Sink.of: {getattr(fn, '__name__', fn)!r} must come down to one result, got {made._chain}; end it "
                "with first(), reduce(), to_list() or another operator that gives one"
            )
        return Sink(made._chain)

    @staticmethod
    def for_each(
        fn: Callable[[X], object] | Callable[[X], Awaitable[object]], *, concurrency: int | None = None
    ) -> Sink[X, int]:
        """Call the function with each element; the result is how many there were.

        Args:
            fn: Called with each element, one after the other; none is held. A coroutine function (`async def`) is
                awaited on the event loop that the run uses.
            concurrency: How many elements an asynchronous function works on at a time, 1 if not said; as many more
                wait. Where it is given, what the function returns is awaited, whatever kind of function it is.

        Raises:
            TypeError: `fn` is not callable.
            ValueError: `concurrency` is below 1.

        >>> (Stream.just("a", "b") | Sink.for_each(print)).run().wait()
        a
        b
        2
        """
        return Sink.of(lambda stream: stream.for_each(fn, concurrency=concurrency))

    @staticmethod
    def foreach_batch(
        fn: Callable[[list[X]], object] | Callable[[list[X]], Awaitable[object]],
        size: int,
        seconds: float | timedelta | None = None,
        *,
        concurrency: int | None = None,
    ) -> Sink[X, int]:
        """Call the function with many elements at a time; the result is how many elements there were.

        It holds at most `size` elements, and as many again for each call that is under way or waits.

        Args:
            fn: Called with a list of at most `size` elements, never an empty one. A coroutine function is awaited.
            size: How many elements a full batch has.
            seconds: How long the first element of a batch waits until the batch is handed over, full or not. Without it
                only a full batch is, and the rest at the end.
            concurrency: How many batches an asynchronous function works on at a time, 1 if not said; as many more wait.

        Raises:
            TypeError: `fn` is not callable.
            ValueError: `size` or `concurrency` is below 1, or `seconds` is not above 0.

        >>> (Stream.range(5) | Sink.foreach_batch(print, 2)).run().wait()
        [0, 1]
        [2, 3]
        [4]
        5
        """
        check = async_function_given if concurrency is not None or awaits(fn) else effect_given
        check("foreach_batch", "fn", fn)
        count_given("foreach_batch", "size", size, 1)
        if seconds is not None:
            seconds_of("foreach_batch", "seconds", seconds, zero=False)
        if concurrency is not None:
            count_given("foreach_batch", "concurrency", concurrency, 1)

        def build(stream: Stream[X]) -> Stream[int]:
            batches = stream.buffer(size) if seconds is None else stream.buffer_timeout(size, seconds)
            if concurrency is None and not awaits(fn):
                return batches.apply(ForeachBatch(fn))
            worked = ForEachAsync(cast("Callable[[list[X]], Awaitable[object]]", fn), concurrency or 1)
            return batches.apply(worked).apply(Lengths())

        return Sink.of(build)

    @staticmethod
    def to_list() -> ListSink:
        """Collect all elements in a list. It holds all of them.

        >>> (Stream.range(3) | Sink.to_list()).run().wait()
        [0, 1, 2]
        """
        return cast("ListSink", Sink.of(lambda stream: stream.to_list()))

    @staticmethod
    def to_set() -> SetSink:
        """Collect all elements in a set. It holds one of each; an element that cannot be hashed fails the run.

        >>> (Stream.just("a", "b", "a") | Sink.to_set()).run().wait() == {"a", "b"}
        True
        """
        return cast("SetSink", Sink.of(lambda stream: stream.to_set()))

    @overload
    @staticmethod
    def to_dict() -> Sink[tuple[K, V], dict[K, V]]: ...
    @overload
    @staticmethod
    def to_dict(key: Callable[[X], K]) -> Sink[X, dict[K, X]]: ...
    @overload
    @staticmethod
    def to_dict(key: Callable[[X], K], value: Callable[[X], V]) -> Sink[X, dict[K, V]]: ...
    @staticmethod
    def to_dict(
        key: Callable[[Any], Any] | None = None, value: Callable[[Any], Any] | None = None
    ) -> Sink[Any, dict[Any, Any]]:
        """Collect all elements in a dictionary, the last one of each key. It holds one of each key.

        Args:
            key: Gives the key of an element; without it elements are pairs of key and value.
            value: Gives the value of an element; without it that is the element.

        Raises:
            TypeError: `key` or `value` is not callable, or `value` comes without `key`.

        >>> (Stream.just("to", "be") | Sink.to_dict(len)).run().wait()
        {2: 'be'}
        """
        return Sink.of(lambda stream: stream.to_dict(key, value))  # type: ignore[arg-type]

    @staticmethod
    def count() -> Sink[Any, int]:
        """Count the elements. It holds a number.

        >>> (Stream.range(3) | Sink.count()).run().wait()
        3
        """
        return Sink.of(lambda stream: stream.count())

    @overload
    @staticmethod
    def first() -> ElementSink: ...
    @overload
    @staticmethod
    def first(predicate: Callable[[X], object] | None) -> Sink[X, X]: ...
    @overload
    @staticmethod
    def first(predicate: Callable[[X], object] | None = None, *, default: Y) -> Sink[X, X | Y]: ...
    @staticmethod
    def first(
        predicate: Callable[[Any], object] | None = None,
        *,
        default: Any | Literal[Missing.MISSING] = Missing.MISSING,
    ) -> Sink[Any, Any]:
        """Take the first element, and end the run. It asks for one, or for all until the predicate is true of one.

        Args:
            predicate: Says whether an element is wanted; without it any is.
            default: The result where there is no such element; without it the run fails with EmptyError.

        Raises:
            TypeError: `predicate` is not callable.

        >>> (Stream.range(5, 9) | Sink.first()).run().wait()
        5
        """
        return Sink.of(lambda stream: stream.first(predicate, default=default))

    @overload
    @staticmethod
    def last() -> ElementSink: ...
    @overload
    @staticmethod
    def last(predicate: Callable[[X], object] | None) -> Sink[X, X]: ...
    @overload
    @staticmethod
    def last(predicate: Callable[[X], object] | None = None, *, default: Y) -> Sink[X, X | Y]: ...
    @staticmethod
    def last(
        predicate: Callable[[Any], object] | None = None,
        *,
        default: Any | Literal[Missing.MISSING] = Missing.MISSING,
    ) -> Sink[Any, Any]:
        """Take the last element. It holds one.

        Args:
            predicate: Says whether an element is wanted; without it any is.
            default: The result where there is no such element; without it the run fails with EmptyError.

        Raises:
            TypeError: `predicate` is not callable.

        >>> (Stream.range(5, 9) | Sink.last()).run().wait()
        8
        """
        return Sink.of(lambda stream: stream.last(predicate, default=default))

    @overload
    @staticmethod
    def fold(fn: Callable[[Y, X], Y], initial: Y) -> Sink[X, Y]: ...
    @overload
    @staticmethod
    def fold(fn: Callable[[Y, X], Y], *, create: Callable[[], Y]) -> Sink[X, Y]: ...
    @staticmethod
    def fold(
        fn: Callable[[Any, Any], Any],
        initial: Any | Literal[Missing.MISSING] = Missing.MISSING,
        *,
        create: Callable[[], Any] | None = None,
    ) -> Sink[Any, Any]:
        """Fold all elements into one. It holds the result so far.

        Args:
            fn: Called with the result so far and an element; gives the next result.
            initial: What every run begins with; it must be hashable, so that no run changes it for the others.
            create: Makes what a run begins with, such as `list`, where that is changed by `fn`.

        Raises:
            TypeError: `fn` is not callable, `initial` can be changed, or not just one of them is given.

        >>> (Stream.range(5) | Sink.fold(lambda total, n: total + n, 0)).run().wait()
        10
        """
        function_given("fold", "fn", fn)
        initial_given("fold", "initial", initial, create)
        return Sink.of(lambda stream: stream.apply(Fold(fn, initial, create)))

    @overload
    @staticmethod
    def to_file(path: str | Path, *, form: Literal["lines"] = "lines", encoding: str = "utf-8") -> Sink[str, int]: ...
    @overload
    @staticmethod
    def to_file(path: str | Path, *, form: Literal["bytes"]) -> Sink[bytes, int]: ...
    @staticmethod
    def to_file(path: str | Path, *, form: Form = "lines", encoding: str = "utf-8") -> Sink[Any, int]:
        r"""Write the elements to a file; the result is how many there were.

        The file appears when the stream has completed, in the place of one that was there before. Until then another
        one is written beside it, `.NAME.*.part`, which is removed after a failure or a cancel. A separate thread
        writes; at most 16 elements wait for it.

        Args:
            path: Where the file is to be; its folder must exist.
            form: `"lines"` for text, where each element is a line and gets its end if it has none, or `"bytes"` for
                bytes as they are.
            encoding: How lines are written as bytes.

        Raises:
            TypeError: `path` is not a path; the run fails with it at an element that is not a text, or not bytes.
            ValueError: `form` is none of the two.

        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> (Stream.just("one", "two") | Sink.to_file(folder / "lines")).run().wait()
        2
        >>> (folder / "lines").read_text()
        'one\ntwo\n'
        """
        if not isinstance(path, str | Path):
            raise TypeError(f"to_file: path must be a path, got {path!r}; penstock.bridges.files has open files")
        if form not in ("lines", "bytes"):
            raise ValueError(f"to_file: form must be 'lines' or 'bytes', got {form!r}")
        return Sink.of(lambda stream: poured(stream, MakeNewFile(Path(path), form, encoding)))

    @staticmethod
    def to_queue(queue: FilledQueue[X] | FilledLoopQueue[X], *, end: bool = True) -> Sink[X, int]:
        """Put the elements into a queue, which another thread, process or task takes them from; the result is how many.

        A full queue makes the run wait: at most 16 elements beside the queue's own, none with an `asyncio.Queue`.
        `penstock.bridges.threads.from_queue` and `penstock.bridges.asyncio.from_queue` read it.

        Args:
            queue: A `queue.Queue`, a `multiprocessing.Queue` or an `asyncio.Queue`; the last one is used on the event
                loop that awaits the run, and on no other.
            end: Whether `Completed()`, or `Failed(error)`, follows the last element; false where several fill it.

        Raises:
            TypeError: `queue` cannot be put into.

        >>> from queue import Queue
        >>> waiting = Queue()
        >>> (Stream.just("a") | Sink.to_queue(waiting)).run().wait(), waiting.get(), waiting.get()
        (1, 'a', Completed())
        """
        library = sys.modules.get("asyncio")
        if library is not None and isinstance(queue, library.Queue):
            from penstock.bridges.asyncio import to_queue as to_queue_of_a_loop  # noqa: PLC0415  needs asyncio

            return to_queue_of_a_loop(cast("FilledLoopQueue[X]", queue), end=end)
        from penstock.bridges.threads import to_queue  # noqa: PLC0415  bridges are made of sinks

        return to_queue(cast("FilledQueue[X]", queue), end=end)


if TYPE_CHECKING:
    # Sinks whose result is made of what comes in, for type checkers alone: pyright looks at the right side of `|`
    # before it knows the left one, and would have Unknown elements. Stream and Flow say what each of them gives.

    class ListSink(Sink[Any, list[Any]]):
        """The end of a pipeline whose result is a list."""

    class SetSink(Sink[Any, set[Any]]):
        """The end of a pipeline whose result is a set."""

    class ElementSink(Sink[Any, Any]):
        """The end of a pipeline whose result is one of the elements."""


__all__ = ["Sink"]
