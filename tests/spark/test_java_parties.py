"""The bridge to Java: subscribers and processors as well as publishers, of Flow and of org.reactivestreams."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing, nullcontext
from typing import Any

import pytest

from penstock import Sink, Stream, flow, processor, subscriber
from penstock.bridges.java import JavaError, from_flow_publisher, from_java, to_java
from penstock.testing import Probe, Tracked, subscribed
from tests.engine.watch import dropped, no_thread_is_left
from tests.spark.java_peers import SECONDS, Jvm, jvm, jvms, wait_until

__all__ = ["dropped", "jvm", "jvms", "no_thread_is_left"]

both = pytest.mark.parametrize("reactive", [False, True], ids=["Flow", "org.reactivestreams"])
APIS = {False: "flow", True: "reactive-streams"}
LOST = LookupError("lost")


@pytest.fixture
def known(jvms: dict[str, Jvm]) -> Iterator[Jvm]:
    """Give a JVM in which this thread's class loader knows org.reactivestreams."""
    found = jvms["pinned"]
    here = found.java.lang.Thread.currentThread()
    before = here.getContextClassLoader()
    here.setContextClassLoader(found.reactive)
    yield found
    here.setContextClassLoader(before)


# From Java.


@both
def test_a_publisher_of_either_interface_is_a_stream(jvm: Jvm, reactive: bool) -> None:
    for take in (from_java, from_flow_publisher):
        assert list(take(jvm.make("Numbers", 1000, reactive=reactive))) == list(range(1, 1001))
    numbers = jvm.make("Numbers", 1000, reactive=reactive)
    probe: Probe[Any] = Probe()
    from_java(numbers, jvm.gateway).subscribe(probe)
    probe.request(5)
    assert probe.wait_for(5) == [1, 2, 3, 4, 5]
    assert numbers.requested() == 5
    probe.cancel()
    assert numbers.wasCancelled(SECONDS)


@both
def test_its_failure_and_its_breaches_come_through(jvm: Jvm, reactive: bool) -> None:
    with pytest.raises(JavaError, match=r"^java\.lang\.IllegalStateException: "):
        list(from_java(jvm.make("Failing", 3, jvm.java.lang.IllegalStateException("lost"), reactive=reactive)))


@both
def test_a_subscriber_in_the_jvm_is_one_of_pythons(jvm: Jvm, reactive: bool) -> None:
    taker = jvm.make("Taker", False, False, reactive=reactive)
    items = Tracked(range(100))
    Stream.from_iterable(items).subscribe(from_java(taker))
    taker.request(3)
    assert taker.waitFor(3, SECONDS) == 3
    assert list(taker.elements()) == [0, 1, 2]
    assert items.taken == 3
    taker.cancel()
    items.wait_until_closed()


@both
@pytest.mark.parametrize("fails", [False, True])
def test_the_end_reaches_a_subscriber_in_the_jvm(jvm: Jvm, reactive: bool, fails: bool) -> None:
    taker = jvm.make("Taker", True, False, reactive=reactive)
    Stream.range(3).concat(Stream.error(LOST) if fails else Stream.empty()).subscribe(from_java(taker))
    assert taker.waitForEnd(SECONDS)
    assert list(taker.elements()) == [0, 1, 2]
    assert taker.completed() is not fails
    assert not fails or taker.error().getPythonType() == "LookupError"


@both
def test_a_processor_in_the_jvm_is_one_of_pythons(jvm: Jvm, reactive: bool) -> None:
    same = from_java(jvm.make("Same", reactive=reactive))
    assert Stream.range(500).via(same).map(str).to_list().get() == [str(n) for n in range(500)]
    items = Tracked(range(100))
    probe = subscribed(Stream.from_iterable(items) | from_java(jvm.make("Same", reactive=reactive)), 2)
    assert probe.wait_for(2) == [0, 1]
    probe.cancel()
    items.wait_until_closed()


# To Java.


def offered(jvm: Jvm, party: Any, reactive: bool) -> Any:
    """Return a party in the JVM that takes no more subscribers at the end of the block, so that its thread ends."""
    made = to_java(party, jvm.gateway, api=APIS[reactive])  # type: ignore[arg-type]
    return closing(made) if isinstance(party, Stream) or hasattr(party, "subscribe") else nullcontext(made)


@both
def test_a_stream_is_a_publisher_in_the_jvm(known: Jvm, reactive: bool) -> None:
    taker = known.make("Taker", True, False, reactive=reactive)
    with offered(known, Stream.range(5), reactive) as publisher:
        publisher.subscribe(taker)
        assert taker.waitForEnd(SECONDS)
    assert (list(taker.elements()), taker.completed()) == ([0, 1, 2, 3, 4], True)


