"""A run in this process: its result, its end by stop and by cancel, and its progress."""

from __future__ import annotations

import asyncio
import itertools
import re
import subprocess
import sys
import threading
from datetime import timedelta
from typing import Any

import pytest

from penstock import EmptyError, Progress, RunCancelledError, Sink, Stream, VirtualClock, branch, flow, thread
from penstock.errors import InterruptionError
from penstock.run import InProcess, Run
from tests.engine.parts import noop
from tests.engine.watch import left_alive

WAIT = 30


def test_wait_gives_the_result_again_and_again() -> None:
    run = (Stream.range(5) | Sink.to_list()).run()
    assert run.wait(WAIT) == [0, 1, 2, 3, 4]
    assert run.wait() == [0, 1, 2, 3, 4]
    assert run.done
    assert repr(run) == "Run([0, 1, 2, 3, 4])"


def test_a_failure_is_raised_as_it_is() -> None:
    error = KeyError("lost")
    run = (Stream.error(error) | Sink.count()).run()
    with pytest.raises(KeyError) as caught:
        run.wait(WAIT)
    assert caught.value is error
    assert repr(run) == "Run(failed: KeyError('lost'))"


def leave(n: int) -> int:
    if n == 3:
        raise SystemExit("enough")
    return n


def leave_in_close() -> None:
    raise SystemExit("enough")


