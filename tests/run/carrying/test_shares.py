"""Shares: an element that several branches take is done when each of them is done with it."""

from __future__ import annotations

from typing import Any

import pytest

from penstock import Sink, Stream, branch
from tests.run.carrying.ledger import WAIT, Ledger


def test_a_branch_that_has_its_result_holds_up_no_other() -> None:
    source, taken = Ledger(100), []
    ends = branch(Sink.for_each(taken.append), Sink.of(lambda stream: stream.take(3).count()))
    assert (source.stream(window=8) | ends).run().wait(WAIT) == (100, 3)
    assert taken == list(range(1, 101))
    assert source.last == 100


def test_a_branch_that_fails_is_not_done_with_what_it_was_offered() -> None:
    source = Ledger(100)

    def fail(number: int) -> None:
        if number == 5:
            raise ValueError("five")

    ends = branch(Sink.for_each(str), Sink.for_each(fail))
    with pytest.raises(ValueError, match="five"):
        (source.stream() | ends).run().wait(WAIT)
    assert source.last == 4


def test_a_branch_may_take_a_stream_twice_and_merge_it_with_others() -> None:
    source, slow = Ledger(20), []

    def take(number: int) -> None:
        assert source.last < number
        slow.append(number)

    twice = Sink.of(lambda stream: stream.merge(stream.map(str), Stream.just("other")).count())
    assert (source.stream(window=8) | branch(twice, Sink.for_each(take))).run().wait(WAIT) == (41, 20)
    assert source.last == 20


def same(stream: Stream[Any]) -> Stream[Any]:
    return stream


@pytest.mark.parametrize(
    "use",
    [
        lambda stream: stream.take_until(stream.filter(lambda n: n == 5)),
        lambda stream: stream.sample(stream.filter(lambda n: n % 2)),
        lambda stream: stream.window(until=stream.filter(lambda n: n % 7 == 0)).flat_map(
            lambda some: some, concurrency=1
        ),
    ],
    ids=["take_until", "sample", "window"],
)
def test_a_stream_that_is_a_sign_for_another_is_one_of_values(use: Any) -> None:
    source, taken = Ledger(100), []
    ends = branch(Sink.for_each(taken.append), Sink.of(lambda stream: use(stream).to_list()))
    _, found = (source.stream(window=8) | ends).run().wait(WAIT)
    assert set(found) <= set(taken) == set(range(1, 101))
    assert source.last == 100


def test_a_source_that_is_a_sign_for_another_is_told() -> None:
    first, sign = Ledger(100), Ledger(1)
    (first.stream().take_until(sign.stream().filter(lambda _: False)) | Sink.for_each(str)).run().wait(WAIT)
    assert (first.last, sign.last) == (100, 1)
