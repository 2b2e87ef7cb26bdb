"""What goes wrong at the bridge to `java.util.concurrent.Flow`, and what is left when runs are over: nothing."""

from __future__ import annotations

import gc
import threading
from contextlib import closing
from typing import Any

import pytest

from penstock import Dropped, Stream
from penstock.bridges.java import JavaError, from_flow_publisher, to_flow_publisher
from penstock.errors import ProtocolError
from penstock.testing import Probe, Tracked
from tests.engine.watch import dropped, left_alive, no_thread_is_left
from tests.spark.java_peers import SECONDS, Jvm, jvm, jvms, plain_gateway, wait_until

__all__ = ["dropped", "jvm", "jvms", "no_thread_is_left"]

RUNS = 1000


# Those who break rules.


@pytest.mark.parametrize(
    ("how", "rule", "message"),
    [
        ("excess", "1.1", "the publisher sent an element that was not requested"),
        ("flood", "1.1", "the publisher sent an element that was not requested"),
        ("element first", "1.9", "the publisher signalled before onSubscribe"),
        ("end first", "1.9", "the publisher signalled before onSubscribe"),
        ("one subscription twice", "2.12", "the publisher sent its subscription twice"),
        (
            "request raises",
            "3.16",
            "the publisher's request raised java.lang.IllegalStateException: no request, please",
        ),
    ],
)
def test_a_broken_publisher_fails_its_stream_by_rule(jvm: Jvm, how: str, rule: str, message: str) -> None:
    broken = jvm.make("Broken", how)
    probe: Probe[Any] = Probe(2)
    from_flow_publisher(broken).subscribe(probe)
    probe.wait_for_end()
    assert isinstance(probe.error, ProtocolError)
    assert str(probe.error) == f"rule {rule}: {message}"
    assert probe.breaches == []
    assert probe.elements == ([0, 1] if rule == "1.1" else [])
    if "first" not in how:
        assert broken.wasCancelled(SECONDS)


def test_excess_is_noticed_even_if_more_was_asked_for_meanwhile(jvm: Jvm) -> None:
    probe: Probe[Any] = Probe(1, on_signal=lambda _: probe.ended or probe.request(10))
    from_flow_publisher(jvm.make("Broken", "excess")).subscribe(probe)
    probe.wait_for_end()
    assert str(probe.error) == "rule 1.1: the publisher sent an element that was not requested"
    assert probe.elements == [0]


@pytest.mark.parametrize(("how", "signal"), [("null element", "onNext"), ("null error", "onError")])
def test_null_is_refused_at_both_ends(jvm: Jvm, how: str, signal: str) -> None:
    broken = jvm.make("Broken", how)
    message = f"rule 2.13: {signal}(null): null is not allowed here"
    with pytest.raises(TypeError) as caught:
        list(from_flow_publisher(broken).take(5))
    assert str(caught.value) == message
    assert broken.thrown(SECONDS) == f"java.lang.NullPointerException: {message}"
    assert broken.wasCancelled(SECONDS)


def test_a_publisher_that_throws_in_subscribe_has_failed(jvm: Jvm) -> None:
    with pytest.raises(JavaError, match=r"^java\.lang\.IllegalStateException: no pump$"):
        list(from_flow_publisher(jvm.make("Broken", "subscribe raises")).take(1))


def test_a_second_subscription_is_cancelled(jvm: Jvm) -> None:
    broken = jvm.make("Broken", "two subscriptions")
    assert list(from_flow_publisher(broken)) == ["one"]
    assert broken.wasCancelled(SECONDS)


def test_what_comes_after_the_end_is_reported_in_the_log_of_the_jvm(jvms: dict[str, Jvm]) -> None:
    jvm = jvms["plain"]
    written = jvm.java.io.ByteArrayOutputStream()
    logging = jvm.java.util.logging
    handler = logging.StreamHandler(written, logging.SimpleFormatter())
    log = logging.Logger.getLogger("penstock")
    log.addHandler(handler)
    try:
        assert list(from_flow_publisher(jvm.make("Broken", "after the end"))) == ["one"]

        def text() -> str:
            handler.flush()
            return str(written.toString())

        assert wait_until(lambda: "three" in text())
    finally:
        log.removeHandler(handler)
    for signal in ("onNext", "onComplete", "onError"):
        assert f"rule 1.7: the publisher called {signal} after the end" in text()


