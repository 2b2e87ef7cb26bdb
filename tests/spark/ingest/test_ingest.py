"""Ingest: a publisher's rows reach Spark once, it is never asked for more than fits, and both ends end together."""

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException

from penstock import Sink, Stream
from penstock.engine.places.clocks import VirtualClock
from penstock.spark.ingest.frames import frame
from penstock.spark.ingest.intake import IngestError, Intake
from penstock.spark.ingest.letters import Rejected
from penstock.spark.ingest.pace import Pace
from penstock.spark.ingest.together import ENDED, Together
from penstock.spark.wire import failure
from penstock.spark.wire.schema import Schema, SchemaError
from penstock.testing import ManualPublisher

WAIT = 120
SCHEMA = pa.schema([("n", pa.int64())])


class Counted:
    """A publisher of 0, 1, 2, ... that counts what it is asked for, and ends when told."""

    def __init__(self, rows, error=None, make=lambda n: (n,)):
        self.rows = rows
        self.error = error
        self.make = make
        self.asked = self.sent = 0
        self.cancelled = threading.Event()
        self.on_request = lambda: None

    def subscribe(self, subscriber):
        self.subscriber = subscriber
        subscriber.on_subscribe(self)

    def request(self, n):
        self.asked += n
        self.on_request()
        while self.sent < min(self.asked, self.rows):
            self.sent += 1
            self.subscriber.on_next(self.make(self.sent - 1))
        if self.sent == self.rows:
            self.rows = -1
            if self.error is None:
                self.subscriber.on_complete()
            else:
                self.subscriber.on_error(self.error)

    def cancel(self):
        self.cancelled.set()


def run(df, tmp_path, **options):
    """Run a query to its end and return the rows that its sink wrote."""
    out = tmp_path / "out"
    query = (
        df.writeStream.format("parquet")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .option("path", str(out))
        .trigger(availableNow=True)
        .start()
    )
    try:
        query.awaitTermination(WAIT)
        assert not query.isActive
    finally:
        query.stop()
    session = df.sparkSession
    return [tuple(row) for row in session.read.schema(df.schema).parquet(str(out)).collect()] if out.exists() else []


def of(asked, schema=SCHEMA, **options):
    """An intake without Spark."""
    first = options.pop("first", 0)
    return Intake(
        Schema.of(schema), asked, first, Pace(1.0, 10_000, VirtualClock()), options.get("spool"), options.get("reject")
    )


def numbers(intake, first, end):
    return [n for batch in intake.rows(first, end) for n in batch.column(0).to_pylist()]


# Without Spark.


def test_the_publisher_is_asked_for_capacity_and_again_only_after_a_commit():
    publisher = Counted(10**9)
    intake = of(50)
    intake.start(publisher)
    assert intake.poll(0, None, WAIT)[0] > 0
    seen = 0
    asked = []
    for _ in range(20):
        end, done = intake.poll(seen, None, WAIT)
        assert not done
        assert numbers(intake, seen, end) == list(range(seen, end))
        asked.append(publisher.asked - seen)
        seen = end
    assert max(asked) <= 50
    assert intake.most_ahead <= 50
    intake.close()
    assert publisher.cancelled.wait(WAIT)


def test_rows_can_be_read_again_until_they_are_committed():
    intake = of(100)
    intake.start(Counted(30))
    while intake.poll(0, None, WAIT)[0] < 30:
        pass
    assert numbers(intake, 0, 30) == list(range(30))
    assert numbers(intake, 7, 12) == list(range(7, 12))
    intake.commit(30)
    with pytest.raises(IngestError, match=r"^frame: rows 7 to 12 are gone; they were committed$"):
        numbers(intake, 7, 12)
    assert intake.poll(30, None, WAIT) == (30, True)


def test_a_planned_micro_batch_that_was_delivered_before_is_committed_without_being_read():
    publisher: ManualPublisher[tuple[int]] = ManualPublisher()
    intake = of(5, first=10)
    intake.need(15)  # as a restarted query says that had planned these rows
    intake.start(publisher)
    found: list[tuple[int, bool]] = []
    poll = threading.Thread(target=lambda: found.append(intake.poll(15, None, WAIT)), daemon=True)
    poll.start()
    publisher.wait_for_request()  # one, to see what elements are
    publisher.next((10,))
    publisher.wait_for_request(5)
    publisher.next(*[(number,) for number in range(11, 15)])
    publisher.wait_for_request(10)  # they are committed, and as many more are asked for
    publisher.next((15,))
    poll.join(WAIT)
    assert found == [(16, False)]
    intake.close()


