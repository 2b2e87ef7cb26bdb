"""empty: completes without an element and without being asked."""

from __future__ import annotations

from penstock import Stream
from penstock.testing import Completed, check_source, subscribed


def test_laws() -> None:
    check_source(Stream.empty, [], examples=5)


def test_completes_when_subscribed() -> None:
    assert subscribed(Stream.empty()).signals == [Completed()]


def test_completes_through_stages_and_joints_without_a_request() -> None:
    assert subscribed(Stream.empty().map(str).do_finally(int).filter(bool)).signals == [Completed()]
