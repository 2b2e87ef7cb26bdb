"""flows: a Flow as a through: one loop with the values before it where both can be looped over, else by requests."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, TypeVar

from penstock.engine.runs.wiring import pull
from penstock.flow import Flow
from penstock.pull.ground.iterated import IteratedSource
from penstock.pull.ground.protocol import End, Read
from penstock.pull.meeting.publishers import SubscribedSource, to_publisher
from penstock.pull.module import PullSource, PullThrough
from penstock.stream import Stream

A = TypeVar("A")
B = TypeVar("B")


def through_flow(flow: Flow[A, B]) -> PullThrough[A, B]:
    """Run a Flow, with all its stages, as a through.

    >>> from penstock import Stream, flow, pull
    >>> @flow
    ... def doubled(numbers: Stream[int]) -> Stream[int]:
    ...     return numbers.map(lambda n: n * 2)
    >>> pull.pull(pull.count(2), pull.through_flow(doubled), pull.collect(lambda error, found: print(found)))
    [0, 2, 4]
    """
    if not isinstance(flow, Flow):
        raise TypeError(f"through_flow: flow must be a Flow, got {flow!r}; record one with @flow")
    return _Flowing(flow)


class _Flowed(SubscribedSource):
    """A source made by a Flow of another source."""

    def __init__(self, flow: Flow[Any, Any], upstream: Read) -> None:
        super().__init__(to_publisher(upstream).via(flow), upstream)
        self.flow = flow
        self.upstream = upstream

    @property
    def fresh(self) -> bool:
        """Tell whether it was not read yet."""
        return not self._started and self._end is None


class _Values:
    """The values of a source that can be iterated, for a stream; the source hears how the loop over them ended."""

    __slots__ = ("_source",)

    def __init__(self, source: IteratedSource) -> None:
        self._source = source

    def __iter__(self) -> Iterator[Any]:
        source = self._source
        end: End | None = None
        try:
            yield from source.start()
            end = source.exhausted()
        except Exception as error:  # noqa: BLE001  property F1
            end = source.failed(error)
        finally:
            if end is None:
                source.aborted(True)
            source.leave()
        if isinstance(end, Exception):
            raise end


def _looped(flow: Flow[Any, Any], source: IteratedSource) -> IteratedSource | None:
    """Return source and Flow as one loop, or None if there is none.

    A source that was read already cannot be looped over, nor can a Flow that needs signals or has other streams in it.
    A stage that ends the stream lets go of the source before the last value is given, and a loop only when it is asked
    again. A stage that begins with values gives them before the source is read, which then hears why it is aborted.
    """
    before = source.through(())
    if before is None:
        return None
    values = Stream.from_iterable(_Values(before))
    chain = flow(values)._chain
    head = chain.head
    if chain.source is not values._chain.source or len(head.stages) < len(chain.steps):
        return None
    habits = head.habits
    opener = None if habits.ends or habits.capped or habits.headed else pull(chain)
    if opener is None:
        return None
    return IteratedSource(partial(opener, None), lambda error: before.aborted(error or True))


class _Flowing(PullThrough[Any, Any]):
    """A Flow as a through; with another one behind it, they are one Flow."""

    __slots__ = ("flow",)

    def __init__(self, flow: Flow[Any, Any]) -> None:
        super().__init__(self._wire, name="through_flow", join=self._with)
        self.flow = flow

    def _wire(self, read: Read) -> Read | PullSource[Any]:
        before = getattr(read, "__self__", None)
        flow = self.flow
        if isinstance(before, IteratedSource):
            looped = _looped(flow, before)
            if looped is not None:
                return PullSource(looped.read, "through_flow", looped)
        if isinstance(before, _Flowed) and before.fresh:  # put on one by one, they are one Flow all the same
            read, flow = before.upstream, before.flow | flow
        return _Flowed(flow, read).read

    def _with(self, after: object) -> _Flowing | None:
        return _Flowing(self.flow | after.flow) if isinstance(after, _Flowing) else None