def test_a_limit_of_sparks_is_kept():
    intake = of(100)
    intake.start(Counted(30))
    while intake.poll(0, None, WAIT)[0] < 30:
        pass
    assert intake.poll(0, 7, WAIT) == (7, False)


def test_record_batches_are_asked_for_one_at_a_time():
    publisher = Counted(10**9, make=lambda n: pa.record_batch([pa.array([n * 2, n * 2 + 1])], schema=SCHEMA))
    intake = of(10)
    intake.start(publisher)
    seen = 0
    for _ in range(30):
        end, _ = intake.poll(seen, None, WAIT)
        assert numbers(intake, seen, end) == list(range(seen, end))
        assert publisher.asked * 2 - seen <= 10 + 2
        seen = end
    intake.close()


def test_a_restarted_query_gets_the_batch_it_had_planned_even_beyond_capacity():
    intake = of(5, first=100)
    intake.start(Counted(50, make=lambda n: (100 + n,)))
    assert numbers(intake, 100, 120) == list(range(100, 120))
    intake.close()


def test_a_stream_that_is_shorter_than_the_checkpoint_says_is_refused():
    intake = of(5, first=100)
    intake.start(Counted(10, make=lambda n: (100 + n,)))
    message = r"^frame: the stream ended at row 110, and the checkpoint says that there were 120$"
    with pytest.raises(IngestError, match=message):
        numbers(intake, 100, 120)


class Told:
    """A publisher that sends what the test says."""

    def __init__(self):
        self.asked = 0
        self.subscribed = threading.Event()

    def subscribe(self, subscriber):
        self.send = subscriber.on_next
        subscriber.on_subscribe(self)
        self.subscribed.set()

    def request(self, n):
        self.asked += n

    def cancel(self):
        pass


def test_all_who_wait_for_rows_get_them_as_they_come():
    publisher, intake = Told(), of(1000)
    intake.start(publisher)
    assert publisher.subscribed.wait(WAIT)
    found = {}
    waiting = [
        threading.Thread(target=lambda end=end: found.update({end: numbers(intake, 0, end)})) for end in (2, 5, 3)
    ]
    for thread in waiting:
        thread.start()
    for number in range(5):
        publisher.send((number,))
    for thread in waiting:
        thread.join(WAIT)
    assert found == {end: list(range(end)) for end in (2, 5, 3)}
    intake.close()


def test_rows_that_come_after_a_failure_of_ours_are_nobodys():
    publisher, intake = Told(), of(1000)
    intake.start(publisher)
    assert publisher.subscribed.wait(WAIT)
    publisher.send((1,))
    publisher.send(("two",))
    assert intake.poll(0, None, WAIT) == (0, True)
    assert str(intake.error) == "row 1: field 'n' must be int64, got 'two'"
    publisher.send((3,))
    assert intake.poll(0, None, WAIT) == (0, True)
    intake.close()


def test_a_query_that_is_let_go_of_is_no_end_of_its_stream():
    publisher, intake = Told(), of(1000)
    intake.start(publisher)
    assert publisher.subscribed.wait(WAIT)
    intake.close()
    intake.on_complete()  # it had not yet heard of the cancel, and its last rows were not kept
    assert not intake.over(0)
    with pytest.raises(IngestError, match=r"^frame: the query was ended before its stream$"):
        intake.poll(0, None, 0.0)
    with pytest.raises(IngestError, match=r"^frame: the query was ended before its stream$"):
        numbers(intake, 0, 10)


def test_a_query_of_which_one_stream_is_let_go_of_does_not_end_with_the_other():
    finished = []
    together = Together(lambda: finished.append("now") or ENDED)
    together.size = 2
    publisher, left, right = Told(), of(1000), of(1000)
    left.start(publisher)
    right.start(Counted(0))
    assert publisher.subscribed.wait(WAIT)
    together.poll("left", left, 0, None, None, 0.0, waits=True)
    together.poll("right", right, 0, None, None, 0.0, waits=True)
    left.close()
    with pytest.raises(IngestError, match=r"^frame: the query was ended before its streams$"):
        together.poll("right", right, 0, None, None, WAIT, waits=True)
    assert finished == []


