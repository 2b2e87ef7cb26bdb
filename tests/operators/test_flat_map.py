"""flat_map: the items of each iterable in order, or the elements of several publishers as they come."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import strategies as st

from penstock import Stream, thread
from penstock.operators.flat_map import FlatMap
from penstock.testing import Form, ManualPublisher, Tracked, check_joint, check_stage, subscribed
from tests.operators.subjects import each_form, failure_of, notes, over, place


def copies(n: int) -> list[int]:
    return [n] * n


def model(elements: list[int]) -> list[int]:
    return [n for n in elements for _ in range(n)]


def test_laws() -> None:
    check_stage(FlatMap(copies), model, st.integers(0, 3))


def test_laws_of_two_levels() -> None:
    check_joint(
        lambda stream: stream.flat_map(copies).flat_map(copies).take(5),
        lambda xs: model(model(xs))[:5],
        st.integers(0, 3),
        examples=10,
    )


@pytest.mark.parametrize("concurrency", [1, 3])
def test_laws_of_publishers(concurrency: int) -> None:
    check_joint(
        lambda stream: stream.flat_map(lambda n: Stream.from_iterable(copies(n)), concurrency=concurrency, prefetch=2),
        model,
        st.integers(0, 3),
        ordered=concurrency == 1,
        examples=10,
    )


def test_laws_of_publishers_on_threads() -> None:
    check_joint(
        lambda stream: stream.flat_map(lambda n: Stream.from_iterable(copies(n)).publish_on(thread()), concurrency=2),
        model,
        st.integers(0, 3),
        ordered=False,
        examples=4,
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"concurrency": 0}, "flat_map: concurrency must be >= 1, got 0"),
        ({"concurrency": 2, "prefetch": 0}, "flat_map: prefetch must be >= 1, got 0"),
    ],
)
def test_refuses_counts_below_one(options: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        Stream.range(3).flat_map(copies, **options)


@pytest.mark.parametrize("options", [{}, {"concurrency": 1}])
def test_refuses_what_cannot_be_called(options: dict[str, int]) -> None:
    with pytest.raises(TypeError, match=r"^flat_map: fn must be callable, got 1$"):
        Stream.range(3).flat_map(1, **options)  # type: ignore[call-overload]


def test_refuses_a_concurrency_that_is_no_number() -> None:
    with pytest.raises(TypeError, match=r"^flat_map: concurrency must be a whole number, got 1.5$"):
        Stream.range(3).flat_map(copies, concurrency=1.5)  # type: ignore[call-overload]


def fails(n: int) -> list[int]:
    raise ValueError("no items")


@each_form
@pytest.mark.parametrize("concurrency", [None, 1])
def test_a_function_that_raises_is_named(form: Form, concurrency: int | None) -> None:
    options = {} if concurrency is None else {"concurrency": concurrency}
    error = failure_of(over(form, 1).flat_map(fails, **options))
    step = ", step 1 of 1" if concurrency is None else ""
    assert notes(error) == [f"in flat_map(fails){step}, {place(fails)}"]


def test_what_is_not_iterable_is_refused() -> None:
    error = failure_of(Stream.just(1).flat_map(lambda n: n))
    assert str(error) == "an iterable or a stream must be given, got 1"
    error = failure_of(Stream.just(1).flat_map(lambda n: n, concurrency=1))
    assert str(error) == "flat_map: the function must return a Publisher or an iterable, got 1"


@each_form
def test_none_among_the_items_is_refused(form: Form) -> None:
    error = failure_of(over(form, 1).flat_map(lambda n: [n, None]))
    assert str(error).startswith("rule 2.13: None is not an element; ")


def test_streams_that_can_be_iterated_are_items_as_well() -> None:
    assert list(Stream.range(4).flat_map(lambda n: Stream.range(n).map(str))) == ["0", "0", "1", "0", "1", "2"]


def test_streams_that_need_signals_are_refused_with_the_cure() -> None:
    error = failure_of(Stream.just(1).flat_map(lambda n: Stream.never()))
    assert str(error) == (
        "flat_map: fn returned Stream(never), which needs to be subscribed; say flat_map(fn, concurrency=1)"
    )


def test_stops_in_the_middle_of_an_iterable_when_nobody_asks() -> None:
    given: list[int] = []

    def count_up(n: int) -> Iterator[int]:
        for i in range(100):
            given.append(i)
            yield i

    probe = subscribed(Stream.just(1).flat_map(count_up), 3)
    assert probe.elements == given == [0, 1, 2]


@each_form
def test_a_cancel_closes_the_iterable_at_hand(form: Form) -> None:
    inner = Tracked(range(9))
    probe = subscribed(over(form, 1, 2).flat_map(lambda n: inner))
    probe.request(2)
    probe.wait_for(2)
    assert inner.open_runs == 1
    probe.cancel()
    inner.wait_until_closed()
    assert inner.opened == 1


def test_no_more_publishers_are_open_than_concurrency_allows() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    inner: list[ManualPublisher[str]] = [ManualPublisher() for _ in range(3)]
    probe = subscribed(Stream.from_publisher(upstream).flat_map(inner.__getitem__, concurrency=2, prefetch=4), 9)
    assert upstream.requested == 2
    upstream.next(0, 1)
    assert [one.requests for one in inner[:2]] == [[4], [4]]
    inner[1].next("b")
    inner[0].next("a")
    inner[1].complete()
    assert upstream.requested == 3
    upstream.next(2)
    upstream.complete()
    inner[0].complete()
    inner[2].next("c")
    assert not probe.ended
    inner[2].complete()
    assert probe.elements == ["b", "a", "c"]
    assert probe.completed


def test_publishers_are_asked_for_more_by_halves_as_elements_are_taken() -> None:
    inner: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.just(1).flat_map(lambda n: inner, concurrency=1, prefetch=4))
    assert inner.subscribers == 0
    probe.request(1)
    inner.next(1, 2, 3, 4)
    assert inner.requests == [4]
    probe.request(1)
    assert inner.requests == [4, 2]


def test_the_first_failure_cancels_the_other_publishers() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    inner: list[ManualPublisher[str]] = [ManualPublisher(), ManualPublisher()]
    probe = subscribed(Stream.from_publisher(upstream).flat_map(inner.__getitem__, concurrency=3), 9)
    upstream.next(0, 1)
    inner[0].fail(ValueError("lost"))
    assert repr(probe.error) == "ValueError('lost')"
    assert inner[1].cancelled
    assert upstream.cancelled


def test_a_failure_of_upstream_cancels_the_publishers() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    inner: ManualPublisher[str] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).flat_map(lambda n: inner, concurrency=2), 9)
    upstream.next(0)
    upstream.fail(ValueError("lost"))
    assert repr(probe.error) == "ValueError('lost')"
    assert inner.cancelled


def test_a_cancel_reaches_all_publishers() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    inner: list[ManualPublisher[str]] = [ManualPublisher(), ManualPublisher()]
    probe = subscribed(Stream.from_publisher(upstream).flat_map(inner.__getitem__, concurrency=2), 9)
    upstream.next(0, 1)
    probe.cancel()
    assert [one.cancelled for one in [upstream, *inner]] == [True, True, True]


def test_many_empty_publishers_do_not_deepen_the_stack() -> None:
    assert list(Stream.range(5000).flat_map(lambda n: Stream.empty(), concurrency=1)) == []


@each_form
@pytest.mark.parametrize("concurrency", [None, 1])
def test_a_leaked_stop_iteration_is_an_error_not_an_end(form: Form, concurrency: int | None) -> None:
    def leak(n: int) -> list[int]:
        return next(iter(()))

    name = leak.__qualname__.replace("<locals>.", "")
    options = {} if concurrency is None else {"concurrency": concurrency}
    error = failure_of(over(form, 1, 2).flat_map(leak, **options))
    assert str(error) == f"flat_map({name}): the function raised StopIteration; that is an error, not an end"


@pytest.mark.parametrize("prefetch", [0, 8])
def test_a_prefetch_without_concurrency_is_refused_since_nothing_would_use_it(prefetch: int) -> None:
    message = f"^flat_map: prefetch must be given together with concurrency, got {prefetch}$"
    with pytest.raises(TypeError, match=message):
        Stream.range(3).flat_map(lambda n: [n], prefetch=prefetch)  # type: ignore[call-overload]


def test_a_stream_whose_elements_lie_ready_is_not_even_subscribed() -> None:
    inner = Stream.from_iterable([1, 2])
    assert Stream.range(3).flat_map(lambda n: inner, concurrency=2).to_list().get() == [1, 2] * 3


@pytest.mark.parametrize("requests", [[1] * 12, [3] * 4, [12], [5, 7]])
@pytest.mark.parametrize("given", [list, tuple, Stream.from_iterable])
def test_what_lies_ready_comes_as_it_is_asked_for(requests: list[int], given: Callable[[list[int]], Any]) -> None:
    probe = subscribed(Stream.range(4).flat_map(lambda n: given([n, n, n]), concurrency=2, prefetch=3))
    asked = 0
    for n in requests:
        probe.request(n)
        asked += n
        assert len(probe.elements) == asked
    assert sorted(probe.elements) == [n for n in range(4) for _ in range(3)]
    assert probe.completed


def test_more_than_prefetch_is_not_taken_at_once() -> None:
    taken: list[int] = []
    ready = Stream.range(100).flat_map(lambda n: list(range(10)), concurrency=1, prefetch=4)
    probe = subscribed(ready.tap(taken.append), 3)
    assert len(taken) == 3
    probe.cancel()


def test_none_among_what_lies_ready_is_refused() -> None:
    error = failure_of(Stream.just(1).flat_map(lambda n: Stream.from_iterable([1, None]), concurrency=2))
    assert str(error).startswith("rule 2.13: None is not an element; ")


def test_the_function_is_not_called_when_nobody_listens_any_more() -> None:
    called: list[int] = []
    upstream: ManualPublisher[int] = ManualPublisher()

    def ready(n: int) -> list[int]:
        called.append(n)
        return [n]

    probe = subscribed(Stream.from_publisher(upstream).flat_map(ready, concurrency=4), 9)
    upstream.next(1)
    probe.cancel()
    upstream.next(2)
    assert called == [1]
