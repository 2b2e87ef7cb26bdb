"""timed: steps that time wakes, per key of a streaming DataFrame; the time comes with the rows."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from operator import add
from pathlib import Path
from typing import Any

import pytest

from penstock import Stream, flow
from penstock.run.pieces.stepping import SteppingRun
from penstock.spark import Spark, StageError, keyed_by
from penstock.spark.ingest.frames import Ingest
from penstock.spark.stages.ends import EndReader
from penstock.spark.stages.timekeeping import Timekeeper, read_time, written_time
from penstock.spark.versions import stream_readers
from penstock.spark.versions.stream_readers import ReadAllAvailable
from penstock.spark.wire.gate import open_gates
from penstock.testing import ManualPublisher
from tests.spark import timed
from tests.spark.differential import MADE, ROWS, Given
from tests.spark.stages.pieces import in_pieces

WAIT = 240.0


class Mine:
    """A clock that could be sent to the executors."""

    def now(self) -> float:
        return 0.0

    def call_later(self, seconds: float, task: Callable[[], None], /) -> Callable[[], None]:
        raise NotImplementedError


def test_random_flows_answer_the_same_at_the_same_times() -> None:
    assert [text for number in range(60) if (text := timed.differs(number)) is not None] == []


def test_a_time_that_is_lost_is_found(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(Timekeeper, "due", lambda self: iter(()))
    assert timed.main(["--flows", "3"]) == 1
    assert "timed flow" in capsys.readouterr().out


def in_batches(make: Callable[[Stream[Any]], Stream[Any]], *batches: tuple[float, list[int]]) -> list[list[str]]:
    """Return what one key gives at each of some times, the last of which is the end."""
    made = flow(lambda rows: make(rows.map(lambda row: row.n)).map(lambda one: (0, 0, repr(one))))
    rows = [[Given(1, at, n) for n in numbers] for at, (_, numbers) in enumerate(batches)]
    found = in_pieces(made, ROWS, MADE, ["k"], rows[:-1], times=[now for now, _ in batches])
    return [[row.text for row in piece] for piece in found]


def test_a_step_is_woken_at_its_time_and_before_the_rows_that_come_then() -> None:
    assert in_batches(lambda s: s.debounce(2), (1, [1]), (2, [2]), (3.9, []), (4, [3]), (9, [4]), (9, [])) == [
        [], [], [], ["2"], ["3"], ["4"],
    ]  # fmt: skip
    assert in_batches(lambda s: s.buffer_timeout(3, 2), (1, [1, 2]), (3, [3, 4, 5, 6]), (8, []), (9, [])) == [
        [], ["[1, 2]", "[3, 4, 5]"], ["[6]"], [],
    ]  # fmt: skip
    assert in_batches(lambda s: s.sample(2), (1, [1]), (2, [2]), (3, [3]), (6.5, [4]), (7, []), (8, [])) == [
        [], [], ["2"], ["3"], ["4"], [],
    ]  # fmt: skip


def test_steps_are_woken_in_the_order_of_their_times_however_late_it_is() -> None:
    def steps(stream: Stream[Any]) -> Stream[Any]:
        return stream.debounce(1).buffer_timeout(9, 3)

    # The first is due at 2 and again the list at 5, whether it is looked at then or long after.
    assert in_batches(steps, (1, [1]), (2, []), (5, []), (60, [])) == [[], [], ["[1]"], []]
    assert in_batches(steps, (1, [1]), (50, [2]), (60, [])) == [[], ["[1]"], ["[2]"]]


def test_a_clock_that_is_set_back_does_not_take_the_time_back() -> None:
    assert in_batches(lambda s: s.debounce(2), (10, [1]), (5, [2]), (11.9, []), (12, []), (13, [])) == [
        [], [], [], ["2"], [],
    ]  # fmt: skip


def test_a_key_that_has_said_all_is_forgotten_and_wakes_no_more() -> None:
    states: dict[Any, dict[Any, Any]] = {}
    made = flow(lambda rows: rows.map(lambda row: row.n).debounce(2).map(lambda one: (0, 0, repr(one))))
    rows = [[Given(key, 0, key) for key in range(20)], []]
    found = list(in_pieces(made, ROWS, MADE, ["k"], rows, times=[1, 4], states=states, ends=False))
    assert sorted(int(row.text) for row in found[1]) == list(range(20))
    assert not any(held for name, held in states.items() if not isinstance(name, tuple) or name[0] == "dues")


def test_a_key_is_forgotten_after_a_silence_whatever_its_steps_remember() -> None:
    def steps(stream: Stream[Any]) -> Stream[Any]:
        return stream.window(gap=5).concat_map(lambda numbers: numbers.distinct().scan(add, 0).take(2))

    states: dict[Any, dict[Any, Any]] = {}
    made = flow(lambda rows: steps(rows.map(lambda row: row.n)).map(lambda one: (0, 0, repr(one))))
    rows = [[Given(key, 0, n) for key in range(20) for n in (1, 1, 2, 4)], []]
    found = list(in_pieces(made, ROWS, MADE, ["k"], rows, times=[1, 6], states=states, ends=False))
    assert [sorted(row.text for row in piece) for piece in found] == [["1"] * 20 + ["3"] * 20, []]
    assert not any(held for name, held in states.items() if not isinstance(name, tuple) or name[0] == "dues")
    assert in_batches(steps, (1, [1, 1, 2, 4]), (6, [4, 2]), (7, [])) == [["1", "3"], ["4", "6"], []]


def test_a_timeout_fails_with_its_step_and_key() -> None:
    with pytest.raises(TimeoutError, match=r"^timeout: no element within 2.0 seconds of being asked for") as caught:
        in_batches(lambda s: s.timeout(2), (1, [1]), (2, [2]), (4, [3]), (5, []))
    assert caught.value.__notes__ == ["in timeout, step 2 of 3", "in keyed_by, key (1,)"]
    handled = in_batches(lambda s: s.timeout(2).on_error_return(-1), (1, [1]), (4, [2]), (5, [3]), (6, []))
    assert handled == [["1"], ["-1"], [], []]  # the stream of the key has ended


def test_the_time_of_a_micro_batch_is_part_of_its_offset(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("penstock.spark.stages.ends.time.time", lambda: now[0])
    reader = EndReader(None, 3, 0.5)
    first = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
    (part,) = reader.partitions(reader.initialOffset(), first)
    now[0] = 200.0  # when it is read, or read again, does not matter
    for _ in range(2):
        (batch,) = reader.read(part)
        assert [read_time(one) for one in batch.column("rows").to_pylist()] == [100.0] * 3
    now[0] = 100.4
    assert reader.latestOffset(first, ReadAllAvailable()) == first  # it is too early
    now[0] = 100.6
    second = reader.latestOffset(first, ReadAllAvailable())
    assert second["at"] == 100.6
    assert reader.partitions(first, first) == []
    now[0] = 50.0
    assert reader.latestOffset(second, ReadAllAvailable())["at"] == 100.6


def test_without_an_end_that_is_known_a_query_until_the_end_is_told_the_time_once() -> None:
    reader = EndReader(None, 3, 0.0)
    reader.prepareForTriggerAvailableNow()
    first = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
    assert reader.partitions(reader.initialOffset(), first)
    assert reader.latestOffset(first, ReadAllAvailable()) == first


def test_rows_are_never_taken_for_a_time() -> None:
    assert read_time(written_time(12.5)) == 12.5
    assert read_time(b"") is None
    assert len(ROWS.batch([Given(1, 2, 3)]).serialize().to_pybytes()) > 8


def test_what_waits_for_other_things_is_refused(spark: Spark, monkeypatch: pytest.MonkeyPatch) -> None:
    rate = spark.session.readStream.format("rate").load()

    def refused(make: Any, message: str) -> None:
        step = spark.stage(keyed_by(flow(make), "value"), "n long")
        with pytest.raises(StageError, match=f"^{re.escape(message)}$"):
            rate.transform(step)

    refused(
        lambda rows: rows.map(len).debounce(1, clock=Mine()),
        "keyed_by: debounce has a clock, and where Spark keeps its state the time comes with the rows: leave clock out",
    )
    refused(
        lambda rows: rows.map(len).sample(1, clock=Mine()),
        "keyed_by: sample has a clock, and where Spark keeps its state the time comes with the rows: leave clock out",
    )
    refused(
        lambda rows: rows.map(len).sample(Stream.just(1)),
        "keyed_by: sample cannot go on from one micro-batch to the next: its other inputs would begin anew with each:"
        " give it seconds, or join DataFrames, or make one of both with both(left, right) and use pair_with_latest,"
        " pair_latest or pair_within",
    )
    monkeypatch.setattr(stream_readers, "SAYS_START", False)
    refused(
        lambda rows: rows.map(len).debounce(1),
        "keyed_by: steps that time wakes, such as debounce, need PySpark 4.2 or newer where rows stream, and this is"
        f" {spark.session.version}: put them before or behind Spark",
    )


def test_what_waits_comes_while_the_stream_is_quiet_and_the_query_ends_with_it(spark: Spark, tmp_path: Path) -> None:
    came = threading.Event()

    def rows() -> Iterator[tuple[int, int]]:
        yield from [(1, 1), (2, 2), (1, 3)]
        assert came.wait(WAIT)  # nothing more comes before what waits has
        yield from [(1, 4), (2, 5)]

    def steps(rows: Stream[Any]) -> Stream[Any]:
        return rows.buffer_timeout(10, 0.5).map(lambda held: (held[0].k, [row.n for row in held]))

    live = spark.frame(Stream.defer(lambda: Stream.from_iterable(rows())), "k long, n long")
    step = spark.stage(keyed_by(flow(steps), "k", order_by="n"), "k long, ns array<long>")
    found: list[Any] = []
    for row in spark.stream(live.transform(step), checkpoint=tmp_path / "query"):
        found.append((row.k, row.ns))
        if sum(len(ns) for _, ns in found) == 3:
            came.set()
    assert [n for k, ns in found for n in ns if k == 1] == [1, 3, 4]
    assert [n for k, ns in found for n in ns if k == 2] == [2, 5]
    assert [4] in [ns for _, ns in found]  # by itself, since the others had come before


def test_a_query_that_waits_for_no_time_is_not_ended_by_one_that_does(spark: Spark) -> None:
    upstream: ManualPublisher[tuple[int, int]] = ManualPublisher()
    assert SteppingRun(flow(lambda rows: rows.debounce(1))._chain.steps).shortest == 1.0
    live = spark.frame(upstream, "k long, n long")
    live.transform(spark.stage(keyed_by(flow(lambda rows: rows.debounce(0.1)), "k"), "k long, n long"))
    found: list[int] = []
    done = threading.Event()

    def read() -> None:
        found.extend(row.n for row in spark.stream(live))
        done.set()

    threading.Thread(target=read, daemon=True).start()
    upstream.wait_for_subscriber(timeout=WAIT)
    polls = _polls()
    while _polls() < polls + 8:  # it was asked again and again, and has not ended
        assert not done.wait(0.05)
    upstream.next((1, 7))
    upstream.complete()
    assert done.wait(WAIT)
    assert found == [7]


def _polls() -> int:
    doors = [door for gate in open_gates() for _, door in gate.admitted() if isinstance(door, Ingest)]
    return sum(asked for door in doors for _, asked, _, _ in door.standing())