def test_a_publisher_that_is_being_asked_hears_of_the_end_at_once():
    publisher, intake = Counted(10**9), of(1000)
    inside = threading.Event()
    publisher.on_request = lambda: inside.set() or publisher.cancelled.wait(WAIT)
    intake.start(publisher)
    assert inside.wait(WAIT)
    intake.close()
    assert publisher.cancelled.is_set()


def test_rows_are_neither_lost_nor_repeated_however_threads_take_turns():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        intake = of(700)
        intake.start(Counted(20_000))
        seen, done = [], False
        while not done:
            end, done = intake.poll(len(seen), None, WAIT)
            seen.extend(numbers(intake, len(seen), end))
    finally:
        sys.setswitchinterval(before)
    assert seen == list(range(20_000))
    assert intake.most_ahead <= 700


# With Spark.


def test_all_rows_reach_spark_and_completion_ends_the_query(spark, tmp_path):
    publisher = Counted(3000)
    rows = run(frame(spark, publisher, Schema.of(SCHEMA), capacity=500), tmp_path)
    assert sorted(rows) == [(n,) for n in range(3000)]
    assert publisher.asked == 3000 + min(500, publisher.asked - 3000)


@dataclass
class Trip:
    id: int
    place: str | None


@pytest.mark.parametrize(
    "elements",
    [
        [(1, "a"), (2, None)],
        [{"id": 1, "place": "a"}, {"id": 2, "place": None}],
        [Trip(1, "a"), Trip(2, None)],
        [pa.record_batch({"id": [1, 2], "place": ["a", None]})],
    ],
    ids=["tuples", "dicts", "dataclasses", "batches"],
)
def test_elements_may_be_tuples_dicts_dataclasses_or_batches(spark, tmp_path, elements):
    assert sorted(run(spark.frame(Stream.from_iterable(elements), Trip), tmp_path)) == [(1, "a"), (2, None)]


def test_the_publisher_is_never_asked_for_more_than_capacity_ahead(spark, tmp_path):
    publisher = Counted(10**9)
    seen = []
    enough = threading.Event()

    def look(df, number):
        seen.append((publisher.asked, df.count(), number))
        if len(seen) == 4:
            enough.set()

    df = spark.frame(publisher, SCHEMA, capacity=70)
    query = df.writeStream.foreachBatch(look).option("checkpointLocation", str(tmp_path / "c")).start()
    try:
        assert enough.wait(WAIT)
    finally:
        query.stop()
    committed = 0
    for asked, rows, _ in seen:
        assert asked - committed <= 70
        committed += rows
    assert publisher.cancelled.wait(WAIT)  # the query is over, so the publisher is told


def test_an_error_of_the_publisher_arrives_as_the_original_exception(spark, tmp_path):
    error = LookupError("the feed broke")
    df = spark.frame(Counted(300, error), SCHEMA)
    rows = []
    stream = spark.stream(df, rows="tuple").tap(rows.append)
    with pytest.raises(LookupError) as caught:
        stream.count().get()
    assert caught.value is error
    assert sorted(rows) == [(n,) for n in range(300)]


def test_an_error_of_the_publisher_is_found_behind_sparks(spark, tmp_path):
    error = LookupError("the feed broke")
    with pytest.raises(Exception, match="LookupError: the feed broke") as caught:
        run(spark.frame(Counted(3, error), SCHEMA), tmp_path)
    assert failure.original(caught.value) is error


def test_a_row_that_does_not_fit_fails_the_stream_with_its_field(spark, tmp_path):
    df = spark.frame(Stream.just((1,), ("two",)), SCHEMA)
    with pytest.raises(SchemaError, match=r"row 1: field 'n' .*'two'"):
        spark.stream(df).count().get()


