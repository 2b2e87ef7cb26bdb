"""marbles: what each operator does over time, drawn from a run of the operator itself under virtual time.

A marble is the code of a stream and the inputs it has. The code is run, what a subscriber hears is written down with
its time, and that is drawn; so a picture cannot show what the operator does not do. In an input every character is one
second: a letter or a digit is an element, `-` nothing, `|` the end, `#` a failure, and what stands in brackets comes at
once.
"""

from __future__ import annotations

import asyncio
import io
import operator
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise
from typing import Any

from penstock import (
    Completed,
    Failed,
    Next,
    Overflow,
    Recorder,
    Registry,
    Slow,
    Stream,
    Subscription,
    VirtualClock,
    inline,
)
from penstock.engine.many.emitter import Emitter
from penstock.engine.words.demand import UNBOUNDED

QUIET = 12
"""How often the event loop turns after a second has passed, so that nothing of it is left to do."""

LONGEST = 22


@dataclass(frozen=True)
class Marble:
    """Hold the code of a stream and its inputs."""

    code: str
    a: str = ""
    b: str = ""
    asks: str = ""
    """What is asked for at each second, as a digit; everything at once if it is not said."""
    late: int | None = None
    """When a second subscriber comes."""
    seconds: int = 12


@dataclass
class Line:
    """Hold what was heard on one line: the time, the kind and the value."""

    label: str = ""
    heard: list[tuple[float, str, Any]] = field(default_factory=list)
    begins: float = 0.0


# How a run is made.


def timeline(text: str) -> list[tuple[float, str, Any]]:
    """Read an input."""
    events: list[tuple[float, str, Any]] = []
    at, together = 0.0, False
    for sign in text:
        if sign in "()":
            together = sign == "("
            at += not together
            continue
        if sign == "|":
            events.append((at, "end", None))
        elif sign == "#":
            events.append((at, "fail", ValueError("#")))
        elif sign != "-":
            events.append((at, "next", int(sign) if sign.isdigit() else sign))
        at += not together
    return events


def played(events: list[tuple[float, str, Any]], clock: VirtualClock) -> Stream[Any]:
    """Return an input as a stream."""

    def attach(emitter: Emitter[Any]) -> None:
        tasks: dict[str, Callable[[Any], object]] = {
            "next": emitter.emit,
            "end": lambda _: emitter.complete(),
            "fail": emitter.fail,
        }
        for at, kind, value in events:
            emitter.on_close(clock.call_later(at, lambda kind=kind, value=value: tasks[kind](value)))

    return Stream.create(attach, overflow=Overflow.BUFFER, size=1000)


