"""tap: looks at the signals that pass by, in both directions, and changes none of them."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from penstock import Dropped, Stream
from penstock.operators.tap import Tap
from penstock.testing import Form, ManualPublisher, check_joint, check_stage, subscribed
from tests.operators.subjects import each_form, failure_of, notes, over, place


def look(element: object) -> None:
    pass


def fail(*args: object) -> None:
    raise ValueError("do not look")


def test_laws() -> None:
    check_stage(Tap(look), lambda xs: xs, st.integers())


def test_laws_of_all_signals() -> None:
    check_joint(
        lambda stream: stream.tap(
            look,
            on_error=look,
            on_complete=lambda: None,
            on_cancel=lambda: None,
            on_request=look,
            on_subscribe=lambda: None,
        ),
        lambda xs: xs,
        st.integers(),
        examples=15,
    )


@pytest.mark.parametrize("name", ["on_next", "on_error", "on_complete", "on_cancel", "on_request", "on_subscribe"])
def test_refuses_what_cannot_be_called(name: str) -> None:
    with pytest.raises(TypeError, match=f"^tap: {name} must be callable, got 5$"):
        Stream.range(3).tap(**{name: 5})  # type: ignore[arg-type]


@each_form
def test_sees_elements_in_order_before_they_are_passed_on(form: Form) -> None:
    seen: list[object] = []
    assert list(over(form, 1, 2).tap(seen.append).tap(lambda n: seen.append(-n))) == [1, 2]
    assert seen == [1, -1, 2, -2]


def watched(upstream: ManualPublisher[int], log: list[str]) -> Stream[int]:
    return Stream.from_publisher(upstream).tap(
        lambda element: log.append(f"next {element}"),
        on_error=lambda error: log.append(f"error {error}"),
        on_complete=lambda: log.append("complete"),
        on_cancel=lambda: log.append("cancel"),
        on_request=lambda n: log.append(f"request {n}"),
        on_subscribe=lambda: log.append("subscribe"),
    )


def test_sees_all_signals_of_a_run_that_completes() -> None:
    log: list[str] = []
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(watched(upstream, log), 2)
    upstream.next(7)
    upstream.complete()
    probe.cancel()
    assert log == ["subscribe", "request 2", "next 7", "complete"]


def test_sees_a_failure() -> None:
    log: list[str] = []
    upstream: ManualPublisher[int] = ManualPublisher()
    subscribed(watched(upstream, log))
    upstream.fail(ValueError("lost"))
    assert log == ["subscribe", "error lost"]


def test_sees_a_cancel_once() -> None:
    log: list[str] = []
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(watched(upstream, log))
    probe.cancel()
    probe.cancel()
    assert log == ["subscribe", "cancel"]
    assert upstream.cancelled


@each_form
def test_a_function_that_raises_fails_the_stream_and_is_named(form: Form) -> None:
    error = failure_of(over(form, 1).tap(fail))
    assert notes(error) == [f"in tap(fail), step 1 of 1, {place(fail)}"]


@each_form
def test_a_function_that_raises_is_named_among_others_as_well(form: Form) -> None:
    error = failure_of(over(form, 1).tap(fail, on_complete=lambda: None))
    assert notes(error) == [f"in tap(fail), {place(fail)}"]


@pytest.mark.parametrize("name", ["on_complete", "on_request", "on_subscribe"])
def test_what_the_other_functions_raise_is_dropped_not_lost(name: str, dropped: list[Dropped]) -> None:
    assert list(Stream.just(1).tap(**{name: fail})) == [1]  # type: ignore[arg-type]
    assert [(one.what, repr(one.error)) for one in dropped] == [
        ("tap: a function raised", "ValueError('do not look')")
    ] * len(dropped)
    assert dropped
    dropped.clear()


def test_what_on_error_raises_does_not_hide_the_error(dropped: list[Dropped]) -> None:
    assert repr(failure_of(Stream.error(KeyError("lost")).tap(on_error=fail))) == "KeyError('lost')"
    assert [one.what for one in dropped] == ["tap: a function raised"]
    dropped.clear()


def test_none_of_them_changes_nothing() -> None:
    assert list(Stream.range(3).tap()) == [0, 1, 2]


@each_form
def test_a_leaked_stop_iteration_is_an_error_not_an_end(form: Form) -> None:
    def leak(n: int) -> None:
        return next(iter(()))

    name = leak.__qualname__.replace("<locals>.", "")
    error = failure_of(over(form, 1, 2).tap(leak))
    assert str(error) == f"tap({name}): the function raised StopIteration; that is an error, not an end"