def test_rows_that_do_not_fit_go_to_the_dead_letters(spark, tmp_path):
    letters = []
    rows = Stream.from_iterable([(n,) if n % 10 else (str(n) + "!",) for n in range(100)])
    df = spark.frame(rows, SCHEMA, capacity=30, dead_letter=Sink.for_each(letters.append))
    assert sorted(run(df, tmp_path)) == [(n,) for n in range(100) if n % 10]
    assert [letter.row for letter in letters] == [(f"{n}!",) for n in range(0, 100, 10)]
    assert all(isinstance(letter, Rejected) and letter.error.field == "n" for letter in letters)


def test_a_publisher_without_replay_refuses_a_checkpoint_that_is_ahead(spark, tmp_path):
    run(spark.frame(Counted(2), SCHEMA), tmp_path)
    with pytest.raises(Exception, match="checkpoint is at row 2, and a publisher cannot be asked") as caught:
        run(spark.frame(Counted(2), SCHEMA), tmp_path)
    assert isinstance(failure.original(caught.value), IngestError)


def test_a_function_of_the_row_goes_on_where_the_checkpoint_is(spark, tmp_path):
    starts = []

    def upto(stop):
        def make(row):
            starts.append(row)
            return Stream.range(row, stop).map(lambda n: (n,))

        return make

    assert len(run(spark.frame(upto(20), SCHEMA), tmp_path)) == 20
    assert sorted(run(spark.frame(upto(50), SCHEMA), tmp_path)) == [(n,) for n in range(50)]
    assert starts == [0, 20]


def test_a_spool_without_its_checkpoint_is_refused(spark, tmp_path):
    def make(row):
        return Stream.range(row, 60).map(lambda n: (n,))

    spool = tmp_path / "spool"
    first = spark.frame(make, SCHEMA, capacity=20, spool=spool)
    assert sorted(run(first, tmp_path)) == [(n,) for n in range(60)]
    with pytest.raises(Exception, match="give it the checkpoint that goes with the spool, or another spool") as caught:
        run(spark.frame(make, SCHEMA, capacity=20, spool=spool), tmp_path / "elsewhere")
    assert isinstance(failure.original(caught.value), IngestError)


def test_a_stream_through_spark_and_back_under_demand(spark):
    publisher = Counted(10**9)
    df = spark.frame(publisher, SCHEMA, capacity=100).selectExpr("n * 2 as n")
    assert list(spark.stream(df, rows="tuple").take(250)) == [(n * 2,) for n in range(250)]
    assert publisher.cancelled.wait(WAIT)


def test_a_closed_gate_ends_the_subscription(spark, tmp_path):
    from types import SimpleNamespace

    from penstock.spark.wire.gate import Gate

    with Gate() as gate:
        publisher = Counted(10**9)
        begun = threading.Event()
        publisher.on_request = begun.set
        held = SimpleNamespace(session=spark.session, gate=gate, is_remote=False)
        df = frame(held, publisher, Schema.of(SCHEMA), capacity=10)
        query = df.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "c")).start()
        assert begun.wait(WAIT)
    assert publisher.cancelled.wait(WAIT)
    with pytest.raises(Exception, match=r"penstock|Flight|gate"):
        query.awaitTermination(WAIT)
    assert not query.isActive


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"capacity": 0}, "frame: capacity must be a whole number >= 1, got 0"),
        ({"latency": 0}, "frame: latency must be > 0 seconds, got 0"),
        ({"partitions": 0}, "frame: partitions must be a whole number >= 1, got 0"),
    ],
)
def test_options_are_checked(spark, options, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        spark.frame(Stream.just((1,)), SCHEMA, **options)


@pytest.mark.parametrize("read", ["collect", "count", "show", "toLocalIterator"])
def test_a_live_frame_that_is_read_like_a_batch_is_refused_in_words(spark, read):
    frame = spark.frame(Stream.just((1,)), SCHEMA)
    with pytest.raises(AnalysisException, match=r"^Queries with streaming sources must be executed with writeStream"):
        getattr(frame, read)()


def test_what_is_no_publisher_is_refused(spark):
    message = r"^frame: stream must be a Publisher or a function from a row's number to one, got 3$"
    with pytest.raises(TypeError, match=message):
        spark.frame(3, SCHEMA)
    with pytest.raises(TypeError, match=r"^frame: dead_letter must be a Sink, got 3$"):
        spark.frame(Stream.just((1,)), SCHEMA, dead_letter=3)
