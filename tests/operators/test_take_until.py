"""take_until: elements until another stream emits its first one."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from penstock import Stream
from penstock.testing import ManualPublisher, Probe, VirtualClock, check_joint, marble, record, subscribed
from tests.operators.subjects import failure_of


@pytest.mark.parametrize("other", [Stream.never(), Stream.empty()], ids=["never", "empty"])
def test_laws(other: Stream[object]) -> None:
    check_joint(lambda stream: stream.take_until(other), lambda xs: xs, st.integers(), examples=15)


def test_ends_with_the_first_element_of_the_other() -> None:
    clock = VirtualClock()
    stream, other = marble("a-b-c-d|", clock=clock), marble("---x-y|", clock=clock)
    assert record(stream.take_until(other), clock) == "a-b|"
    assert clock.pending == 0


def test_the_completion_of_the_other_alone_means_nothing() -> None:
    clock = VirtualClock()
    assert record(marble("a-b-c|", clock=clock).take_until(marble("-|", clock=clock)), clock) == "a-b-c|"


def streams() -> tuple[ManualPublisher[int], ManualPublisher[str], Stream[int]]:
    main: ManualPublisher[int] = ManualPublisher()
    other: ManualPublisher[str] = ManualPublisher()
    return main, other, Stream.from_publisher(main).take_until(other)


def test_asks_the_other_for_one_element() -> None:
    main, other, stream = streams()
    probe = subscribed(stream, 5)
    assert main.requests == [5]
    assert other.requests == [1]
    main.next(1)
    other.next("now")
    assert main.cancelled
    assert other.cancelled
    assert probe.elements == [1]
    assert probe.completed


def test_needs_no_demand_to_end() -> None:
    _, other, stream = streams()
    probe = subscribed(stream)
    other.next("now")
    assert probe.completed


def test_one_that_emits_at_once_keeps_the_stream_from_being_subscribed() -> None:
    main: ManualPublisher[int] = ManualPublisher()
    assert list(Stream.from_publisher(main).take_until(Stream.just("now"))) == []
    assert repr(failure_of(Stream.from_publisher(main).take_until(Stream.error(ValueError("lost"))))) == (
        "ValueError('lost')"
    )
    assert main.subscribers == 0


def test_an_end_that_comes_while_an_element_is_delivered_waits_for_it() -> None:
    main, other, stream = streams()
    seen: list[str] = []

    def on_signal(signal: object) -> None:
        seen.append(f"begin {signal}")
        if len(seen) == 1:
            other.next("now")
        seen.append(f"end {signal}")

    probe: Probe[int] = Probe(5, on_signal=on_signal)
    stream.subscribe(probe)
    main.next(1)
    assert seen == ["begin next(1)", "end next(1)", "begin complete", "end complete"]
