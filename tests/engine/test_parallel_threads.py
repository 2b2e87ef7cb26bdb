"""parallel threads: where signals, requests and cancels come from several threads at once, every rule still holds.

What these tests look for shows where threads run at the same time, on a free-threaded build. They pass on every build.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from penstock import EmitResult, Overflow, Slow, Stream, pool, thread
from tests.engine.parallel import Hose, Taker, left, taken, takes
from tests.engine.stress import all_at_once, restless

COUNT = 200
ROUNDS = 3
Element = tuple[str, int]
Make = Callable[..., Stream[Any]]
Check = Callable[[Sequence[Any]], object]


def hose(name: str, count: int = COUNT) -> Hose:
    return Hose([(name, number) for number in range(count)])


def of(elements: Sequence[Any], name: str) -> list[int]:
    return [number for each, number in elements if each == name]


def whole(elements: Sequence[Any], names: str = "a", count: int = COUNT) -> None:
    """Hold it to be all elements of each, in the order of each."""
    assert len(elements) == len(names) * count
    for name in names:
        assert of(elements, name) == list(range(count))


def rising(elements: Sequence[Any]) -> None:
    """Hold it to be some of the elements, in their order."""
    numbers = of(elements, "a")
    assert numbers == sorted(set(numbers))
    assert len(numbers) == len(elements)


def rows(elements: Sequence[Any]) -> None:
    """Hold it to be rows in which no input goes back, up to the last element of each."""
    for column in zip(*elements, strict=True):
        numbers = [number for _, number in column]
        assert numbers == sorted(numbers)
    assert elements[-1] == (("a", COUNT - 1), ("b", COUNT - 1))


def one_of_two(elements: Sequence[Any]) -> None:
    whole(elements, elements[0][0])


def exactly(expected: object) -> Check:
    def check(elements: Sequence[Any]) -> None:
        assert elements == expected

    return check


def pairs(elements: Sequence[Any]) -> None:
    assert elements == [(("a", number), ("b", number)) for number in range(COUNT)]


MEETING: dict[str, tuple[Make, Check]] = {
    "merge": (lambda a, b: a.merge(b, prefetch=4), lambda got: whole(got, "ab")),
    "flat_map": (
        lambda a, b: Stream.just(a, b).flat_map(lambda each: each, concurrency=2, prefetch=4),
        lambda got: whole(got, "ab"),
    ),
    "concat": (lambda a, b: a.concat(b), lambda got: (whole(got, "ab"), of(got[:COUNT], "b") == [])),
    "zip": (lambda a, b: a.zip(b, prefetch=4), pairs),
    "join": (lambda a, b: a.join(b, lambda each: each[1], prefetch=4), lambda got: pairs(sorted(got))),
    "combine_latest": (lambda a, b: a.combine_latest(b, prefetch=4), rows),
    "with_latest_from": (lambda a, b: a.with_latest_from(b).map(lambda row: row[0]), rising),
    "merge_sorted": (
        lambda a, b: a.merge_sorted(b, key=lambda each: each[1], prefetch=4),
        lambda got: (whole(got, "ab"), exactly(sorted(n for _, n in got))([n for _, n in got])),
    ),
    "interleave": (
        lambda a, b: a.interleave(b, prefetch=4),
        exactly([(name, number) for number in range(COUNT) for name in "ab"]),
    ),
    "sequence_equal": (
        lambda a, b: a.map(lambda each: each[1]).sequence_equal(b.map(lambda each: each[1])),
        exactly([True]),
    ),
    "race": (lambda a, b: a.race(b), one_of_two),
    "take_until": (lambda a, b: a.take_until(b.skip(COUNT // 2)), rising),
    "skip_until": (lambda a, b: a.skip_until(b.skip(COUNT // 2)), rising),
    "switch_map": (lambda a, b: b.switch_map(lambda _: Stream.just(("a", 0))).ignore_elements().concat(a), whole),
    "expand": (
        lambda a, b: a.expand(lambda each: Stream.just(("b", each[1])) if each[0] == "a" else Stream.empty()),
        lambda got: whole(got, "ab"),
    ),
    "sample": (lambda a, b: a.sample(b), rising),
}
"""Streams of two publishers, each on a thread of its own, and what they give."""

THROUGH: dict[str, tuple[Make, Check]] = {
    "relay": (lambda s: s.limit_rate(16), whole),
    "pushed": (lambda s: s.map(lambda each: each).filter(lambda _: True), whole),
    "pushed, leaving out": (lambda s: s.filter(lambda each: each[1] % 3).map(lambda each: each), rising),
    "counted": (lambda s: s.take(COUNT).drop_repeats(), whole),
    "gathered": (lambda s: s.buffer(7).flatten(), whole),
    "fed": (lambda s: s.start_with(("b", 0)).flat_map(lambda each: [each]), lambda got: whole(got[1:])),
    "folded": (lambda s: s.count(), exactly([COUNT])),
    "publish_on a thread": (lambda s: s.publish_on(thread(), prefetch=8), whole),
    "publish_on a pool": (lambda s: s.publish_on(pool(2), prefetch=8), whole),
    "several boundaries": (
        lambda s: s.publish_on(thread(), prefetch=3).map(lambda each: each).publish_on(pool(2)).publish_on(thread()),
        whole,
    ),
    "subscribe_on": (lambda s: s.subscribe_on(thread()), whole),
    "parallel": (lambda s: s.parallel(2, lambda lane: lane.map(lambda each: each), prefetch=8), whole),
    "parallel, unordered": (
        lambda s: s.parallel(3, lambda lane: lane.flat_map(lambda each: [each]), ordered=False, prefetch=8),
        lambda got: whole(sorted(got)),
    ),
    "map_async": (lambda s: s.map_async(_same, concurrency=4), whole),
    "delay": (lambda s: s.delay(0.0001, size=8), whole),
    "timeout": (lambda s: s.timeout(60), whole),
    "debounce": (lambda s: s.debounce(0.0001), rising),
    "throttle": (lambda s: s.throttle(50, 0.001), whole),
    "buffer_timeout": (lambda s: s.buffer_timeout(5, 0.0001).flatten(), whole),
    "keep_alive": (lambda s: s.keep_alive(0.0001, ("b", 0)).filter(lambda each: each[0] == "a"), whole),
    "on_backpressure_buffer": (lambda s: s.on_backpressure_buffer(COUNT), whole),
    "on_backpressure_drop": (lambda s: s.on_backpressure_drop(), rising),
    "on_backpressure_latest": (lambda s: s.on_backpressure_latest(), rising),
    "conflate": (lambda s: s.conflate(lambda each: [each], lambda some, each: [*some, each]).flatten(), whole),
    "group_by": (
        lambda s: s.group_by(lambda each: each[1] % 3).flat_map(lambda group: group, concurrency=3),
        lambda got: whole(sorted(got)),
    ),
    "groups on threads": (
        lambda s: s.group_by(lambda each: each[1] % 3, size=8).flat_map(
            lambda group: group.publish_on(thread()), concurrency=3
        ),
        lambda got: whole(sorted(got)),
    ),
    "window": (
        lambda s: s.window(5).flat_map(lambda each: each.publish_on(pool(2)), concurrency=2),
        lambda got: whole(sorted(got)),
    ),
    "windows of time": (lambda s: s.window(seconds=0.0005).concat_map(lambda each: each), whole),
    "share": (lambda s: s.share(), whole),
    "replay": (lambda s: s.replay(5), whole),
    "cache": (lambda s: s.cache(), whole),
    "observed": (lambda s: s.map(lambda each: each).publish_on(thread()).metrics("parallel threads"), whole),
}
"""Streams of one publisher on a thread of its own."""


async def _same(each: Any) -> Any:
    return each


def opened(make: Make) -> tuple[list[Hose], Stream[Any]]:
    hoses = [hose("a"), hose("b")][: make.__code__.co_argcount]
    return hoses, make(*[Stream.from_publisher(each) for each in hoses])


@pytest.mark.parametrize("name", [*MEETING, *THROUGH])
def test_elements_come_whole_and_in_order(name: str) -> None:
    make, check = {**MEETING, **THROUGH}[name]
    with restless():
        for _ in range(ROUNDS):
            hoses, stream = opened(make)
            check(taken(stream))
            assert all(each.let_go() for each in hoses)


@pytest.mark.parametrize("name", [*MEETING, *THROUGH])
def test_a_cancel_in_the_middle_lets_everything_go(name: str) -> None:
    make, _ = {**MEETING, **THROUGH}[name]
    with restless():
        for after in (0, 1, 20, 50):
            hoses, stream = opened(make)
            left(stream, after)
            assert all(each.let_go() for each in hoses)


SHARED: dict[str, Make] = {
    "share": lambda s: s.share(),
    "share, waiting": lambda s: s.share(slow=Slow.WAIT, size=8),
    "replay": lambda s: s.replay(3),
    "cache": lambda s: s.cache(),
}


@pytest.mark.parametrize("name", SHARED)
def test_subscribers_that_come_and_go_share_a_run(name: str) -> None:
    with restless():
        for _ in range(ROUNDS):
            upstream = hose("a")
            stream = SHARED[name](Stream.from_publisher(upstream))
            stays, goes = [Taker(), Taker()], [Taker(1), Taker(30)]
            all_at_once(*[call for taker in (*stays, *goes) for call in takes(stream, taker)])
            for taker in (*stays, *goes):
                assert (taker.faults, taker.error) == ([], None)
                numbers = of(taker.elements, "a")
                assert numbers == list(range(numbers[0], numbers[0] + len(numbers))) if numbers else True
            for taker in stays:
                assert taker.completed
                assert of(taker.elements, "a")[-1:] == [COUNT - 1] or name.startswith("share")
                if name == "cache":
                    whole(taker.elements)
            assert upstream.let_go()


def test_both_sides_of_a_partition_get_theirs() -> None:
    with restless():
        for _ in range(ROUNDS):
            upstream = hose("a")
            even, odd = Stream.from_publisher(upstream).partition(lambda each: each[1] % 2 == 0, slow=Slow.WAIT)
            takers = [Taker(), Taker()]
            all_at_once(*takes(even, takers[0]), *takes(odd, takers[1]))
            assert [(taker.faults, taker.completed) for taker in takers] == [([], True)] * 2
            assert [of(taker.elements, "a") for taker in takers] == [
                list(range(0, COUNT, 2)),
                list(range(1, COUNT, 2)),
            ]


@pytest.mark.parametrize("kept", [0, 4])
def test_several_threads_emit_into_a_subject_while_subscribers_come_and_go(kept: int) -> None:
    with restless():
        for _ in range(ROUNDS):
            subject: Any = Stream.subject(size=10 * COUNT, kept=kept)
            stays = [Taker(), Taker()]
            for taker in stays:
                subject.subscribe(taker)
                taker.ask(2**63 - 1)

            def emit(name: str, subject: Any = subject) -> None:
                for number in range(COUNT):
                    subject.emit((name, number))

            def come_and_go(subject: Any = subject) -> None:
                for _ in range(20):
                    taker = Taker()
                    subject.subscribe(taker)
                    taker.ask(10)
                    taker.cancel()
                    assert taker.faults == []

            all_at_once(lambda: emit("a"), lambda: emit("b"), lambda: emit("c"), come_and_go, come_and_go)
            subject.complete()
            for taker in stays:
                assert (taker.faults, taker.completed) == ([], True)
                whole(taker.elements, "abc")
            if kept:  # one lock decides the order, so all see the same
                assert stays[0].elements == stays[1].elements
            assert subject.subscribers == 0


@pytest.mark.parametrize("overflow", Overflow)
def test_an_emitter_delivers_what_it_has_taken(overflow: Overflow) -> None:
    with restless():
        for _ in range(ROUNDS):
            emitters: list[Any] = []
            taker = Taker()
            Stream.create(emitters.append, overflow=overflow, size=16).subscribe(taker)
            said: list[tuple[Element, EmitResult]] = []

            def emit(name: str, emitter: Any = emitters[0], said: list[Any] = said) -> None:
                said.extend(((name, number), emitter.emit((name, number))) for number in range(COUNT))

            def end(emitter: Any = emitters[0], taker: Taker = taker) -> None:
                all_at_once(lambda: emit("a"), lambda: emit("b"))
                emitter.complete()
                taker.ask(2**63 - 1)  # what waits still comes

            taker.ask(8)
            all_at_once(end, taker.asks_on, taker.asks_on)
            assert taker.faults == []
            took = Counter(element for element, result in said if result is EmitResult.OK)
            got = Counter(taker.elements)
            for name in "ab":
                numbers = of(taker.elements, name)
                assert numbers == sorted(set(numbers))
            if overflow in (Overflow.BUFFER, Overflow.DROP):
                assert got == took
            elif overflow is Overflow.LATEST:
                assert len(got) <= len(said)
            else:
                assert not got - took
