"""A standstill: a run in which steps keep all that may be uncommitted is refused, and no other is."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from penstock import Sink, Stream, thread
from penstock.run.carrying.standstill import is_sure, paths
from tests.run.carrying.ledger import WAIT, Ledger


@pytest.mark.parametrize(
    ("use", "keeper"),
    [
        (lambda numbers: numbers.buffer(5).buffer(2), "buffer"),
        (lambda numbers: numbers.filter(lambda n: n % 20 == 1).buffer(2), "buffer"),
        (lambda numbers: numbers.filter(lambda n: n % 20 == 1).pairwise(), "pairwise"),
        (lambda numbers: numbers.publish_on(thread("other")).filter(lambda n: n % 20 == 1).buffer(2), "buffer"),
        (lambda numbers: numbers.buffer_timeout(8, 60).buffer(2), "buffer"),
    ],
    ids=["lists of lists", "few are kept", "pairs of few", "on another thread", "lists that time would end"],
)
def test_a_run_that_can_go_no_further_is_refused(use: Callable[[Stream[int]], Stream[Any]], keeper: str) -> None:
    source = Ledger(100)
    with pytest.raises(RuntimeError, match=rf"^{keeper} keeps elements, and as many as may be are uncommitted, 8, so"):
        (use(source.stream(window=8)) | Sink.for_each(str)).run().wait(WAIT)
    assert source.told == []


@pytest.mark.parametrize("window", [10, 11, 19])
def test_lists_of_lists_that_fit_into_the_window_are_made(window: int) -> None:
    source = Ledger(100)
    assert (source.stream(window).buffer(5).buffer(2) | Sink.count()).run().wait(WAIT) == 10
    assert source.last == 100


def test_what_is_kept_until_another_source_gives_is_not_refused() -> None:
    full = threading.Event()

    def is_first(number: int) -> bool:
        if number == 8:
            full.set()
        return number == 1

    def late(number: int) -> int:
        assert full.wait(WAIT)
        return number

    few, more = Ledger(40), Ledger(100, of=late)
    merged = few.stream(window=8).filter(is_first).merge(more.stream().subscribe_on(thread("more")))
    assert (merged.buffer(2) | Sink.count()).run().wait(WAIT) == 51
    assert (few.last, more.last) == (40, 100)


@pytest.mark.parametrize(
    ("use", "sure"),
    [
        (lambda numbers: numbers.map(str).publish_on(thread("other")).buffer(2), True),
        (lambda numbers: numbers.retry(2).buffer_timeout(2, 1).buffer(2), True),
        (lambda numbers: numbers.merge(Stream.just(1)).buffer(2), False),
        (lambda numbers: numbers.take_until(Stream.just(1)).buffer(2), False),
        (lambda numbers: numbers.take(3).buffer(2), False),
        (lambda numbers: numbers.keep_alive(1, 0).buffer(2), False),
        (lambda numbers: numbers.group_by(bool).flat_map(lambda group: group.to_list()).buffer(2), False),
    ],
)
def test_it_is_known_what_steps_wait_for(use: Callable[[Stream[int]], Stream[Any]], sure: bool) -> None:
    assert is_sure(paths(use(Ledger(1).stream())._chain)) is sure
