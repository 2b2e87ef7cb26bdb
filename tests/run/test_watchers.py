"""watchers: parties that show runs are told of them, and a run knows that it is the one its code works for."""

from __future__ import annotations

from typing import Any

import pytest

from penstock import Dropped, Run, RunCancelledError, Sink, Stream, set_on_dropped
from penstock.run.watchers import current_run, watching_runs


def test_runs_inside_the_block_are_told_of_before_they_begin() -> None:
    seen: list[Run[Any]] = []
    before = (Stream.range(2) | Sink.count()).run()
    with watching_runs(seen.append):
        inside = (Stream.range(3) | Sink.count()).run()
    after = (Stream.range(4) | Sink.count()).run()
    assert seen == [inside]
    assert [run.wait() for run in (before, inside, after)] == [2, 3, 4]


def test_blocks_inside_of_blocks_are_both_told() -> None:
    outer: list[Run[Any]] = []
    inner: list[Run[Any]] = []
    with watching_runs(outer.append), watching_runs(inner.append):
        run = (Stream.range(3) | Sink.count()).run()
    assert (outer, inner) == ([run], [run])
    run.wait()


def test_watcher_that_raises_does_not_harm_the_run() -> None:
    dropped: list[Dropped] = []

    def broken(_: Run[Any]) -> None:
        raise RuntimeError("broken")

    hook = set_on_dropped(dropped.append)
    try:
        with watching_runs(broken):
            assert (Stream.range(3) | Sink.count()).run().wait() == 3
    finally:
        set_on_dropped(hook)
    assert [(each.what, str(each.error)) for each in dropped] == [("run: a watcher of runs raised", "broken")]


def test_code_of_a_run_knows_which_run_it_works_for() -> None:
    run = (Stream.just(1).map(lambda _: id(current_run())) | Sink.to_list()).run()
    assert run.wait() == [id(run)]
    assert current_run() is None


def test_failure_of_a_run_can_be_asked_for() -> None:
    well, ill, stopped = (
        (Stream.just("1").map(int) | Sink.count()).run(),
        (Stream.just("one").map(int) | Sink.count()).run(),
        (Stream.never() | Sink.count()).run(),
    )
    assert well.failure is None
    well.wait()
    with pytest.raises(ValueError) as raised:
        ill.wait()
    stopped.cancel()
    with pytest.raises(RunCancelledError) as cancelled:
        stopped.wait()
    assert (well.failure, ill.failure, stopped.failure) == (None, raised.value, cancelled.value)


def test_run_of_this_process_has_a_chain_and_no_plan() -> None:
    run = (Stream.range(3).map(str) | Sink.count()).run()
    run.wait()
    assert (str(run.chain), run.plan) == ("range | map(str) | count", None)
