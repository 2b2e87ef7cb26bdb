"""leaks: threads, tasks, files and elements are gone after every kind of crossing and every kind of end."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import pytest

from penstock import Stream
from penstock.testing import Probe, Tracked
from tests.bridges import (
    crossing_anyio,
    crossing_asyncio,
    crossing_cpp,
    crossing_dotnet,
    crossing_files,
    crossing_futures,
    crossing_reactivex,
    crossing_threads,
)
from tests.bridges.crossings import Crossing
from tests.engine.watch import dropped, left_alive, no_thread_is_left

__all__ = ["dropped", "no_thread_is_left"]

ALL = [
    crossing
    for module in (
        crossing_anyio,
        crossing_asyncio,
        crossing_cpp,
        crossing_dotnet,
        crossing_files,
        crossing_futures,
        crossing_reactivex,
        crossing_threads,
    )
    for crossing in module.CROSSINGS
]
WAYS = ("completion", "error", "cancel", "cancel before any demand", "request(0)", "subscriber raises")
each = pytest.mark.parametrize("crossing", ALL, ids=lambda crossing: crossing.name)


def run(crossing: Crossing, way: str) -> weakref.ref[Any]:
    """Cross once and come back; return a reference to the subscriber."""
    items = Tracked([crossing.element(n) for n in range(1, 31)], LookupError("lost") if way == "error" else None)

    def look(_: object) -> None:
        if way == "subscriber raises":
            raise ArithmeticError("subscriber")

    with crossing.cross(Stream.from_iterable(items)) as stream:
        probe: Probe[Any] = Probe(on_signal=look)
        stream.subscribe(probe)
        if way in {"completion", "error"}:
            probe.request()
            probe.wait_for_end()
        elif way == "request(0)":
            probe.request(0)
            probe.wait_for_end()
        elif way == "cancel before any demand":
            probe.cancel()
        else:
            probe.request(2)
            probe.wait_for(1)
            probe.cancel()
        items.wait_until_closed()
    return weakref.ref(probe)


@each
@pytest.mark.parametrize("way", WAYS)
def test_nothing_is_left_behind(crossing: Crossing, way: str, dropped: list[Any]) -> None:
    before = set(threading.enumerate())
    gone = run(crossing, way)
    assert left_alive(before) == []
    dropped.clear()
    gc.collect()
    assert gone() is None, gc.get_referrers(gone())


@each
def test_what_a_run_leaves_does_not_add_up(crossing: Crossing, dropped: list[Any]) -> None:
    def objects(times: int) -> int:
        before = set(threading.enumerate())
        for _ in range(times):
            for way in ("completion", "cancel"):
                run(crossing, way)
        assert left_alive(before) == []
        dropped.clear()
        gc.collect()
        return len(gc.get_objects())

    first = objects(3)
    assert objects(10) - first < 20
