"""Ended parts: a part of a run that has ended holds nothing up, whatever is still inside of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from penstock import Sink, Stream, branch, thread
from penstock.testing import check_commits
from tests.run.carrying.ledger import WAIT, Ledger

Use = Callable[[Stream[Any]], Stream[Any]]

COUNT = 200
WINDOW = 16


async def later(number: int) -> int:
    await asyncio.sleep(0)
    return number


async def truly(_: int) -> bool:
    await asyncio.sleep(0)
    return True


BEFORE: dict[str, Use] = {
    "nothing": lambda stream: stream,
    "publish_on": lambda stream: stream.publish_on(thread("part")),
    "map_async": lambda stream: stream.map_async(later, concurrency=4),
    "filter_async": lambda stream: stream.filter(truly, concurrency=4),
    "buffer": lambda stream: stream.buffer(2),
    "sliding": lambda stream: stream.sliding(3),
    "publish_on and buffer": lambda stream: stream.publish_on(thread("part")).buffer(2),
    "group_by": lambda stream: stream.group_by(lambda n: n % 2).flat_map(lambda group: group, concurrency=2),
    "window": lambda stream: stream.window(3).flat_map(lambda window: window, concurrency=1),
    "flat_map of lists": lambda stream: stream.flat_map(lambda n: [n, n]),
    "flat_map": lambda stream: stream.flat_map(lambda n: Stream.just(n, n).publish_on(thread("in")), concurrency=3),
    "concat_map": lambda stream: stream.concat_map(lambda n: Stream.just(n, n)),
    "delay": lambda stream: stream.delay(0.001),
    "buffer_timeout": lambda stream: stream.buffer_timeout(3, 0.01),
    "merge": lambda stream: stream.merge(Stream.range(5).publish_on(thread("part"))),
    "merge with itself": lambda stream: stream.publish_on(thread("part")).merge(stream.map(str)),
    "concat": lambda stream: stream.publish_on(thread("part")).take(1).concat(Stream.range(5)),
    "zip": lambda stream: stream.zip(stream.publish_on(thread("part"))),
    "limit_rate": lambda stream: stream.limit_rate(4),
    "on_backpressure_buffer": lambda stream: stream.on_backpressure_buffer(1000).publish_on(thread("part")),
}
"""What stands before the step by which the part ends."""

ENDS: dict[str, Use] = {
    "take": lambda stream: stream.take(2),
    "take_while": lambda stream: stream.enumerate().take_while(lambda pair: pair[0] < 2),
    "first": lambda stream: stream.first(),
    "take_until": lambda stream: stream.take_until(stream.skip(3)),
}
"""The steps by which a part ends."""


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("before", BEFORE)
def test_a_branch_that_has_ended_holds_nothing_up(before: str, end: str) -> None:
    source, taken = Ledger(COUNT), []
    ended = Sink.of(lambda stream: ENDS[end](BEFORE[before](stream)).count())
    run = (source.stream(WINDOW) | branch(Sink.for_each(taken.append), ended)).run()
    assert run.wait(WAIT)[0] == COUNT
    assert taken == list(range(1, COUNT + 1))
    assert source.last == COUNT


READ_ONCE = [name for name in BEFORE if name not in {"merge with itself", "zip"}]
"""Those that read the stream once, as a group can be."""


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("before", BEFORE)
def test_an_arm_that_has_ended_holds_nothing_up(before: str, end: str) -> None:
    """The branch goes on with its other arm."""
    source, taken = Ledger(COUNT), []
    ended = Sink.of(lambda stream: ENDS[end](BEFORE[before](stream)).merge(stream.map(str)).count())
    run = (source.stream(WINDOW) | branch(Sink.for_each(taken.append), ended)).run()
    assert run.wait(WAIT)[0] == COUNT
    assert source.last == COUNT


@pytest.mark.parametrize("end", [name for name in ENDS if name != "take_until"])
@pytest.mark.parametrize("before", READ_ONCE)
def test_a_group_that_has_ended_holds_nothing_up(before: str, end: str) -> None:
    """The next element of its key begins another one."""
    source = Ledger(COUNT)

    def use(group: Stream[Any]) -> Stream[Any]:
        return ENDS[end](BEFORE[before](group))

    groups = source.stream(WINDOW).group_by(lambda n: n % 3)
    run = (groups.flat_map(use, concurrency=3) | Sink.for_each(str)).run()
    run.wait(WAIT)
    assert source.last == COUNT


@pytest.mark.parametrize("end", [name for name in ENDS if name != "take_until"])
@pytest.mark.parametrize("before", READ_ONCE)
def test_a_window_that_has_ended_holds_nothing_up(before: str, end: str) -> None:
    source = Ledger(COUNT)

    def use(window: Stream[Any]) -> Stream[Any]:
        return ENDS[end](BEFORE[before](window))

    windows = source.stream(WINDOW).window(7)
    run = (windows.flat_map(use, concurrency=1) | Sink.for_each(str)).run()
    run.wait(WAIT)
    assert source.last == COUNT


ADD = {"concat", "merge"}
"""Those that give elements which come of none of the source, and of which nothing is said."""


@pytest.mark.parametrize("before", [name for name in READ_ONCE if name not in ADD])
def test_a_run_that_fails_is_not_done_with_what_is_inside_of_its_parts(before: str) -> None:
    """Nothing is done by a cancel that comes of a failure."""

    def use(part: Stream[Any]) -> Stream[Any]:
        used = BEFORE[before](part)
        return used.flatten() if before == "buffer_timeout" else used  # whose lists are others each time

    check_commits(
        lambda numbers: numbers.group_by(lambda n: n % 3).flat_map(use, concurrency=3),
        elements=12,
        window=20,
        remembers=before == "sliding",
    )
    check_commits(
        lambda numbers: numbers.window(4).flat_map(use, concurrency=1),
        elements=12,
        window=20,
        remembers=before == "sliding",
    )


@pytest.mark.parametrize("before", [name for name in BEFORE if name not in ADD])
def test_a_branch_that_fails_is_not_done_with_what_is_inside(before: str) -> None:
    """Whatever has come to the end of the other branch."""
    source, seen = Ledger(COUNT), []

    def fail(element: Any) -> None:
        if len(seen) == 5:
            raise ValueError("five")
        seen.append(element)

    failing = Sink.of(lambda stream: BEFORE[before](stream).tap(fail).count())
    with pytest.raises(ValueError, match="five"):
        (source.stream(WINDOW) | branch(Sink.for_each(str), failing)).run().wait(WAIT)
    assert source.last <= 16  # five lists of three, and one more element of a window of time


@pytest.mark.parametrize("before", READ_ONCE)
@pytest.mark.parametrize("division", ["group_by", "window"])
def test_a_stream_that_is_left_for_another_holds_nothing_up(before: str, division: str) -> None:
    source = Ledger(COUNT)
    numbers = source.stream(WINDOW)
    parts: Stream[Any] = numbers.window(3) if division == "window" else numbers.group_by(lambda n: n // 10)
    (parts.switch_map(BEFORE[before]) | Sink.for_each(str)).run().wait(WAIT)
    # All were given, so none was held up; one that another thread is just giving is not told when the run ends.
    assert source.last > COUNT - WINDOW


def test_what_comes_of_a_stream_that_was_left_holds_nothing_up() -> None:
    """Streams on threads of their own, whose elements may come when another one is the newest."""
    for _ in range(20):
        source = Ledger(COUNT)
        found = source.stream(WINDOW).switch_map(lambda n: Stream.just(n, n, n).publish_on(thread(f"left-{n % 3}")))
        (found | Sink.for_each(str)).run().wait(WAIT)
        assert source.last == COUNT


def test_groups_that_are_not_read_hold_nothing_up() -> None:
    source, taken = Ledger(COUNT), []
    groups = source.stream(WINDOW).group_by(lambda n: n % 5).take(2)
    (groups.flat_map(lambda group: group, concurrency=2) | Sink.for_each(taken.append)).run().wait(WAIT)
    assert sorted(taken) == [n for n in range(1, COUNT + 1) if n % 5 in {1, 2}]
    assert source.last == COUNT
