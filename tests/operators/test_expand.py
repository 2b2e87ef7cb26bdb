"""expand: each element, what comes of it, what comes of that, level by level, with a bound on what waits."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import strategies as st

from penstock import OverflowedError, Stream, thread
from penstock.engine.weaving.segment import no_element
from penstock.operators.expand import Expand
from penstock.testing import Form, ManualPublisher, Tracked, check_joint, check_stage, subscribed
from tests.operators.subjects import each_form, failure_of, notes, over, place


def below(n: int) -> list[int]:
    """Be a tree: n has the children n - 1 and n - 2 down to zero."""
    return [child for child in (n - 1, n - 2) if child >= 0]


def levels(root: int) -> list[int]:
    found, waiting = [root], deque([root])
    while waiting:
        for child in below(waiting.popleft()):
            found.append(child)
            waiting.append(child)
    return found


def model(elements: list[int]) -> list[int]:
    return [found for element in elements for found in levels(element)]


def test_laws() -> None:
    check_stage(Expand(below), model, st.integers(0, 4), examples=15)


def test_laws_of_streams_one_by_one() -> None:
    check_joint(
        lambda stream: stream.expand(lambda n: Stream.from_iterable(below(n)), concurrency=1),
        model,
        st.integers(0, 3),
        examples=10,
    )


def test_laws_of_several_streams_at_a_time() -> None:
    check_joint(
        lambda stream: stream.expand(lambda n: Stream.from_iterable(below(n)).do_finally(bool), concurrency=3),
        model,
        st.integers(0, 3),
        ordered=False,
        examples=10,
    )


def test_laws_on_threads() -> None:
    check_joint(
        lambda stream: stream.expand(
            lambda n: Stream.from_iterable(below(n)).publish_on(thread()), concurrency=2, prefetch=1
        ),
        model,
        st.integers(0, 2),
        ordered=False,
        examples=3,
    )


@each_form
def test_goes_level_by_level(form: Form) -> None:
    tree = {"a": "bc", "b": "de", "c": "f"}
    assert "".join(over(form, "a").expand(lambda node: tree.get(node, ""))) == "abcdef"
    assert "".join(over(form, "a").expand(lambda node: tree.get(node, ""), concurrency=1)) == "abcdef"


@pytest.mark.parametrize("options", [{}, {"concurrency": 2}])
def test_an_endless_tree_is_read_as_far_as_somebody_asks(options: Any) -> None:
    calls: list[int] = []

    def next_page(page: int) -> list[int]:
        calls.append(page)
        return [page + 1]

    probe = subscribed(Stream.just(1).expand(next_page, **options))
    assert calls == []
    probe.request(3)
    assert probe.elements == [1, 2, 3]
    assert calls == [1, 2, 3]  # once more than was asked for, since only then the end is known
    probe.cancel()


def test_one_element_is_expanded_to_the_last_before_the_next_is_asked_for() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).expand(lambda n: [n - 1] if n else [], concurrency=1), 2)
    assert upstream.requests == [1]
    upstream.next(2)
    assert probe.elements == [2, 1]
    probe.request(9)
    assert probe.elements == [2, 1, 0]
    assert upstream.requests == [1, 1]
    upstream.next(0)
    assert upstream.requests == [1, 1, 1]
    upstream.complete()
    assert probe.elements == [2, 1, 0, 0]
    assert probe.completed


def test_no_more_streams_are_open_than_it_says() -> None:
    inner: list[ManualPublisher[int]] = []

    def children(_: int) -> ManualPublisher[int]:
        inner.append(ManualPublisher())
        return inner[-1]

    probe = subscribed(Stream.just(0).expand(children, concurrency=2, prefetch=3), 99)
    assert len(inner) == 1
    assert inner[0].requests == [3]
    inner[0].next(1, 2)
    assert probe.elements == [0, 1, 2]
    assert len(inner) == 2
    inner[0].complete()
    assert len(inner) == 3
    probe.cancel()
    assert [one.cancelled for one in inner] == [False, True, True]


@pytest.mark.parametrize("options", [{}, {"concurrency": 1}])
def test_one_more_than_may_wait_fails_it(options: Any) -> None:
    error = failure_of(Stream.just(0).expand(lambda n: range(100), size=10, **options))
    assert type(error) is OverflowedError
    assert str(error) == (
        "expand: 10 elements wait to be expanded and another came; raise size, or let fn return fewer"
    )


@pytest.mark.parametrize("options", [{}, {"concurrency": 1}])
def test_as_many_as_may_wait_are_fine(options: Any) -> None:
    assert len(list(Stream.just(0).expand(lambda n: range(1, 11) if n == 0 else [], size=10, **options))) == 11


def test_the_iterable_at_hand_is_closed() -> None:
    closed: list[int] = []

    def children(n: int) -> Iterator[int]:
        try:
            yield n + 1
            yield n + 2
        finally:
            closed.append(n)

    assert list(Stream.just(0).expand(children).take(4)) == [0, 1, 2, 2]
    assert closed == [0, 1]


@pytest.mark.parametrize("options", [{}, {"concurrency": 2}])
def test_a_failure_of_upstream_ends_it(options: Any) -> None:
    items = Tracked([1, 0], ValueError("lost"))
    probe = subscribed(Stream.from_iterable(items).expand(below, **options), 99)
    assert sorted(probe.elements) == [0, 0, 1]
    assert repr(probe.error) == "ValueError('lost')"


def bad(n: int) -> list[int]:
    raise LookupError("no children")


@each_form
def test_a_function_that_raises_is_named(form: Form) -> None:
    error = failure_of(over(form, 1).expand(bad))
    assert repr(error) == "LookupError('no children')"
    assert notes(error) == [f"in expand(bad), step 1 of 1, {place(bad)}"]
    error = failure_of(over(form, 1).expand(bad, concurrency=1))
    assert repr(error) == "LookupError('no children')"
    assert notes(error) == [f"in expand(bad), {place(bad)}"]


def test_a_stream_that_has_to_be_subscribed_needs_concurrency() -> None:
    error = failure_of(Stream.just(1).expand(lambda n: Stream.never()))
    assert str(error) == (
        "expand: fn returned Stream(never), which needs to be subscribed; say expand(fn, concurrency=1)"
    )


def test_none_is_not_an_element() -> None:
    for options in ({}, {"concurrency": 1}):
        error = failure_of(Stream.just(1).expand(lambda n: [None], **options))  # type: ignore[call-overload]
        assert repr(error) == repr(no_element())


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"fn": 5}, TypeError, "expand: fn must be callable, got 5"),
        ({"fn": below, "size": 0}, ValueError, "expand: size must be >= 1, got 0"),
        ({"fn": below, "concurrency": 0}, ValueError, "expand: concurrency must be >= 1, got 0"),
        ({"fn": below, "concurrency": 1, "size": 0}, ValueError, "expand: size must be >= 1, got 0"),
        ({"fn": below, "concurrency": 1, "prefetch": 0}, ValueError, "expand: prefetch must be >= 1, got 0"),
        ({"fn": below, "prefetch": 4}, TypeError, "expand: prefetch must be given together with concurrency, got 4"),
    ],
)
def test_refuses_wrong_arguments(arguments: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=f"^{message}$"):
        Stream.range(3).expand(**arguments)


def test_a_long_way_down_does_not_deepen_the_stack() -> None:
    def once(n: int) -> list[int]:
        return [n + 1] if n < 5_000 else []

    assert Stream.just(0).expand(once).count().get() == 5_001
    assert Stream.just(0).expand(once, concurrency=2).count().get() == 5_001


def test_a_slow_upstream_is_asked_for_all_that_may_come_in_a_few_requests() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    subscribed(Stream.from_publisher(upstream).expand(lambda _: Stream.never(), concurrency=10**12), 1)
    assert upstream.requested == 10**12
    assert len(upstream.requests) <= 2


@pytest.mark.parametrize("concurrency", [1, 2, 3])
@pytest.mark.parametrize("joints", [1, 22, 23, 24, 30, 60])
def test_elements_of_upstream_keep_their_order_in_a_long_row(joints: int, concurrency: int) -> None:
    stream = Stream.range(6)
    for _ in range(joints):
        stream = stream.expand(lambda _: Stream.empty(), concurrency=concurrency)
    assert list(stream) == list(range(6))
