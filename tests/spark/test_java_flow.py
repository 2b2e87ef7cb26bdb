"""The bridge to `java.util.concurrent.Flow` in the JVM of Spark's driver."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from penstock import Stream
from penstock.bridges.java import JavaValueError, from_flow_publisher, to_flow_publisher
from penstock.spark import Spark
from penstock.testing import Probe
from penstock.testing.signals import PATIENCE
from tests.bridges import test_round_trip as table
from tests.bridges.crossings import Crossing
from tests.engine.watch import no_thread_is_left
from tests.spark.java_peers import Jvm, for_crossings

__all__ = ["no_thread_is_left"]

SESSIONS: list[Spark] = []


@pytest.fixture(autouse=True)
def _session(spark: Spark) -> Iterator[None]:
    SESSIONS.append(spark)
    yield
    SESSIONS.clear()


@pytest.fixture(scope="module")
def jvm(spark: Spark) -> Jvm:
    return Jvm(spark.session.sparkContext._gateway)


@contextmanager
def through_the_driver(stream: Stream[Any]) -> Iterator[Stream[Any]]:
    session = SESSIONS[0].session
    with closing(to_flow_publisher(stream, session)) as publisher:
        yield from_flow_publisher(publisher, session)


CROSSINGS = [Crossing("java Flow in the driver of Spark", through_the_driver, window=0)]

test_elements = for_crossings(table.test_elements_their_order_and_the_end_are_kept, CROSSINGS)
test_errors = for_crossings(table.test_the_type_and_the_message_of_an_error_are_kept, CROSSINGS)
test_demand = for_crossings(table.test_nobody_is_sent_more_than_they_asked_for, CROSSINGS)
test_cancel = for_crossings(table.test_cancel_reaches_the_first_stream, CROSSINGS)
test_rules = for_crossings(table.test_what_comes_back_keeps_every_rule, CROSSINGS)


def test_a_publisher_of_the_driver(spark: Spark, jvm: Jvm) -> None:
    with closing(jvm.java.util.concurrent.SubmissionPublisher()) as publisher:
        probe: Probe[Any] = Probe(3)
        from_flow_publisher(publisher, spark.session.sparkContext).subscribe(probe)
        for n in range(3):
            publisher.submit([n, "row"])
        probe.wait_for(3)
    probe.wait_for_end()
    assert probe.elements == [[0, "row"], [1, "row"], [2, "row"]]


def test_a_subscriber_of_the_driver(spark: Spark, jvm: Jvm) -> None:
    taker = jvm.make("Taker", True, False)
    with closing(to_flow_publisher(Stream.range(100), spark.session)) as publisher:
        publisher.subscribe(taker)
        assert taker.waitForEnd(int(PATIENCE))
    assert list(taker.elements()) == list(range(100))


def test_a_failure_of_the_driver(jvm: Jvm) -> None:
    failure = jvm.java.lang.IllegalArgumentException("no such table")
    with pytest.raises(JavaValueError, match=r"^java\.lang\.IllegalArgumentException: no such table$"):
        list(from_flow_publisher(jvm.make("Failing", 3, failure)).map(lambda n: n))


def test_no_callback_server_is_started(spark: Spark) -> None:
    gateway = spark.session.sparkContext._gateway
    before = vars(gateway).get("_callback_server")  # which other tests of this session may have started
    with through_the_driver(Stream.range(3)) as stream:
        assert list(stream) == [0, 1, 2]
    assert vars(gateway).get("_callback_server") is before
