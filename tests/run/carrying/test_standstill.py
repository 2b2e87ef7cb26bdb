"""A standstill: a run in which steps keep all that may be uncommitted is refused, and no other is."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable
from typing import Any

import pytest

from penstock import Recorder, Sink, Stream, VirtualClock, branch, flow, thread
from penstock.run.carrying.standstill import ways_of
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
    "use",
    [
        lambda numbers, clock: numbers.window(seconds=1, clock=clock).flat_map(Stream.to_list, concurrency=1),
        lambda numbers, clock: numbers.window(gap=1, clock=clock).flat_map(Stream.to_list, concurrency=1),
        lambda numbers, clock: numbers.window(until=Stream.interval(1, clock=clock)).concat_map(Stream.to_list),
        lambda numbers, clock: numbers.take_until(Stream.timer(1, clock=clock)).skip_last(10),
        lambda numbers, clock: Stream.timer(1, clock=clock).merge(numbers).buffer(9),
    ],
    ids=["time", "silence", "signs", "an end", "another source"],
)
def test_what_is_kept_until_something_else_comes_is_not_refused(
    use: Callable[[Stream[int], VirtualClock], Stream[Any]],
) -> None:
    full = threading.Event()

    def seen(number: int) -> int:
        if number == 8:
            full.set()
        return number

    source, clock = Ledger(8), VirtualClock()
    run = (use(source.stream(window=8).map(seen), clock) | Sink.for_each(str)).run()
    assert full.wait(WAIT)
    clock.advance(1)
    run.wait(WAIT)
    assert source.last == 8


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
    assert ways_of(use(Ledger(1).stream())._chain).sure is sure


@pytest.mark.parametrize(
    "use",
    [
        lambda numbers: numbers.to_list().observed(Recorder()),
        lambda numbers: numbers.max().merge(Stream.just(1)),
        lambda numbers: Stream.just(1).concat(numbers.count()),
        lambda numbers: numbers.for_each(str).merge(Stream.just(1)),
        lambda numbers: numbers.buffer(2).merge(Stream.just(1)).to_list(),
    ],
    ids=["listened to", "merged", "concatenated", "a sum that is not the end", "behind a merge"],
)
def test_a_result_of_all_is_waited_for_wherever_it_is_made(use: Callable[[Stream[int]], Stream[Any]]) -> None:
    source = Ledger(30)
    (use(source.stream(window=4)) | Sink.for_each(str)).run().wait(WAIT)
    assert source.told[-1] == 30


def test_a_result_of_all_in_a_branch_is_waited_for_wherever_it_is_made() -> None:
    source = Ledger(30)
    whole = flow(lambda numbers: numbers.to_list().observed(Recorder()).map(len))
    ends = branch(whole | Sink.to_list(), Sink.count())
    assert (source.stream(window=4) | ends).run().wait(WAIT) == ([30], 30)
    assert source.told == [30]


@pytest.mark.parametrize(
    "use",
    [
        lambda numbers: numbers.to_list().take(0),
        lambda numbers: numbers.flat_map(lambda n: [n]).take(0),
        lambda numbers: numbers.buffer(2).start_with([]).take(0),
    ],
    ids=["a list", "several of one", "one before"],
)
def test_what_takes_nothing_is_over_at_once(use: Callable[[Stream[int]], Stream[Any]]) -> None:
    source = Ledger(30)
    failing = source.stream().merge(Stream.error(ValueError("not asked for")))
    assert (use(failing) | Sink.to_list()).run().wait(WAIT) == []
    assert source.told == []


def is_sparse(number: int) -> bool:
    return number % 20 == 1


@pytest.mark.parametrize(
    "use",
    [
        lambda numbers: numbers.merge(Stream.never()).filter(lambda n: n % 20 == 1).buffer(2),
        lambda numbers: numbers.group_by(lambda n: n % 2).flat_map(lambda group: group.to_list(), concurrency=2),
        lambda numbers: numbers.take(50).filter(lambda n: n % 20 == 1).buffer(2),
        lambda numbers: numbers.window(20).flat_map(
            lambda some: some.filter(lambda n: n % 20 == 1).to_list(), concurrency=1
        ),
    ],
    ids=["merge", "groups", "take", "window"],
)
def test_a_run_that_waits_for_long_says_so(
    use: Callable[[Stream[int]], Stream[Any]], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It cannot be known whether the other stream, or the end of the group, lets elements go."""
    monkeypatch.setattr("penstock.run.carrying.waiting.LONG", 0.02)
    said = threading.Event()
    caplog.handler.addFilter(lambda record: said.set() or True)
    source = Ledger(100)
    with caplog.at_level(logging.WARNING, "penstock"):
        run = (use(source.stream(window=8)) | Sink.for_each(str)).run()
        assert said.wait(WAIT)
        run.cancel()
    assert re.match(
        r"resumable: the source waits, since 8 elements are uncommitted and no more may be, and none of them has been "
        r"done for 0.02 seconds: (buffer|to_list) keeps elements until others come; if it cannot go on, say window=n ",
        caplog.messages[0],
    )


def test_a_run_that_goes_on_says_nothing(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr("penstock.run.carrying.waiting.LONG", 0.2)
    pause = threading.Event()
    with caplog.at_level(logging.WARNING, "penstock"):
        slow = Ledger(100).stream(window=8).publish_on(thread("slow")).map(lambda n: pause.wait(0.005))
        assert (slow | Sink.count()).run().wait(WAIT) == 100
    assert caplog.messages == []


@pytest.mark.parametrize(
    "use",
    [
        lambda numbers: numbers.buffer(6).on_error_return(0),
        lambda numbers: numbers.sliding(6).on_error_resume(lambda _: Stream.just(0)),
        lambda numbers: numbers.sliding(6).on_error_complete(),
        lambda numbers: numbers.filter(lambda n: n % 20 == 1).buffer(2).map_error(lambda _: KeyError("hidden")),
    ],
    ids=["a result in its place", "a stream in its place", "an end in its place", "another error"],
)
def test_no_step_handles_a_refusal(use: Callable[[Stream[int]], Stream[Any]]) -> None:
    with pytest.raises(RuntimeError, match=r"keeps .*elements, and .* uncommitted"):
        (use(Ledger(100).stream(window=4)) | Sink.for_each(str)).run().wait(WAIT)
