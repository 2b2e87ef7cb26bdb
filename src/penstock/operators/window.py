"""window: split a stream into streams that follow one another.

Group: split a stream
Marble: a.window(2) over -1-2-3-4-5|
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar, NoReturn, TypeVar

from penstock.engine.grounds.alarm import Alarm
from penstock.engine.grounds.beside import Beside
from penstock.engine.many.branch import Branch, untold
from penstock.engine.many.substreams import Trunk
from penstock.engine.places.clocks import SYSTEM_CLOCK, Clock, clock_given, seconds_of
from penstock.engine.runs.chain import Chain
from penstock.engine.runs.wiring import connect
from penstock.engine.words.arguments import count_given, function_given, stays_here
from penstock.spec.interfaces import Subscriber
from penstock.stage import Joint, MakeDividing, Source, Tie
from penstock.stage.waiting import next_tick

T = TypeVar("T")
W = TypeVar("W")


def _bounds_given(size: int, patience: float, clock: Clock) -> None:
    count_given("window", "size", size, 1)
    seconds_of("window", "patience", patience)
    clock_given("window", clock)


class _OneAfterAnother:
    """The rule, in pieces, of windows that follow one another; others say when one ends."""

    __slots__ = ("_make", "due", "most", "seconds")
    timed: ClassVar[bool] = True
    named: ClassVar[bool] = False
    kept: ClassVar[tuple[str, ...]] = ("due",)

    def __init__(self, seconds: float, make: Callable[[Chain], Any]) -> None:
        self.seconds = seconds
        self.most = 1
        self._make = make
        self.begin(0.0)

    def begin(self, now: float, /) -> None:
        self.due: float | None = None

    def ended(self) -> None:
        self.due = None

    def made(self, name: Any, chain: Any, /) -> Any:
        return self._make(chain)


class _Counted(_OneAfterAnother):
    __slots__ = ("_count", "left")
    timed: ClassVar[bool] = False
    kept: ClassVar[tuple[str, ...]] = ("left",)

    def __init__(self, step: Window[Any, Any]) -> None:
        self._count = step.count
        super().__init__(inf, step.make)

    def begin(self, now: float, /) -> None:
        super().begin(now)
        self.left = self._count

    def into(self, element: Any, now: float, /) -> tuple[Hashable, bool]:
        self.left -= 1
        return 0, not self.left

    def ended(self) -> None:
        self.left = self._count


class _OnAGrid(_OneAfterAnother):
    __slots__ = ("start",)
    kept: ClassVar[tuple[str, ...]] = ("start", "due")

    def begin(self, now: float, /) -> None:
        super().begin(now)
        self.start = now

    def into(self, element: Any, now: float, /) -> tuple[Hashable, bool]:
        if self.due is None:
            self.due = next_tick(self.start, self.seconds, now)
        return 0, False


class _UntilSilence(_OneAfterAnother):
    __slots__ = ()

    def into(self, element: Any, now: float, /) -> tuple[Hashable, bool]:
        self.due = now + self.seconds
        return 0, False


@dataclass(frozen=True, slots=True)
class Window(Joint[T, W]):
    """Emit streams of `count` elements each; the last may be shorter.

    Emits a window when its first element comes. Backpressures when neither the current window nor another one is asked
    for: at most `size` elements wait, for all windows together. Fails when all elements that wait are in windows that
    get no subscriber within `patience` seconds. Completes when upstream completes, and a window with its last element.
    Cancels upstream when the stream of windows and the current window are cancelled; windows without a subscriber by
    then are gone.
    """

    tie: ClassVar[Tie] = Tie.STREAMS
    divides: ClassVar[MakeDividing | None] = _Counted
    count: int
    make: Callable[[Chain], W]
    size: int = 256
    patience: float = 5.0
    clock: Clock = SYSTEM_CLOCK

    def __post_init__(self) -> None:
        count_given("window", "count", self.count, 1)
        function_given("window", "make", self.make)
        _bounds_given(self.size, self.patience, self.clock)

    def open(self, downstream: Subscriber[W], /) -> Subscriber[T]:
        """Put the trunk of the windows in front of what follows."""
        return _CountedRun(self, downstream)


@dataclass(frozen=True, slots=True)
class WindowSeconds(Joint[T, W]):
    """Emit a stream for each `seconds` of time in which an element comes, or one that lasts until none has for so long.

    Windows of time lie on a grid that begins with the subscription; with `gap` silence alone ends a window.

    Emits a window when its first element comes. Backpressures when neither the current window nor another one is asked
    for: at most `size` elements wait, for all windows together. Fails when all elements that wait are in windows that
    get no subscriber within `patience` seconds. Completes when upstream completes, and a window when its time is over.
    Cancels upstream when the stream of windows and the current window are cancelled; windows without a subscriber by
    then are gone.
    """

    tie: ClassVar[Tie] = Tie.STREAMS
    divides: ClassVar[MakeDividing | None] = lambda step: (
        _UntilSilence(step.seconds, step.make) if step.gap else _OnAGrid(step.seconds, step.make)
    )
    seconds: float
    make: Callable[[Chain], W]
    size: int = 256
    patience: float = 5.0
    clock: Clock = SYSTEM_CLOCK
    gap: bool = False

    def __post_init__(self) -> None:
        seconds_of("window", "gap" if self.gap else "seconds", self.seconds, zero=False)
        function_given("window", "make", self.make)
        _bounds_given(self.size, self.patience, self.clock)

    def open(self, downstream: Subscriber[W], /) -> Subscriber[T]:
        """Put the trunk of the windows in front of what follows."""
        return _GapRun(self, downstream) if self.gap else _TimedRun(self, downstream)


@dataclass(frozen=True, slots=True)
class WindowUntil(Source[Any]):
    """Emit a stream of the elements between two elements of another stream.

    Emits a window when its first element comes. Backpressures when neither the current window nor another one is asked
    for: at most `size` elements wait, for all windows together; the other stream is asked for everything. Fails when
    all elements that wait are in windows that get no subscriber within `patience` seconds. Completes when the stream
    completes, and a window when the other stream emits; once that one has completed, the current window stays open.
    Cancels both streams when the stream of windows and the current window are cancelled; windows without a subscriber
    by then are gone.
    """

    tie: ClassVar[Tie] = Tie.STREAMS
    stream: Chain
    until: Chain
    make: Callable[[Chain], Any]
    size: int = 256
    patience: float = 5.0
    clock: Clock = SYSTEM_CLOCK

    def __post_init__(self) -> None:
        function_given("window", "make", self.make)
        _bounds_given(self.size, self.patience, self.clock)

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Subscribe to the other stream, then to the stream."""
        run = _CutRun(self, downstream)
        connect(self.until, run.cuts)
        connect(self.stream, run)


