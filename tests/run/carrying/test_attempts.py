"""Attempts: what an attempt gives again is no sign that it was done, where an earlier one is still under way."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from penstock import Sink, Stream, thread
from tests.run.carrying.ledger import WAIT, Ledger


class Faulty:
    """A step that fails with the fifth element of the first attempt, and tells when the last one has come."""

    def __init__(self) -> None:
        self.faults = [5]
        self.came = threading.Event()

    def __call__(self, number: int) -> int:
        if number in self.faults:
            self.faults.remove(number)
            raise ValueError
        if number == 10:
            self.came.set()
        return number


class Held:
    """The end of a run, which is done with nothing before it is let go."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.done: list[int] = []

    def __call__(self, number: int) -> None:
        assert self.go.wait(WAIT)
        self.done.append(number)


def changed(numbers: Stream[int]) -> Stream[int]:
    return numbers.scan(max, 0).drop_repeats().filter(bool)


@pytest.mark.parametrize(
    "use",
    [
        lambda numbers: numbers.retry(1).distinct(),
        lambda numbers: numbers.retry(1).filter(lambda n, seen=set(): not (n in seen or seen.add(n))),
        lambda numbers: changed(numbers.retry(1)),
        lambda numbers: numbers.flat_map(lambda n: [n, n]).retry(1).distinct(),
        lambda numbers: numbers.retry(1).buffer(2).flatten().distinct(),
        lambda numbers: Stream.empty().merge(numbers.retry(1)).distinct(),
        lambda numbers: numbers.merge(Stream.just(11)).retry(1).distinct().filter(lambda n: n < 11),
        lambda numbers: numbers.retry(1).retry(1).distinct(),
    ],
    ids=["distinct", "a filter", "changes", "several of one", "lists", "an arm", "two sources", "twice"],
)
def test_what_comes_again_is_not_committed_before_it_was_done(use: Callable[[Stream[int]], Stream[int]]) -> None:
    source, faulty, held = Ledger(10), Faulty(), Held()
    numbers = use(source.stream().map(faulty))
    run = (numbers.publish_on(thread("end")) | Sink.for_each(held)).run()
    assert faulty.came.wait(WAIT)
    assert source.told == []
    held.go.set()
    run.wait(WAIT)
    assert held.done == [*range(1, 11)]
    assert source.last == 10
    assert source.opened == [None, None]


def test_what_was_done_before_a_failure_is_not_given_again() -> None:
    source, faulty, done = Ledger(10), Faulty(), list[int]()
    (source.stream().map(faulty).retry(1) | Sink.for_each(done.append)).run().wait(WAIT)
    assert done == [*range(1, 11)]
    assert source.opened == [None, 4]


def test_a_step_that_keeps_all_of_an_earlier_attempt_is_refused_where_nothing_else_comes() -> None:
    source: Any = Ledger(10).stream(window=4).map(Faulty())
    kept = source.retry(1).distinct().buffer(20)
    with pytest.raises(
        RuntimeError, match=r"^buffer keeps elements, and as many as may be are uncommitted, 4, so that"
    ):
        (kept | Sink.for_each(str)).run().wait(WAIT)
