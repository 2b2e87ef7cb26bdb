"""join: pairs of elements with equal keys, holding a bounded number of each stream."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import OverflowedError, Stream, thread
from penstock.testing import Form, ManualPublisher, Tracked, check_joint, subscribed
from tests.operators.subjects import each_form, failure_of, notes, place

HOWS = ["inner", "left", "right", "outer"]

NO_STREAM = "join: each stream must be a Publisher, got 5; wrap an iterable in Stream.from_iterable"


def tens(n: int) -> int:
    return n // 10


def model(left: list[int], right: list[int], how: str) -> list[tuple[int | None, int | None]]:
    pairs: list[tuple[int | None, int | None]] = []
    for one in left:
        matches = [other for other in right if tens(other) == tens(one)]
        pairs += [(one, other) for other in matches]
        if not matches and how in ("left", "outer"):
            pairs.append((one, None))
    if how in ("right", "outer"):
        pairs += [(None, other) for other in right if all(tens(other) != tens(one) for one in left)]
    return pairs


@pytest.mark.parametrize("how", HOWS)
def test_laws(how: Any) -> None:
    right = [10, 11, 20, 30]
    check_joint(
        lambda stream: stream.join(Stream.from_iterable(right), tens, how=how),
        lambda xs: model(xs, right, how),
        st.integers(5, 35),
        ordered=False,
        examples=10,
    )


def test_laws_with_a_thread() -> None:
    right = [10, 11, 20, 30]
    check_joint(
        lambda stream: stream.join(Stream.from_iterable(right).publish_on(thread()), tens, how="outer", prefetch=2),
        lambda xs: model(xs, right, "outer"),
        st.integers(5, 35),
        ordered=False,
        examples=3,
    )


NUMBERS = st.lists(st.integers(0, 40), max_size=8)


@given(NUMBERS, NUMBERS, st.sampled_from(HOWS), st.booleans(), st.integers(1, 20))
def test_agrees_with_its_model_unless_both_are_too_long(
    left: list[int], right: list[int], how: Any, signals: bool, size: int
) -> None:
    stream = Stream.from_iterable(left)
    joined = (stream.do_finally(bool) if signals else stream).join(
        Stream.from_iterable(right), tens, how=how, size=size, prefetch=2
    )
    try:
        found = list(joined)
    except OverflowedError:
        assert min(len(left), len(right)) > size
    else:
        assert sorted(map(repr, found)) == sorted(map(repr, model(left, right, how)))


@pytest.mark.parametrize("how", HOWS)
def test_pairs_come_in_the_order_of_the_stream_where_both_can_be_iterated(how: Any) -> None:
    left, right = [31, 10, 55, 11, 30], [30, 12, 77, 10]
    joined = Stream.from_iterable(left).join(Stream.from_iterable(right), tens, how=how)
    assert list(joined) == model(left, right, how)


def test_each_stream_may_have_a_key_of_its_own() -> None:
    orders = Stream.just({"id": 1, "who": "ann"}, {"id": 2, "who": "bob"})
    people = Stream.just(("bob", 30), ("ann", 40))
    joined = orders.join(people, lambda order: str(order["who"]), lambda person: person[0])
    assert [(order["id"], person[1]) for order, person in joined] == [(1, 40), (2, 30)]


def both(**options: Any) -> tuple[ManualPublisher[int], ManualPublisher[int], Stream[Any]]:
    left: ManualPublisher[int] = ManualPublisher()
    right: ManualPublisher[int] = ManualPublisher()
    return left, right, Stream.from_publisher(left).join(right, tens, **options)


def test_emits_as_soon_as_the_second_of_a_pair_comes() -> None:
    left, right, stream = both()
    probe = subscribed(stream, 9)
    left.next(10)
    assert probe.elements == []
    right.next(11)
    assert probe.elements == [(10, 11)]
    right.next(12)
    left.next(13)
    assert probe.elements == [(10, 11), (10, 12), (13, 11), (13, 12)]


def test_those_without_a_match_come_when_the_other_stream_has_completed() -> None:
    left, right, stream = both(how="outer")
    probe = subscribed(stream, 9)
    left.next(10, 20)
    right.next(11, 31)
    assert probe.elements == [(10, 11)]
    right.complete()
    assert probe.elements == [(10, 11), (20, None)]
    left.next(32, 50)
    assert probe.elements == [(10, 11), (20, None), (32, 31), (50, None)]
    left.complete()
    assert probe.completed


def test_a_pair_at_hand_comes_before_the_end() -> None:
    left, right, stream = both(how="left")
    probe = subscribed(stream, 1)
    left.next(10, 11)
    left.complete()
    right.complete()
    assert not probe.ended
    probe.request(1)
    assert probe.elements == [(10, None), (11, None)]
    assert probe.completed


def test_a_stream_that_has_no_room_waits_for_the_other_to_complete() -> None:
    left, right, stream = both(size=2, prefetch=2)
    probe = subscribed(stream, 99)
    left.next(10, 20)
    left.next(11, 12)
    assert left.demand == 0
    right.next(13)
    right.complete()
    assert probe.elements == [(10, 13), (11, 13), (12, 13)]
    assert left.demand > 0
    left.next(14)
    assert probe.elements[-1] == (14, 13)


@each_form
def test_fails_when_neither_has_room(form: Form) -> None:
    items = [Tracked(range(100)), Tracked(range(100))]
    error = failure_of(form.over(items[0]).join(form.over(items[1]), tens, size=10))
    assert type(error) is OverflowedError
    assert str(error) == (
        "join: 10 elements of each stream are held and neither has completed; raise size above the length of the "
        "shorter one, or let fewer through"
    )
    for one in items:
        one.wait_until_closed()


@each_form
@pytest.mark.parametrize("small", [0, 1])
def test_one_that_fits_is_enough(form: Form, small: int) -> None:
    items = [Tracked(range(100)), Tracked(range(100))]
    items[small] = Tracked(range(10))
    joined = form.over(items[0]).join(form.over(items[1]), lambda n: n, size=10)
    assert sorted(joined) == [(n, n) for n in range(10)]


def test_nothing_is_read_before_somebody_asks() -> None:
    left, right, stream = both(prefetch=2)
    probe = subscribed(stream)
    assert (left.requests, right.requests) == ([], [])
    probe.request(1)
    assert (left.requests, right.requests) == ([2], [2])
    left.next(10, 11)
    right.next(12, 13)
    assert len(probe.elements) == 1
    probe.request(9)
    assert len(probe.elements) == 4


def test_a_failure_ends_it_and_cancels_the_other() -> None:
    left, right, stream = both()
    probe = subscribed(stream, 9)
    right.next(11)
    left.next(10)
    right.fail(ValueError("lost"))
    assert probe.elements == [(10, 11)]
    assert repr(probe.error) == "ValueError('lost')"
    assert left.cancelled


def test_a_cancel_reaches_both() -> None:
    left, right, stream = both()
    subscribed(stream, 3).cancel()
    assert left.cancelled
    assert right.cancelled


def test_both_are_closed_when_iterated() -> None:
    items = [Tracked(range(30)), Tracked(range(30))]
    stream = Stream.from_iterable(items[0]).join(Stream.from_iterable(items[1]), tens)
    assert list(stream.take(2)) == [(0, 0), (0, 1)]
    assert [one.open_runs for one in items] == [0, 0]


def bad(n: int) -> int:
    raise LookupError("no key")


def unhashable(n: int) -> Hashable:
    return [n]  # type: ignore[return-value]


@each_form
@pytest.mark.parametrize("side", [0, 1])
def test_a_key_that_raises_fails_the_stream_and_is_named(form: Form, side: int) -> None:
    keys: list[Any] = [tens, tens]
    for wrong, expected in ((bad, "LookupError('no key')"), (unhashable, """TypeError("unhashable type: 'list'")""")):
        keys[side] = wrong
        error = failure_of(form.over(Tracked([1])).join(form.over(Tracked([1])), *keys))
        assert repr(error) == expected
        assert notes(error) == [f"in join({wrong.__name__}), {place(wrong)}"]


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"other": 5}, TypeError, NO_STREAM),
        ({"key": 5}, TypeError, "join: key must be callable, got 5"),
        ({"other_key": 5}, TypeError, "join: other_key must be callable, got 5"),
        ({"how": "full"}, ValueError, "join: how must be 'inner', 'left', 'right' or 'outer', got 'full'"),
        ({"size": 0}, ValueError, "join: size must be >= 1, got 0"),
        ({"prefetch": 0}, ValueError, "join: prefetch must be >= 1, got 0"),
    ],
)
def test_refuses_wrong_arguments(options: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=f"^{message}$"):
        Stream.range(3).join(**{"other": Stream.empty(), "key": tens, **options})
