"""watch: fixtures that fail a test which leaves a thread or an undelivered thing behind."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from time import monotonic

import pytest

from penstock import Dropped, set_on_dropped
from penstock.engine.places import event_loops

PATIENCE = 60.0
"""Seconds to wait for something that must happen; nothing waits this long unless it fails."""


@pytest.fixture(autouse=True)
def dropped() -> Iterator[list[Dropped]]:
    """Collect what goes to the on_dropped hook; a test that expects something there takes it out."""
    found: list[Dropped] = []
    before = set_on_dropped(found.append)
    yield found
    set_on_dropped(before)
    assert found == [], repr(found)


@pytest.fixture
def forgotten(dropped: list[Dropped]) -> Iterator[None]:
    """Keep nothing of what goes to the on_dropped hook: an error keeps the frames that it has passed alive."""
    set_on_dropped(lambda _: None)
    yield
    set_on_dropped(dropped.append)


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    """Wait for the threads that a test has started; they must end by themselves."""
    before = set(threading.enumerate())
    yield
    assert left_alive(before) == []


def left_alive(before: set[threading.Thread]) -> list[str]:
    """Wait until no thread is left that was not there before; return the names of those that do not end."""
    patience = monotonic() + PATIENCE
    while new := [thread for thread in threading.enumerate() if thread not in before]:
        if monotonic() > patience:
            return [thread.name for thread in new]
        for thread in new:
            if thread.ident is not None:  # one that is just being started cannot be joined: look again
                thread.join(PATIENCE)
    return []


@pytest.fixture
def loop_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the runs of a test a loop that no run of another test holds: that one may still be about to end."""
    monkeypatch.setattr(event_loops, "_shared", event_loops._OwnLoop())
