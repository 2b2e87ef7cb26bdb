"""Egress: a DataFrame's rows arrive as they are asked for, each once, and the job ends with the stream."""

from __future__ import annotations

import threading
from collections import namedtuple
from dataclasses import dataclass
from itertools import islice

import pyarrow as pa
import pytest
from pyarrow import flight

from penstock.cli.loading import said
from penstock.engine.grounds.outlet import Outlet
from penstock.spark.egress.delivery import BatchSender, Delivery, StreamOver
from penstock.spark.egress.pump import Pump
from penstock.spark.wire import failure
from penstock.spark.wire.failure import ExecutorError
from penstock.spark.wire.gate import Gate, GateError
from tests.spark.census import own_threads

SCHEMA = pa.schema([("n", pa.int64())])
WAIT = 120


class Asker:
    """A subscriber that asks only when told and lets the test wait for counts."""

    def __init__(self):
        self.changed = threading.Condition()
        self.rows = []
        self.ends = []
        self.subscription = None

    def on_subscribe(self, subscription):
        self.subscription = subscription

    def on_next(self, element):
        with self.changed:
            self.rows.append(element)
            self.changed.notify_all()

    def on_error(self, error):
        self._end(error)

    def on_complete(self):
        self._end("complete")

    def _end(self, end):
        with self.changed:
            self.ends.append(end)
            self.changed.notify_all()

    def until(self, ready):
        with self.changed:
            assert self.changed.wait_for(lambda: ready(self), WAIT), (len(self.rows), self.ends)
        return self

    def until_end(self):
        return self.until(lambda asker: asker.ends).ends[0]


def batch(start, stop):
    return pa.record_batch([pa.array(range(start, stop), pa.int64())], schema=SCHEMA)


@pytest.fixture
def desk():
    """A delivery at a gate, without Spark."""
    asker = Asker()
    outlet = Outlet(asker)
    delivery = Delivery(lambda: pump.run(), lambda body: None, outlet.fail_now)
    pump = Pump(outlet, delivery.poll, lambda batch: batch.column(0).to_pylist())
    outlet.on_request = lambda n: pump.run()
    outlet.on_cancel = delivery.refuse
    outlet.open()
    with Gate() as gate:
        yield asker, delivery, gate.admit(delivery)


def sending(address, partition, attempt, batches, sent=None):
    """Write batches from a thread, as a task would; return the thread and what it raised."""
    raised = []

    def run():
        try:
            with address.connect() as caller:
                sender = BatchSender(caller, partition, attempt)
                for each in batches:
                    sender.send(each)
                    if sent is not None:
                        sent.append(each)
                sender.finish()
        except (flight.FlightError, StreamOver) as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, raised


def test_a_writer_stands_still_when_nobody_asks(desk):
    asker, delivery, address = desk
    sent = []
    thread, raised = sending(address, 0, 0, [batch(n * 10, n * 10 + 10) for n in range(50)], sent)
    asker.subscription.request(3)
    asker.until(lambda asker: len(asker.rows) == 3)
    # One batch was taken for the three rows; of the others at most AHEAD are under way, and one waits for credit.
    assert len(sent) <= 4
    asker.subscription.request(7)
    asker.until(lambda asker: len(asker.rows) == 10)
    assert len(sent) <= 4
    asker.subscription.request(490)
    asker.until(lambda asker: len(asker.rows) == 500)
    thread.join(WAIT)
    assert not raised
    assert asker.rows == list(range(500))
    assert delivery.most_waiting == 1


def test_a_later_attempt_leaves_out_what_was_delivered_and_the_earlier_is_refused(desk):
    asker, _, address = desk
    batches = [batch(n * 10, n * 10 + 10) for n in range(5)]
    first, refused = sending(address, 0, 7, batches)
    asker.subscription.request(15)
    asker.until(lambda asker: len(asker.rows) == 15)  # two batches are taken, the others are not
    second, raised = sending(address, 0, 8, [batch(0, 25), batch(25, 50)])  # cut otherwise, in the same order
    first.join(WAIT)
    assert [type(error) for error in refused] == [flight.FlightCancelledError]
    assert "attempt 7 was replaced by attempt 8" in str(refused[0])
    asker.subscription.request(100)
    second.join(WAIT)
    assert not raised
    asker.until(lambda asker: len(asker.rows) == 50)
    assert asker.rows == list(range(50))
    late, refused = sending(address, 0, 7, batches)
    late.join(WAIT)
    assert "attempt 7 was replaced by attempt 8" in str(refused[0])
    again, raised = sending(address, 0, 9, batches)
    again.join(WAIT)
    assert not raised
    assert len(asker.rows) == 50


