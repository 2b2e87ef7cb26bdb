"""map_error: fails with another error, of which the one before is the cause."""

from __future__ import annotations

import pytest

from penstock import Stream
from penstock.testing import Form, Tracked, subscribed
from tests.operators.subjects import each_form, failure_of, notes, place


class BadRowError(Exception):
    """Be an error of the program's own."""


@each_form
def test_the_error_before_is_the_cause(form: Form) -> None:
    lost = KeyError("lost")
    items = Tracked([1, 2], lost)
    probe = subscribed(form.over(items).map_error(lambda error: BadRowError(f"row 3: {error}")), 9)
    assert probe.wait_for_end() == [1, 2]
    assert repr(probe.error) == """BadRowError("row 3: 'lost'")"""
    assert probe.error is not None
    assert probe.error.__cause__ is lost
    assert items.open_runs == 0


def test_a_cause_that_was_given_is_kept() -> None:
    def chained(error: Exception) -> Exception:
        other = BadRowError("row")
        other.__cause__ = OSError("disk")
        return other

    assert repr(failure_of(Stream.error(KeyError("lost")).map_error(chained)).__cause__) == "OSError('disk')"


def test_only_errors_that_are_named_are_mapped() -> None:
    def mapped(error: Exception) -> Exception:
        return failure_of(Stream.error(error).map_error(lambda _: BadRowError("bad"), when=(KeyError, IndexError)))

    assert repr(mapped(KeyError("lost"))) == "BadRowError('bad')"
    assert repr(mapped(ValueError("lost"))) == "ValueError('lost')"


def test_the_same_error_may_be_returned_or_raised() -> None:
    lost = KeyError("lost")

    def again(error: Exception) -> Exception:
        raise error

    assert failure_of(Stream.error(lost).map_error(lambda error: error)) is lost
    assert failure_of(Stream.error(lost).map_error(again)) is lost
    assert lost.__cause__ is None


def fail(error: Exception) -> Exception:
    raise LookupError("no error")


def test_a_function_that_raises_fails_the_stream_and_is_named() -> None:
    first = ValueError("first")
    error = failure_of(Stream.error(first).map_error(fail))
    assert repr(error) == "LookupError('no error')"
    assert error.__cause__ is first
    assert notes(error) == [f"in map_error(fail), {place(fail)}"]


def name(error: Exception) -> Exception:
    return type(error).__name__  # type: ignore[return-value]


def test_what_is_no_error_is_refused() -> None:
    error = failure_of(Stream.error(ValueError("first")).map_error(name))
    assert repr(error) == """TypeError("map_error: fn must return an Exception, got 'ValueError'")"""
    assert repr(error.__cause__) == "ValueError('first')"
    assert notes(error) == [f"in map_error(name), {place(name)}"]


def test_refuses_what_cannot_be_called() -> None:
    with pytest.raises(TypeError, match=r"^map_error: fn must be callable, got 5$"):
        Stream.range(3).map_error(5)  # type: ignore[arg-type]


def test_refuses_what_does_not_say_which_errors() -> None:
    message = "map_error: when must be an exception type, a tuple of them or a function of the error, got 'all'"
    with pytest.raises(TypeError, match=f"^{message}$"):
        Stream.range(3).map_error(fail, when="all")  # type: ignore[arg-type]