@both
def test_null_is_no_subscriber_by_either_interface(known: Jvm, reactive: bool) -> None:
    with (
        offered(known, Stream.range(5), reactive) as publisher,
        pytest.raises(Exception, match=r"java\.lang\.NullPointerException"),
    ):
        publisher.subscribe(None)


@both
def test_a_subscriber_of_pythons_is_one_in_the_jvm(known: Jvm, reactive: bool) -> None:
    numbers = known.make("Numbers", 1000, reactive=reactive)
    total = subscriber(Sink.to_list())
    with offered(known, total, reactive) as taker:
        numbers.subscribe(taker)
    assert total.get() == list(range(1, 1001))


@both
def test_it_asks_for_what_it_wants_and_cancels(known: Jvm, reactive: bool) -> None:
    numbers = known.make("Numbers", 1000, reactive=reactive)
    probe: Probe[Any] = Probe(2)
    with offered(known, probe, reactive) as taker:
        numbers.subscribe(taker)
    assert probe.wait_for(2) == [1, 2]
    assert numbers.requested() == 2
    probe.cancel()
    assert numbers.wasCancelled(SECONDS)
    assert probe.breaches == []


def test_a_subscriber_that_raises_cancels_its_publisher(known: Jvm, dropped: list[Any]) -> None:
    numbers = known.make("Numbers", 1000)

    class Raising(Probe[Any]):
        def on_next(self, element: Any, /) -> None:
            raise LOST

    numbers.subscribe(to_java(Raising(5), known.gateway))
    assert numbers.wasCancelled(SECONDS)
    assert wait_until(lambda: dropped)
    assert [repr(each.error) for each in dropped] == [repr(LOST)]
    dropped.clear()


@both
def test_a_processor_of_pythons_is_one_in_the_jvm(known: Jvm, reactive: bool) -> None:
    taker = known.make("Taker", True, False, reactive=reactive)
    with offered(known, processor(flow(lambda numbers: numbers.map(lambda n: 2 * n))), reactive) as doubled:
        doubled.subscribe(taker)
        known.make("Numbers", 50, reactive=reactive).subscribe(doubled)
        assert taker.waitForEnd(SECONDS)
    assert (list(taker.elements()), taker.completed()) == ([2 * n for n in range(1, 51)], True)


def test_what_was_turned_is_turned_back(known: Jvm) -> None:
    """A party that crosses twice is what it was, and not a stack of wrappers."""
    with closing(to_java(Stream.range(3), known.gateway, api="reactive-streams")) as publisher:
        assert list(from_java(publisher)) == [0, 1, 2]


def test_a_subscriber_that_java_has_no_use_for_ends_its_thread(jvm: Jvm) -> None:
    door = to_java(Probe(), jvm.gateway)
    assert any(each.name == "penstock-java" for each in threading.enumerate())
    del door

    def gone() -> bool:
        jvm.java.lang.System.gc()
        return not any(each.name == "penstock-java" for each in threading.enumerate())

    assert wait_until(gone)


# What is neither.


def test_what_is_neither_is_refused_by_the_name_of_its_class(jvm: Jvm) -> None:
    with pytest.raises(
        TypeError,
        match=r"^from_java: party must be a Publisher, .* of java\.util\.concurrent\.Flow or of org\.reactivestreams, "
        r"got an object of the class java\.util\.ArrayList; look for its adapter",
    ):
        from_java(jvm.java.util.ArrayList())
    with pytest.raises(TypeError, match=r"^from_java: party must be an object of Java's, got 3$"):
        from_java(3)
    with pytest.raises(TypeError, match=r"^to_java: party must be a Publisher, a Subscriber or a Processor, got 3$"):
        to_java(3, jvm.gateway)
    with pytest.raises(ValueError, match=r"^to_java: api must be one of flow, reactive-streams, got 'rx'$"):
        to_java(Stream.range(3), jvm.gateway, api="rx")  # type: ignore[arg-type]


def test_a_jvm_without_the_other_interface_says_which_jar_it_needs(jvm: Jvm) -> None:
    with pytest.raises(
        ModuleNotFoundError,
        match=r"^to_java: the JVM has no org\.reactivestreams\.Publisher; put the jar org\.reactivestreams:reactive-",
    ):
        to_java(Stream.range(3), jvm.gateway, api="reactive-streams")


ENTRIES = {
    "from_publisher": Stream.from_publisher,
    "Stream.subscribe": Stream.range(3).subscribe,
    "via": Stream.range(3).via,
    "concat": Stream.range(3).concat,
    "defer": lambda party: list(Stream.defer(lambda: party)),
}


@pytest.mark.parametrize("entry", ENTRIES)
def test_an_object_of_java_at_another_entry_is_told_of_the_bridge(jvm: Jvm, entry: str) -> None:
    with pytest.raises(TypeError, match=r"it is an object of Java's: penstock\.bridges\.java\.from_java takes it"):
        ENTRIES[entry](jvm.make("Same"))
