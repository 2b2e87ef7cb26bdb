"""The shared table of round trips, for streams that cross to a JVM and back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from penstock import Stream
from penstock.bridges.java import from_flow_publisher, to_flow_publisher
from tests.bridges import test_round_trip as table
from tests.bridges.crossings import Crossing
from tests.engine.watch import no_thread_is_left
from tests.spark.java_peers import Jvm, for_crossings, pinned_gateway, plain_gateway

__all__ = ["no_thread_is_left"]

JVMS: dict[str, Jvm] = {}


@pytest.fixture(scope="module", autouse=True)
def _jvms() -> Iterator[None]:
    with plain_gateway() as plain, pinned_gateway(plain) as pinned:
        JVMS.update(plain=Jvm(plain), pinned=Jvm(pinned))
        yield
    JVMS.clear()


def to_java_and_back(kind: str, prefetch: int = 0) -> Any:
    @contextmanager
    def cross(stream: Stream[Any]) -> Iterator[Stream[Any]]:
        gateway = JVMS[kind].gateway
        with closing(to_flow_publisher(stream, gateway, prefetch=prefetch)) as publisher:
            yield from_flow_publisher(publisher, gateway)

    return cross


@contextmanager
def through_a_processor(stream: Stream[Any]) -> Iterator[Stream[Any]]:
    """Cross through a processor that is written in Java, one for each run."""
    jvm = JVMS["plain"]

    def processed() -> Stream[Any]:
        processor = jvm.make("Same")
        publisher.subscribe(processor)
        return from_flow_publisher(processor, jvm.gateway)

    with closing(to_flow_publisher(stream, jvm.gateway)) as publisher:
        yield Stream.defer(processed)


CROSSINGS = [
    Crossing("java Flow", to_java_and_back("plain"), window=0),
    Crossing("java Flow, pinned threads", to_java_and_back("pinned"), window=0),
    Crossing("java Flow in chunks", to_java_and_back("pinned", prefetch=16), window=16),
    Crossing("java Flow.Processor", through_a_processor, window=0),
    Crossing("java Flow of lists", to_java_and_back("plain"), window=0, element=lambda n: [n, str(n), {"n": n / 2}]),
]

test_elements = for_crossings(table.test_elements_their_order_and_the_end_are_kept, CROSSINGS)
test_errors = for_crossings(table.test_the_type_and_the_message_of_an_error_are_kept, CROSSINGS)
test_demand = for_crossings(table.test_nobody_is_sent_more_than_they_asked_for, CROSSINGS)
test_cancel = for_crossings(table.test_cancel_reaches_the_first_stream, CROSSINGS)
test_rules = for_crossings(table.test_what_comes_back_keeps_every_rule, CROSSINGS)
