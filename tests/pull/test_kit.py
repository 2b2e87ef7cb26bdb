"""Every module of penstock.pull keeps every property, as the conformance kit sees it.

Throughs are tried under an upstream that answers at once and later, producers with one ask and with twenty at a time.
"""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest

from penstock import Stream, VirtualClock, flow, pull, set_on_dropped
from penstock.tck import Status, verify_pull_sink, verify_pull_source, verify_pull_through
from tests.pull.kit import (
    FEW,
    LIMITS,
    LoopWorld,
    World,
    async_numbers,
    failing_async_numbers,
    failing_numbers,
    fails_at_second,
    numbers,
    paired,
    pushed,
    resolved,
    resolved_sink,
    resolved_through,
)


@pytest.fixture(autouse=True)
def nothing_is_logged():
    """The kit makes answer functions raise, which is reported."""
    before = set_on_dropped(lambda dropped: None)
    yield
    set_on_dropped(before)


def held_to(report, *applies: str):
    """See nothing failed, and these properties tried."""
    assert report.ok, report.failed
    tried = {outcome.rule for outcome in report.outcomes if outcome.status is Status.PASSED}
    assert set(applies) <= tried
    return report


# Sources

SYNC_SOURCES: dict[str, dict[str, Any]] = {
    "values": {
        "factory": lambda n: pull.values(numbers(n)),
        "failing": lambda n: pull.values(failing_numbers(n)),
        "over": pull.values,
    },
    "values of a mapping": {"factory": lambda n: pull.values(dict(enumerate(range(n)))), "no_endless": True},
    "keys": {"factory": lambda n: pull.keys(dict.fromkeys(range(n))), "no_endless": True},
    "once": {"factory": lambda n: pull.once("only"), "exactly": 1},
    "count": {"factory": lambda n: pull.count(None if n is None else n - 1)},
    "infinite": {"factory": lambda n: pull.infinite(itertools.count().__next__), "finite": False},
    "empty": {"factory": lambda n: pull.empty(), "exactly": 0},
    "error": {"factory": lambda n: pull.empty(), "exactly": 0, "failing": lambda n: pull.error(OSError("planned"))},
    "from_iter": {
        "factory": lambda n: pull.from_iter(numbers(n)),
        "failing": lambda n: pull.from_iter(failing_numbers(n)),
        "over": pull.from_iter,
    },
    "pushable": {
        "factory": pushed,
        "failing": lambda n: pushed(n, OSError("planned")),
        "stuck": pull.pushable,
    },
    "defer_source": {
        "factory": lambda n: resolved(pull.values(numbers(n))),
        "failing": lambda n: resolved(pull.values(failing_numbers(n))),
        "over": lambda items: resolved(pull.values(items)),
        "stuck": pull.defer_source,
    },
    "cont": {
        "factory": lambda n: pull.cont(lambda found: found(None, pull.values(numbers(n)))),
        "failing": lambda n: pull.cont(lambda found: found(None, pull.values(failing_numbers(n)))),
        "over": lambda items: pull.cont(lambda found: found(None, pull.values(items))),
        "stuck": lambda: pull.cont(lambda found: None),
    },
    "pair": {
        "factory": lambda n: paired(pull.values(numbers(n))),
        "failing": lambda n: paired(pull.values(failing_numbers(n))),
        "stuck": lambda: pull.pair().source,
    },
    "cat": {
        "factory": lambda n: pull.cat([pull.empty(), None, pull.values(numbers(n))]),
        "failing": lambda n: pull.cat([pull.empty(), pull.values(failing_numbers(n))]),
        "over": lambda items: pull.cat([pull.values(items)]),
        "stuck": lambda: pull.cat([pull.pushable()]),
        "combines": pull.cat,
    },
    "many": {
        "factory": lambda n: pull.many([pull.values(numbers(n))]),
        "failing": lambda n: pull.many([pull.values(failing_numbers(n))]),
        "stuck": lambda: pull.many([pull.pushable()]),
        "combines": pull.many,
    },
    "merge": {
        "factory": lambda n: pull.merge([pull.values(numbers(n)), pull.empty()]),
        "failing": lambda n: pull.merge([pull.values(failing_numbers(n)), pull.empty()]),
        "over": lambda items: pull.merge([pull.values(items)]),
        "stuck": lambda: pull.merge([pull.values([1]), pull.pushable()]),
        "combines": pull.merge,
    },
    "zip_sources": {
        "factory": lambda n: pull.zip_sources(pull.values(numbers(n)), pull.values(numbers(n))),
        "failing": lambda n: pull.zip_sources(pull.values(failing_numbers(n))),
        "over": pull.zip_sources,
        "stuck": lambda: pull.zip_sources(pull.values([1]), pull.pushable()),
        "combines": lambda inputs: pull.zip_sources(*inputs),
    },
    "from_publisher": {
        "factory": lambda n: pull.from_publisher(Stream.from_iterable(numbers(n))),
        "failing": lambda n: pull.from_publisher(Stream.from_iterable(failing_numbers(n))),
        "over": lambda items: pull.from_publisher(Stream.from_iterable(items)),
        "stuck": lambda: pull.from_publisher(Stream.never()),
    },
    "ref_source": {
        "factory": pull.ref_source,
        "failing": lambda n: pull.ref_source(n, OSError("planned")),
    },
    "a partial pipeline": {
        "factory": lambda n: pull.pull(pull.values(numbers(n)), pull.map(str), pull.flatten(), pull.take(10_000)),
        "failing": lambda n: pull.pull(pull.values(failing_numbers(n)), pull.filter(lambda v: True), pull.buffer(2)),
        "over": lambda items: pull.pull(pull.values(items), pull.map(lambda v: v), pull.take_while(lambda v: True)),
    },
}
# What passes everything on, also what the one before it need not hear, is tried on a source that does not mind.
for name, watch in {
    "checker": pull.checker,
    "probe": lambda: pull.probe([]),
    "notation": lambda: pull.notation([]),
}.items():
    SYNC_SOURCES[name] = {
        "factory": lambda n, watch=watch: pull.pull(pull.values(numbers(n)), watch()),
        "failing": lambda n, watch=watch: pull.pull(pull.values(failing_numbers(n)), watch()),
        "stuck": lambda watch=watch: pull.pull(pull.pushable(), watch()),
    }