class Ear:
    """Write down what is heard on one line; a stream that is heard is listened to on a line of its own."""

    def __init__(self, clock: VirtualClock, lines: list[Line], label: str = "", *, asks: str = "") -> None:
        self._clock = clock
        self._lines = lines
        self.line = Line(label, begins=clock.now())
        lines.append(self.line)
        self._asks = asks

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Ask for everything, or for some when it is time."""
        if not self._asks:
            subscription.request(UNBOUNDED)
        for at, sign in enumerate(self._asks):
            if sign.isdigit():
                self._clock.call_later(at, lambda count=int(sign): self._ask(subscription, count))

    def _ask(self, subscription: Subscription, count: int) -> None:
        self.line.heard.append((self._clock.now(), "ask", count))
        subscription.request(count)

    def on_next(self, element: Any, /) -> None:
        """Write an element down."""
        if isinstance(element, Stream):
            label = str(getattr(element, "key", "")) if hasattr(element, "key") else ""
            self.line.heard.append((self._clock.now(), "stream", label))
            element.subscribe(Ear(self._clock, self._lines, label))
        else:
            self.line.heard.append((self._clock.now(), "next", element))

    def on_error(self, error: Exception, /) -> None:
        """Write a failure down."""
        self.line.heard.append((self._clock.now(), "fail", type(error).__name__))

    def on_complete(self) -> None:
        """Write the end down."""
        self.line.heard.append((self._clock.now(), "end", None))


USER: ContextVar[str] = ContextVar("USER", default="?")


def run(marble: Marble) -> tuple[list[Line], list[Line]]:
    """Return the lines that went in and those that came out."""
    return asyncio.run(_run(marble))


async def _run(marble: Marble) -> tuple[list[Line], list[Line]]:
    clock = VirtualClock()

    async def wait(seconds: float, value: Any) -> Any:
        """Return a value after some virtual seconds."""
        done = asyncio.get_running_loop().create_future()
        clock.call_later(seconds, lambda: done.done() or done.set_result(value))
        return await done

    async def feed() -> Any:
        for n in (1, 2, 3):
            yield await wait(2, n)

    names: dict[str, Any] = {
        "Completed": Completed, "Failed": Failed, "Next": Next, "Overflow": Overflow, "Recorder": Recorder,
        "Registry": Registry, "Slow": Slow, "Stream": Stream, "USER": USER, "clock": clock,
        "connection": io.BytesIO(), "feed": feed, "inline": inline, "operator": operator, "seen": [],
        "wait": wait,
    }  # fmt: skip
    inputs = []
    for name, text in (("a", marble.a), ("b", marble.b)):
        if text:
            events = timeline(text)
            names[name] = played(events, clock)
            inputs.append(Line(name, [(at, kind, value) for at, kind, value in events]))
    made = eval(marble.code, names)  # the codes are constants of a module
    lines: list[Line] = []
    for stream in made if isinstance(made, tuple) else (made,):
        stream.subscribe(Ear(clock, lines, asks=marble.asks))
    if marble.late is not None:
        clock.call_later(marble.late, lambda: made.subscribe(Ear(clock, lines, "late")))
    if hasattr(made, "connect"):
        clock.call_later(1, made.connect)
    if hasattr(made, "emit"):
        for n in range(1, 5):
            clock.call_later(2 * n, lambda n=n: made.emit(n))
        clock.call_later(10, made.complete)
    await _quiet()
    for _ in range(marble.seconds):
        clock.advance(1)
        await _quiet()
    return inputs, lines


async def _quiet() -> None:
    for _ in range(QUIET):
        await asyncio.sleep(0)


# How it is drawn.

SECOND = 46
LEFT = 56
RADIUS = 13
STACK = 29
INK = "#1f2933"
FAINT = "#9aa5b1"
RED = "#c62828"
COLOURS = ("#80cbc4", "#ffcc80", "#9fa8da", "#ef9a9a", "#c5e1a5", "#ce93d8", "#90caf9", "#fff59d", "#bcaaa4", "#b0bec5")


def shown(value: Any) -> str:
    """Write a value in few characters."""
    if isinstance(value, Next):
        return f"Next({value.element})"
    if isinstance(value, Failed | Completed):
        return type(value).__name__
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, str):
        return value
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def colour(value: Any) -> str:
    """Give equal values the same colour."""
    return COLOURS[sum(map(ord, shown(value))) % len(COLOURS)]


def text(x: float, y: float, words: str, *, size: int = 13, anchor: str = "middle", fill: str = INK) -> str:
    """Write words around a place."""
    place = f'x="{x:.0f}" y="{y:.0f}" font-size="{size}" text-anchor="{anchor}"'
    return f'<text {place} fill="{fill}">{escape(words)}</text>'


def stroke(x1: float, y1: float, x2: float, y2: float, *, colour: str = INK, width: float = 1.5) -> str:
    """Draw a straight line."""
    return f'<line x1="{x1:.0f}" y1="{y1:.0f}" x2="{x2:.0f}" y2="{y2:.0f}" stroke="{colour}" stroke-width="{width}"/>'


def height_of(line: Line) -> int:
    """Return how much room a line needs: what comes at once is put one below the other."""
    times = [at for at, kind, _ in line.heard if kind in {"next", "stream"}]
    most = max((times.count(at) for at in times), default=1)
    return 44 + STACK * (most - 1) + (14 if any(kind == "ask" for _, kind, _ in line.heard) else 0)


def half_of(value: Any) -> float:
    """Return how far an element reaches to each side."""
    return max(RADIUS, 4 + 3.7 * len(shown(value)))


def second_of(lines: list[Line]) -> float:
    """Return how wide a second has to be, so that no two elements touch."""
    widest = float(SECOND)
    for line in lines:
        elements = [(at, half_of(value)) for at, kind, value in line.heard if kind == "next"]
        for (one, half), (other, next_half) in pairwise(elements):
            if other > one:
                widest = max(widest, (half + next_half + 6) / (other - one))
    return widest


def reach(line: Line, at: float) -> float:
    """Return how far behind a moment its end is drawn: behind the elements of that moment."""
    return max([half_of(value) + 4 for when, kind, value in line.heard if when == at and kind == "next"], default=10.0)


def drawn(line: Line, y: float, width: float, second: float) -> list[str]:
    """Draw a line and what is on it."""
    start = LEFT + second * line.begins
    ends = [at for at, kind, _ in line.heard if kind in {"end", "fail"}]
    stop = LEFT + second * ends[-1] + reach(line, ends[-1]) + 1 if ends else width - 16
    marks = [stroke(start - 12, y, stop, y)]
    if not ends:
        marks.extend([stroke(stop - 7, y - 5, stop, y), stroke(stop - 7, y + 5, stop, y)])
    if line.label:
        marks.append(text(start - 18, y + 5, line.label, anchor="end", fill=FAINT))
    stacked: dict[float, int] = {}
    for at, kind, value in line.heard:
        x = LEFT + second * at
        if kind == "end":
            end = x + reach(line, at)
            marks.append(stroke(end, y - 14, end, y + 14, width=3))
        elif kind == "fail":
            end = x + reach(line, at) + 9
            marks.append(stroke(end - 9, y - 9, end + 9, y + 9, colour=RED, width=3))
            marks.append(stroke(end - 9, y + 9, end + 9, y - 9, colour=RED, width=3))
            if isinstance(value, str):
                marks.append(text(end + 16, y + 5, value, anchor="start", size=11, fill=RED))
        elif kind == "ask":
            marks.append(text(x, y + 30, f"+{value}", size=11, fill=FAINT))
        else:
            place = y + STACK * stacked.get(at, 0)
            stacked[at] = stacked.get(at, 0) + 1
            marks.append(_element(x, place, kind, value))
    return marks


def _element(x: float, y: float, kind: str, value: Any) -> str:
    if kind == "stream":
        return (
            f'<circle cx="{x:.0f}" cy="{y:.0f}" r="{RADIUS - 4}" fill="#ffffff" stroke="{INK}" stroke-dasharray="3 2"/>'
        )
    words = shown(value)
    half = half_of(value)
    pill = (
        f'<rect x="{x - half:.0f}" y="{y - RADIUS:.0f}" width="{2 * half:.0f}" height="{2 * RADIUS}" rx="{RADIUS}" '
        f'fill="{colour(value)}" stroke="{INK}"/>'
    )
    return pill + text(x, y + 5, words)


def label_of(code: str) -> str:
    """Write the code as the picture shows it: what only virtual time needs is left out."""
    for needless in (", clock=clock", "clock=clock"):
        code = code.replace(needless, "")
    return code


def picture(name: str, marble: Marble) -> str:
    """Draw an operator."""
    inputs, outputs = run(marble)
    last = max([at for line in (*inputs, *outputs) for at, _, _ in line.heard], default=4.0)
    label = label_of(marble.code)
    second = second_of([*inputs, *outputs])
    width = max(LEFT + second * last + 130, 60 + 7.4 * len(label), 320)
    marks: list[str] = []
    y = 30.0
    for line in inputs:
        marks.extend(drawn(line, y, width, second))
        y += height_of(line)
    marks.append(
        f'<rect x="12" y="{y - 16:.0f}" width="{width - 24:.0f}" height="32" rx="6" fill="#e0f2f1" stroke="{INK}"/>'
    )
    marks.append(f'<g font-family="monospace">{text(width / 2, y + 5, label)}</g>')
    y += 48
    for line in outputs:
        marks.extend(drawn(line, y, width, second))
        y += height_of(line)
    body = "\n".join(marks)
    size = f'viewBox="0 0 {width:.0f} {y:.0f}" width="{width:.0f}" height="{y:.0f}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="system-ui, Helvetica, sans-serif">\n'
        f"<title>{escape(name)}: {escape(label)}</title>\n"
        f'<rect width="{width:.0f}" height="{y:.0f}" rx="8" fill="#ffffff"/>\n{body}\n</svg>\n'
    )
