"""just: the given elements."""

from __future__ import annotations

import pytest

from penstock import Stream
from penstock.testing import check_source, subscribed


def test_laws() -> None:
    check_source(lambda: Stream.just(3, 1, 2), [3, 1, 2], examples=10)


def test_completes_with_its_last_element() -> None:
    probe = subscribed(Stream.just("a"), 1)
    assert probe.elements == ["a"]
    assert probe.completed


def test_nothing_given_completes_without_a_request() -> None:
    assert subscribed(Stream.just()).completed


def test_refuses_none() -> None:
    with pytest.raises(TypeError, match=r"^just: None is not an element \(rule 2\.13\)$"):
        Stream.just(1, None)


def test_a_list_is_one_element() -> None:
    assert list(Stream.just([1, 2])) == [[1, 2]]