SYNC_SOURCES["zip_sources"]["over"] = lambda items: pull.zip_sources(pull.values(items))


@pytest.mark.parametrize("name", SYNC_SOURCES)
def test_a_source_that_has_its_values_keeps_every_property(name):
    options = dict(SYNC_SOURCES[name])
    if options.pop("no_endless", False):
        factory = options["factory"]
        options["factory"] = lambda n: factory(2000 if n is None else n)
    world = World()
    report = verify_pull_source(**options, limits=LIMITS, settle=world.settle, subject=name)
    held_to(report, "A1", "A2", "A3", "A5", "F2", "F3", *("A13" for _ in range("combines" in options)))


@pytest.mark.parametrize(
    ("name", "make"),
    {
        "ref_source": lambda world, n, end=True: pull.ref_source(n, end, schedule=Later(world)),
        "flatten": lambda world, n, end=True: pull.pull(
            pull.ref_source(n, end, schedule=Later(world)), pull.map(lambda v: [v]), pull.flatten()
        ),
        "cat": lambda world, n, end=True: pull.cat([pull.ref_source(n, end, schedule=Later(world))]),
        "many": lambda world, n, end=True: pull.many([pull.ref_source(n, end, schedule=Later(world))]),
        "merge": lambda world, n, end=True: pull.merge([pull.ref_source(n, end, schedule=Later(world))]),
        "zip_sources": lambda world, n, end=True: pull.zip_sources(pull.ref_source(n, end, schedule=Later(world))),
        "defer_source": lambda world, n, end=True: deferred(world, pull.ref_source(n, end, schedule=Later(world))),
        "pushable": lambda world, n, end=True: pushed_later(world, n, end),
    }.items(),
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_source_that_answers_later_keeps_every_property(name, make):
    world = World()
    report = verify_pull_source(
        lambda n: make(world, n),
        failing=lambda n: make(world, n, OSError("planned")),
        limits=LIMITS,
        settle=world.settle,
        subject=name,
    )
    held_to(report, "A4", "F11", "B3", "B4", "F1")


class Later(pull.Schedule):
    """Be a schedule that is run with the world."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    def do(self, move: Any) -> None:
        self._world.later(move)


def deferred(world: World, source: Any) -> Any:
    made = pull.defer_source()
    world.later(made.resolve, source)
    return made


def pushed_later(world: World, count: int | None, end: Any) -> Any:
    made = pull.pushable()
    for number in range(2000 if count is None else count):
        world.later(made.push, number)
    if count is not None:
        world.later(made.end, None if end is True else end)
    return made


@pytest.mark.parametrize("name", ["from_async_iter", "from_dataflow", "dataflow and back"])
def test_a_source_on_an_event_loop_keeps_every_property(name):
    world = LoopWorld()

    def source(items):
        if name == "from_dataflow":
            return world.source(pull.from_dataflow(Asking(items)))
        made = pull.from_async_iter(items)
        return world.source(made if name == "from_async_iter" else pull.from_dataflow(pull.dataflow(made)))

    report = verify_pull_source(
        lambda n: source(async_numbers(n)),
        failing=lambda n: source(failing_async_numbers(n)),
        stuck=lambda: source(stuck_numbers()),
        limits=FEW,
        settle=world.settle,
        subject=name,
    )
    held_to(report, "A4", "F11", "B3", "B4", "F1")
    world.loop.run_until_complete(world.loop.shutdown_asyncgens())
    finish(world)


class Asking:
    """Be an async iterable in the dataflow form, written by hand."""

    def __init__(self, items):
        self.items = items

    async def ask(self):
        async for value in self.items:
            return value
        raise pull.StreamEnd("no more")

    async def abort(self, error=None):
        await self.items.aclose()


async def stuck_numbers():
    await asyncio.get_running_loop().create_future()
    yield 0


def finish(world):
    """Cancel what trials have left waiting, and see nothing left."""
    for task in asyncio.all_tasks(world.loop):
        task.cancel()
    world.settle()
    world.close()


# Throughs


def accumulated(values):
    return list(itertools.accumulate(values))


def batched(values):
    return [values[start : start + 4] for start in range(0, len(values), 4)]


def put_twice(queue, value):
    queue.put(value)
    queue.put(value)


def put_until(count):
    def write(queue, value):
        queue.put(value)
        if value == count - 1:
            queue.end()

    return write


identity = flow(lambda stream: stream.map(lambda value: value))
doubled = flow(lambda stream: stream.filter(lambda value: value % 2).map(lambda value: value * 2))

THROUGHS: dict[str, dict[str, Any]] = {
    "map": {
        "factory": lambda: pull.map(lambda v: v + 1),
        "expects": lambda values: [v + 1 for v in values],
        "failing": lambda error: pull.map(fails_at_second(error)),
    },
    "defer_through": {
        "factory": lambda: resolved_through(pull.map(lambda v: v + 1)),
        "expects": lambda values: [v + 1 for v in values],
        "failing": lambda error: resolved_through(pull.map(fails_at_second(error))),
    },
    "filter": {
        "factory": lambda: pull.filter(lambda v: v % 2),
        "expects": lambda values: [v for v in values if v % 2],
        "failing": lambda error: pull.filter(fails_at_second(error)),
    },
    "filter_not": {
        "factory": lambda: pull.filter_not(lambda v: v % 2),
        "expects": lambda values: [v for v in values if not v % 2],
        "failing": lambda error: pull.filter_not(fails_at_second(error)),
    },
    "take": {"factory": lambda: pull.take(4), "expects": lambda values: values[:4], "stopping": pull.take},
    "take none": {"factory": lambda: pull.take(0), "expects": lambda values: []},
    "take_while": {
        "factory": lambda: pull.take_while(lambda v: v < 3),
        "expects": lambda values: values[:3],
        "stopping": lambda count: pull.take_while(lambda v: v < count),
        "failing": lambda error: pull.take_while(lambda v: fails_at_second(error)(v) is not None),
    },
    "take_while, last": {
        "factory": lambda: pull.take_while(lambda v: v < 3, last=True),
        "expects": lambda values: values[:4],
        "stopping": lambda count: pull.take_while(lambda v: v < count - 1, last=True),
    },
    "unique": {
        "factory": lambda: pull.unique(lambda v: v // 2),
        "expects": lambda values: values[::2],
        "failing": lambda error: pull.unique(fails_at_second(error)),
    },
    "non_unique": {
        "factory": lambda: pull.non_unique(lambda v: v // 2),
        "expects": lambda values: values[1::2],
        "failing": lambda error: pull.non_unique(fails_at_second(error)),
    },
    "through": {
        "factory": pull.through,
        "hooked": lambda hook: pull.through(on_end=hook),
        "failing": lambda error: pull.through(fails_at_second(error)),
    },
    "scan": {
        "factory": lambda: pull.scan(lambda total, v: total + v, 0),
        "expects": accumulated,
        "failing": lambda error: pull.scan(lambda total, v: fails_at_second(error)(v), 0),
    },
    "flatten": {
        "factory": lambda: pull.pull(pull.map(lambda v: [v] * (v % 3)), pull.flatten()),
        "expects": lambda values: [v for v in values for _ in range(v % 3)],
        "flattens": pull.flatten,
    },
    "flat_map": {
        "factory": lambda: pull.flat_map(lambda v: pull.values([v] * (v % 3))),
        "expects": lambda values: [v for v in values for _ in range(v % 3)],
        "failing": lambda error: pull.flat_map(lambda v: [fails_at_second(error)(v)]),
    },
    "queue_through": {
        "factory": lambda: pull.queue_through(put_twice, lambda queue: queue.put("end")),
        "expects": lambda values: [*(v for v in values for _ in range(2)), "end"],
        "failing": lambda error: pull.queue_through(lambda queue, v: queue.put(fails_at_second(error)(v))),
        "stopping": lambda count: pull.queue_through(put_until(count)),
    },
    "async_map": {
        "factory": lambda: pull.async_map(lambda v, finished: finished(None, v)),
        "working": pull.async_map,
        "failing": lambda error: pull.async_map(lambda v, finished: finished(error if v == 1 else None, v)),
    },
    "para_map": {
        "factory": lambda: pull.para_map(lambda v, finished: finished(None, v), 3),
        "eager": True,
        "working": lambda start: pull.para_map(start, 3),
        "failing": lambda error: pull.para_map(lambda v, finished: finished(error if v == 1 else None, v), 3),
    },
    "para_map, in any order": {
        "factory": lambda: pull.para_map(lambda v, finished: finished(None, v), 3, in_order=False),
        "eager": True,
        "working": lambda start: pull.para_map(start, 3, in_order=False),
    },
    "batch": {"factory": lambda: pull.batch(4), "expects": batched},
    "batch, by time": {
        "factory": lambda: pull.batch(4, 60, clock=VirtualClock()),
        "expects": batched,
    },
    "sliding": {
        "factory": lambda: pull.sliding(tuple, 2),
        "expects": lambda values: list(itertools.pairwise(values)),
        "failing": lambda error: pull.sliding(lambda window: fails_at_second(error)(window[0]), 2),
    },
    "buffer": {"factory": lambda: pull.buffer(4, 1), "eager": True},
    "catch": {"factory": pull.catch, "recovers": True},
    "catch, with a last value": {"factory": lambda: pull.catch(str), "recovers": True},
    "abortable": {"factory": pull.abortable, "hooked": pull.abortable},
    "ref_through": {"factory": pull.ref_through, "stopping": lambda count: pull.ref_through(count + 1)},
    "through_flow": {
        "factory": lambda: pull.through_flow(doubled),
        "expects": lambda values: [v * 2 for v in values if v % 2],
        "stopping": lambda count: pull.through_flow(flow(lambda stream: stream.take_while(lambda v: v < count))),
        "failing": lambda error: pull.through_flow(flow(lambda stream: stream.map(fails_at_second(error)))),
    },
    "several in a row": {
        "factory": lambda: pull.pull(
            pull.map(lambda v: v), pull.filter(lambda v: v != 2), pull.buffer(2), pull.batch(1), pull.flatten()
        ),
        "expects": lambda values: [v for v in values if v != 2],
        "eager": True,
        "failing": lambda error: pull.pull(pull.through(), pull.map(fails_at_second(error)), pull.take(9)),
        "stopping": lambda count: pull.pull(pull.map(str), pull.take(count), pull.map(str)),
    },
}
# A publisher is cancelled without a reason, and confirms nothing.
NOT_FOR_BRIDGES = {"A7", "A8", "F2", "F5"}


@pytest.mark.parametrize("name", [name for name in THROUGHS if name != "through_flow"])
def test_a_through_keeps_every_property(name):
    world = World()
    report = verify_pull_through(**THROUGHS[name], limits=LIMITS, settle=world.settle, subject=name)
    held_to(report, "B14", "B15", "A7", "A9", "A10", "F8", "F11")


def test_a_flow_as_a_through_keeps_all_that_a_bridge_can_carry():
    world = World()
    report = verify_pull_through(**THROUGHS["through_flow"], limits=LIMITS, settle=world.settle)
    assert {failed.rule for failed in report.failed} == NOT_FOR_BRIDGES, report.failed


@pytest.mark.parametrize("width", [None, 1, 3])
@pytest.mark.parametrize("in_order", [True, False])
def test_work_that_is_finished_later_keeps_every_property(width, in_order):
    world = World()

    def start(value, finished):
        world.later(finished, None, value)

    def made():
        if width is None:
            return pull.async_map(start)
        return pull.para_map(start, width, in_order=in_order)

    report = verify_pull_through(made, eager=width is not None, limits=LIMITS, settle=world.settle)
    held_to(report, "B3", "B4", "A4", "A7")


@pytest.mark.parametrize("width", [None, 1, 3])
def test_work_on_an_event_loop_keeps_every_property(width):
    world = LoopWorld()

    async def work(value):
        await asyncio.sleep(0)
        return value

    def failing(error):
        async def fails(value):
            await asyncio.sleep(0)
            return fails_at_second(error)(value)

        return fails

    def made(fn):
        return world.through(pull.async_map(fn) if width is None else pull.para_map(fn, width))

    report = verify_pull_through(
        lambda: made(work),
        failing=lambda error: made(failing(error)),
        eager=width is not None,
        limits=FEW,
        settle=world.settle,
    )
    held_to(report, "B3", "B4", "A4", "A7", "F5")
    finish(world)


# Sinks


def stopping(make):
    def made(done, count):
        seen = []

        def op(value):
            seen.append(value)
            return len(seen) < count

        return make(op, done)

    return made


SINKS: dict[str, dict[str, Any]] = {
    "drain": {
        "factory": lambda done: pull.drain(None, done),
        "stopping": stopping(pull.drain),
        "failing": lambda done, error: pull.drain(fails_at_second(error), done),
    },
    "collect": {"factory": pull.collect},
    "reduce": {
        "factory": lambda done: pull.reduce(lambda total, v: total + v, 0, done),
        "failing": lambda done, error: pull.reduce(lambda total, v: fails_at_second(error)(v), 0, done),
    },
    "reduce, without a beginning": {"factory": lambda done: pull.reduce(lambda total, v: total + v, done=done)},
    "find": {
        "factory": lambda done: pull.find(lambda v: False, done),  # what it finds it tells at once, not at the end
        "failing": lambda done, error: pull.find(lambda v: fails_at_second(error)(v) is None, done),
    },
    "concat": {"factory": pull.concat},
    "on_end": {"factory": pull.on_end},
    "defer_sink": {"factory": lambda done: resolved_sink(pull.drain(None, done))},
    "through and sink": {
        "factory": lambda done: pull.pull(pull.map(str), pull.buffer(3), pull.collect(done)),
        "stopping": lambda done, count: pull.pull(pull.take(count), pull.on_end(done)),
        "failing": lambda done, error: pull.pull(pull.map(fails_at_second(error)), pull.on_end(done)),
    },
    "ref_sink": {"factory": lambda done: pull.ref_sink(done=done)},
}


@pytest.mark.parametrize("name", SINKS)
def test_a_sink_keeps_every_property(name):
    world = World()
    report = verify_pull_sink(**SINKS[name], limits=LIMITS, settle=world.settle, subject=name)
    held_to(report, "B12", "B13", "B15", "A7", "A9", "F9")


def test_log_is_a_sink_too(capsys):
    world = World()
    report = verify_pull_sink(pull.log, limits=LIMITS, settle=world.settle)
    held_to(report, "F9")
    assert capsys.readouterr().out.startswith("0\n1\n2\n")


def test_every_module_is_tried():
    made = {*SYNC_SOURCES, *THROUGHS, *SINKS, "from_async_iter", "from_dataflow", "log"}
    adapters = {"pull", "dataflow", "to_async_iter", "to_iter", "to_publisher", "notify"}  # no modules
    by_hand = {"reader", "handshake"}  # read when their owner says so
    functions = {name for name in pull.__all__ if name.islower()}
    assert functions - made - adapters - by_hand == set()
