"""timelines: inputs that are the same for reactivex and penstock, and what each of the two makes of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import reactivex
from reactivex.disposable import CompositeDisposable
from reactivex.scheduler import VirtualTimeScheduler

from penstock import Overflow, Stream, Subscription, VirtualClock
from penstock.engine.many.emitter import Emitter

HORIZON = 60.0
Heard = tuple[float, str, object]
"""When something was heard, what, and with which value."""


class SourceError(Exception):
    """Be the failure of an input."""


@dataclass(frozen=True)
class Timeline:
    """Say when a source emits what, and how it ends: with "completed", "failed" or not at all."""

    events: tuple[tuple[float, Any], ...] = ()
    ends: float | None = None
    fails: bool = False

    def observable(self, scheduler: VirtualTimeScheduler) -> reactivex.Observable[Any]:
        """Return it for reactivex: each subscriber has a time of its own."""

        def subscribe(observer: Any, _: Any = None) -> Any:
            timers = CompositeDisposable()

            def later(at: float, action: Callable[[], None]) -> None:
                timers.add(scheduler.schedule_relative(at, lambda *_: action()))

            for at, element in self.events:
                later(at, lambda element=element: observer.on_next(element))
            if self.ends is not None:
                later(
                    self.ends, lambda: observer.on_error(SourceError("lost")) if self.fails else observer.on_completed()
                )
            return timers

        return reactivex.create(subscribe)

    def stream(self, clock: VirtualClock) -> Stream[Any]:
        """Return it for penstock: each subscriber has a time of its own."""

        def attach(emitter: Emitter[Any]) -> None:
            for at, element in self.events:
                emitter.on_close(clock.call_later(at, lambda element=element: emitter.emit(element)))
            if self.ends is not None:
                end = (lambda: emitter.fail(SourceError("lost"))) if self.fails else emitter.complete
                emitter.on_close(clock.call_later(self.ends, end))

        return Stream.create(attach, overflow=Overflow.BUFFER, size=1000)


def timeline(*events: tuple[float, Any], ends: float | None = None, fails: float | None = None) -> Timeline:
    """Write a timeline in few words."""
    return Timeline(events, fails if fails is not None else ends, fails is not None)


def plain(value: Any) -> Any:
    """Return an error as its type and its text, and anything else as it is."""
    return f"{type(value).__name__}: {value}" if isinstance(value, BaseException) else value


class Ear:
    """Write down what is heard, and when."""

    def __init__(self, now: Callable[[], float]) -> None:
        self.heard: list[Heard] = []
        self._now = now

    def hear(self, what: str, value: object = None) -> None:
        self.heard.append((self._now(), what, plain(value)))

    def on_subscribe(self, subscription: Subscription, /) -> None:
        subscription.request(2**63 - 1)

    def on_next(self, element: Any, /) -> None:
        self.hear("next", element)

    def on_error(self, error: Exception, /) -> None:
        self.hear("failed", error)

    def on_complete(self) -> None:
        self.hear("completed")


def with_reactivex(make: Callable[..., reactivex.Observable[Any]], inputs: tuple[Timeline, ...]) -> list[Heard]:
    """Return what a subscriber hears from reactivex."""
    scheduler = VirtualTimeScheduler()
    ear = Ear(lambda: float(scheduler.clock))
    made = make(scheduler, *[each.observable(scheduler) for each in inputs])
    made.subscribe(ear.on_next, ear.on_error, ear.on_complete, scheduler=scheduler)
    scheduler.advance_to(HORIZON)
    return ear.heard


def with_penstock(make: Callable[..., Stream[Any]], inputs: tuple[Timeline, ...]) -> list[Heard]:
    """Return what a subscriber who asks for everything hears from penstock."""
    clock = VirtualClock()
    ear = Ear(clock.now)
    make(clock, *[each.stream(clock) for each in inputs]).subscribe(ear)
    clock.advance(HORIZON)
    return ear.heard
