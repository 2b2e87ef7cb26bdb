"""conflate: what nobody has asked for is merged into one element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import strategies as st

from penstock import Stream, thread
from penstock.engine.weaving.segment import no_element
from penstock.engine.words.demand import UNBOUNDED
from penstock.testing import Form, ManualPublisher, Probe, check_joint, subscribed
from tests.operators.subjects import each_form, notes, over, place


def alone(n: int) -> list[int]:
    return [n]


def more(some: list[int], n: int) -> list[int]:
    return [*some, n]


def test_laws_with_a_thread() -> None:
    check_joint(
        lambda stream: stream.publish_on(thread()).conflate(alone, more).flatten(),
        lambda xs: xs,
        st.integers(),
        examples=4,
    )


@each_form
def test_who_asks_for_everything_gets_each_alone(form: Form) -> None:
    probe: Probe[list[int]] = Probe(UNBOUNDED)
    over(form, 1, 2, 3).conflate(alone, more).subscribe(probe)
    assert probe.wait_for_end() == [[1], [2], [3]]


def merged(seed: Callable[[int], Any] = alone, fn: Callable[[Any, int], Any] = more) -> tuple[Any, Any]:
    upstream: ManualPublisher[int] = ManualPublisher()
    return upstream, subscribed(Stream.from_publisher(upstream).conflate(seed, fn))


def test_asks_for_everything_and_merges_what_nobody_asks_for() -> None:
    upstream, probe = merged()
    assert upstream.requests == [UNBOUNDED]
    upstream.next(1, 2, 3)
    probe.request(2)
    assert probe.elements == [[1, 2, 3]]
    upstream.next(4)
    assert probe.elements == [[1, 2, 3], [4]]
    upstream.next(5, 6)
    upstream.complete()
    assert not probe.ended
    probe.request(1)
    assert probe.elements == [[1, 2, 3], [4], [5, 6]]
    assert probe.completed


def test_a_failure_follows_what_is_held() -> None:
    upstream, probe = merged()
    upstream.next(1, 2)
    upstream.fail(ValueError("lost"))
    probe.request(5)
    assert probe.elements == [[1, 2]]
    assert repr(probe.error) == "ValueError('lost')"


def test_a_cancel_drops_what_is_held() -> None:
    upstream, probe = merged()
    upstream.next(1)
    probe.cancel()
    assert upstream.cancelled
    assert probe.signals == []


def fails(*_: object) -> Any:
    raise ValueError("bad")


def nothing(*_: object) -> Any:
    return None


def leaks(*_: object) -> Any:
    return next(iter(()))


@pytest.mark.parametrize(
    ("fn", "message"),
    [
        (fails, "bad"),
        (nothing, str(no_element())),
        (leaks, "conflate(leaks): the function raised StopIteration; that is an error, not an end"),
    ],
)
@pytest.mark.parametrize("which", ["seed", "fn"])
def test_a_function_that_fails_is_named_and_follows_what_is_held(which: str, fn: Any, message: str) -> None:
    upstream, probe = merged(**{which: fn})
    upstream.next(*([1] if which == "seed" else [1, 2]))
    assert upstream.cancelled
    probe.request(5)
    assert probe.elements == ([] if which == "seed" else [[1]])
    assert str(probe.error) == message
    assert notes(probe.error) == [f"in conflate({fn.__name__}), {place(fn)}"]


@pytest.mark.parametrize("which", ["seed", "fn"])
def test_refuses_what_cannot_be_called(which: str) -> None:
    with pytest.raises(TypeError, match=f"^conflate: {which} must be callable, got 5$"):
        Stream.range(3).conflate(**{"seed": alone, "fn": more, which: 5})  # type: ignore[arg-type]
