"""kit: how the modules of penstock.pull are made for the conformance kit, and the worlds they run in."""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from penstock import pull
from penstock.tck.outcome import Limits

LIMITS = Limits(elements=300, timeout=5, quiet=0.01)
FEW = Limits(elements=60, timeout=5, quiet=0.01)


class World:
    """Let happen what is due: nothing, unless somebody puts it here."""

    def __init__(self) -> None:
        self.due: deque[Callable[[], object]] = deque()

    def later(self, fn: Callable[..., object], *arguments: Any) -> None:
        self.due.append(lambda: fn(*arguments))

    def settle(self) -> None:
        while self.due:
            self.due.popleft()()

    def close(self) -> None:
        pass


class LoopWorld(World):
    """Let everything happen on an event loop."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()

    def later(self, fn: Callable[..., object], *arguments: Any) -> None:
        self.loop.call_soon(fn, *arguments)

    def settle(self) -> None:
        while True:
            self.loop.call_soon(self.loop.stop)
            self.loop.run_forever()
            if not self.loop._ready:  # type: ignore[attr-defined]  # nothing is left to run
                return

    def close(self) -> None:
        self.settle()
        self.left = len(asyncio.all_tasks(self.loop))
        self.loop.close()
        assert self.left == 0, "a task was left behind"

    def source(self, made: Any) -> Any:
        """Return a source whose requests are made on the loop."""
        return lambda abort, answer=None: self.later(made, abort, answer)

    def through(self, made: Any) -> Any:
        """Return a through whose requests and answers are made on the loop."""

        def wired(read: Any) -> Any:
            def upstream(abort: Any, answer: Any = None) -> None:
                read(abort, None if answer is None else lambda *given: self.later(answer, *given))

            return self.source(made(upstream))

        return wired


def numbers(count: int | None) -> Iterator[int]:
    return itertools.count() if count is None else iter(range(count))


def failing_numbers(count: int) -> Iterator[int]:
    yield from range(count)
    raise OSError("planned")


async def async_numbers(count: int | None) -> Any:
    for number in numbers(count):
        await asyncio.sleep(0)
        yield number


async def failing_async_numbers(count: int) -> Any:
    for number in range(count):
        yield number
    raise OSError("planned")


def pushed(count: int | None, error: Exception | None = None) -> pull.Pushable:
    made = pull.pushable()
    for number in range(2000 if count is None else count):
        made.push(number)
    if count is not None:
        made.end(error)
    return made


def resolved(source: Any) -> pull.DeferredSource:
    made = pull.defer_source()
    made.resolve(source)
    return made


def resolved_through(through: Any) -> pull.DeferredThrough:
    made = pull.defer_through()
    made.resolve(through)
    return made


def resolved_sink(sink: Any) -> pull.DeferredSink:
    made = pull.defer_sink()
    made.resolve(sink)
    return made


def paired(source: Any) -> Any:
    pair = pull.pair()
    pair.sink(source)
    return pair.source


def fails_at_second(error: Exception) -> Callable[[Any], Any]:
    def fn(value: Any) -> Any:
        if value == 1:
            raise error
        return value

    return fn
