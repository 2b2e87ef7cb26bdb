"""error: fails without an element and without being asked."""

from __future__ import annotations

import pytest

from penstock import Stream
from penstock.testing import Failed, subscribed


def test_fails_when_subscribed() -> None:
    error = ValueError("lost")
    assert subscribed(Stream.error(error)).signals == [Failed(error)]


def test_fails_through_stages_and_joints_without_a_request() -> None:
    error = ValueError("lost")
    assert subscribed(Stream.error(error).map(str).do_finally(int).buffer(2)).signals == [Failed(error)]


def test_every_subscriber_gets_the_error() -> None:
    stream = Stream.error(ValueError("lost"))
    assert subscribed(stream).error is subscribed(stream).error


def test_is_raised_where_it_is_iterated() -> None:
    error = KeyError("lost")
    with pytest.raises(KeyError) as caught:
        list(Stream.error(error))
    assert caught.value is error


@pytest.mark.parametrize(
    ("error", "cure"),
    [
        ("lost", ""),
        (None, ""),
        (ValueError, "; that is a class: make one of it, as ValueError(...)"),
        (KeyboardInterrupt(), ""),
    ],
    ids=["text", "none", "class", "interrupt"],
)
def test_refuses_what_is_no_exception(error: object, cure: str) -> None:
    with pytest.raises(TypeError) as caught:
        Stream.error(error)  # type: ignore[arg-type]
    assert str(caught.value) == f"error: error must be an Exception, got {error!r}{cure}"
