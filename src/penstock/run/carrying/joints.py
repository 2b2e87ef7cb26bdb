"""joints: what each step that sees signals makes of carried elements.

A step that passes elements on as they are needs nothing. One that calls functions of a user's gets them lifted. One
that may leave elements out, and keeps their order, stands between two places that know which ones went in: what went in
before one that has come out, and has not come out, was dropped.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any

from penstock.engine.runs.chain import Chain
from penstock.engine.runs.given import chain_of
from penstock.engine.weaving.blame import function_name
from penstock.engine.words.arguments import Missing, code_of
from penstock.operators.buffer_timeout import BufferTimeout
from penstock.operators.concat_map import ConcatMap
from penstock.operators.conflate import Conflate
from penstock.operators.debounce import Debounce
from penstock.operators.delay import Delay
from penstock.operators.do_finally import DoFinally
from penstock.operators.filter import FilterAsync
from penstock.operators.flat_map import FlatMapPublishers
from penstock.operators.for_each import ForEachAsync
from penstock.operators.group_by import GroupBy
from penstock.operators.keep_alive import KeepAlive
from penstock.operators.limit_rate import LimitRate
from penstock.operators.log import Log
from penstock.operators.map_async import MapAsync
from penstock.operators.map_error import MapError
from penstock.operators.on_backpressure_buffer import OnBackpressureBuffer
from penstock.operators.on_backpressure_drop import OnBackpressureDrop
from penstock.operators.on_backpressure_error import OnBackpressureError
from penstock.operators.on_backpressure_latest import OnBackpressureLatest
from penstock.operators.on_error_complete import OnErrorComplete
from penstock.operators.on_error_resume import OnErrorResume
from penstock.operators.on_error_return import OnErrorReturn
from penstock.operators.parallel import Parallel
from penstock.operators.publish_on import PublishOn
from penstock.operators.switch_map import LeavingFunction, SwitchMap
from penstock.operators.tap import TapSignals
from penstock.operators.throttle import Throttle
from penstock.operators.timeout import Timeout
from penstock.operators.window import Window, WindowSeconds
from penstock.run.carrying.functions import (
    Becomes,
    BecomesLater,
    KeptIf,
    OfValue,
    Positions,
    Unmarked,
    WhenDropped,
    maybe,
)
from penstock.run.carrying.marks import Carried, SourceMark, joined, joined_list
from penstock.run.carrying.parts import Divided, PartExit, PartMarks
from penstock.run.carrying.stages import lifted_stages
from penstock.run.pouring import AsyncBasin, Basin, Pour, PourAsync
from penstock.stage import Joint, Step
from penstock.stream import Stream

LiftChain = Callable[[Chain], Chain]
"""What makes a chain over carried elements of a chain."""
LiftJoint = Callable[[Any, LiftChain], tuple[Step, ...]]
"""What makes steps over carried elements of a step."""


class _Order:
    """The elements that went into a step and have not come out."""

    def __init__(self) -> None:
        self._inside: deque[Carried] = deque()

    def enter(self, element: Carried) -> Carried:
        """Take note of an element that goes in."""
        self._inside.append(element)
        return element

    def leave(self, element: Carried) -> Carried:
        """Be done with what went in before an element that comes out."""
        inside = self._inside
        while inside and (before := inside.popleft()) is not element:
            before.done()
        return element


def in_order(step: Step) -> tuple[Step, ...]:
    """Put a step that may leave elements out between two places that know which ones went in."""
    order = _Order()
    return (Positions(order.enter), step, Positions(order.leave))


def unmarked(given: Any, lift: LiftChain) -> Stream[Carried]:
    """Return what a function has given as a stream of carried elements."""
    chain = chain_of(given)
    return Stream(lift(chain if chain is not None else Stream.defer(lambda: given)._chain))


class _Inner:
    """A function that gives a stream for an element, which is done when the stream and all that it gave are."""

    def __init__(self, fn: Callable[[Any], Any], lift: LiftChain) -> None:
        self.fn = fn
        self._lift = lift
        self.__qualname__ = function_name(fn)
        code = code_of(fn)
        if code is not None:
            self.__code__ = code

    def __call__(self, element: Carried) -> Stream[Carried]:
        stream = unmarked(self.fn(element.value), self._lift)
        return stream.map(lambda inner: _of_both(element, inner)).tap(on_complete=element.done)


def _of_both(element: Carried, inner: Carried) -> Carried:
    made = element.also(inner.value)
    return joined(inner.value, (made, inner))


class _Latest(_Inner, LeavingFunction):
    """The same where the stream of an element is left when the next one comes."""

    def __init__(self, fn: Callable[[Any], Any], lift: LiftChain) -> None:
        super().__init__(fn, lift)
        self._before: Callable[[], None] | None = None

    def __call__(self, element: Carried) -> Stream[Carried]:
        stream = unmarked(self.fn(element.value), self._lift)
        done, way = _Once(element), PartMarks()
        before, self._before = self._before, _Left(done, stream, way)
        if before is not None:
            before()
        return stream.map(lambda inner: way(_of_both(element, inner))).tap(on_complete=done)

    def takes(self, element: Carried) -> Carried:
        """Return an element that has come; on its way here a cancel could have lost it, which its stream knew."""
        return element.marks[0].book.leave(element) if element.marks else element  # type: ignore[attr-defined]

    def drops(self, element: Carried) -> None:
        """Be told of an element that came too late: the stream that gave it had been left."""
        element.done()


class _Left:
    """The end of a stream that is left for another one."""

    def __init__(self, done: Callable[[], None], stream: Stream[Carried], way: PartMarks) -> None:
        self._done = done
        last = stream._chain.steps[-1:]
        self._parts = [*(step.part for step in last if isinstance(step, PartExit)), way]

    def __call__(self) -> None:
        for part in self._parts:
            part.end()
        self._done()


class _Once:
    """The end of an element, which may be told twice."""

    def __init__(self, element: Carried) -> None:
        self._elements = [element]

    def __call__(self) -> None:
        while self._elements:
            self._elements.pop().done()


def _conflated(step: Conflate[Any, Any]) -> Conflate[Any, Any]:
    fn = step.fn

    def both(result: Carried, element: Carried) -> Carried:
        return joined(fn(result.value, element.value), (result, element))

    return replace(step, seed=Becomes(step.seed), fn=both)


def _returned(step: OnErrorReturn[Any]) -> OnErrorReturn[Any]:
    value = step.value if step.value is Missing.MISSING else Carried(step.value)
    return replace(step, value=value, fn=maybe(Unmarked, step.fn))


def _kept_alive(step: KeepAlive[Any, Any]) -> KeepAlive[Any, Any]:
    value = step.value if step.value is Missing.MISSING else Carried(step.value)
    return replace(step, value=value, fn=maybe(Unmarked, step.fn))


def _divided(step: Any, **others: Any) -> tuple[Step, ...]:
    part = PartMarks()
    return (replace(step, make=Divided(step.make, part), **others), Positions(Carried), PartExit(part))


class _CarriedBasin:
    """A basin whose elements are done when it has taken them, or at the end if it holds them."""

    def __init__(self, basin: Basin) -> None:
        self._basin = basin
        self._holds = bool(getattr(basin, "holds", False))
        self._held: list[SourceMark] = []
        self.left = basin.left

    def put(self, element: Carried, /) -> bool:
        wanted = self._basin.put(element.value)
        if wanted and self._holds:
            self._held += element.marks
        elif wanted:
            element.done()
        return wanted

    def end(self, error: Exception | None, /) -> None:
        self._basin.end(error)
        if error is None:
            Carried(None, tuple(self._held)).done()


def _unheard() -> None:
    pass


class _CarriedAsyncBasin:
    """An asynchronous basin whose elements are done when it has taken them, or later if it holds them."""

    def __init__(self, basin: AsyncBasin) -> None:
        self._basin: Any = basin
        self.ahead: bool = getattr(basin, "ahead", False)
        self._held: list[SourceMark] = []
        if hasattr(self._basin, "on_durable"):
            self._basin.on_durable = self._let_go
        self.on_failure: Callable[[], None] = _unheard
        if hasattr(self._basin, "on_failure"):
            self._basin.on_failure = self._failed

    def _failed(self) -> None:
        self.on_failure()  # which is said after this basin was made

    @property
    def failure(self) -> Exception | None:
        found: Exception | None = getattr(self._basin, "failure", None)
        return found

    async def put(self, element: Carried, /) -> int:
        wanted: int = await self._basin.put(element.value)
        if wanted:
            self._held += element.marks
            if not getattr(self._basin, "holds", False):
                self._let_go()
        return wanted

    def _let_go(self) -> None:
        held, self._held = self._held, []
        Carried(None, tuple(held)).done()

    async def end(self, error: Exception | None, /) -> None:
        await self._basin.end(error)

    def left(self) -> Awaitable[None] | None:
        rest: Awaitable[None] | None = self._basin.left()
        return rest


def _made(make: Callable[[], Any], kind: Callable[[Any], Any]) -> Any:
    return kind(make())


def _same(step: Step, _: LiftChain) -> tuple[Step, ...]:
    return (step,)


def _ordered(step: Step, _: LiftChain) -> tuple[Step, ...]:
    return in_order(step)


JOINTS: dict[type[Joint[Any, Any]], LiftJoint] = {
    BufferTimeout: lambda step, _: (step, Positions(joined_list)),
    ConcatMap: lambda step, lift: (replace(step, fn=_Inner(step.fn, lift)),),
    Conflate: lambda step, _: (_conflated(step),),
    Debounce: _ordered,
    Delay: _same,
    DoFinally: _same,
    FilterAsync: lambda step, _: (replace(step, fn=KeptIf(step.fn)),),
    FlatMapPublishers: lambda step, lift: (replace(step, fn=_Inner(step.fn, lift)),),
    ForEachAsync: lambda step, _: (replace(step, fn=OfValue(step.fn)),),
    GroupBy: lambda step, _: _divided(step, key=OfValue(step.key)),
    KeepAlive: lambda step, _: (_kept_alive(step),),
    LimitRate: _same,
    Log: _same,
    MapAsync: lambda step, _: (replace(step, fn=BecomesLater(step.fn), key=maybe(OfValue, step.key)),),
    MapError: _same,
    OnBackpressureBuffer: lambda step, _: (replace(step, on_drop=WhenDropped(step.on_drop)),),
    OnBackpressureDrop: lambda step, _: (replace(step, on_drop=WhenDropped(step.on_drop)),),
    OnBackpressureError: _same,
    OnBackpressureLatest: _ordered,
    OnErrorComplete: _same,
    OnErrorResume: lambda step, lift: (replace(step, fn=lambda error: unmarked(step.fn(error), lift)),),
    OnErrorReturn: lambda step, _: (_returned(step),),
    Parallel: lambda step, _: (replace(step, steps=tuple(lifted_stages(step.steps, 0, len(step.steps)))),),
    Pour: lambda step, _: (replace(step, make=partial(_made, step.make, _CarriedBasin)), Positions(Carried)),
    PourAsync: lambda step, _: (replace(step, make=partial(_made, step.make, _CarriedAsyncBasin)), Positions(Carried)),
    PublishOn: _same,
    SwitchMap: lambda step, lift: (replace(step, fn=_Latest(step.fn, lift)),),
    TapSignals: lambda step, _: (replace(step, on_next=maybe(OfValue, step.on_next)),),
    Throttle: _same,
    Timeout: _same,
    Window: lambda step, _: _divided(step),
    WindowSeconds: lambda step, _: _divided(step),
}
"""What each joint makes of carried elements; one that is not here does not carry positions."""

__all__ = ["JOINTS", "LiftChain", "in_order"]
