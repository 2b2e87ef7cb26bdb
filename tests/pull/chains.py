"""chains: every chain of up to three modules of the catalogue, run joined and unjoined, over all kinds of sources.

What is joined must do what its parts do: the same values, the same ends, the same calls of the same functions, the same
requests to the source, in the same order. Unjoined means that a plain function stands between any two neighbours, so
that neither steps are woven nor answers returned.

`python -m tests.pull.chains` runs all of them, more than 60,000, over every kind of source, with the ways to read them
in turn, or, with `--every-case`, in every way; the tests of `test_chains.py` run a fixed share.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from typing import Any

from penstock import Dropped, Stream, flow, pull, set_on_dropped

Log = list[tuple[Any, ...]]
Make = Callable[[Log], Any]

PLANNED = ValueError("planned")
WHY = ValueError("why")
PLAIN = {int, bool, list, tuple, str, type(None)}


def weight(value: Any) -> int:
    """Return a number for whatever a chain may have made of the numbers that went in."""
    if isinstance(value, list | tuple):
        return sum(weight(each) for each in value)
    return value if isinstance(value, int) else len(str(value))


def shown(value: Any) -> Any:
    return repr(value) if isinstance(value, Exception) else value


def noted(log: Log, name: str, fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function, which writes down what it is called with."""

    def call(*arguments: Any) -> Any:
        log.append((name, *(shown(each) for each in arguments if type(each) in PLAIN or isinstance(each, Exception))))
        return fn(*arguments)

    return call


def raises_at(number: int) -> Callable[[Any], bool]:
    def fn(value: Any) -> bool:
        if weight(value) == number:
            raise PLANNED
        return True

    return fn


def apart(read: Any) -> Any:
    """Be a plain function, which nothing can be joined with."""
    return lambda abort, answer=None: read(abort, answer)


def two(queue: pull.Queue, value: Any) -> None:
    queue.put(value)
    queue.put(weight(value))


def until_three(queue: pull.Queue, value: Any) -> None:
    queue.put(value)
    if weight(value) == 3:
        queue.end()


