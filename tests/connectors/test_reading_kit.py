"""reading, feeding: the kit holds their streams to every rule for publishers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from penstock import Stream
from penstock.tck import Limits, render, verify_publisher
from tests.connectors.pouring_server import PouringServer
from tests.connectors.server import Server

LIMITS = Limits(elements=20, timeout=5.0, quiet=0.02)


def poured(count: int | None, **fails: Exception) -> Stream[int]:
    """Make a stream that a reader pours into: a stage takes several elements at a time."""
    return PouringServer(count, **fails).stream().map(int)


def read(count: int | None, **fails: Exception) -> Stream[int]:
    return Server(count, **fails).stream()


def fed(count: int | None, **fails: Exception) -> Stream[int]:
    return Server(count, **fails).plain()


@pytest.mark.parametrize("made", [read, fed, poured])
def test_a_stream_keeps_the_rules(made: Callable[..., Stream[int]]) -> None:
    def publisher(count: int | None) -> Stream[int]:
        return made(count)

    def failing() -> Stream[int]:
        return made(1, fetch=ConnectionError("the server has gone"))

    report = verify_publisher(publisher, failing=failing, limits=LIMITS)
    assert report.ok, render(report)
