"""marbles: streams over virtual time, drawn as text.

A diagram is read from left to right, one cell per unit of time; the first cell is the moment of subscription.

    -        nothing happens in this cell
    a        an element: any character without another meaning; `values` says what it stands for
    (ab)     several signals in one cell, in this order
    |        the stream completes
    #        the stream fails with `error`
    space    means nothing, so that diagrams can be lined up

So `--a-b-(cd)|` has `a` at 2, `b` at 4, `c` and `d` at 6, and completes at 7; `--(a|)` completes with `a`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from penstock.engine.many.emitter import Emitter
from penstock.engine.places.clocks import Cancel, VirtualClock
from penstock.engine.words.demand import UNBOUNDED
from penstock.spec.interfaces import Publisher
from penstock.stream import Stream
from penstock.testing.probe import Probe, meet
from penstock.testing.signals import Completed, Failed, Next, Signal, VerificationError

Timeline = list[tuple[float, Signal]]
_MEANT = "-|#() "

MOST_UNITS = 10_000
"""How long a stream that was given no number of units is waited for."""


class MarbleError(Exception):
    """The failure that `#` stands for unless another is given."""

    def __eq__(self, other: object) -> bool:
        return type(other) is MarbleError

    def __hash__(self) -> int:
        return hash(MarbleError)


def cells(diagram: str) -> list[str]:
    """Return the signals of each cell as characters; refuse what is not a diagram."""
    found: list[str] = []
    group: str | None = None
    over = False
    for place, char in enumerate(diagram, 1):
        if char == " ":
            continue
        if over and not (group is not None and char == ")"):
            raise _wrong(diagram, place, "nothing may follow the end")
        if char in "()":
            if (char == "(") != (group is None):
                raise _wrong(diagram, place, f"{char} does not match")
            if char == ")":
                found.append(group or "")
            group = "" if char == "(" else None
        elif char == "-":
            if group is not None:
                raise _wrong(diagram, place, "no time passes inside a group")
            found.append("")
        elif group is None:
            found.append(char)
        else:
            group += char
        over = over or char in "|#"
    if group is not None:
        raise _wrong(diagram, len(diagram), "( does not match")
    return found


def _wrong(diagram: str, place: int, why: str) -> ValueError:
    return ValueError(f"marble: diagram must be cells as documented, got {diagram!r}: {why}, at character {place}")


def expected(
    diagram: str, *, values: Mapping[str, Any] | None = None, error: Exception | None = None, unit: float = 1.0
) -> Timeline:
    """Return the signals of a diagram with their times.

    >>> [(at, str(signal)) for at, signal in expected("a-(b|)")]
    [(0.0, "next('a')"), (2.0, "next('b')"), (2.0, 'complete')]
    """
    return [
        (number * unit, _signal(char, values or {}, error))
        for number, cell in enumerate(cells(diagram))
        for char in cell
    ]


def _signal(char: str, values: Mapping[str, Any], error: Exception | None) -> Signal:
    if char == "|":
        return Completed()
    if char == "#":
        return Failed(MarbleError("#") if error is None else error)
    return Next(values.get(char, char))


def marble(
    diagram: str,
    *,
    clock: VirtualClock,
    values: Mapping[str, Any] | None = None,
    error: Exception | None = None,
    unit: float = 1.0,
) -> Stream[Any]:
    """Return a stream that does what a diagram shows, counted from each subscription on; elements wait for demand.

    >>> clock = VirtualClock()
    >>> record(marble("a-b|", clock=clock).map(str.upper), clock)
    'A-B|'
    """
    signals = expected(diagram, values=values, error=error, unit=unit)
    moments = [number * unit for number in range(len(cells(diagram)))]

    def attach(emitter: Emitter[Any]) -> None:
        timers: list[Cancel] = []

        def stop() -> None:
            for cancel in timers:
                cancel()

        emitter.on_close(stop)
        for moment in moments:
            do = _emitting(emitter, [signal for at, signal in signals if at == moment])
            if moment:
                timers.append(clock.call_later(moment, do))
            else:
                do()

    return Stream.create(attach, size=max(1, len(signals)))


def _emitting(emitter: Emitter[Any], signals: list[Signal]) -> Callable[[], None]:
    def do() -> None:
        for signal in signals:
            if isinstance(signal, Next):
                emitter.emit(signal.element)
            elif isinstance(signal, Failed):
                emitter.fail(signal.error)
            else:
                emitter.complete()

    return do


def timeline(
    publisher: Publisher[Any],
    clock: VirtualClock,
    *,
    request: int = UNBOUNDED,
    units: int | None = None,
    unit: float = 1.0,
) -> Timeline:
    """Return what a publisher signals, with times counted from the subscription on.

    Time goes on until the stream has ended, until nothing waits on the clock any more, or for `units`.
    """
    return [signal for cell in _observed(publisher, clock, request, units, unit) for signal in cell]


def record(
    publisher: Publisher[Any],
    clock: VirtualClock,
    *,
    values: Mapping[str, Any] | None = None,
    request: int = UNBOUNDED,
    units: int | None = None,
    unit: float = 1.0,
) -> str:
    """Draw what a publisher signals as a diagram; time goes on as for `timeline`.

    >>> from penstock import Stream
    >>> clock = VirtualClock()
    >>> record(Stream.interval(2.0, clock=clock).take(2), clock)
    '--0-(1|)'
    """
    drawn = [
        "".join(_char(signal, values or {}) for _, signal in cell)
        for cell in _observed(publisher, clock, request, units, unit)
    ]
    return "".join("-" if not cell else cell if len(cell) == 1 else f"({cell})" for cell in drawn)


def _observed(
    publisher: Publisher[Any], clock: VirtualClock, request: int, units: int | None, unit: float
) -> list[Timeline]:
    """Return the signals cell by cell; a signal between two whole units belongs to the later one."""
    start = clock.now()
    found: list[Timeline] = [[]]
    probe: Probe[Any] = Probe(request, on_signal=lambda signal: found[-1].append((clock.now() - start, signal)))
    meet(publisher, probe)
    try:
        while not probe.ended and (clock.pending if units is None else len(found) <= units):
            if len(found) > MOST_UNITS:
                raise VerificationError(f"record: the stream has not ended after {MOST_UNITS} units; say units=...")
            moment = start + len(found) * unit
            found.append([])
            while clock.now() < moment:  # twice where a difference of floats falls short of it
                clock.advance(moment - clock.now())
    finally:
        if probe.subscription is not None and not probe.ended:
            probe.cancel()
    return found


def _char(signal: Signal, values: Mapping[str, Any]) -> str:
    if isinstance(signal, Completed):
        return "|"
    if isinstance(signal, Failed):
        return "#"
    for char, value in values.items():
        if value == signal.element and type(value) is type(signal.element):
            return char
    char = str(signal.element)
    if len(char) != 1 or char in _MEANT:
        raise ValueError(f"record: values must name {signal.element!r} by one character, got {dict(values)!r}")
    return char
