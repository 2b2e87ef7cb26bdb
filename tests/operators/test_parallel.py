"""parallel: the same steps on several workers, each on a share of the elements, in order or not."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

import pytest
from hypothesis import strategies as st

from penstock import Dropped, Executor, Flow, Stream, flow, inline, loop, pool, set_on_dropped, thread
from penstock.testing import Form, ManualPublisher, Probe, Tracked, check_joint, subscribed
from tests.operators.subjects import each_form, failure_of, notes, over, place

ALONE = "parallel: flow must be made of steps that treat each element alone and need no signals"
EXECUTORS: dict[str, Callable[[], Executor | None]] = {
    "of its own": lambda: None,
    "inline": inline,
    "thread": thread,
    "pool": lambda: pool(2),
    "loop": loop,
}


def steps(numbers: Stream[int]) -> Stream[str]:
    return numbers.filter(lambda n: n % 3 > 0).flat_map(lambda n: [n] * (n % 3)).map(str)


def model(elements: list[int]) -> list[str]:
    return [str(n) for n in elements for _ in range(n % 3)]


@pytest.mark.parametrize("name", EXECUTORS)
def test_laws(name: str) -> None:
    check_joint(
        lambda stream: stream.parallel(3, steps, executor=EXECUTORS[name](), prefetch=4),
        model,
        st.integers(0, 9),
        examples=3,
    )


def test_laws_where_the_order_does_not_matter() -> None:
    check_joint(
        lambda stream: stream.parallel(3, steps, ordered=False, prefetch=4),
        model,
        st.integers(0, 9),
        ordered=False,
        examples=5,
    )


@pytest.mark.parametrize("name", EXECUTORS)
@pytest.mark.parametrize("ordered", [True, False])
def test_many_elements(name: str, ordered: bool) -> None:
    elements = list(range(3_000))
    found = list(Stream.from_iterable(elements).parallel(3, steps, executor=EXECUTORS[name](), ordered=ordered))
    assert found == model(elements) if ordered else sorted(found) == sorted(model(elements))


@pytest.mark.parametrize("executor", [None, thread(), pool(3)], ids=["of its own", "thread", "pool"])
def test_rails_run_at_the_same_time(executor: Executor | None) -> None:
    """Three elements meet at a barrier, which lets nobody through alone."""
    meet = threading.Barrier(3, timeout=10)

    def wait(n: int) -> int:
        meet.wait()
        return n

    stream = Stream.range(3).parallel(3, lambda numbers: numbers.map(wait), executor=executor)
    assert list(stream) == [0, 1, 2]


def test_no_more_rails_run_than_it_says() -> None:
    lock, running, most = threading.Lock(), 0, 0

    def work(n: int) -> int:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        with lock:
            running -= 1
        return n

    assert Stream.range(2_000).parallel(2, lambda numbers: numbers.map(work), executor=pool(8)).count().get() == 2_000
    assert most <= 2


def test_results_keep_the_order_whoever_finishes_first() -> None:
    gate = threading.Event()

    def slow_first(n: int) -> int:
        if n == 0:
            assert gate.wait(10)
        return n

    def run(ordered: bool) -> Probe[int]:
        gate.clear()
        probe: Probe[int] = Probe(9)
        Stream.range(3).parallel(3, lambda numbers: numbers.map(slow_first), ordered=ordered).subscribe(probe)
        return probe

    unordered = run(ordered=False)
    assert sorted(unordered.wait_for(2)) == [1, 2]
    gate.set()
    assert unordered.wait_for_end()[-1] == 0
    ordered = run(ordered=True)
    gate.set()
    assert ordered.wait_for_end() == [0, 1, 2]


def test_an_element_is_under_way_until_its_last_result_is_taken() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).parallel(2, lambda s: s.map(str), executor=inline(), prefetch=4))
    assert upstream.requests == []
    probe.request(1)
    assert upstream.requests == [4]
    upstream.next(1, 2, 3, 4)
    assert upstream.requests == [4]
    probe.request(1)
    assert upstream.requests == [4, 2]
    assert probe.elements == ["1", "2"]


def test_a_filter_that_rejects_everything_does_not_run_ahead_of_demand() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    stream = Stream.from_publisher(upstream).parallel(
        2, lambda s: s.filter(lambda n: n > 9), executor=inline(), prefetch=4
    )
    probe = subscribed(stream)
    assert upstream.requests == []
    probe.request(1)
    upstream.next(1, 2, 3, 10)
    asked = upstream.requested
    upstream.next(*range(asked - 4))
    assert upstream.requested == asked
    assert probe.elements == [10]


def test_an_element_that_becomes_many_is_bounded_too() -> None:
    """A worker rests after some results, until they are taken."""
    made = 0

    def endless(_: int) -> Any:
        nonlocal made
        while True:
            made += 1
            yield made

    probe: Probe[int] = Probe(10)
    Stream.just(0).parallel(2, lambda s: s.flat_map(endless), executor=inline()).subscribe(probe)
    assert probe.elements == list(range(1, 11))
    assert made <= 256 + 1
    probe.request(1_000)
    assert probe.elements == list(range(1, 1_011))
    assert made <= 1_010 + 256 + 1
    probe.cancel()


@each_form
def test_a_function_that_raises_fails_the_stream_after_what_came_before_and_is_named(form: Form) -> None:
    def bad(n: int) -> int:
        return 6 // (3 - n)

    items = Tracked(range(9))
    probe = subscribed(form.over(items).parallel(2, lambda s: s.filter(lambda n: True).map(bad)), 99)
    assert probe.wait_for_end() == [2, 3, 6]
    assert type(probe.error) is ZeroDivisionError
    name = f"{test_a_function_that_raises_fails_the_stream_after_what_came_before_and_is_named.__name__}.bad"
    assert notes(probe.error) == [f"in map({name}), step 2 of 2, {place(bad)}"]
    items.wait_until_closed()


@pytest.mark.parametrize("ordered", [True, False])
def test_what_fails_beside_the_first_failure_goes_to_the_hook(ordered: bool, dropped: list[Dropped]) -> None:
    together = threading.Barrier(3)
    over: SimpleQueue[Dropped] = SimpleQueue()

    def fail(n: int) -> int:
        together.wait(5)
        raise ValueError(f"failed {n}")

    set_on_dropped(over.put)
    probe = subscribed(Stream.range(3).parallel(3, flow(lambda each: each.map(fail)), ordered=ordered), 9)
    probe.wait_for_end()
    told = [str(probe.error), *(str(over.get(timeout=5).error) for _ in range(2))]
    assert sorted(text.partition("\n")[0] for text in told) == ["failed 0", "failed 1", "failed 2"]
    assert dropped == []


def test_a_failure_of_upstream_follows_the_results() -> None:
    items = Tracked([1, 2], ValueError("lost"))
    probe = subscribed(Stream.from_iterable(items).parallel(2, lambda s: s.map(str)), 9)
    assert probe.wait_for_end() == ["1", "2"]
    assert repr(probe.error) == "ValueError('lost')"


def test_a_cancel_ends_the_work_and_the_threads() -> None:
    started, gate = threading.Event(), threading.Event()
    worked: list[int] = []

    def work(n: int) -> int:
        started.set()
        assert gate.wait(10)
        worked.append(n)
        return n

    before = set(threading.enumerate())
    items = Tracked(range(100))
    probe = subscribed(Stream.from_iterable(items).parallel(2, lambda s: s.map(work), executor=thread(), prefetch=8), 9)
    assert started.wait(10)
    probe.cancel()
    gate.set()
    for one in set(threading.enumerate()) - before:
        one.join(10)
        assert not one.is_alive()
    assert len(worked) <= 2
    assert probe.signals == []
    assert items.open_runs == 0


def test_a_flow_is_a_function_too() -> None:
    doubled: Flow[int, int] = flow(lambda numbers: numbers.map(lambda n: n * 2))
    assert list(Stream.range(3).parallel(2, doubled)) == [0, 2, 4]


def test_no_steps_change_nothing() -> None:
    assert list(Stream.range(100).parallel(2, lambda numbers: numbers)) == list(range(100))


@each_form
def test_a_lone_element_is_not_kept_waiting(form: Form) -> None:
    assert list(over(form, 7).parallel(8, lambda s: s.map(str))) == ["7"]


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"rails": 0}, ValueError, "parallel: rails must be >= 1, got 0"),
        ({"rails": "2"}, TypeError, "parallel: rails must be a whole number, got '2'"),
        ({"flow": 5}, TypeError, "parallel: flow must be a function from Stream to Stream, got 5"),
        ({"flow": lambda s: 5}, TypeError, "parallel: flow must return a stream made from its argument, got 5"),
        (
            {"flow": lambda s: Stream.just(1)},
            TypeError,
            r"parallel: flow must return a stream made from its argument, got Stream\(just\)",
        ),
        (
            {"flow": lambda s: s.map(str).take(3)},
            TypeError,
            f"{ALONE}, got take; put it before or after parallel",
        ),
        (
            {"flow": lambda s: s.do_finally(bool)},
            TypeError,
            f"{ALONE}, got do_finally; put it before or after parallel",
        ),
        ({"executor": 5}, TypeError, r"parallel: executor must be an Executor, got 5; thread\(\), pool\(size\), .*"),
        ({"prefetch": 0}, ValueError, "parallel: prefetch must be >= 1, got 0"),
    ],
)
def test_refuses_wrong_arguments(options: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=f"^{message}$"):
        Stream.range(3).parallel(**{"rails": 2, "flow": lambda s: s.map(str), **options})


def test_a_leaked_stop_is_an_error() -> None:
    def leak(n: int) -> int:
        raise StopIteration

    error = failure_of(Stream.range(3).parallel(2, lambda s: s.map(leak)))
    assert type(error) is RuntimeError


def test_as_many_workers_are_made_as_elements_may_be_under_way() -> None:
    assert list(Stream.range(20).parallel(2**70, steps, prefetch=4)) == model(list(range(20)))
