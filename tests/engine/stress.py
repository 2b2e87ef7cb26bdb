"""stress: make threads change often, so that races show."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.engine.watch import PATIENCE


@contextmanager
def restless() -> Iterator[None]:
    """Let threads change after almost every instruction."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def all_at_once(*calls: Callable[[], object]) -> None:
    """Run calls on threads of their own, let off together; raise what any of them raised."""
    barrier = threading.Barrier(len(calls))
    raised: list[BaseException] = []

    def run(call: Callable[[], object]) -> None:
        barrier.wait()
        try:
            call()
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(call,), daemon=True) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()
    if raised:
        raise raised[0]