def by_callback(fn: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda value, finished: finished(None, fn(value))


def switched(log: Log) -> Any:
    switch = pull.abortable(noted(log, "abortable", lambda error: None))
    return pull.pull(
        pull.map(noted(log, "switch", lambda value: (weight(value) == 4 and switch.abort(), value)[1])), switch
    )


def deferred(make: Callable[[], Any]) -> Any:
    made = pull.defer_through()
    made.resolve(make())
    return made


CATALOGUE: dict[str, Make] = {
    "map": lambda log: pull.map(noted(log, "map", lambda value: weight(value) + 1)),
    "map raises": lambda log: pull.map(noted(log, "map raises", raises_at(3))),
    "filter": lambda log: pull.filter(noted(log, "filter", lambda value: weight(value) % 2)),
    "filter none": lambda log: pull.filter(noted(log, "filter none", lambda value: False)),
    "filter raises": lambda log: pull.filter(noted(log, "filter raises", raises_at(4))),
    "filter_not": lambda log: pull.filter_not(noted(log, "filter_not", lambda value: weight(value) % 3 == 1)),
    "take 0": lambda log: pull.take(0),
    "take 1": lambda log: pull.take(1),
    "take 3": lambda log: pull.take(3),
    "take_while": lambda log: pull.take_while(noted(log, "take_while", lambda value: weight(value) < 4)),
    "take_while last": lambda log: pull.take_while(noted(log, "last", lambda value: weight(value) < 3), last=True),
    "unique": lambda log: pull.unique(noted(log, "unique", lambda value: weight(value) % 4)),
    "non_unique": lambda log: pull.non_unique(noted(log, "non_unique", lambda value: weight(value) % 3)),
    "through": lambda log: pull.through(noted(log, "through", lambda value: None)),
    "through on_end": lambda log: pull.through(None, noted(log, "on_end", lambda error: None)),
    "through both": lambda log: pull.through(
        noted(log, "both", raises_at(5)), noted(log, "both on_end", lambda error: None)
    ),
    "scan": lambda log: pull.scan(noted(log, "scan", lambda total, value: total + weight(value)), 0),
    "scan create": lambda log: pull.scan(noted(log, "scan", lambda found, value: [*found, value]), create=list),
    "flatten": lambda log: pull.flatten(),
    "flat_map": lambda log: pull.flat_map(noted(log, "flat_map", lambda value: [value] * (weight(value) % 3))),
    "flat_map sources": lambda log: pull.flat_map(
        noted(log, "flat_map", lambda value: pull.values([value, 0], noted(log, "inner", lambda error: None)))
    ),
    "batch": lambda log: pull.batch(2),
    "sliding": lambda log: pull.sliding(noted(log, "sliding", sum_of), 2),
    "sliding raises": lambda log: pull.sliding(noted(log, "sliding", raises_at(5)), 2),
    "buffer": lambda log: pull.buffer(2),
    "catch": lambda log: pull.catch(),
    "catch value": lambda log: pull.catch(noted(log, "catch", lambda error: 7)),
    "abortable": lambda log: pull.abortable(noted(log, "abortable", lambda error: None)),
    "abortable aborts": switched,
    "queue_through": lambda log: pull.queue_through(noted(log, "queue_through", two), lambda queue: queue.put(9)),
    "queue_through ends": lambda log: pull.queue_through(noted(log, "queue_through", until_three)),
    "async_map": lambda log: pull.async_map(noted(log, "async_map", by_callback(weight))),
    "async_map raises": lambda log: pull.async_map(by_callback(raises_at(3))),
    "para_map": lambda log: pull.para_map(noted(log, "para_map", by_callback(weight)), 2),
    "checker": lambda log: pull.checker(),
    "ref_through": lambda log: pull.ref_through(),
    "through_flow": lambda log: pull.through_flow(flow(lambda stream: stream.map(weight).filter(lambda n: n != 2))),
    "through_flow of several": lambda log: pull.through_flow(
        flow(lambda stream: stream.map(weight).flat_map(lambda n: [n, n]).end_with(9))
    ),
    "through_flow that begins": lambda log: pull.through_flow(flow(lambda stream: stream.map(weight).start_with(7))),
    "through_flow that fails": lambda log: pull.through_flow(
        flow(lambda stream: stream.map(lambda v: 6 // (weight(v) - 2)))
    ),
    "through_flow with another": lambda log: pull.through_flow(
        flow(lambda stream: stream.map(weight).take(1).concat(Stream.just(8)))
    ),
    "through_flow take": lambda log: pull.through_flow(flow(lambda stream: stream.take(2))),
    "cat": lambda log: lambda read: pull.cat([read, pull.values([8], noted(log, "cat", lambda error: None))]),
    "many": lambda log: lambda read: pull.many([read]),
    "merge": lambda log: lambda read: pull.merge([read, pull.values([2, 4])], weight),
    "zip_sources": lambda log: lambda read: pull.zip_sources(read, pull.values([1, 2, 3])),
    "pair": lambda log: pull.pair(),
    "defer_through": lambda log: deferred(lambda: pull.map(noted(log, "deferred", weight))),
    "hand-written": lambda log: lambda read: lambda abort, answer=None: read(abort, answer),
}


def sum_of(values: list[Any]) -> int:
    return sum(weight(each) for each in values)


# Sources, and how they are read.


def numbers(log: Log, end: Exception | None) -> Iterator[int]:
    try:
        for number in range(1, 7):
            log.append(("gives", number))
            yield number
        if end is not None:
            raise end
    finally:
        log.append(("closed",))


def at_once(log: Log, due: pull.Schedule, end: Exception | None) -> Any:
    return pull.values(numbers(log, end), noted(log, "on_abort", lambda error: None))


def asked(log: Log, due: pull.Schedule, end: Exception | None) -> Any:
    """Give 1 .. 6, each by the schedule, by plain function calls."""
    made = pull.ref_source(6, True if end is None else end, schedule=due)

    def read(abort: Any, answer: Any = None) -> None:
        log.append(("asked",) if abort is None else ("aborted", shown(abort)))
        made(abort, answer)

    return read


SOURCES: dict[str, tuple[Callable[..., Any], bool, Exception | None]] = {
    "values": (at_once, True, None),
    "at once": (asked, True, None),
    "later": (asked, False, None),
    "values that fail": (at_once, True, PLANNED),
    "later, and fails": (asked, False, PLANNED),
}


class Consumer:
    """Ask as a plan says, and write down the answers."""

    def __init__(self, source: Any, log: Log, due: pull.Schedule) -> None:
        self.source, self._log, self.due = source, log, due
        self.values: list[Any] = []
        self.over = False

    def answer(self, end: Any, value: Any = None, /) -> None:
        self._log.append(("value", value) if end is None else ("end", shown(end)))
        if end is None:
            self.values.append(value)
        else:
            self.over = True

    def told(self, error: Exception | None) -> None:
        self._log.append(("told", shown(error)))

    def ask(self, count: int = 1, *, wait: bool = True) -> None:
        for _ in range(count):
            self.source(None, self.answer)
            if wait:
                self.due.run()
        self.due.run()

    def abort(self, reason: Any) -> None:
        self.source(reason, self.answer)
        self.due.run()

    def all(self) -> None:
        for _ in range(120):
            if self.over:
                return
            self.ask()
        self._log.append(("no end",))


def to_the_end(consumer: Consumer) -> None:
    consumer.all()
    consumer.ask()


def aborted_after(count: int, reason: Any) -> Callable[[Consumer], None]:
    def plan(consumer: Consumer) -> None:
        consumer.ask(count)
        consumer.abort(reason)
        consumer.ask()

    return plan


def many_at_once(consumer: Consumer) -> None:
    consumer.ask(4, wait=False)
    consumer.abort(True)


def drained(most: int) -> Callable[[Consumer], None]:
    """Read by a drain, which stops itself after so many values."""

    def plan(consumer: Consumer) -> None:
        def op(value: Any) -> bool:
            consumer.answer(None, value)
            return len(consumer.values) < most

        pull.pull(consumer.source, pull.drain(op, consumer.told))
        consumer.due.run()

    return plan


PLANS: dict[str, Callable[[Consumer], None]] = {
    "to the end": to_the_end,
    "aborted after two": aborted_after(2, True),
    "aborted with an error": aborted_after(1, WHY),
    "four asks at a time": many_at_once,
    "drained": drained(99),
    "drained, and stopped": drained(2),
}


def run(names: tuple[str, ...], source: str, plan: str, *, joined: bool) -> tuple[Log, list[Any]]:
    """Run a chain and return what was written down, and the values."""
    log: Log = []
    make, sync, end = SOURCES[source]
    due = pull.Schedule(at_once=sync)
    modules = [CATALOGUE[name](log) for name in names]
    if not joined:
        modules = [each for module in modules for each in (module, apart)]
    dropped: list[Dropped] = []
    before = set_on_dropped(dropped.append)
    try:
        made = pull.pull(make(log, due, end), *modules)
        consumer = Consumer(made.source if isinstance(made, pull.Pair) else made, log, due)
        PLANS[plan](consumer)
    finally:
        set_on_dropped(before)
        for error in (PLANNED, WHY):  # or each run would add to what they keep
            error.__traceback__ = None
            error.__dict__.pop("__notes__", None)
    log.extend(("dropped", each.what, shown(each.error)) for each in dropped)
    return log, consumer.values


def differs(names: tuple[str, ...], source: str, plan: str) -> str | None:
    """Return how a joined chain differs from its parts, or None."""
    joined, values = run(names, source, plan, joined=True)
    parts, wanted = run(names, source, plan, joined=False)
    if joined == parts and values == wanted:
        return None
    at = next((i for i, (a, b) in enumerate(zip(joined, parts, strict=False)) if a != b), min(len(joined), len(parts)))
    return f"{' | '.join(names)} over {source!r}, {plan}:\n  joined   {joined[at - 1 :]}\n  unjoined {parts[at - 1 :]}"


def chains(longest: int) -> Iterator[tuple[str, ...]]:
    for length in range(1, longest + 1):
        yield from itertools.product(CATALOGUE, repeat=length)


CASES = tuple(itertools.product(SOURCES, PLANS))


def cases_of(number: int) -> list[tuple[str, str]]:
    """Return a case for each kind of source, with the plans in turn."""
    plans = tuple(PLANS)
    return [(source, plans[(number + at) % len(plans)]) for at, source in enumerate(SOURCES)]


def main(*, every_case: bool = False) -> int:
    """Run every chain over every kind of source, and with every plan or the plans in turn; return how many differ."""
    count = faults = 0
    for number, names in enumerate(chains(3)):
        count += 1
        for source, plan in CASES if every_case else cases_of(number):
            found = differs(names, source, plan)
            if found is not None:
                faults += 1
                print(found, flush=True)
        if count % 10_000 == 0:
            print(f"{count:,} chains, {faults} differences", flush=True)
    print(f"{count:,} chains of up to three of {len(CATALOGUE)} modules: {faults} differences")
    return faults


if __name__ == "__main__":
    sys.exit(1 if main(every_case="--every-case" in sys.argv) else 0)
