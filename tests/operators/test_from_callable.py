"""from_callable: what a function returns, called when somebody asks, once for each subscriber."""

from __future__ import annotations

import pytest

from penstock import Stream
from penstock.engine.weaving.segment import no_element
from penstock.testing import check_source, subscribed
from tests.operators.subjects import failure_of, notes, place


def test_laws() -> None:
    check_source(lambda: Stream.from_callable(lambda: 42), [42], examples=10)
    check_source(lambda: Stream.from_callable(lambda: 42).do_finally(bool).map(str), ["42"], examples=5)


def test_is_called_when_somebody_asks_and_once_for_each_subscriber() -> None:
    calls: list[int] = []

    def call() -> int:
        calls.append(len(calls))
        return len(calls)

    stream = Stream.from_callable(call)
    first, second = subscribed(stream), subscribed(stream)
    assert calls == []
    first.request(1)
    assert calls == [0]
    second.request(5)
    assert (first.elements, second.elements) == ([1], [2])


def test_completes_with_its_element() -> None:
    probe = subscribed(Stream.from_callable(lambda: 1), 1)
    assert probe.elements == [1]
    assert probe.completed


def test_a_cancel_before_that_keeps_it_from_being_called() -> None:
    calls: list[int] = []
    probe = subscribed(Stream.from_callable(lambda: calls.append(1) or 1))
    probe.cancel()
    probe.request(1)
    assert calls == []


def fail() -> int:
    raise ValueError("no value")


def test_a_function_that_raises_fails_the_stream_and_is_named() -> None:
    error = failure_of(Stream.from_callable(fail))
    assert repr(error) == "ValueError('no value')"
    assert notes(error) == [f"in from_callable(fail), {place(fail)}"]


def leak() -> int:
    raise StopIteration


def test_a_stop_that_leaks_is_an_error() -> None:
    error = failure_of(Stream.from_callable(leak))
    assert repr(error) == (
        "RuntimeError('from_callable(leak): the function raised StopIteration; that is an error, not an end')"
    )


def test_none_is_not_an_element() -> None:
    assert repr(failure_of(Stream.from_callable(lambda: None))) == repr(no_element())


async def coroutine() -> int:
    return 1


def test_refuses_a_coroutine_function() -> None:
    with pytest.raises(TypeError) as refusal:
        Stream.from_callable(coroutine)
    assert str(refusal.value) == (
        f"from_callable: fn must not be a coroutine function, got {coroutine!r}; from_awaitable awaits one"
    )


def test_refuses_what_cannot_be_called() -> None:
    with pytest.raises(TypeError, match=r"^from_callable: fn must be callable, got 5$"):
        Stream.from_callable(5)  # type: ignore[arg-type]
