"""reading, feeding: the kit holds their streams to every rule for publishers."""

from __future__ import annotations

import pytest

from penstock import Stream
from penstock.tck import Limits, render, verify_publisher
from tests.connectors.server import Server

LIMITS = Limits(elements=20, timeout=5.0, quiet=0.02)


@pytest.mark.parametrize("kind", ["stream", "plain"])
def test_a_stream_keeps_the_rules(kind: str) -> None:
    def publisher(count: int | None) -> Stream[int]:
        stream: Stream[int] = getattr(Server(count), kind)()
        return stream

    def failing() -> Stream[int]:
        stream: Stream[int] = getattr(Server(1, fetch=ConnectionError("the server has gone")), kind)()
        return stream

    report = verify_publisher(publisher, failing=failing, limits=LIMITS)
    assert report.ok, render(report)