def test_a_cancel_that_throws_is_reported(jvm: Jvm, dropped: list[Dropped]) -> None:
    probe: Probe[Any] = Probe()
    from_flow_publisher(jvm.make("Broken", "cancel raises")).subscribe(probe)
    probe.cancel()
    found = dropped.pop()
    assert found.what == "rule 3.15: the publisher's cancel raised"
    assert isinstance(found.error, JavaError)
    assert str(found.error) == "java.lang.IllegalStateException: stuck"


def test_one_broken_publisher_disturbs_no_other(jvm: Jvm) -> None:
    probes: list[Probe[Any]] = [Probe(2**63 - 1) for _ in range(6)]
    for place, probe in enumerate(probes):
        publisher = jvm.make("Broken", "excess") if place % 2 else jvm.make("Numbers", 500)
        from_flow_publisher(publisher, prefetch=16).subscribe(probe)
    for place, probe in enumerate(probes):
        probe.wait_for_end()
        assert (probe.error is None) == (place % 2 == 0)
        assert place % 2 or probe.elements == list(range(1, 501))


def test_a_publisher_of_python_that_raises_in_subscribe_has_failed(jvm: Jvm) -> None:
    class Broken:
        def subscribe(self, _: Any, /) -> None:
            raise KeyError("no pump")

    taker = jvm.make("Taker", True, False)
    with closing(to_flow_publisher(Broken(), jvm.gateway)) as publisher:
        publisher.subscribe(taker)
        assert taker.waitForEnd(SECONDS)
    assert taker.error().toString() == "KeyError: 'no pump'"


# Nothing is left.


def references(jvm: Jvm) -> int:
    """Return how many objects of Java's the gateway keeps for Python."""
    server = jvm.gateway.java_gateway_server
    return int(server.getGateway().getBindings().size())


def threads(jvm: Jvm) -> int:
    return int(jvm.java.lang.Thread.getAllStackTraces().size())


def test_a_thousand_runs_leave_nothing_behind(jvm: Jvm, dropped: list[Dropped]) -> None:
    def run(n: int) -> None:
        stream = Stream.range(4) if n % 2 else Stream.range(2).concat(Stream.error(ValueError("burst")))
        with closing(to_flow_publisher(stream, jvm.gateway)) as publisher:
            probe: Probe[Any] = Probe(n % 3 + 1)
            from_flow_publisher(publisher, jvm.gateway).subscribe(probe)
            probe.wait_for(min(n % 3 + 1, 4 if n % 2 else 2))
            probe.cancel()

    before = set(threading.enumerate())
    for n in range(10):
        run(n)
    left_alive(before)
    gc.collect()
    settled, proxies = references(jvm), len(jvm.gateway.gateway_property.pool)
    running = threads(jvm)
    for n in range(RUNS):
        run(n)
    assert left_alive(before) == []

    def back() -> bool:
        gc.collect()
        return references(jvm) <= settled + 5 and threads(jvm) <= running + 5

    assert wait_until(back), (references(jvm), settled, threads(jvm), running)
    assert len(jvm.gateway.gateway_property.pool) == proxies
    assert {str(one.error) for one in dropped} <= {"burst"}  # it may come after the cancel
    dropped.clear()


def test_many_runs_of_one_publisher_leave_nothing_behind(jvm: Jvm) -> None:
    with closing(to_flow_publisher(Stream.range(3), jvm.gateway)) as publisher:
        stream = from_flow_publisher(publisher, jvm.gateway)
        assert list(stream) == [0, 1, 2]
        settled = references(jvm)
        for count in range(100):
            assert list(stream.take(count % 5)) == list(range(3))[: count % 5]

        def back() -> bool:
            gc.collect()
            return references(jvm) <= settled + 5

        assert wait_until(back), (references(jvm), settled)


def test_the_end_of_the_jvm_ends_both_sides(dropped: list[Dropped]) -> None:
    upstream = Tracked(list(range(100)))
    with plain_gateway() as gateway:
        jvm = Jvm(gateway)
        probe: Probe[Any] = Probe(3)
        from_flow_publisher(jvm.make("Numbers", 10)).subscribe(probe)
        probe.wait_for(3)
        taker = jvm.make("Taker", False, False)
        to_flow_publisher(Stream.from_iterable(upstream), gateway).subscribe(taker)
        taker.request(2)
        taker.waitFor(2, SECONDS)
        gateway.java_process.kill()
        probe.wait_for_end()
        assert (type(probe.error), str(probe.error)) == (ConnectionError, "from_flow_publisher: the JVM is gone")
        upstream.wait_until_closed()
        assert wait_until(lambda: dropped)
    assert {str(lost.error) for lost in dropped} == {"to_flow_publisher: the JVM is gone"}
    dropped.clear()