def test_many_writers_lose_and_repeat_nothing(desk):
    asker, _, address = desk
    threads = [
        sending(address, part, 0, [batch(part * 1000 + n, part * 1000 + n + 25) for n in range(0, 1000, 25)])
        for part in range(6)
    ]
    seen = 0
    while seen < 6000:
        asker.subscription.request(17)
        seen = min(6000, seen + 17)
        asker.until(lambda asker, seen=seen: len(asker.rows) >= seen)
    for thread, raised in threads:
        thread.join(WAIT)
        assert not raised
    assert sorted(asker.rows) == list(range(6000))
    for part in range(6):
        assert [row for row in asker.rows if row // 1000 == part] == list(range(part * 1000, part * 1000 + 1000))


def test_cancel_refuses_whoever_waits(desk):
    asker, _, address = desk
    thread, raised = sending(address, 0, 0, [batch(0, 10)] * 10)
    asker.subscription.request(1)
    asker.until(lambda asker: asker.rows)
    others = [sending(address, part, 0, [batch(0, 10)] * 10) for part in range(2, 30)]
    asker.subscription.cancel()
    for one, told in [(thread, raised), *others]:
        one.join(WAIT)
        assert [type(error) for error in told] == [StreamOver]
    late, raised = sending(address, 1, 0, [batch(0, 10)])
    late.join(WAIT)
    assert [type(error) for error in raised] == [StreamOver]
    assert asker.ends == []


def test_a_door_for_rows_refuses_what_it_does_not_know(desk):
    _, _, address = desk
    with address.connect() as caller:
        with pytest.raises(flight.FlightServerError, match="egress: unknown verb 'x'"):
            caller.act("x")
        with pytest.raises(flight.FlightServerError, match="egress: there is nothing to read here"):
            list(caller.get())


# Errors in words.


def test_an_executors_error_is_an_instance_of_the_original_type():
    error = failure.rebuilt(failure.described(KeyError("lost")))
    assert isinstance(error, KeyError)
    assert isinstance(error, ExecutorError)
    assert (error.kind, error.message) == ("KeyError", "'lost'")
    assert str(error).startswith("KeyError: 'lost'\n\nin an executor:\n")


@pytest.mark.parametrize("message", ["lost", "two\nlines", ""])
def test_the_notes_of_an_executors_error_are_known(message):
    raised = ValueError(message)
    raised.add_note("in map(int), step 1 of 1")
    raised.add_note("in partition 0, attempt 0")
    error = failure.rebuilt(failure.described(raised))
    assert error.remote_notes == ["in map(int), step 1 of 1", "in partition 0, attempt 0"]
    assert said(error).endswith("; in map(int), step 1 of 1; in partition 0, attempt 0")  # by the command line
    assert failure.rebuilt(failure.described(ValueError(message))).remote_notes == []


def test_a_type_that_is_unknown_here_is_described_in_words():
    error = failure.rebuilt({"kind": "far.away.Error", "message": "m", "traceback": ""})
    assert type(error) is ExecutorError
    assert str(error) == "far.away.Error: m"
    for kind in ("KeyboardInterrupt", "os.system", "print", ""):
        assert type(failure.rebuilt({"kind": kind, "message": "m"})) is ExecutorError


def test_an_executors_error_pickles():
    import pickle

    error = pickle.loads(pickle.dumps(failure.rebuilt(failure.described(ValueError("v")))))
    assert isinstance(error, ValueError)
    assert error.message == "v"


@pytest.mark.parametrize(
    "after", ["", "\n SQLSTATE: 38000\n\tat org.apache", "\n\n\t... 34 more", "\n=== Streaming Query ==="]
)
def test_an_exception_is_read_from_sparks_text(after):
    text = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    raise x\nKeyError: two\nlines' + after
    error = failure.from_spark(RuntimeError("[PYTHON_EXCEPTION] An exception was thrown: " + text))
    assert isinstance(error, KeyError)
    assert error.message == "two\nlines"
    assert "in f" in error.remote_traceback
    assert isinstance(error.__cause__, RuntimeError)


def test_what_cannot_be_read_from_sparks_text_stays_as_it_is():
    for text in ("nothing here", "Traceback (most recent call last):\n  only indented", ""):
        error = RuntimeError(text)
        assert failure.from_spark(error) is error


# With Spark.


def idle(spark):
    """Wait until no job runs."""
    tracker = spark.session.sparkContext.statusTracker()
    pause = threading.Event()
    for _ in range(WAIT * 20):
        if not tracker.getActiveJobsIds():
            return
        pause.wait(0.05)
    raise AssertionError("a job still runs")


@dataclass(frozen=True)
class Pair:
    id: int
    text: str | None


def test_all_rows_arrive_once(spark):
    df = spark.session.range(0, 2500, 1, 5)
    assert sorted(row.id for row in spark.stream(df)) == list(range(2500))
    assert sorted(spark.stream(df, rows="tuple")) == [(n,) for n in range(2500)]


def test_rows_come_as_named_tuples_classes_or_batches(spark):
    df = spark.session.createDataFrame([(1, "a"), (2, None)], "id long, text string").coalesce(1)
    named = list(spark.stream(df))
    assert named == [(1, "a"), (2, None)]
    assert named[0].text == "a"
    assert list(spark.stream(df, rows=Pair)) == [Pair(1, "a"), Pair(2, None)]
    assert sum(batch.num_rows for batch in spark.stream(df, rows="arrow")) == 2
    with pytest.raises(ValueError, match=r"^stream: ahead must be a whole number >= 1, got 0$"):
        spark.stream(df, ahead=0)
    with pytest.raises(ValueError, match=r"^stream: checkpoint is for streaming DataFrames, and this one is not$"):
        spark.stream(df, checkpoint="x")


def test_a_loop_and_a_subscriber_get_the_same_rows(spark):
    df = spark.session.range(0, 30_000, 1, 3)
    asker = Asker()
    spark.stream(df, rows="tuple").subscribe(asker)
    asker.subscription.request(10**9)
    assert asker.until_end() == "complete"
    assert sorted(asker.rows) == sorted(spark.stream(df, rows="tuple")) == [(n,) for n in range(30_000)]


def test_rows_come_whole_where_the_session_wants_large_types(spark):
    setting = "spark.sql.execution.arrow.useLargeVarTypes"
    spark.session.conf.set(setting, "true")
    try:
        assert [*spark.stream(spark.session.sql("SELECT 'text' AS a, binary('ab') AS b"))] == [("text", b"ab")]
    finally:
        spark.session.conf.unset(setting)


def test_a_loop_that_is_left_ends_the_job(spark):
    doors = set(spark.gate._doors)
    for row in spark.stream(spark.session.range(0, 10_000_000, 1, 2)):
        assert row.id >= 0
        break
    idle(spark)
    for thread in threading.enumerate():
        if thread.name.startswith("penstock-job"):
            thread.join(WAIT)
    assert set(spark.gate._doors) == doors


def test_a_loop_that_never_begins_leaves_nothing(spark):
    doors = set(spark.gate._doors)
    opener = spark.stream(spark.session.range(10))._chain.source.waiting_opener()
    opener(None).close()
    assert set(spark.gate._doors) == doors


def test_no_row_comes_after_the_close_of_a_loop(spark):
    rows = iter(spark.stream(spark.session.range(1000)))
    assert len(list(islice(rows, 10))) == 10
    rows.close()
    assert list(rows) == []


def test_a_loop_hears_of_an_exception_ahead_of_the_rows_that_it_has_taken(spark, tmp_path):
    taken = tmp_path / "taken"

    def failing(batches):
        sent = 0
        while sent < 20_000:  # what is written last stays in a buffer on the way, and more may not fit in
            each = next(batches)
            sent += each.num_rows
            yield each
        pause = threading.Event()
        while not taken.exists():
            pause.wait(0.01)
        try:
            raise LookupError("a later batch")
        except LookupError as error:
            failure.report(error)
            raise

    rows = iter(spark.stream(spark.session.range(0, 80_000, 1, 1).mapInArrow(failing, "id long")))
    assert next(rows).id == 0
    taken.touch()
    for thread in threading.enumerate():
        if thread.name == "penstock-job":
            thread.join(WAIT)  # the job has failed, and one row of the first batch was taken
    with pytest.raises(LookupError) as caught:
        next(rows)
    assert caught.value.message == "a later batch"


def test_an_empty_frame_completes(spark):
    assert list(spark.stream(spark.session.range(0))) == []


def test_tasks_stand_still_until_rows_are_asked_for(spark):
    seen = spark.session.sparkContext.accumulator(0)

    def counted(batches):
        for each in batches:
            seen.add(each.num_rows)
            yield each

    asker = Asker()
    df = spark.session.range(0, 20_000, 1, 2).mapInArrow(counted, "id long")
    spark.stream(df).subscribe(asker)
    tracker = spark.session.sparkContext.statusTracker()
    assert not tracker.getActiveJobsIds()  # nobody has asked, so nothing has begun
    asker.subscription.request(5)
    asker.until(lambda asker: len(asker.rows) == 5)
    assert tracker.getActiveJobsIds()
    asker.subscription.request(95)
    asker.until(lambda asker: len(asker.rows) == 100)
    assert not asker.ends
    asker.subscription.request(19_900)
    assert asker.until_end() == "complete"
    assert sorted(row.id for row in asker.rows) == list(range(20_000))
    assert seen.value == 20_000


def test_cancel_ends_the_job(spark):
    asker = Asker()
    spark.stream(spark.session.range(0, 10_000_000, 1, 4)).subscribe(asker)
    asker.subscription.request(10)
    asker.until(lambda asker: len(asker.rows) == 10)
    asker.subscription.cancel()
    idle(spark)
    assert asker.ends == []
    assert len(list(spark.stream(spark.session.range(0, 10_000_000, 1, 4)).take(3))) == 3
    idle(spark)


def test_two_subscriptions_share_nothing(spark):
    stream = spark.stream(spark.session.range(0, 300, 1, 2))
    assert stream.count().get() == 300
    assert stream.count().get() == 300


def test_an_exception_that_a_task_reports_arrives_ahead_of_the_rest(spark):
    def failing(batches):
        for number, each in enumerate(batches):
            if number == 3:
                error = LookupError("row 42 is bad")
                try:
                    raise error
                except LookupError as raised:
                    failure.report(raised)
                    raise
            yield each

    df = spark.session.range(0, 5_000_000, 1, 2).mapInArrow(failing, "id long")
    with pytest.raises(LookupError) as caught:
        spark.stream(df).count().get()
    assert isinstance(caught.value, ExecutorError)
    assert caught.value.message == "row 42 is bad"
    assert "in failing" in caught.value.remote_traceback
    assert "raise error" in caught.value.remote_traceback
    idle(spark)


def test_an_exception_that_only_spark_reports_keeps_its_type(spark):
    def failing(batches):
        for each in batches:
            raise ZeroDivisionError("by hand")
            yield each

    df = spark.session.range(0, 500, 1, 2).mapInArrow(failing, "id long")
    with pytest.raises(ZeroDivisionError) as caught:
        spark.stream(df).count().get()
    assert caught.value.message == "by hand"
    assert "in failing" in caught.value.remote_traceback


def test_an_exception_of_spark_itself_arrives_as_it_is(spark):
    from pyspark.errors import ArithmeticException

    with pytest.raises(ArithmeticException, match="DIVIDE_BY_ZERO"):
        list(spark.stream(spark.session.range(0, 500).selectExpr("1 / (id - 100) as x")))


def test_nothing_is_left_behind(spark):
    doors = set(spark.gate._doors)
    list(spark.stream(spark.session.range(0, 100_000, 1, 2)).take(5))
    idle(spark)
    for thread in own_threads():
        thread.join(WAIT)
    assert not own_threads()
    assert set(spark.gate._doors) == doors


def test_closing_the_gate_fails_the_stream(spark):
    half = namedtuple("Half", "gate")(Gate())
    from penstock.spark.egress.streams import stream

    asker = Asker()
    stream(half, spark.session.range(0, 1_000_000, 1, 2)).subscribe(asker)
    asker.subscription.request(10)
    asker.until(lambda asker: len(asker.rows) == 10)
    half.gate.close()
    error = asker.until_end()
    assert isinstance(error, GateError)
    assert str(error) == "stream: the Spark session was closed"
    idle(spark)
