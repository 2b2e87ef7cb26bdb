"""The crossings by queues between threads: one run fills the queue, another empties it."""

from __future__ import annotations

import multiprocessing
import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

from penstock import Run, Stream
from penstock.bridges.shared.pouring import AHEAD
from penstock.bridges.threads import from_queue, to_queue
from tests.bridges.crossings import Crossing, heard
from tests.engine.watch import PATIENCE

SIZE = 4
POLL = 0.005
THREADS = {"penstock-queue", "penstock-run", "penstock-sink"}


@contextmanager
def by(make: Callable[[], Any], stream: Stream[Any]) -> Iterator[Stream[Any]]:
    """Fill a queue for each subscriber; who leaves takes the run along that fills it."""
    queues: list[Any] = []
    over = Stream.subject()

    def filled() -> tuple[Any, Run[int]]:
        queues.append(make())
        return queues[-1], heard((stream | to_queue(queues[-1], poll=POLL)).run())

    def emptied(between: tuple[Any, Run[int]]) -> Stream[Any]:
        return from_queue(between[0], poll=POLL)

    def left(between: tuple[Any, Run[int]]) -> None:
        between[1].cancel()

    yield Stream.using(filled, emptied, left).take_until(over)
    over.emit("over")  # for those who have left without a word
    closable = [each for each in queues if hasattr(each, "close")]
    if closable:
        wait_for_threads()
    for each in closable:
        each.cancel_join_thread()  # what is in it may stay there
        each.close()


def wait_for_threads() -> None:
    for each in threading.enumerate():
        if each.name in THREADS:
            each.join(PATIENCE)


def crossing(make: Callable[[], Any]) -> Callable[[Stream[Any]], AbstractContextManager[Stream[Any]]]:
    return partial(by, make)


CROSSINGS = [
    Crossing("queue.Queue", crossing(lambda: queue.Queue(SIZE)), window=SIZE + AHEAD),
    Crossing("multiprocessing.Queue", crossing(lambda: multiprocessing.Queue(SIZE)), window=SIZE + AHEAD),
]
