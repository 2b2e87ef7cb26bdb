"""reading: a stream of what a connection gives when it is asked for so many, and what it is told of the end of them.

`Reader` is what most servers offer under other names: give me up to n, all up to here is done. `reading` makes a
resumable stream of it, and `feeding` a plain one where there are no positions to go back to.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from penstock.connectors.reading_run import ReadingRun
from penstock.engine.runs.chain import Chain
from penstock.engine.words.arguments import async_function_given, count_given
from penstock.operators.resumable import UNCOMMITTED, Opened, Positioned, Resumable
from penstock.spec.interfaces import Subscriber
from penstock.stage import Again, Source
from penstock.stream import Stream

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
P = TypeVar("P")

MOST = 1000
"""How many elements are fetched at a time at most, unless a connector says another number."""


class Reader(Protocol[P, T_co]):
    """A connection of one run, which gives elements with their positions and is told what is done.

    It may have a method `ahead(more)`, which is called before each fetch with the number of elements that are asked for
    behind those of the fetch: so many it may ask the server for already, since later fetches ask for at least these.
    """

    async def fetch(self, most: int, /) -> Sequence[tuple[P, T_co]] | None:
        """Return 1 to `most` pairs of a position and an element, waiting until there is one.

        Nothing in it means to ask again, None is the end.
        """
        ...

    async def commit(self, position: P, /) -> None:
        """Take note that every element up to this position is done.

        It is called in order and one at a time, on the loop of `fetch`, perhaps while a fetch waits.
        """
        ...

    async def close(self) -> None:
        """Let go of the connection; after the last fetch and the last commit, however the run ended."""
        ...


class Feed(Protocol[T_co]):
    """A connection of one run, which gives elements that cannot be had again."""

    async def fetch(self, most: int, /) -> Sequence[T_co] | None:
        """Return 1 to `most` elements, waiting until there is one; nothing means to ask again, None is the end."""
        ...

    async def close(self) -> None:
        """Let go of the connection, however the run ended."""
        ...


def reading(
    open: Callable[[P | None], Awaitable[Reader[P, T]]],  # noqa: A002  it is what it does
    *,
    most: int = MOST,
    window: int = UNCOMMITTED,
    notes: bool = True,
) -> Stream[T]:
    """Emit what a reader fetches, as many elements at a time as are asked for; a resumable stream.

    Backpressures by fetching no more than is asked for.

    Args:
        open: Connects behind a position, None being the beginning, or the place that the server remembers; awaited on
            the event loop of the run, for each run.
        most: How many elements are fetched at a time at most.
        window: How many elements of a run that commits may be uncommitted at a time.
        notes: Whether the server takes note of what is done. Such a reader is refused where a run would not tell it:
            in a stream that a function makes, for `flat_map` say.

    Raises:
        TypeError: `open` is not callable.
        ValueError: `most` or `window` is below 1.

    >>> class Numbers:
    ...     def __init__(self, after): self.next = (after or 0) + 1
    ...     async def fetch(self, most):
    ...         first, self.next = self.next, min(self.next + most, 6)
    ...         return [(n, n * n) for n in range(first, self.next)] or None
    ...     async def commit(self, position): ...
    ...     async def close(self): ...
    >>> async def numbers(after):
    ...     return Numbers(after)
    >>> list(reading(numbers))
    [1, 4, 9, 16, 25]
    """
    async_function_given("reading", "open", open)
    count_given("reading", "most", most, 1)
    count_given("reading", "window", window, 1)
    return Stream(Chain(Resumable(_Reading(open, most, window), opens=True, window=window, notes=notes)))


def feeding(
    open: Callable[[], Awaitable[Feed[T]]],  # noqa: A002
    *,
    most: int = MOST,
) -> Stream[T]:
    """Emit what a feed fetches, as many elements at a time as are asked for; what was missed is gone.

    Backpressures by fetching no more than is asked for.

    Args:
        open: Connects; awaited on the event loop of the run, for each run.
        most: How many elements are fetched at a time at most.

    Raises:
        TypeError: `open` is not callable.
        ValueError: `most` is below 1.
    """
    async_function_given("feeding", "open", open)
    count_given("feeding", "most", most, 1)
    return Stream(Chain(_Feeding(open, most)))


@dataclass(frozen=True, slots=True)
class _Reading:
    """What a run of a reader is opened by; a value, as all that a chain is made of."""

    open: Callable[[Any], Awaitable[Any]]
    most: int
    window: int

    def __call__(self, after: Any) -> Opened[Any]:
        run = ReadingRun("reading", lambda: self.open(after), self.most, pairs=True, window=self.window)
        commits = run.commits
        return Opened(Stream(Chain(_Fetched(run))), commits.commit, run.close, run.wait, commits.reaches, run.cede)


@dataclass(frozen=True, eq=False, slots=True)
class _Fetched(Source[Any]):
    """The elements of one run."""

    run: ReadingRun

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Subscribe to them."""
        self.run.connect(downstream)


@dataclass(frozen=True, slots=True)
class _Feeding(Source[Any]):
    """What a feed gives."""

    open: Callable[[], Awaitable[Any]]
    most: int

    @property
    def again(self) -> Again:
        """Give what comes from then on."""
        return Again.LATER

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Open a feed with the first request."""
        run = ReadingRun("feeding", self.open, self.most)
        run.close()  # with the last element, since there are no commits to wait for
        run.connect(downstream)


__all__ = ["MOST", "Feed", "Positioned", "Reader", "feeding", "reading"]
