"""skip_until: the elements that come after another stream has emitted its first one."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from penstock import Stream
from penstock.testing import ManualPublisher, VirtualClock, check_joint, marble, record, subscribed
from tests.operators.subjects import failure_of


@pytest.mark.parametrize("other", [Stream.never(), Stream.empty()], ids=["never", "empty"])
def test_laws_where_it_never_comes(other: Stream[object]) -> None:
    check_joint(lambda stream: stream.skip_until(other), lambda xs: [], st.integers(), examples=15)


def test_begins_with_the_first_element_of_the_other() -> None:
    clock = VirtualClock()
    stream, other = marble("a-b-c-d|", clock=clock), marble("---x-y|", clock=clock)
    assert record(stream.skip_until(other), clock) == "----c-d|"


def streams() -> tuple[ManualPublisher[int], ManualPublisher[str], Stream[int]]:
    main: ManualPublisher[int] = ManualPublisher()
    other: ManualPublisher[str] = ManualPublisher()
    return main, other, Stream.from_publisher(main).skip_until(other)


def test_what_is_left_out_does_not_count() -> None:
    main, other, stream = streams()
    probe = subscribed(stream, 2)
    assert main.requests == [2]
    assert other.requests == [1]
    main.next(1)
    assert main.requests == [2, 1]
    other.next("now")
    assert other.cancelled
    main.next(2, 3)
    assert main.requests == [2, 1]
    assert probe.elements == [2, 3]


def test_completes_when_the_stream_does() -> None:
    main, other, stream = streams()
    probe = subscribed(stream, 2)
    main.next(1)
    main.complete()
    assert probe.elements == []
    assert probe.completed
    assert other.cancelled


def test_one_that_fails_at_once_keeps_the_stream_from_being_subscribed() -> None:
    main: ManualPublisher[int] = ManualPublisher()
    assert repr(failure_of(Stream.from_publisher(main).skip_until(Stream.error(ValueError("lost"))))) == (
        "ValueError('lost')"
    )
    assert main.subscribers == 0


def test_demand_for_everything_is_passed_on_as_it_is() -> None:
    main, other, stream = streams()
    probe = subscribed(stream, 2**63 - 1)
    main.next(1, 2)
    other.next("now")
    main.next(3)
    assert main.requests == [2**63 - 1]
    assert probe.elements == [3]
