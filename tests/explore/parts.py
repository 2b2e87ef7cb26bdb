"""parts: the parts of the engine in which threads meet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock import Overflow, Slow, Stream, flow, inline, pool, processor, thread
from penstock.engine.grounds.alarm import Alarm
from penstock.engine.places.clocks import SystemClock
from penstock.engine.runs.chain import Chain
from penstock.engine.words.demand import UNBOUNDED
from penstock.run.carrying.parts import PartMarks
from penstock.run.valves.valve import Valve, Valved
from tests.explore import planted as faults
from tests.explore import threads
from tests.explore.bench import Bench, Boom, Taker
from tests.explore.part import ASKED, BOTH, FRESH, FULL, OPEN, USED, Part, State, part
from tests.explore.told import entered, read

STRAIGHT: State = ("down.all", "a.next")
"""One that takes everything, with nothing waiting, is served straight from its first element on."""


def _take_later(bench: Bench, stream: Stream[Any], *, asks: bool = False) -> None:
    """Add a second subscriber that comes with a call, and asks for everything by then if it `asks`."""
    other = Taker(bench, "other")
    if asks:
        other.in_on_subscribe = lambda taker: taker.ask(UNBOUNDED)
    bench.takers.append(other)
    bench.taking(other)
    bench.call("join", lambda: other.subscription is None and stream.subscribe(other), "join")


# Streams that meet.


@part(FRESH, ASKED, OPEN, FULL, even=True)
def merge(bench: Bench) -> None:
    bench.take(bench.feed("a").merge(bench.feed("b"), prefetch=2))


@part(FRESH, ASKED, OPEN, loose=True)
def merge_eager(bench: Bench) -> None:
    bench.take(bench.feed("a").merge(bench.feed("e", eager=True), prefetch=2))


@part(FRESH, ASKED, OPEN, ("down.ask", "a.complete"))
def concat(bench: Bench) -> None:
    bench.take(bench.feed("a").concat(bench.feed("b")))


@part(FRESH, ASKED, OPEN, ("down.ask", "a.next"), BOTH, even=True)
def zip_(bench: Bench) -> None:
    bench.take(bench.feed("a").zip(bench.feed("b"), prefetch=2))


@part(FRESH, ASKED, OPEN, ("a.next",), BOTH, even=True)
def combine_latest(bench: Bench) -> None:
    bench.take(bench.feed("a").combine_latest(bench.feed("b"), prefetch=2))


@part(FRESH, ASKED, OPEN, ("b.next", "down.all"))
def with_latest_from(bench: Bench) -> None:
    bench.take(bench.feed("a").with_latest_from(bench.feed("b")))


@part(FRESH, ASKED, OPEN, even=True)
def race(bench: Bench) -> None:
    bench.take(bench.feed("a").race(bench.feed("b")))


@part(FRESH, ASKED, OPEN, ("down.ask", "a.complete"))
def switch_if_empty(bench: Bench) -> None:
    bench.take(bench.feed("a").switch_if_empty(bench.feed("b")))


@part(FRESH, ASKED, OPEN)
def take_until(bench: Bench) -> None:
    bench.take(bench.feed("a").take_until(bench.feed("b")))


@part(FRESH, ASKED, OPEN)
def skip_until(bench: Bench) -> None:
    bench.take(bench.feed("a").skip_until(bench.feed("b")), "down")


@part(FRESH, ASKED, OPEN, BOTH, even=True)
def merge_sorted(bench: Bench) -> None:
    bench.take(bench.feed("a").merge_sorted(bench.feed("b"), prefetch=2))


@part(FRESH, ASKED, OPEN, BOTH, even=True)
def interleave(bench: Bench) -> None:
    bench.take(bench.feed("a").interleave(bench.feed("b"), prefetch=2))


@part(FRESH, OPEN, ("down.ask", "a.next"))
def sequence_equal(bench: Bench) -> None:
    bench.take(bench.feed("a").sequence_equal(bench.feed("b", make=lambda count: f"a{count}"), prefetch=2))


@part(FRESH, ASKED, OPEN, BOTH, even=True)
def join(bench: Bench) -> None:
    bench.take(bench.feed("a").join(bench.feed("b"), lambda name: name[1:], prefetch=2))


@part(FRESH, ("down.ask", "other.ask"), ("down.all",), ("down.all", "other.all"))
def partition(bench: Bench) -> None:
    first, second = bench.feed("a").partition(lambda name: int(name[1:]) % 2, size=4)
    bench.take(first)
    bench.take(second, "other")


@part(FRESH, ("down.ask", "other.ask"), ("down.all", "other.all"))
def partition_wait(bench: Bench) -> None:
    first, second = bench.feed("a").partition(lambda name: int(name[1:]) % 2, size=1, slow=Slow.WAIT)
    bench.take(first)
    bench.take(second, "other")


@part(STRAIGHT)
def partition_joined(bench: Bench) -> None:
    first, second = bench.feed("a").partition(lambda name: int(name[1:]) % 2, size=4)
    bench.take(first)
    _take_later(bench, second, asks=True)


# Streams made of elements.


def _inner(bench: Bench) -> Callable[[Any], Stream[Any]]:
    bench.feed("i", total=0)  # only for its calls: nobody subscribes to this one
    return lambda element: bench.feed("i", total=2, make=lambda count: f"{element}.{count}")


@part(FRESH, ASKED, OPEN, ("down.all", "a.next"), ("a.next", "i.next"))
def flat_map(bench: Bench) -> None:
    bench.take(bench.feed("a", total=3).flat_map(_inner(bench), concurrency=2, prefetch=2))


@part(FRESH, ASKED, OPEN, ("down.all", "a.next"), ("a.next", "i.next"))
def concat_map(bench: Bench) -> None:
    bench.take(bench.feed("a", total=3).concat_map(_inner(bench)))


@part(FRESH, ASKED, OPEN, ("down.all", "a.next"), ("a.next", "i.next"), loose=True)
def switch_map(bench: Bench) -> None:
    bench.take(bench.feed("a", total=3).switch_map(_inner(bench)))


@part(FRESH, ASKED, OPEN, ("down.all", "a.next"))
def expand(bench: Bench) -> None:
    inner = _inner(bench)
    bench.take(bench.feed("a", total=2).expand(lambda e: inner(e) if "." not in e else [], concurrency=2, prefetch=2))


@part(FRESH, ASKED, OPEN, ("a.next", "a.next"))
def expand_iterables(bench: Bench) -> None:
    bench.take(bench.feed("a", total=3).expand(lambda e: [f"{e}."] if "." not in e else [], concurrency=1, prefetch=2))


@part(FRESH, ASKED, OPEN)
def defer(bench: Bench) -> None:
    stream = bench.feed("a")
    bench.take(Stream.defer(lambda: stream))


@part(FRESH, ASKED, OPEN)
def using(bench: Bench) -> None:
    stream = bench.feed("a")
    bench.take(Stream.using(lambda: "r", lambda _: stream, lambda name: bench.results.append(f"closed {name}")))


# Streams that begin again.


@part(FRESH, ASKED, OPEN, USED)
def on_error_resume(bench: Bench) -> None:
    other = bench.feed("b")
    bench.take(bench.feed("a").on_error_resume(lambda _: other))


@part(FRESH, ASKED, OPEN, USED)
def retry(bench: Bench) -> None:
    bench.take(bench.feed("a").retry(2))


@part(FRESH, ASKED, OPEN, USED)
def retry_backoff(bench: Bench) -> None:
    bench.take(bench.feed("a").retry(2, backoff=1.0, clock=bench.virtual_clock()))


@part(FRESH, ASKED, OPEN, USED)
def repeat(bench: Bench) -> None:
    bench.take(bench.feed("a", total=2).repeat(2))


@part(FRESH, ASKED, OPEN)
def from_publisher(bench: Bench) -> None:
    bench.take(Stream.from_publisher(bench.feed("a")))


@part(FRESH, ASKED, OPEN)
def through_processor(bench: Bench) -> None:
    bench.take(bench.feed("a").via(processor(flow(lambda stream: stream.map(lambda e: f"{e}'")))))


# Stages behind signals, and at the head.


@part(FRESH, ASKED, OPEN)
def pushed(bench: Bench) -> None:
    bench.take(bench.feed("a").map(lambda e: f"{e}'"))


@part(FRESH, ASKED, OPEN)
def pushed_filter(bench: Bench) -> None:
    bench.take(bench.feed("a").filter(lambda e: int(e[1:]) % 2))


@part(FRESH, ASKED, OPEN)
def pushed_starved(bench: Bench) -> None:
    bench.take(bench.feed("a").skip(1))


@part(FRESH, ASKED, OPEN)
def pushed_result(bench: Bench) -> None:
    bench.take(bench.feed("a").to_list())


@part(FRESH, ASKED, OPEN, USED)
def fed(bench: Bench) -> None:
    bench.take(bench.feed("a").do_finally(lambda: bench.results.append("finally")))


@part(FRESH, ASKED, OPEN, USED)
def fed_flat_map(bench: Bench) -> None:
    bench.take(bench.feed("a", total=3).flat_map(lambda e: [f"{e}.1", f"{e}.2"]))


@part(FRESH, ASKED, OPEN, USED)
def take(bench: Bench) -> None:
    bench.take(bench.feed("a").take(2))


@part(FRESH, ASKED)
def take_eager(bench: Bench) -> None:
    bench.take(bench.feed("e", total=4, eager=True).take(9))


@part(FRESH, ASKED)
def drained(bench: Bench) -> None:
    bench.take(Stream.from_iterable(["x", "y", "z"]).map(str.upper))


@part(FRESH, ASKED)
def drained_do_finally(bench: Bench) -> None:
    bench.take(Stream.from_iterable(["x", "y", "z"]).do_finally(list).map(str.upper))


@part(FRESH, ASKED)
def drained_flat_map(bench: Bench) -> None:
    bench.take(Stream.from_iterable(["x", "y"]).flat_map(lambda e: [f"{e}.1", f"{e}.2"]))


@part(FRESH, late=False)
def iterate(bench: Bench) -> None:
    iterator = iter(bench.feed("a", calls=False))
    bench.pushing("a")

    def pull() -> None:
        try:
            bench.results.append(str(next(iterator, "end")))
        except Boom as error:
            bench.results.append(repr(error))

    bench.call("pull", pull, "pull")
    bench.finishers.append(iterator.close)  # type: ignore[attr-defined]
    bench.outlives = True


# Threads.


@part(FRESH, ASKED, OPEN, FULL)
def publish_on_thread(bench: Bench) -> None:
    bench.take(bench.feed("a").publish_on(thread(), prefetch=2))


@part(FRESH, ASKED, OPEN, FULL)
def publish_on_pool(bench: Bench) -> None:
    bench.take(bench.feed("a").publish_on(pool(1), prefetch=2))


@part(FRESH, ASKED, OPEN, FULL)
def publish_on_inline(bench: Bench) -> None:
    bench.take(bench.feed("a").publish_on(inline(), prefetch=2))


@part(FRESH, ASKED, OPEN)
def subscribe_on(bench: Bench) -> None:
    bench.take(bench.feed("a").subscribe_on(thread()))


@part(FRESH, ASKED, OPEN)
def subscribe_on_iterable(bench: Bench) -> None:
    bench.take(Stream.from_iterable(["x", "y", "z"]).subscribe_on(thread()))


@part(FRESH, ASKED, OPEN)
def parallel(bench: Bench) -> None:
    bench.take(bench.feed("a").parallel(2, lambda stream: stream.map(str.upper), prefetch=2))


@part(FRESH, ASKED, OPEN, loose=True)
def parallel_unordered(bench: Bench) -> None:
    bench.take(bench.feed("a").parallel(2, lambda stream: stream.map(str.upper), ordered=False, prefetch=2))


@part(FRESH, ("submit",), late=False)
def worker_thread(bench: Bench) -> None:
    _worker(bench, thread().worker())


@part(FRESH, ("submit",), late=False)
def worker_pool(bench: Bench) -> None:
    _worker(bench, pool(2).worker())


def _worker(bench: Bench, worker: Any) -> None:
    bench.call("submit", lambda: worker.submit(lambda: bench.results.append("first")))
    bench.call("submit_other", lambda: worker.submit(lambda: bench.results.append("second")))
    bench.call("close", worker.close)
    bench.finishers.append(worker.close)


# Time.


@part(FRESH, ASKED, OPEN, loose=True)
def timeout(bench: Bench) -> None:
    bench.errors.add("TimeoutError")
    bench.take(bench.feed("a").timeout(1.0, clock=bench.virtual_clock()))


@part(FRESH, ("down.ask", "a.next"), OPEN, ("down.all", "a.next"), loose=True)
def debounce(bench: Bench) -> None:
    bench.take(bench.feed("a").debounce(1.0, clock=bench.virtual_clock()))


@part(FRESH, ASKED, OPEN, ("down.all", "a.next"), ("a.next",))
def delay(bench: Bench) -> None:
    bench.take(bench.feed("a").delay(1.0, size=2, clock=bench.virtual_clock()))


@part(FRESH, ASKED, OPEN)
def delay_subscription(bench: Bench) -> None:
    bench.take(bench.feed("a").delay_subscription(1.0, clock=bench.virtual_clock()))


@part(FRESH, ASKED, OPEN, ("down.all", "a.next"))
def throttle(bench: Bench) -> None:
    bench.take(bench.feed("a").throttle(1, per=1.0, clock=bench.virtual_clock()))


@part(FRESH, ASKED, ("down.all", "a.next"), loose=True)
def throttle_first(bench: Bench) -> None:
    bench.take(bench.feed("a").throttle_first(1.0, clock=bench.virtual_clock()))


@part(FRESH, ASKED, OPEN, ("down.all", "a.next"), loose=True)
def sample(bench: Bench) -> None:
    bench.take(bench.feed("a").sample(bench.feed("b")))


@part(FRESH, ("down.ask", "a.next"), OPEN, loose=True)
def sample_seconds(bench: Bench) -> None:
    bench.take(bench.feed("a").sample(1.0, clock=bench.virtual_clock()))


@part(FRESH, ASKED, OPEN, loose=True)
def keep_alive(bench: Bench) -> None:
    bench.take(bench.feed("a").keep_alive(1.0, "alive", size=4, clock=bench.virtual_clock()))


@part(FRESH, ASKED, OPEN, ("down.all", "a.next"), ("a.next",))
def buffer_timeout(bench: Bench) -> None:
    bench.take(bench.feed("a").buffer_timeout(2, 1.0, clock=bench.virtual_clock()))


@part(FRESH, ASKED, OPEN, loose=True)
def buffer_timeout_drained(bench: Bench) -> None:
    numbers = Stream.from_iterable(["v", "w", "x", "y", "z"]).map(str.upper)
    bench.take(numbers.buffer_timeout(4, 1.0, clock=bench.virtual_clock()))


@part(FRESH, ASKED, OPEN, loose=True)
def interval(bench: Bench) -> None:
    bench.take(Stream.interval(1.0, clock=bench.virtual_clock()).take(3))


@part(FRESH, ASKED)
def timer(bench: Bench) -> None:
    bench.take(Stream.timer(1.0, clock=bench.virtual_clock()))


@part(FRESH, ("set",), late=False)
def alarm(bench: Bench) -> None:
    clock = bench.virtual_clock()
    one = Alarm(clock, lambda *_: bench.results.append("rang"), lambda error: bench.fault(repr(error)))
    bench.outlives = True
    bench.call("set", lambda: one.set(1.0))
    bench.call("set_later", lambda: one.set(2.0))
    bench.call("call_off", one.call_off)
    bench.call("close", one.close)
    bench.finishers.append(one.close)
    bench.finishers.append(lambda: setattr(bench, "outlives", False))


@part(FRESH, ("set",), ("set", "pass"), late=False, loose=True)
def system_clock(bench: Bench) -> None:
    clock = SystemClock()
    offs: list[Callable[[], None]] = []
    bench.call("set", lambda: offs.append(clock.call_later(1.0, lambda: bench.results.append("first"))))
    bench.call("set_other", lambda: offs.append(clock.call_later(2.0, lambda: bench.results.append("second"))))
    bench.call("off", lambda: [off() for off in offs[:1]])
    bench.call("pass", lambda: threads.pass_time(1.0), "pass")
    bench.finishers.append(lambda: threads.pass_time(5.0))


# Groups and windows.


def _take_windows(bench: Bench, stream: Stream[Any]) -> None:
    bench.errors.add("PenstockError")  # a window that nobody has taken when all is cancelled

    def then(taker: Taker, element: Any) -> None:
        inner = bench.take(element, f"in{len(bench.takers)}", calls=False)
        if len(bench.takers) > 2:
            inner.ask(8)

    bench.take(stream, then=then)
    bench.taking_later("in1")


@part(FRESH, ASKED, ("down.ask", "a.next"), ("down.all", "in1.ask"), loose=True, ends=("PenstockError",))
def window(bench: Bench) -> None:
    _take_windows(bench, bench.feed("a").window(2, size=2, clock=bench.virtual_clock()))


@part(FRESH, ("down.ask", "a.next"), ("down.all", "a.next", "in1.all"), loose=True, ends=("PenstockError",))
def window_seconds(bench: Bench) -> None:
    _take_windows(bench, bench.feed("a").window(seconds=1.0, size=2, clock=bench.virtual_clock()))


@part(FRESH, ("down.ask", "a.next"), ("down.all", "a.next", "in1.all"), loose=True, ends=("PenstockError",))
def window_gap(bench: Bench) -> None:
    _take_windows(bench, bench.feed("a").window(gap=1.0, size=2, clock=bench.virtual_clock()))


@part(FRESH, ("down.ask", "a.next"), ("down.all", "a.next", "in1.all"), loose=True, ends=("PenstockError",))
def window_until(bench: Bench) -> None:
    _take_windows(bench, bench.feed("a").window(until=bench.feed("b"), size=2, clock=bench.virtual_clock()))


@part(FRESH, ASKED, ("down.ask", "a.next"), ("down.all", "a.next", "in1.all"), ends=("PenstockError",))
def group_by(bench: Bench) -> None:
    _take_windows(bench, bench.feed("a").group_by(lambda e: int(e[1:]) % 2, size=2, clock=bench.virtual_clock()))


@part(("down.all", "a.next"), ("down.all", "a.next", "in1.ask"), ends=("PenstockError",))
def group_by_one_key(bench: Bench) -> None:
    bench.errors.add("PenstockError")
    groups: list[Taker] = []

    def then(taker: Taker, group: Any) -> None:
        if not all(each.over for each in groups):
            bench.fault("a group was sent out beside another one of its key")
        groups.append(bench.take(group, f"in{len(bench.takers)}", calls=False))

    bench.take(bench.feed("a").group_by(lambda e: 0, size=4, clock=bench.virtual_clock()), then=then)
    bench.taking_later("in1")


# Backpressure.


@part(FRESH, ASKED, OPEN, FULL)
def on_backpressure_buffer(bench: Bench) -> None:
    bench.errors.add("OverflowedError")
    bench.take(bench.feed("a").on_backpressure_buffer(4))


@part(FRESH, ASKED, OPEN, FULL)
def on_backpressure_drop(bench: Bench) -> None:
    bench.take(bench.feed("a").on_backpressure_drop())


@part(FRESH, ASKED, OPEN, FULL)
def on_backpressure_latest(bench: Bench) -> None:
    bench.take(bench.feed("a").on_backpressure_latest())


@part(FRESH, ASKED, OPEN)
def on_backpressure_error(bench: Bench) -> None:
    bench.errors.add("OverflowedError")
    bench.take(bench.feed("a").on_backpressure_error())


@part(FRESH, ASKED, OPEN, FULL)
def conflate(bench: Bench) -> None:
    bench.take(bench.feed("a").conflate(lambda e: e, lambda one, other: f"{one}{other}"))


@part(FRESH, ASKED, OPEN, USED)
def limit_rate(bench: Bench) -> None:
    bench.take(bench.feed("a").limit_rate(2))


# Sharing.


def _take_twice(bench: Bench, stream: Stream[Any]) -> None:
    bench.take(stream)
    _take_later(bench, stream)


@part(FRESH, OPEN, STRAIGHT, ("join", "down.ask", "other.ask"), ("join", "down.all", "other.all"))
def share(bench: Bench) -> None:
    _take_twice(bench, bench.feed("a").share(size=4))


@part(FRESH, ("down.all",), ("down.all", "join"))
def share_together(bench: Bench) -> None:
    _take_twice(bench, Stream.from_iterable(["x", "y", "z"]).share(size=4))


@part(FRESH, ("join", "down.ask", "other.ask"), ("join", "down.all", "other.all"))
def share_wait(bench: Bench) -> None:
    _take_twice(bench, bench.feed("a").share(size=2, slow=Slow.WAIT))


@part(OPEN, ("down.all", "a.next"), ("join", "down.all", "other.all"))
def replay(bench: Bench) -> None:
    _take_twice(bench, bench.feed("a").replay(1, size=4))


@part(OPEN, ("down.all", "a.next"), ("join", "down.all", "other.all"))
def cache(bench: Bench) -> None:
    _take_twice(bench, bench.feed("a").cache(size=8))


@part(FRESH, OPEN, ("connect", "down.all"), ("connect", *STRAIGHT), ("join", "connect", "down.all", "other.all"))
def publish(bench: Bench) -> None:
    stream = bench.feed("a").publish(size=4)
    bench.errors.add("RunCancelledError")
    connections: list[Any] = []
    _take_twice(bench, stream)
    bench.call("connect", lambda: connections.append(stream.connect()))
    bench.call("connection.cancel", lambda: [each.cancel() for each in connections])
    bench.outlives = True
    bench.finishers.append(lambda: connections.append(stream.connect()))
    bench.finishers.append(lambda: [each.cancel() for each in connections] if bench.rounds == 3 else None)


def _subject(bench: Bench, overflow: Overflow, size: int = 4, kept: int = 0) -> None:
    subject = Stream[Any].subject(overflow=overflow, size=size, kept=kept)
    bench.errors.add("OverflowedError")
    _take_twice(bench, subject)
    numbers = iter(range(1, 100))
    bench.call("emit", lambda: bench.results.append(subject.emit(f"s{next(numbers)}").value), "emit")
    bench.call("emit_other", lambda: bench.results.append(subject.emit("other").value), "other")
    bench.call("subject.complete", subject.complete)
    bench.call("subject.fail", lambda: subject.fail(bench.boom("subject")))
    bench.finishers.append(lambda: subject.complete() if bench.rounds == 2 else None)


@part(FRESH, OPEN, ASKED, ("down.all", "emit"), ("join", "down.all", "other.all"))
def subject(bench: Bench) -> None:
    _subject(bench, Overflow.ERROR)


@part(FRESH, OPEN, ("emit",), ("join", "down.all", "other.all"), loose=True)
def subject_buffer(bench: Bench) -> None:
    _subject(bench, Overflow.BUFFER, size=1)


@part(FRESH, OPEN, ("emit",))
def subject_latest(bench: Bench) -> None:
    _subject(bench, Overflow.LATEST)


@part(FRESH, OPEN, ("emit",), ("join", "down.all", "other.all"))
def subject_kept(bench: Bench) -> None:
    _subject(bench, Overflow.ERROR, kept=1)


def _create(bench: Bench, overflow: Overflow) -> None:
    emitters: list[Any] = []
    bench.errors.add("OverflowedError")
    bench.take(Stream.create(emitters.append, overflow=overflow, size=1))
    bench.call("emit", lambda: [bench.results.append(each.emit("one").value) for each in emitters], "emit")
    bench.call(
        "emit_other", lambda: [bench.results.append(each.emit("other").value) for each in emitters], "emit other"
    )
    bench.call("emitter.complete", lambda: [each.complete() for each in emitters])
    bench.call("emitter.fail", lambda: [each.fail(bench.boom("emitter")) for each in emitters])
    bench.finishers.append(lambda: [each.complete() for each in emitters] if bench.rounds == 2 else None)


@part(FRESH, ASKED, OPEN, ("emit",))
def create_buffer(bench: Bench) -> None:
    _create(bench, Overflow.BUFFER)


# An element that waits while another thread has the turn takes up the room, so that the next one is too many.
@part(FRESH, ASKED, OPEN, ("emit",), loose=True, ends=("OverflowedError",))
def create_error(bench: Bench) -> None:
    _create(bench, Overflow.ERROR)


@part(FRESH, ASKED, ("emit",))
def create_latest(bench: Bench) -> None:
    _create(bench, Overflow.LATEST)


@part(FRESH, ASKED, OPEN, loose=True)
def create_drop(bench: Bench) -> None:
    _create(bench, Overflow.DROP)


# The way into a run.


@part(FRESH, ASKED, OPEN)
def valve(bench: Bench) -> None:
    one = Valve()
    bench.take(Stream(Chain(Valved(bench.feed("a")._chain, one))))
    bench.call("valve.close", one.close)


# A valve that is closed ends the run wherever it is.
@part(FRESH, ASKED, loose=True)
def valve_iterated(bench: Bench) -> None:
    one = Valve()
    bench.take(Stream(Chain(Valved(Stream.from_iterable(["x", "y", "z"])._chain, one))))
    bench.call("valve.close", one.close)


# Sources that are told what is done.


WAITING: State = ("down.all", "a.next", "a.next")


@part(FRESH, ASKED, OPEN, ("down.all", "a.next"), WAITING)
def entrance(bench: Bench) -> None:
    entered(bench, 2)


@part(OPEN, ("down.all", "a.next"), WAITING, (*WAITING, "a.next"))
def entrance_unbounded(bench: Bench) -> None:
    entered(bench, None)


# Each element is done where it is, and in a part of the run as well, which may end meanwhile.
@part(OPEN, ("down.all", "a.next"), WAITING)
def entrance_with_part(bench: Bench) -> None:
    part_marks = PartMarks()
    entered(bench, 2, part_marks)
    bench.call("part.end", part_marks.end, "part")
    bench.call("part.end_again", part_marks.end, "other part")


@part(
    FRESH,
    ("down.ask", "loop.turn"),
    ("down.all", "loop.turn", "server.give", "loop.turn"),
    ("down.all", "loop.turn", "server.give", "server.give", "loop.turn", "commit"),
    loose=True,
    late=False,
)
def reading(bench: Bench) -> None:
    read(bench)


def planted(name: str) -> Part:
    """Return the small outlet with a planted fault as a part."""
    outlet = getattr(faults, name)

    class Planted:
        def __init__(self, feed: Stream[Any]) -> None:
            self._feed = feed

        def subscribe(self, subscriber: Any, /) -> None:
            self._feed.subscribe(outlet(subscriber))

    return Part(name, lambda bench: bench.take(Planted(bench.feed("a"))), (ASKED, FULL))