@dataclass(frozen=True, slots=True, eq=False)
class _Pane(Source[Any]):
    """The source of one window."""

    branch: Branch

    def connect(self, downstream: Subscriber[Any], /) -> None:
        self.branch.claim(downstream)

    def __reduce__(self) -> NoReturn:
        raise stays_here("window", "a window", "its elements come from a run that is under way; collect them")


class _WindowRun(Trunk):
    """A run that puts elements into the current window, and opens one where there is none."""

    def __init__(self, step: Window[Any, Any] | WindowSeconds[Any, Any] | WindowUntil, downstream: Any) -> None:
        super().__init__("window", downstream, step.size, step.patience, step.clock)
        self._make: Callable[[Chain], Any] = step.make
        self.drops = getattr(step.make, "drops", untold)
        self._window: Branch | None = None
        self._number = 0

    def on_chunk(self, elements: list[Any], /) -> None:
        """Put several elements into the current window."""
        while True:
            window = self._window
            if window is None or window.done:
                window = self._begin()
            if window is None:
                self.let_go(elements)
                return
            if self.put(window, elements):
                return

    def _begin(self) -> Branch | None:
        self._number += 1
        window = self._window = self.branch(self._number)
        if window is not None:
            self.opened()
            self.send(window)
        return window

    def made(self, branch: Branch) -> object:
        return self._make(Chain(_Pane(branch)))

    def name_of(self, branch: Branch) -> str:
        return f"window {branch.key}"

    def opened(self) -> None:
        """Take note that a window has just been opened."""

    def cut(self) -> None:
        """End the current window."""
        window = self._window
        if window is not None:
            self.finish(window)
            if self._window is window:
                self._window = None


class _CountedRun(_WindowRun):
    def __init__(self, step: Window[Any, Any], downstream: Subscriber[Any]) -> None:
        super().__init__(step, downstream)
        self._count = self._left = step.count

    def most(self) -> int:
        begun = self._left if self._left < self._count else 0
        return begun + self._count * max(0, self.outer.demand - len(self.outer.queue))

    def on_chunk(self, elements: list[Any], /) -> None:
        while elements and not self.done:
            some, elements = elements[: self._left], elements[self._left :]
            self._left -= len(some)
            super().on_chunk(some)
            if not self._left:
                self._left = self._count
                self.cut()


class _TimedRun(_WindowRun):
    """A run that closes windows on a grid of times from the subscription on; a timer is set while one is open."""

    def __init__(self, step: WindowSeconds[Any, Any], downstream: Subscriber[Any]) -> None:
        super().__init__(step, downstream)
        self._seconds = step.seconds
        self._timer = Alarm(step.clock, lambda _: self.cut(), self.fail)
        self._start = self._timer.now()

    def opened(self) -> None:
        passed = (self._timer.now() - self._start) // self._seconds
        self._timer.at(self._start + (passed + 1) * self._seconds)

    def released(self) -> None:
        self._timer.close()
        super().released()


class _GapRun(_WindowRun):
    """A run that closes a window when nothing has come for a while; each element moves the timer."""

    def __init__(self, step: WindowSeconds[Any, Any], downstream: Subscriber[Any]) -> None:
        super().__init__(step, downstream)
        self._gap = step.seconds
        self._timer = Alarm(step.clock, lambda _: self.cut(), self.fail)

    def on_chunk(self, elements: list[Any], /) -> None:
        self._timer.set(self._gap)
        super().on_chunk(elements)

    def released(self) -> None:
        self._timer.close()
        super().released()


class _CutRun(_WindowRun):
    def __init__(self, step: WindowUntil, downstream: Subscriber[Any]) -> None:
        super().__init__(step, downstream)
        self.cuts = Beside(self.height, lambda _: self.cut(), self._no_more_cuts)

    def _no_more_cuts(self, error: Exception | None) -> None:
        if error is not None:
            self.fail(error)

    def released(self) -> None:
        self.cuts.cancel()
        super().released()
