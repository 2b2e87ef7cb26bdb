"""metrics: counts runs, requests, elements and ends under a name, and changes nothing."""

from __future__ import annotations

import pickle
import threading

import pytest
from hypothesis import strategies as st

from penstock import REGISTRY, Counted, Registry, Stream, thread
from penstock.testing import Form, ManualPublisher, check_joint, subscribed
from tests.engine.parts import in_thread
from tests.operators.subjects import each_form, failure_of, over


def test_laws() -> None:
    registry = Registry()
    check_joint(lambda stream: stream.metrics("laws", registry=registry), lambda xs: xs, st.integers(), examples=15)
    counted = registry["laws"]
    assert counted.running == 0
    assert counted.runs == counted.completed + counted.failed + counted.cancelled > 0


def test_refuses_what_is_no_name_and_no_registry() -> None:
    with pytest.raises(TypeError, match=r"^metrics: name must be a text, got 1$"):
        Stream.range(3).metrics(1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^metrics: name must not be empty, got ''$"):
        Stream.range(3).metrics("")
    with pytest.raises(TypeError, match=r"^metrics: registry must be a Registry, got \{\}$"):
        Stream.range(3).metrics("numbers", registry={})  # type: ignore[arg-type]


@each_form
def test_counts_a_run_that_completes(form: Form) -> None:
    registry = Registry()
    assert list(over(form, 1, 2, 3).metrics("numbers", registry=registry).map(str)) == ["1", "2", "3"]
    counted = registry["numbers"]
    assert (counted.runs, counted.running, counted.delivered, counted.completed) == (1, 0, 3, 1)
    assert counted.requested >= 3


def test_counts_what_is_asked_for_and_what_comes_as_it_goes() -> None:
    registry = Registry()
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).metrics("numbers", registry=registry), 5)
    upstream.next(1)
    assert registry["numbers"] == Counted(runs=1, running=1, requested=5, delivered=1)
    probe.request(2)
    probe.cancel()
    assert registry["numbers"] == Counted(runs=1, requested=7, delivered=1, cancelled=1)


@each_form
def test_counts_a_failure(form: Form) -> None:
    def fail(n: int) -> int:
        raise ValueError(n)

    registry = Registry()
    failure_of(over(form, 1, 2).map(fail).metrics("numbers", registry=registry))
    assert registry["numbers"].failed == 1
    assert registry["numbers"].delivered == 0


def test_counts_an_iterator_that_is_left_as_cancelled() -> None:
    registry = Registry()
    for n in Stream.range(9).metrics("numbers", registry=registry):
        if n == 3:
            break
    assert registry["numbers"] == Counted(runs=1, requested=4, delivered=4, cancelled=1)


def test_counts_what_comes_after_as_a_cancel() -> None:
    registry = Registry()
    assert list(Stream.range(9).metrics("numbers", registry=registry).take(2)) == [0, 1]
    assert registry["numbers"] == Counted(runs=1, requested=2, delivered=2, cancelled=1)


def test_runs_of_many_threads_add_up_exactly() -> None:
    registry = Registry()
    stream = Stream.range(500).metrics("numbers", registry=registry)
    threads = [threading.Thread(target=lambda: list(stream)) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert registry["numbers"] == Counted(runs=8, requested=4000, delivered=4000, completed=8)


def test_names_are_counted_apart_and_read_together() -> None:
    registry = Registry()
    list(Stream.range(2).metrics("a", registry=registry).publish_on(thread()).metrics("b", registry=registry))
    assert {name: counted.delivered for name, counted in registry.read().items()} == {"a": 2, "b": 2}
    with pytest.raises(KeyError, match=r"^'c'$"):
        registry["c"]


def test_the_registry_is_one_for_all_unless_another_is_given() -> None:
    name = "only here"
    assert list(Stream.range(2).metrics(name)) == [0, 1]
    assert REGISTRY[name].delivered == 2
    assert pickle.loads(pickle.dumps(REGISTRY)) is REGISTRY
    another = Registry()
    assert pickle.loads(pickle.dumps(another)) is another


def test_a_run_of_another_thread_is_read_here() -> None:
    registry = Registry()
    stream = iter(Stream.range(9).metrics("numbers", registry=registry))
    in_thread(lambda: [next(stream) for _ in range(4)])
    assert registry["numbers"] == Counted(runs=1, running=1, requested=4, delivered=4)
