"""parallel looks: what threads share besides signals may be looked at, taken and stopped while others change it.

What these tests look for shows where threads run at the same time, on a free-threaded build. They pass on every build.
"""

from __future__ import annotations

import pickle
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from penstock import Recorder, Registry, Stream, observe, pull, thread
from penstock.engine.runs.fed_run import FedRun
from penstock.engine.watching.recorder import Recorder as EngineRecorder
from penstock.engine.weaving import weave
from penstock.engine.words.queued import take_all
from penstock.engine.words.single_use import SingleUse
from penstock.run import Valve
from penstock.run.carrying.marks import SourceMarks
from penstock.testing import Probe
from tests.engine.parts import noop
from tests.engine.stress import all_at_once, restless

COUNT = 300
LOOKS = 300
MANY = 1_000_000
"""More than one thread reads before another one is heard."""
ROUNDS = 3
THREADS = 4


def looked_at(change: Callable[[], object], *looks: Callable[[], object]) -> None:
    """Change something on one thread, and look at it on others, so often at most: who looks must not keep it out."""
    done = threading.Event()

    def changes() -> None:
        try:
            change()
        finally:
            done.set()

    def goes_on(look: Callable[[], object]) -> None:
        for _ in range(LOOKS):
            if done.is_set():
                break
            look()

    with restless():
        all_at_once(changes, *[lambda look=look: goes_on(look) for look in looks])  # type: ignore[misc]


def in_a_row(numbers: Iterable[int]) -> None:
    found = list(numbers)
    assert not found or found == list(range(found[0], found[0] + len(found)))


def test_the_buffer_of_a_pushable_is_looked_at_while_it_is_filled() -> None:
    source: Any = pull.pushable()
    looked_at(lambda: [source.push(number) for number in range(COUNT)], *[lambda: in_a_row(source.buffer)] * 2)
    assert source.buffer == tuple(range(COUNT))


def test_marks_are_looked_at_while_elements_come_and_go() -> None:
    marks = SourceMarks(noop, None)

    def come_and_go() -> None:
        under_way = [marks.enter(number) for number in range(20)]
        for number in range(20, COUNT):
            marks.keep(under_way[-1])
            marks.hold(under_way[-1], "a step")
            marks.unhold(under_way[-1])
            marks.drop(under_way[-1])
            under_way.append(marks.enter(number))
            marks.drop(under_way.pop(0))

    looked_at(come_and_go, lambda: in_a_row(mark.position for mark in marks.under_way()[0]), lambda: marks.keeper)


def test_a_fed_run_says_how_much_waits_while_elements_come() -> None:
    segment = Stream.empty().start_with(0)._chain.segment(0, 1)
    run, seen = FedRun(segment, Probe[int]()), [0]

    def look() -> None:
        seen.append(run.pending())
        assert seen[-1] >= seen[-2], "nothing was taken, so nothing is missing"

    looked_at(lambda: [run.on_next(number) for number in range(COUNT)], look)
    assert run.pending() == COUNT


def test_a_queue_is_taken_while_another_thread_adds_to_it() -> None:
    with restless():
        for _ in range(ROUNDS):
            queue: deque[int] = deque()
            taken: list[int] = []

            def come(queue: deque[int] = queue) -> None:
                for number in range(COUNT):
                    queue.append(number)

            def go(queue: deque[int] = queue, taken: list[int] = taken) -> None:
                while len(taken) < COUNT:
                    taken += take_all(queue)

            all_at_once(come, go)
            assert taken == list(range(COUNT))


SOURCES: dict[str, Callable[[], Iterator[int]]] = {
    "range": lambda: iter(range(MANY)),
    "tuple": lambda: iter(tuple(range(MANY))),
    "bytes": lambda: iter(bytes(MANY)),
    "generator": lambda: (number for number in range(MANY)),
}


@pytest.mark.parametrize("name", SOURCES)
def test_a_valve_that_is_closed_ends_what_another_thread_reads(name: str) -> None:
    with restless():
        for _ in range(ROUNDS):
            valve, read = Valve(), []
            iterator = valve.watch(lambda _: SOURCES[name](), None)

            def go_through(iterator: Iterator[int] = iterator, read: list[int] = read) -> None:
                read.append(sum(1 for _ in iterator))

            def close(valve: Valve = valve) -> None:
                while not valve.rows:
                    pass
                valve.close()

            all_at_once(go_through, close)
            assert 0 < read[0] < MANY
            assert abs(valve.rows - read[0]) <= 1


