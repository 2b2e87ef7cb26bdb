"""timed: random flows of operators that time wakes give one answer in process, on a virtual clock, and in pieces.

    python -m tests.spark.timed --flows 1000

Rows come at given times. In process a clock is moved to each of them, and a key has a stream that begins with its first
row; in pieces a micro-batch has the time and the rows, and each is run by a fresh copy of the processor, with no more
than the bytes of the states in between. A life that ends before its last micro-batch is committed repeats it.
"""

from __future__ import annotations

import argparse
import operator
import random
import sys
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

from penstock import Clock, Flow, Stream, VirtualClock, flow
from penstock.engine.places.clocks import SYSTEM_CLOCK
from penstock.testing import ManualPublisher, Probe, subscribed
from tests.spark.differential import MADE, ROWS, Given
from tests.spark.stages.pieces import in_pieces

Make = Callable[[Stream[Any], Clock], Stream[Any]]
Batch = tuple[float, list[Given]]


def asked(stream: Stream[Any], clock: Clock) -> Stream[Any]:
    """Return a stream of which everything is asked at once, as Spark does; where it runs, nothing else can."""
    return stream if clock is SYSTEM_CLOCK else stream.on_backpressure_buffer(1000)


# The lengths have sums that differ, so that no two steps are due at once, where their order would be left open.
WAITING: list[Make] = [
    lambda s, clock: s.debounce(1.3, clock=clock),
    lambda s, clock: s.debounce(0.61, clock=clock),
    lambda s, clock: s.buffer_timeout(3, 2.17, clock=clock).map(sum),
    lambda s, clock: s.buffer_timeout(2, 5.03, clock=clock).map(len),
    lambda s, clock: s.sample(1.71, clock=clock),
    lambda s, clock: s.timeout(4.37, clock=clock).on_error_return(-1, when=TimeoutError),
    lambda s, clock: s.timeout(3.91, clock=clock).on_error_resume(lambda error: [7, 8]),
    lambda s, clock: asked(s.delay(2.89, clock=clock), clock),
    lambda s, clock: asked(s.delay(0.43, clock=clock), clock),
    lambda s, clock: asked(asked(s, clock).throttle(1, 1.39, clock=clock), clock),
    lambda s, clock: asked(asked(s, clock).throttle(2, 3.29, clock=clock), clock),
    lambda s, clock: s.window(seconds=3.47, clock=clock).concat_map(lambda w: w.count()),
    lambda s, clock: s.window(seconds=2.23, clock=clock).flat_map(lambda w: w.scan(operator.add, 0), concurrency=3),
    lambda s, clock: s.window(gap=2.77, clock=clock).concat_map(lambda w: w.to_list().map(sum)),
    lambda s, clock: s.window(gap=3.11, clock=clock).concat_map(
        lambda w: asked(w, clock).window(2, clock=clock).concat_map(lambda v: v.max())
    ),
    lambda s, clock: s.window(5, clock=clock).concat_map(lambda w: asked(w, clock).debounce(0.53, clock=clock)),
    lambda s, clock: asked(s.keep_alive(1.83, 9, clock=clock), clock),
    lambda s, clock: asked(s.keep_alive(2.57, fn=lambda: 11, clock=clock), clock),
]
OTHERS: list[Make] = [
    lambda s, _: s.map(lambda n: n + 1),
    lambda s, _: s.filter(lambda n: n % 3 != 0),
    lambda s, _: s.flat_map(lambda n: [n, n // 2][: int(n) % 3]),
    lambda s, _: s.scan(operator.add, 0),
    lambda s, _: s.take(4),
    lambda s, _: s.skip(1),
    lambda s, _: s.drop_repeats(),
    lambda s, _: s.buffer(2).map(sum),
    lambda s, _: s.start_with(5),
    lambda s, _: s.end_with(6),
    lambda s, _: s.enumerate().starmap(operator.mul),
    lambda s, clock: s.throttle_first(1.19, clock=clock),
    lambda s, clock: s.window(3, clock=clock).concat_map(lambda w: w.sum()),
    lambda s, clock: s.window(2, clock=clock).flat_map(lambda w: w.take(1), concurrency=2),
    lambda s, clock: s.group_by(lambda n: n % 3, clock=clock).flat_map(
        lambda g: g.scan(operator.add, 0).map(lambda n: n + g.key), concurrency=9
    ),
    lambda s, clock: s.group_by(lambda n: n % 2, clock=clock).flat_map(lambda g: g.take(2).count(), concurrency=9),
    lambda s, clock: s.timestamp(clock=clock).starmap(lambda at, n: round(at, 6) * n),
]


def flow_of(number: int) -> tuple[Make, str]:
    """Return the steps of a flow by its number, one of which waits at least, and a name for it."""
    draw = random.Random(f"timed {number}")
    steps = [draw.choice(OTHERS) for _ in range(draw.randint(0, 3))]
    for step in draw.sample(WAITING, draw.randint(1, 2)):
        steps.insert(draw.randint(0, len(steps)), step)
    places = [[*WAITING, *OTHERS].index(step) for step in steps]

    def make(stream: Stream[Any], clock: Clock) -> Stream[Any]:
        for step in steps:
            stream = step(stream, clock)
        return stream

    return make, f"timed flow {number}: steps {places}"


def batches_of(number: int) -> list[Batch]:
    """Return rows with their times, and the time of the end without any."""
    draw = random.Random(f"times {number}")
    now, found = 0.0, list[Batch]()
    for at in range(draw.randint(1, 12)):
        now += draw.choice((1, 1, 1, 2, 3, 6))
        found.append(
            (now, [Given(draw.randrange(3), at, draw.randrange(30)) for _ in range(draw.choice((0, 1, 2, 4)))])
        )
    return [*found, (now + draw.choice((0, 1, 7)), [])]


def here(make: Make, batches: Sequence[Batch], key: int) -> list[tuple[int, Any]]:
    """Return what comes of the rows of a key in this process, and up to which of the times."""
    clock = VirtualClock()
    upstream: ManualPublisher[int] = ManualPublisher()
    probe: Probe[Any] | None = None
    found: list[tuple[int, Any]] = []
    by = [0]
    for place, (now, rows) in enumerate(batches):
        by[0] = place
        clock.advance(now - clock.now())
        mine = [row.n for row in rows if row.k == key]
        if mine and probe is None:
            stream = make(asked(Stream.from_publisher(upstream), clock), clock)
            probe = subscribed(stream.map(lambda one: found.append((by[0], one)) or 1))
            probe.request()
        for n in mine:
            if not upstream.cancelled:
                upstream.next(n)
    if probe is not None:
        if not upstream.cancelled:
            upstream.complete()
        clock.advance(1000.0)  # what the end has to wait for in process
        assert probe.ended
        assert probe.error is None, probe.error
    return found


def scoped(number: int, make: Make) -> Flow[Any, Any]:
    """Return a Flow over the rows of a key, whose results have their places in it."""

    def steps(rows: Stream[Any]) -> Stream[Any]:
        made = make(rows.map(lambda row: row.n), SYSTEM_CLOCK)
        return made.enumerate().map(lambda one: (number, one[0], repr(one[1])))

    return flow(steps)


def differs(number: int) -> str | None:
    """Try a flow; return what differs, if anything does."""
    make, name = flow_of(number)
    batches = batches_of(number)
    keys = {row.k for _, rows in batches for row in rows}
    want = sorted((at, by, repr(one)) for key in keys for at, (by, one) in enumerate(here(make, batches, key)))
    draw = random.Random(f"lives {number}")
    states: dict[Any, dict[Any, Any]] = {}
    got: list[tuple[int, int, str]] = []
    held, made = states, list[Any]()
    for place, (now, rows) in enumerate(batches):
        for _ in range(2 if draw.random() < 0.2 else 1):  # a life that ended before the commit repeats its batch
            held = deepcopy(states)
            last = place == len(batches) - 1
            pieces = in_pieces(
                scoped(number, make), ROWS, MADE, ["k"], [] if last else [rows], states=held, ends=last, times=[now]
            )
            made = [row for piece in pieces for row in piece]
        states = held
        got.extend((row.number, place, row.text) for row in made)
    waiting = [held for named, held in states.items() if isinstance(named, tuple) and named[0] == "dues" and held]
    if waiting:
        return f"{name}: {waiting} is left behind"
    return None if sorted(got) == want else f"{name}: {sorted(got)} != {want}, from {batches}"


def main(arguments: list[str]) -> int:
    """Try flows and say which differ."""
    parser = argparse.ArgumentParser(prog="python -m tests.spark.timed", description=__doc__)
    parser.add_argument("--flows", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args(arguments)
    numbers = range(given.first, given.first + given.flows)
    wrong = [text for number in numbers if (text := differs(number)) is not None]
    print("\n".join(wrong) or f"{given.flows} flows, the same everywhere")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