@pytest.mark.parametrize(
    "pipeline",
    [
        Stream.range(9).map(leave) | Sink.to_list(),
        Stream.range(9) | Sink.for_each(leave),
        Stream.range(9).do_finally(noop).map(leave) | Sink.count(),
        Stream.range(9).flat_map(lambda n: Stream.just(leave(n)), concurrency=2) | Sink.count(),
        Stream.range(9).publish_on(thread()).map(leave) | Sink.count(),
        Stream.range(9).parallel(2, lambda numbers: numbers.map(leave), executor=thread()) | Sink.count(),
        Stream.range(9) | branch(Sink.count(), Sink.for_each(leave)),
        Stream.defer(leave_in_close) | Sink.count(),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_interruption_ends_a_run(pipeline: Any) -> None:
    before, ended = set(threading.enumerate()), threading.Event()
    run = pipeline.run()
    run.on_done(ended.set)
    with pytest.raises(InterruptionError, match=r"^the stream was interrupted by SystemExit\('enough'\)$"):
        run.wait(WAIT)
    assert ended.wait(WAIT)
    assert left_alive(before) == []


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_run_has_ended_also_if_its_end_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    before, controls = set(threading.enumerate()), InProcess((Stream.range(5) | Sink.count())._chain)
    monkeypatch.setattr(controls, "close", leave_in_close)
    assert Run(controls).wait(WAIT) == 5
    assert left_alive(before) == []


def test_a_sink_without_a_result_is_an_error() -> None:
    run = (Stream.range(0) | Sink.of(lambda numbers: numbers.first())).run()
    with pytest.raises(EmptyError, match=r"^range \| first: the stream completed without an element$"):
        run.wait(WAIT)


def test_a_run_is_awaited() -> None:
    async def main() -> int:
        return await (Stream.range(7) | Sink.count()).run()

    assert asyncio.run(main()) == 7


def test_waiting_may_be_given_up() -> None:
    run = (Stream.never() | Sink.count()).run()
    with pytest.raises(TimeoutError, match=r"^run: no result within 0 seconds; it goes on$"):
        run.wait(0)
    with pytest.raises(TimeoutError, match=r"^run: no result within 0.001 seconds; it goes on$"):
        run.wait(timedelta(milliseconds=1))
    assert repr(run) == "Run(running)"
    run.cancel()


def test_how_long_to_wait_is_a_duration_whether_or_not_the_run_has_ended() -> None:
    ended = (Stream.range(3) | Sink.count()).run()
    assert ended.wait(1e300) == 3
    for run in (ended, (Stream.never() | Sink.count()).run()):
        with pytest.raises(TypeError, match=r"^wait: timeout must be seconds or a timedelta, got '3'$"):
            run.wait("3")  # type: ignore[arg-type]
        with pytest.raises(ValueError, match=r"^wait: timeout must be >= 0 and finite, got -1$"):
            run.wait(-1)
        run.cancel()


def test_stop_lets_what_is_inside_come_to_the_end() -> None:
    seen: list[int] = []
    begun, go_on = threading.Event(), threading.Event()

    def see(n: int) -> None:
        seen.append(n)
        begun.set()
        go_on.wait(WAIT)

    run = (Stream.from_iterable(itertools.count()) | Sink.for_each(see)).run()
    assert begun.wait(WAIT)
    run.stop()
    go_on.set()
    assert run.wait(WAIT) == len(seen) == 1


def test_stop_ends_a_source_that_waits() -> None:
    run = (Stream.never() | Sink.count()).run()
    run.stop()
    assert run.wait(WAIT) == 0


def test_stop_ends_a_source_of_signals_after_what_it_gave() -> None:
    arrived = threading.Event()

    async def numbers():
        for n in itertools.count():
            yield n
            await asyncio.sleep(0)

    run = (Stream.from_async_iterable(numbers()) | Sink.of(lambda xs: xs.tap(lambda _: arrived.set()).to_list())).run()
    assert arrived.wait(WAIT)
    run.stop()
    found = run.wait(WAIT)
    assert found == list(range(len(found)))


def test_cancel_ends_at_once_and_closes_the_source() -> None:
    closed, begun = threading.Event(), threading.Event()

    def endless():
        try:
            for n in itertools.count():
                begun.set()
                yield n
        finally:
            closed.set()

    run = (Stream.from_iterable(endless()) | Sink.count()).run()
    assert begun.wait(WAIT)
    run.cancel()
    with pytest.raises(RunCancelledError, match=r"^run: cancelled before there was a result$"):
        run.wait(WAIT)
    assert closed.wait(WAIT)


def test_after_the_end_stop_and_cancel_do_nothing() -> None:
    run = (Stream.range(3) | Sink.count()).run()
    run.wait(WAIT)
    run.stop()
    run.cancel()
    assert run.wait() == 3


def test_progress_is_reported_by_the_clock_and_ends_with_the_run() -> None:
    clock = VirtualClock()
    begun, go_on = threading.Event(), threading.Event()

    def see(n: int) -> None:
        if n == 3:
            begun.set()
            go_on.wait(WAIT)

    run: Run[int] = Run(InProcess((Stream.range(10) | Sink.for_each(see))._chain), clock)
    assert begun.wait(WAIT)
    with run.progress_every(2).open() as reports:
        iterator = iter(reports)
        got: list[Progress] = []
        thread = threading.Thread(target=lambda: got.extend(iterator))
        thread.start()
        while not got:
            clock.advance(2)
        go_on.set()
        thread.join(WAIT)
    assert got[0].rows_in == 4
    assert not got[0].done
    assert got[-1].rows_in == 10
    assert got[-1].done


def test_progress_after_the_end_is_the_last_report() -> None:
    run = (Stream.range(10) | Sink.count()).run()
    run.wait(WAIT)
    assert [(report.rows_in, report.done) for report in run.progress] == [(10, True)]


def test_a_pace_must_be_positive() -> None:
    run = (Stream.range(10) | Sink.count()).run()
    with pytest.raises(ValueError, match=r"^progress: seconds must be > 0 and finite, got 0$"):
        run.progress_every(0)


# Parts and plans.


@flow
def doubled(numbers: Stream[int]) -> Stream[int]:
    return numbers.map(lambda n: n * 2)


def test_a_flow_knows_its_types_and_its_parts() -> None:
    untyped = flow(lambda numbers: numbers.map(str))
    assert (doubled.takes, doubled.gives, doubled._parts) == (int, int, ())
    assert (untyped.takes, untyped.gives) == (None, None)
    both = doubled | untyped
    assert (both.takes, both.gives, both._parts) == (int, None, (doubled, untyped))


def test_parts_are_no_part_of_equality() -> None:
    assert Stream.range(3) | doubled == Stream(doubled(Stream.range(3))._chain)


def test_a_pipeline_of_this_process_is_explained() -> None:
    pipeline = (Stream.range(3) | doubled).map(str) | Sink.count()
    assert str(pipeline.explain()).splitlines() == [
        "in this process",
        "  source ├─ range",
        "         │",
        "    then ├─ map(doubled.<lambda>)",
        "         │",
        "    then ├─ map(str)",
        "         │",
        "     end ├─ count",
        "         │    asks for all there is, one after the other",
    ]


def test_what_is_for_spark_is_refused_here() -> None:
    pipeline = Stream.range(3) | Sink.count()
    cure = "Spark(master=...) makes one, Spark(session=...) makes one of a session"
    refused = f"run: spark must be a penstock.spark.Spark, got 5; {cure}"
    with pytest.raises(TypeError, match=f"^{re.escape(refused)}$"):
        pipeline.run(5)  # type: ignore[arg-type]


LOSSES = """
import gc
import sys
from threading import Event
from penstock import Sink, Stream

def ended(run):
    over = Event()
    run.on_done(over.set)
    over.wait()
    return run

def broken(n):
    raise LookupError(f"no {n}")

ended((Stream.just(6).map(broken) | Sink.to_list()).run())
gc.collect()
print("run: so far", file=sys.stderr)
unheard = ended((Stream.just(7).map(broken) | Sink.to_list()).run())
heard = ended((Stream.just(8).map(broken) | Sink.to_list()).run())
assert str(heard.failure) == "no 8"
well = ended((Stream.just(9) | Sink.to_list()).run())
cancelled = (Stream.never() | Sink.count()).run()
cancelled.cancel()
under_way = (Stream.never() | Sink.count()).run()
"""


def test_what_runs_have_lost_is_told_when_they_are_dropped_or_the_program_ends() -> None:
    said = subprocess.run(
        [sys.executable, "-c", LOSSES], check=True, capture_output=True, text=True, timeout=WAIT
    ).stderr
    lines = [line for line in said.splitlines() if line.startswith("run: ")]
    assert lines[:2] == [
        "run: it failed, and no caller has asked for its result: LookupError('no 6')",
        "run: so far",
    ]
    assert sorted(lines[2:]) == [
        "run: it failed, and no caller has asked for its result: LookupError('no 7')",
        "run: the program ends before the run of never | count; say run.wait() to let it come to its end",
    ]
