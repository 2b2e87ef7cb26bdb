"""concat_map: one stream per element, one after the other, asked for exactly what is asked for below."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import strategies as st

from penstock import Dropped, Stream, thread
from penstock.testing import Form, ManualPublisher, Tracked, VirtualClock, check_joint, marble, record, subscribed
from tests.operators.subjects import each_form, failure_of, notes, over, place


def copies(n: int) -> list[int]:
    return [n] * n


def model(elements: list[int]) -> list[int]:
    return [copy for n in elements for copy in copies(n)]


def test_laws_of_iterables() -> None:
    check_joint(lambda stream: stream.concat_map(copies), model, st.integers(0, 3), examples=15)


def test_laws_of_streams() -> None:
    check_joint(
        lambda stream: stream.concat_map(lambda n: Stream.from_iterable(copies(n)).do_finally(bool)),
        model,
        st.integers(0, 3),
        examples=10,
    )


def test_laws_of_streams_on_threads() -> None:
    check_joint(
        lambda stream: stream.concat_map(lambda n: Stream.from_iterable(copies(n)).publish_on(thread(), prefetch=2)),
        model,
        st.integers(0, 3),
        examples=3,
    )


def test_laws_of_what_is_mapped_to() -> None:
    check_joint(lambda stream: Stream.just("x").concat_map(lambda _: stream), lambda xs: xs, st.integers(), examples=10)


@each_form
def test_takes_iterables_streams_and_asynchronous_iterables(form: Form) -> None:
    async def letters() -> AsyncIterator[str]:
        yield "a"
        yield "b"

    made: dict[str, Any] = {"list": [1, 2], "stream": Stream.just(3), "empty": Stream.empty(), "async": letters()}
    assert list(over(form, *made).concat_map(made.__getitem__)) == [1, 2, 3, "a", "b"]


def test_one_after_the_other() -> None:
    clock = VirtualClock()
    streams = {"x": marble("-a-b|", clock=clock), "y": marble("c--d|", clock=clock)}
    assert record(marble("xy|", clock=clock).concat_map(streams.__getitem__), clock) == "-a-bc--d|"


def test_asks_for_an_element_when_there_is_demand_and_none_at_hand() -> None:
    outer: ManualPublisher[int] = ManualPublisher()
    inner: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(outer).concat_map(lambda _: inner))
    assert outer.requests == []
    probe.request(3)
    assert outer.requests == [1]
    outer.next(0)
    assert inner.requests == [3]
    inner.next(1)
    probe.request(2)
    assert inner.requests == [3, 2]
    inner.complete()
    assert outer.requests == [1, 1]
    outer.next(0)
    assert inner.requests == [4]
    inner.next(2, 3, 4, 5)
    inner.complete()
    assert outer.requests == [1, 1]
    probe.request(1)
    assert outer.requests == [1, 1, 1]


def test_completes_when_the_last_stream_has() -> None:
    outer: ManualPublisher[int] = ManualPublisher()
    inner: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(outer).concat_map(lambda _: inner), 9)
    outer.next(0)
    outer.complete()
    assert not probe.ended
    inner.next(1)
    inner.complete()
    assert probe.elements == [1]
    assert probe.completed


def test_completes_when_there_is_no_element() -> None:
    outer: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(outer).concat_map(copies))
    outer.complete()
    assert probe.completed


def test_a_failure_of_the_publisher_at_hand_ends_it_and_cancels_upstream() -> None:
    outer: ManualPublisher[int] = ManualPublisher()
    inner: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(outer).concat_map(lambda _: inner), 9)
    outer.next(0)
    inner.next(1)
    inner.fail(ValueError("lost"))
    assert probe.elements == [1]
    assert repr(probe.error) == "ValueError('lost')"
    assert outer.cancelled


def test_a_failure_of_upstream_follows_the_publisher_at_hand() -> None:
    outer: ManualPublisher[int] = ManualPublisher()
    inner: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(outer).concat_map(lambda _: inner), 9)
    outer.next(0)
    inner.next(1)
    outer.fail(ValueError("lost"))
    assert not probe.ended
    inner.next(2)
    inner.complete()
    assert probe.elements == [1, 2]
    assert repr(probe.error) == "ValueError('lost')"


def test_a_cancel_reaches_both() -> None:
    outer: ManualPublisher[int] = ManualPublisher()
    inner: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(outer).concat_map(lambda _: inner), 9)
    outer.next(0)
    probe.cancel()
    assert outer.cancelled
    assert inner.cancelled


def test_a_stream_at_hand_is_closed() -> None:
    items = Tracked([1, 2, 3])
    assert list(Stream.range(9).concat_map(lambda _: Stream.from_iterable(items).do_finally(bool)).take(4)) == [
        1,
        2,
        3,
        1,
    ]
    assert (items.opened, items.open_runs) == (2, 0)


def test_a_failure_after_the_end_is_dropped_not_lost(dropped: list[Dropped]) -> None:
    outer: ManualPublisher[int] = ManualPublisher()
    stream = Stream.from_publisher(outer).concat_map(lambda _: Stream.error(ValueError("first")))
    subscribed(stream, 9)
    front = outer.subscriptions[0].subscriber
    outer.next(0)
    front.on_error(KeyError("second"))
    assert [repr(one.error) for one in dropped] == ["KeyError('second')"]
    dropped.clear()


def bad(n: int) -> list[int]:
    raise LookupError("no stream")


@each_form
def test_a_function_that_raises_fails_the_stream_and_is_named(form: Form) -> None:
    items = Tracked([1, 2])
    error = failure_of(form.over(items).concat_map(bad))
    assert repr(error) == "LookupError('no stream')"
    assert notes(error) == [f"in concat_map(bad), {place(bad)}"]
    items.wait_until_closed()


def test_what_is_no_stream_is_refused() -> None:
    error = failure_of(Stream.just(1).concat_map(lambda n: n))  # type: ignore[arg-type,return-value]
    assert str(error) == "concat_map: the function must return a Publisher or an iterable, got 1"


def test_refuses_what_cannot_be_called() -> None:
    with pytest.raises(TypeError, match=r"^concat_map: fn must be callable, got 5$"):
        Stream.range(3).concat_map(5)  # type: ignore[arg-type]


def test_thousands_of_empty_streams_neither_deepen_the_stack_nor_overflow() -> None:
    assert list(Stream.range(5_000).concat_map(lambda n: Stream.just(n) if n == 4_999 else Stream.empty())) == [4_999]
