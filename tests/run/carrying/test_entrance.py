"""The entrance: what is opened for a run is told what is done, and closed behind that."""

from __future__ import annotations

import threading
from typing import Any

from penstock import Opened, Sink, Stream
from penstock.engine.runs.chain import Chain
from penstock.operators.resumable import Resumable
from penstock.run.carrying.entrance import SourceRun
from tests.run.carrying.ledger import WAIT


def test_an_opened_connection_with_counts_for_positions_is_told() -> None:
    seen: list[Any] = []

    def open_from(count: int) -> Opened[int]:
        return Opened(range(count, 5), commit=seen.append, close=lambda: seen.append("closed"))

    pipeline: Any = Stream(Chain(Resumable(open_from, counted=True, opens=True))) | Sink.for_each(str)
    assert pipeline.run().wait(WAIT) == 5
    assert seen == [1, 2, 3, 4, 5, "closed"]


def test_a_connection_is_closed_behind_a_commit_on_another_thread() -> None:
    seen: list[str] = []
    telling, closing = threading.Event(), threading.Event()

    def commit(_: int) -> None:
        telling.set()
        assert closing.wait(WAIT)
        seen.append("told")

    run = SourceRun(Resumable(lambda _: Opened([], commit, lambda: seen.append("closed")), opens=True), 8, None)
    assert list(Stream(run.opened())) == []
    other = threading.Thread(target=run.marks.drop, args=[run.marks.enter(1)])
    other.start()
    assert telling.wait(WAIT)
    last = run.marks.enter(2)
    run.marks.drop(last)  # the other thread tells it, behind what it is telling
    closing.set()
    run.close()
    other.join(WAIT)
    assert seen == ["told", "told", "closed"]


def test_a_commit_that_ends_the_run_does_not_wait_for_itself() -> None:
    run = SourceRun(Resumable(lambda _: [], lambda _: run.close()), 8, None)
    run.marks.drop(run.marks.enter(1))
    late = run.marks.enter(2)
    run.marks.drop(late)
    assert run.marks.reached == 2