KINDS: dict[str, Callable[[], Stream[int]]] = {
    "a range": lambda: Stream.range(COUNT),
    "a list": lambda: Stream.from_iterable(list(range(COUNT))),
    "a tuple": lambda: Stream.from_iterable(tuple(range(COUNT))),
    "a tuple that nothing else holds": lambda: Stream.defer(lambda: tuple(range(COUNT))),
    "a generator": lambda: Stream.defer(lambda: (number for number in range(COUNT))),
    "steps": lambda: Stream.from_iterable(tuple(range(COUNT))).map(lambda n: n).filter(lambda n: n >= 0),
    "a zip": lambda: Stream.range(COUNT).zip(Stream.from_iterable(tuple(range(COUNT)))).map(lambda row: row[0]),
    "a boundary": lambda: Stream.range(COUNT).publish_on(thread()).map(lambda n: n),
    "a merge": lambda: Stream.range(COUNT // 2).merge(Stream.range(COUNT // 2).subscribe_on(thread())).buffer(1),
    "groups": lambda: Stream.range(COUNT).group_by(lambda n: n % 2).flat_map(lambda each: each, concurrency=2),
}


@pytest.mark.parametrize("name", KINDS)
def test_a_run_is_read_while_it_runs(name: str) -> None:
    recorder, last = Recorder(), [0]
    stream = KINDS[name]()

    def look() -> None:
        for readings in recorder.readings().values():
            if readings:
                assert 0 <= readings[-1].delivered <= COUNT * ROUNDS
                assert readings[-1].delivered >= last[0]
                last[0] = readings[-1].delivered

    def runs() -> None:
        with observe(recorder):
            for _ in range(ROUNDS):
                assert sum(1 for _ in stream) == COUNT

    looked_at(runs, look)
    (readings,) = recorder.readings().values()
    assert readings[-1].delivered == COUNT * ROUNDS


def test_a_stream_whose_loop_is_not_woven_yet_is_run_by_many_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weave, "MOST_PLANS", 3)  # so that plans are forgotten meanwhile
    with restless():
        for length in range(1, 2 * ROUNDS):
            stream = Stream.range(50)
            for step in range(length):
                stream = stream.map(lambda n: n + 1) if step % 2 else stream.filter(lambda _: True).skip(1)
            behind = stream.publish_on(thread()).map(lambda n: n).take(40 - length)
            expected, found = list(stream), []
            stream = Stream.range(50)
            for step in range(length):
                stream = stream.map(lambda n: n + 1) if step % 2 else stream.filter(lambda _: True).skip(1)
            calls = [lambda: found.append(list(stream))] * THREADS  # noqa: B023
            all_at_once(*calls, lambda: list(behind), lambda: list(behind), lambda: str(stream.explain()))  # noqa: B023
            assert found == [expected] * THREADS


def test_what_serves_one_is_given_to_one() -> None:
    with restless():
        for _ in range(10 * ROUNDS):
            note, first = SingleUse(), []
            all_at_once(*[lambda: first.append(note.first())] * THREADS)  # noqa: B023
            assert sorted(first) == [False] * (THREADS - 1) + [True]


@pytest.mark.parametrize("make", [Registry, EngineRecorder])
def test_copies_made_at_once_are_the_one_that_lives_here(make: Callable[[], Any]) -> None:
    with restless():
        for _ in range(ROUNDS):
            resident, texts = make(), []
            all_at_once(*[lambda: texts.append(pickle.dumps(resident))] * THREADS)  # noqa: B023
            assert len(set(texts)) == 1
            found: list[Any] = []
            all_at_once(*[lambda: found.append(pickle.loads(texts[0]))] * THREADS)  # noqa: B023
            assert all(each is resident for each in found)


def test_runs_of_many_threads_are_counted_one_by_one() -> None:
    registry = Registry()
    stream = Stream.range(100).map(lambda n: n).metrics("looks", registry=registry)

    def runs() -> None:
        for _ in range(ROUNDS):
            assert stream.count().get() == 100
            assert registry["looks"].running >= 0

    with restless():
        all_at_once(*[runs] * THREADS)
    counted = registry["looks"]
    assert (counted.runs, counted.running, counted.completed) == (THREADS * ROUNDS, 0, THREADS * ROUNDS)
    assert counted.delivered == THREADS * ROUNDS * 100
