"""ways: how the elements of a stream may be taken."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from itertools import cycle
from typing import Any

from penstock.engine.doors.iterate import value, value_async
from penstock.engine.words.demand import UNBOUNDED
from penstock.errors import EmptyError
from penstock.stream import Stream
from penstock.testing.laws.session import Session
from penstock.testing.probe import Probe
from penstock.testing.signals import VerificationError

_SLICES = (2, 1, 3)


@dataclass(frozen=True, slots=True)
class Seen:
    """What came of a run: the elements, and the failure if there was one."""

    elements: list[Any]
    error: Exception | None = None
    breaches: list[str] = field(default_factory=list)
    stuck: str = ""
    """What did not come, if the run did not end."""


class Way(Enum):
    """How the elements are taken; ways that have patience are first, since a loop waits for ever for what is stuck."""

    ONE_BY_ONE = "one by one"
    SLICES = "in slices"
    UNBOUNDED = "all at once"
    INSIDE = "one by one, asked for inside on_next"
    ELSEWHERE = "as two other threads ask"
    FOR = "in a for loop"
    ASYNC_FOR = "in an async for loop"
    GET = "by get"
    AWAIT = "by await"

    @property
    def first_only(self) -> bool:
        """Tell whether it takes the first element alone."""
        return self in {Way.GET, Way.AWAIT}

    def take(self, stream: Stream[Any], session: Session) -> Seen:
        """Run a stream to its end."""
        return _TAKE[self](stream, session)


def _in_for(stream: Stream[Any], _: Session) -> Seen:
    elements: list[Any] = []
    try:
        for element in stream:
            elements.append(element)  # noqa: PERF402  what came before a failure is kept
    except Exception as error:
        return Seen(elements, error)
    return Seen(elements)


def _in_async_for(stream: Stream[Any], session: Session) -> Seen:
    elements: list[Any] = []

    async def run() -> None:
        async for element in stream:
            elements.append(element)  # noqa: PERF401

    try:
        session.run(run())
    except Exception as error:
        return Seen(elements, error)
    return Seen(elements)


def _got(stream: Stream[Any], _: Session) -> Seen:
    return _valued(lambda: value(stream._chain))  # as `get` does once it knows that there is one element at most


def _awaited(stream: Stream[Any], session: Session) -> Seen:
    async def run() -> Any:
        return await value_async(stream._chain)

    return _valued(lambda: session.run(run()))


def _valued(take: Callable[[], Any]) -> Seen:
    try:
        return Seen([take()])
    except EmptyError:
        return Seen([])
    except Exception as error:
        return Seen([], error)


def _probed(stream: Stream[Any], session: Session, ask: Callable[[Probe[Any]], None], **options: Any) -> Seen:
    probe: Probe[Any] = Probe(patience=session.patience, **options)
    stream.subscribe(probe)
    stuck = ""
    try:
        ask(probe)
        probe.wait_for_end()
    except VerificationError as error:
        stuck = str(error)
        probe.cancel()
    return Seen(probe.elements, probe.error, list(probe.breaches), stuck)


def _one_by_one(stream: Stream[Any], session: Session) -> Seen:
    return _probed(stream, session, lambda probe: ask_in_turn(probe, (1,)))


def _in_slices(stream: Stream[Any], session: Session) -> Seen:
    return _probed(stream, session, lambda probe: ask_in_turn(probe, _SLICES))


def _all_at_once(stream: Stream[Any], session: Session) -> Seen:
    return _probed(stream, session, lambda probe: None, request=UNBOUNDED)


def _inside(stream: Stream[Any], session: Session) -> Seen:
    def ask_on(_: object) -> None:
        if not probe.ended:
            probe.request(1)

    probe: Probe[Any] = Probe(1, on_signal=ask_on, patience=session.patience)
    stream.subscribe(probe)
    try:
        probe.wait_for_end()
    except VerificationError as error:
        probe.cancel()
        return Seen(probe.elements, probe.error, list(probe.breaches), str(error))
    return Seen(probe.elements, probe.error, list(probe.breaches))


def _elsewhere(stream: Stream[Any], session: Session) -> Seen:
    def ask(probe: Probe[Any]) -> None:
        def work() -> None:
            for size in (1, 1, 2, 100):
                probe.request(size)

        threads = [threading.Thread(target=work, daemon=True) for _ in range(2)]
        for each in threads:
            each.start()
        for each in threads:
            each.join(session.patience)

    return _probed(stream, session, ask)


def ask_in_turn(probe: Probe[Any], sizes: tuple[int, ...]) -> None:
    """Request by sizes, again and again, each time when all of it has come."""
    for size in cycle(sizes):
        if probe.ended:
            return
        ask(probe, size)


def ask(probe: Probe[Any], size: int) -> None:
    """Request, and wait until all of it or the end has come."""
    wanted = len(probe.elements) + size
    probe.request(size)
    probe.wait_until(lambda: probe.ended or len(probe.elements) >= wanted, f"{size} more elements or the end")


_TAKE: dict[Way, Callable[[Stream[Any], Session], Seen]] = {
    Way.FOR: _in_for,
    Way.ASYNC_FOR: _in_async_for,
    Way.GET: _got,
    Way.AWAIT: _awaited,
    Way.ONE_BY_ONE: _one_by_one,
    Way.SLICES: _in_slices,
    Way.UNBOUNDED: _all_at_once,
    Way.INSIDE: _inside,
    Way.ELSEWHERE: _elsewhere,
}
