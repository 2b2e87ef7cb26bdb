"""start_with: the given elements, then those of upstream."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from penstock import Stream
from penstock.operators.start_with import StartWith
from penstock.testing import Form, ManualPublisher, Tracked, check_joint, check_stage, subscribed
from tests.operators.subjects import each_form, over


@pytest.mark.parametrize("items", [(), (7,), (7, 8, 9)])
def test_laws(items: tuple[int, ...]) -> None:
    check_stage(StartWith(items), lambda xs: [*items, *xs], st.integers(), examples=15)


def test_laws_of_several() -> None:
    check_joint(
        lambda stream: stream.start_with(1).map(lambda n: n + 1).start_with(0).filter(lambda n: n != 5).take(4),
        lambda xs: [n for n in [0, 2, *(x + 1 for x in xs)] if n != 5][:4],
        st.integers(0, 6),
        examples=15,
    )


def test_laws_of_many() -> None:
    def make(stream: Stream[int]) -> Stream[int]:
        for number in range(7):
            stream = stream.start_with(number).end_with(number)
        return stream

    check_joint(make, lambda xs: [*reversed(range(7)), *xs, *range(7)], st.integers(), examples=10)


def test_refuses_none() -> None:
    with pytest.raises(TypeError, match=r"^start_with: None is not an element \(rule 2\.13\)$"):
        Stream.range(3).start_with(1, None)


def test_asks_upstream_for_nothing_before_its_own_elements_are_delivered() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).start_with(1, 2), 1)
    assert probe.elements == [1]
    assert upstream.requests == []
    probe.request(3)
    assert probe.elements == [1, 2]
    assert upstream.requests == [2]
    upstream.next(3, 4)
    assert probe.elements == [1, 2, 3, 4]


def test_does_not_open_its_source_before() -> None:
    items = Tracked([3])
    probe = subscribed(Stream.from_iterable(items).start_with(1, 2))
    probe.request(2)
    assert (probe.elements, items.opened) == ([1, 2], 0)
    probe.request(1)
    assert (probe.elements, items.opened) == ([1, 2, 3], 1)


@each_form
def test_its_elements_come_before_a_failure(form: Form) -> None:
    failing = form.over(Tracked([], ValueError("lost")))
    probe = subscribed(failing.start_with(1, 2))
    for count in (1, 2):
        probe.request(1)
        assert probe.wait_for(count) == [1, 2][:count]
    probe.request(1)
    probe.wait_for_end()
    assert repr(probe.error) == "ValueError('lost')"


def test_a_failure_that_is_known_before_anything_is_asked_for_waits_for_them() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).start_with(1, 2))
    upstream.fail(ValueError("lost"))
    assert probe.signals == []
    probe.request(1)
    assert probe.elements == [1]
    assert not probe.ended
    probe.request(1)
    assert probe.elements == [1, 2]
    assert repr(probe.error) == "ValueError('lost')"


def test_an_end_that_is_known_before_comes_with_the_last_of_them() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).start_with(1))
    upstream.complete()
    assert probe.signals == []
    probe.request(1)
    assert probe.elements == [1]
    assert probe.completed


@each_form
def test_completes_with_its_last_element_if_upstream_is_never_needed(form: Form) -> None:
    items = Tracked([3])
    probe = subscribed(form.over(items).start_with(1, 2).take(2))
    probe.request(2)
    assert probe.wait_for_end() == [1, 2]
    assert items.taken == 0


@each_form
def test_behind_a_stage_that_takes_nothing(form: Form) -> None:
    assert list(over(form, 1, 2).take(0).start_with(8, 9)) == [8, 9]
