"""The bridge to `java.util.concurrent.Flow`, with peers written in Java, in a JVM without Spark."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import zipfile
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from penstock import Dropped, Stream, thread
from penstock.bridges.java import JavaError, JavaTypeError, JavaValueError, from_flow_publisher, to_flow_publisher
from penstock.bridges.java.kept import LATEST
from penstock.testing import Probe, Tracked
from penstock.testing.signals import PATIENCE
from tests.engine.watch import dropped, no_thread_is_left
from tests.spark.java_peers import BRIDGE, SECONDS, Jvm, jvm, jvms, wait_until, write_jar

__all__ = ["dropped", "jvm", "jvms", "no_thread_is_left"]


# From Java.


def test_elements_of_a_publisher_in_the_jvm(jvm: Jvm) -> None:
    assert list(from_flow_publisher(jvm.make("Numbers", 1000))) == list(range(1, 1001))
    assert list(from_flow_publisher(jvm.make("Numbers", 0), jvm.gateway).take(1)) == []


def test_a_publisher_that_delivers_on_threads_of_the_jvm(jvm: Jvm) -> None:
    with closing(jvm.java.util.concurrent.SubmissionPublisher()) as publisher:
        probe: Probe[Any] = Probe()
        from_flow_publisher(publisher).subscribe(probe)
        for n in range(5):
            publisher.submit(n)
        probe.request(2)
        probe.wait_for(2)
        assert wait_until(lambda: publisher.estimateMaximumLag() == 3)  # they wait there: nobody has asked for them
        probe.request(3)
        probe.wait_for(5)
    probe.wait_for_end()
    assert probe.elements == [0, 1, 2, 3, 4]
    assert probe.completed
    assert probe.breaches == []


def test_no_more_is_asked_of_the_publisher_than_was_asked_for(jvm: Jvm) -> None:
    numbers = jvm.make("Numbers", 10_000)
    probe: Probe[Any] = Probe()
    from_flow_publisher(numbers).subscribe(probe)
    for count in (1, 10, 500):
        probe.request(count)
        probe.wait_for(probe.requested)
        assert numbers.requested() == probe.requested
    probe.cancel()
    assert numbers.wasCancelled(SECONDS)


def test_at_most_prefetch_elements_wait_in_the_jvm(jvm: Jvm) -> None:
    numbers = jvm.make("Numbers", 1000)
    ahead: list[int] = []

    def look(n: int) -> None:
        ahead.append(numbers.requested() - n + 1)

    probe: Probe[Any] = Probe(2**63 - 1)
    from_flow_publisher(numbers, prefetch=10).tap(look).subscribe(probe)
    probe.wait_for_end()
    assert probe.elements == list(range(1, 1001))
    assert max(ahead) <= 10
    assert numbers.most() <= 10


def test_a_consumer_that_asks_for_one_at_a_time(jvm: Jvm) -> None:
    probe: Probe[Any] = Probe(1, on_signal=lambda _: probe.ended or probe.request(1))
    from_flow_publisher(jvm.make("Numbers", 300)).subscribe(probe)
    probe.wait_for_end()
    assert probe.elements == list(range(1, 301))
    assert probe.breaches == []


def test_cancel_in_the_middle_of_a_signal(jvm: Jvm) -> None:
    numbers = jvm.make("Numbers", 10_000)
    assert list(from_flow_publisher(numbers).take(3)) == [1, 2, 3]
    assert numbers.wasCancelled(SECONDS)


def test_cancel_before_anything_was_asked_for(jvm: Jvm) -> None:
    numbers = jvm.make("Numbers", 10)
    from_flow_publisher(numbers).subscribe(Probe(on_subscribe=lambda subscription: subscription.cancel()))
    assert numbers.wasCancelled(SECONDS)
    assert numbers.requested() == 0


@pytest.mark.parametrize(
    ("java_class", "kind"),
    [
        ("java.lang.IllegalStateException", JavaError),
        ("java.lang.NumberFormatException", JavaValueError),
        ("java.lang.NullPointerException", JavaTypeError),
        ("java.lang.OutOfMemoryError", JavaError),
    ],
)
def test_a_failure_of_java(jvm: Jvm, java_class: str, kind: type[JavaError]) -> None:
    thrown = jvm.java.lang.Class.forName(java_class).getName()
    failure = getattr(jvm.java.lang, thrown.rpartition(".")[2])("the pump broke")
    probe: Probe[Any] = Probe(10)
    from_flow_publisher(jvm.make("Failing", 2, failure)).subscribe(probe)
    assert probe.wait_for_end() == [1, 2]
    error = probe.error
    assert type(error) is kind
    assert str(error) == f"{java_class}: the pump broke"
    assert (error.java_class, error.message) == (java_class, "the pump broke")
    assert error.stack_trace.startswith(f"{java_class}: the pump broke\n\tat ")
    assert error.java_exception.equals(failure)


def test_a_failure_without_a_message(jvm: Jvm) -> None:
    with pytest.raises(JavaError, match=r"^java\.lang\.RuntimeException$") as caught:
        list(from_flow_publisher(jvm.make("Failing", 0, jvm.java.lang.RuntimeException())).take(1))
    assert caught.value.message is None


def test_a_failure_of_java_goes_back_as_the_same_throwable(jvm: Jvm) -> None:
    failure = jvm.java.lang.IllegalStateException("the pump broke")
    taker = jvm.make("Taker", True, False)
    with closing(to_flow_publisher(from_flow_publisher(jvm.make("Failing", 3, failure)), jvm.gateway)) as publisher:
        publisher.subscribe(taker)
        assert taker.waitForEnd(SECONDS)
    assert list(taker.elements()) == [1, 2, 3]
    assert taker.error().equals(failure)


def test_a_failure_of_python_inside_one_of_java_is_its_cause(jvm: Jvm) -> None:
    taker = jvm.make("Taker", True, False)
    burst = ValueError("burst")
    with closing(to_flow_publisher(Stream.error(burst), jvm.gateway)) as publisher:
        publisher.subscribe(taker)
        assert taker.waitForEnd(SECONDS)
        wrapped = jvm.java.util.concurrent.CompletionException("in the middle", taker.error())
        with pytest.raises(JavaError, match=r"^java\.util\.concurrent\.CompletionException: in the middle$") as caught:
            list(from_flow_publisher(jvm.make("Failing", 0, wrapped)).take(1))
        assert caught.value.__cause__ is burst


def test_the_very_exception_comes_back(jvm: Jvm) -> None:
    burst = ValueError("burst")
    with (
        closing(to_flow_publisher(Stream.error(burst), jvm.gateway)) as publisher,
        pytest.raises(ValueError, match=r"^burst$") as caught,
    ):
        list(from_flow_publisher(publisher))
    assert caught.value is burst


def test_the_latest_exceptions_are_known_again(jvm: Jvm) -> None:
    errors = iter([ValueError(str(n)) for n in range(LATEST + 1)])
    thrown = []
    with closing(to_flow_publisher(Stream.defer(lambda: Stream.error(next(errors))), jvm.gateway)) as publisher:
        for _ in range(LATEST + 1):
            taker = jvm.make("Taker", True, False)
            publisher.subscribe(taker)
            assert taker.waitForEnd(SECONDS)
            thrown.append(taker.error())
    with pytest.raises(ValueError, match=rf"^{LATEST}$"):
        list(from_flow_publisher(jvm.make("Failing", 0, thrown[-1])))
    with pytest.raises(JavaError, match=r"^penstock\.flow\.Peer\$PythonException: ValueError: 0$"):
        list(from_flow_publisher(jvm.make("Failing", 0, thrown[0])))


def test_a_publisher_that_is_closed_meanwhile_changes_nothing(jvm: Jvm) -> None:
    publisher = to_flow_publisher(Stream.range(3).concat(Stream.error(KeyError("burst"))), jvm.gateway)
    probe: Probe[Any] = Probe()
    from_flow_publisher(publisher).subscribe(probe)
    publisher.close()
    probe.request(4)
    assert probe.wait_for_end() == [0, 1, 2]
    assert type(probe.error) is KeyError


# To Java.


def test_elements_for_a_subscriber_in_the_jvm(jvm: Jvm) -> None:
    taker = jvm.make("Taker", True, False)
    with closing(to_flow_publisher(Stream.range(500), jvm.gateway)) as publisher:
        publisher.subscribe(taker)
        assert taker.waitForEnd(SECONDS)
    assert list(taker.elements()) == list(range(500))
    assert taker.completed()
    assert taker.deepest() == 1  # a request inside onNext is no call of onNext


def test_a_slow_subscriber_is_sent_what_it_asks_for(jvm: Jvm) -> None:
    upstream = Tracked(list(range(1000)))
    taker = jvm.make("Taker", False, False)
    with closing(to_flow_publisher(Stream.from_iterable(upstream), jvm.gateway)) as publisher:
        publisher.subscribe(taker)
        for asked in (2, 5, 300):
            taker.request(asked - taker.elements().size())
            assert taker.waitFor(asked, SECONDS) == asked
            assert upstream.taken == asked
        taker.cancel()
        upstream.wait_until_closed()


def test_several_subscribers_each_get_a_run(jvm: Jvm) -> None:
    takers = [jvm.make("Taker", True, False) for _ in range(3)]
    with closing(to_flow_publisher(Stream.range(20).publish_on(thread(), prefetch=4), jvm.gateway)) as publisher:
        for taker in takers:
            publisher.subscribe(taker)
        assert all(taker.waitForEnd(SECONDS) for taker in takers)
    assert [list(taker.elements()) for taker in takers] == [list(range(20))] * 3


def test_a_stuck_run_holds_up_neither_its_cancel_nor_the_others(jvm: Jvm) -> None:
    stuck, go_on = threading.Event(), threading.Event()

    def wait(n: int) -> int:
        if n == 0 and not stuck.is_set():
            stuck.set()
            go_on.wait(PATIENCE)
        return n

    first, second = jvm.make("Taker", True, False), jvm.make("Taker", True, False)
    with closing(to_flow_publisher(Stream.range(3).map(wait), jvm.gateway)) as publisher:
        publisher.subscribe(first)
        assert stuck.wait(PATIENCE)
        publisher.subscribe(second)
        assert second.waitForEnd(SECONDS)
        first.cancel()
        go_on.set()
    assert list(second.elements()) == [0, 1, 2]
    assert list(first.elements()) == []


@pytest.mark.parametrize("n", [0, -1])
def test_an_illegal_request_is_an_illegal_argument(jvm: Jvm, n: int) -> None:
    upstream = Tracked([1, 2, 3])
    taker = jvm.make("Taker", False, False)
    with closing(to_flow_publisher(Stream.from_iterable(upstream), jvm.gateway)) as publisher:
        publisher.subscribe(taker)
        taker.request(1)
        taker.waitFor(1, SECONDS)
        taker.request(n)
        assert taker.waitForEnd(SECONDS)
    assert (
        taker.error().toString()
        == f"java.lang.IllegalArgumentException: rule 3.9: request({n}): a request must be positive"
    )
    upstream.wait_until_closed()


def test_a_failure_of_python_says_in_java_what_it_was(jvm: Jvm) -> None:
    taker = jvm.make("Taker", True, False)
    with closing(to_flow_publisher(Stream.just("1", "two").map(int), jvm.gateway)) as publisher:
        publisher.subscribe(taker)
        assert taker.waitForEnd(SECONDS)
    error = taker.error()
    message = "invalid literal for int() with base 10: 'two'"
    assert error.getClass().getSuperclass().getName() == "java.lang.RuntimeException"
    assert (error.getPythonType(), error.getMessage()) == ("ValueError", message)
    assert error.toString() == f"ValueError: {message}"
    assert f"\nValueError: {message}" in error.getPythonTraceback()
    assert list(taker.elements()) == [1]


def test_a_subscriber_that_throws_is_one_that_cancels(jvm: Jvm, dropped: list[Dropped]) -> None:
    upstream = Tracked([1, 2, 3])
    taker = jvm.make("Taker", True, True)
    with closing(to_flow_publisher(Stream.from_iterable(upstream), jvm.gateway)) as publisher:
        publisher.subscribe(taker)
        taker.waitFor(1, SECONDS)
        assert wait_until(lambda: dropped)
        upstream.wait_until_closed()
    found = dropped.pop()
    assert found.what == "rule 2.13: the subscriber raised in on_next"
    assert str(found.error) == "java.lang.IllegalStateException: no appetite"
    assert list(taker.elements()) == [1]


def test_an_element_that_java_does_not_have_fails_the_run(jvm: Jvm) -> None:
    upstream = Tracked([1, [2, object()], 3])
    taker = jvm.make("Taker", True, False)
    with closing(to_flow_publisher(Stream.from_iterable(upstream), jvm.gateway)) as publisher:
        publisher.subscribe(taker)
        assert taker.waitForEnd(SECONDS)
    assert taker.error().getPythonType() == "TypeError"
    assert taker.error().getMessage().startswith("to_flow_publisher: elements must be bool, int, float, str, bytes, ")
    assert list(taker.elements()) == [1]
    upstream.wait_until_closed()


def test_null_is_no_subscriber(jvm: Jvm) -> None:
    message = r"NullPointerException: rule 1\.9: subscribe\(null\): a subscriber is needed"
    with (
        closing(to_flow_publisher(Stream.range(3), jvm.gateway)) as publisher,
        pytest.raises(Exception, match=message),
    ):
        publisher.subscribe(None)


def test_a_closed_publisher_refuses_those_who_come_later(jvm: Jvm) -> None:
    before, after = jvm.make("Taker", False, False), jvm.make("Taker", True, False)
    publisher = to_flow_publisher(Stream.range(3), jvm.gateway)
    publisher.subscribe(before)
    publisher.close()
    publisher.subscribe(after)
    assert after.error().toString() == "java.lang.IllegalStateException: to_flow_publisher: this publisher was closed"
    before.request(10)
    assert before.waitForEnd(SECONDS)
    assert list(before.elements()) == [0, 1, 2]


def test_a_publisher_that_nobody_knows_any_more_is_let_go_of(jvm: Jvm) -> None:
    before = set(threading.enumerate())
    publisher = to_flow_publisher(Stream.range(3), jvm.gateway)
    assert list(from_flow_publisher(publisher)) == [0, 1, 2]
    del publisher
    gc.collect()

    def gone() -> bool:
        jvm.java.lang.System.gc()
        return not set(threading.enumerate()) - before

    assert wait_until(gone)


# Values.


@pytest.mark.parametrize(
    "value",
    [
        True, False, 0, -1, 2**31 - 1, 2**31, -(2**31) - 1, 2**63 - 1, -(2**63), 2**63, -(10**40), 0.0, -1.5, 1e308,
        float("inf"), "", "pipe", "e\u0301 \U0001d11e \0 \ud800", b"", b"\0\xff", Decimal("1.50"), Decimal("-1E+30"),
        [], [1, "two", None, [3.0]], {}, {"a": 1, "b": {"c": None}}, {1: [True]}, {1, 2}, set(),
    ],
)  # fmt: skip
def test_values_keep_their_type_and_order(jvm: Jvm, value: Any) -> None:
    with closing(to_flow_publisher(Stream.just(value), jvm.gateway)) as publisher:
        (found,) = from_flow_publisher(publisher)
    assert found == value
    assert type(found) is type(value)


def test_values_that_become_others(jvm: Jvm) -> None:
    given = [(1, (2, 3)), frozenset({4}), bytearray(b"5"), {(6, 7): 8}]
    with closing(to_flow_publisher(Stream.from_iterable(given), jvm.gateway)) as publisher:
        assert list(from_flow_publisher(publisher)) == [[1, [2, 3]], {4}, b"5", {(6, 7): 8}]


def test_what_java_gets(jvm: Jvm) -> None:
    taker = jvm.make("Taker", True, False)
    given = [True, 1, 2**31, 2**63, 1.0, "a", b"b", Decimal(1), [1], {1: 2}, {1}]
    with closing(to_flow_publisher(Stream.from_iterable(given), jvm.gateway)) as publisher:
        publisher.subscribe(taker)
        assert taker.waitForEnd(SECONDS)
    assert list(taker.kinds()) == [
        "Boolean", "Integer", "Long", "BigInteger", "Double", "String", "byte[]", "BigDecimal", "ArrayList",
        "LinkedHashMap", "LinkedHashSet",
    ]  # fmt: skip


def test_objects_of_java_stay_there_and_are_the_same(jvm: Jvm) -> None:
    day = jvm.java.time.LocalDate.of(2024, 2, 29)
    with closing(to_flow_publisher(Stream.just([day, 1], day), jvm.gateway)) as publisher:
        inner, outer = from_flow_publisher(publisher)
    assert inner[0].equals(day)
    assert inner[1] == 1
    assert outer.equals(day)


def test_values_of_java(jvm: Jvm) -> None:
    java = jvm.java
    made = [
        (java.lang.Short.valueOf("7"), 7),
        (java.lang.Float.valueOf("0.5"), 0.5),
        (java.math.BigInteger("9" * 30), int("9" * 30)),
        (java.math.BigDecimal("1.50"), Decimal("1.50")),
        (java.util.List.of(1, "a"), [1, "a"]),
        (java.util.Map.of("a", java.util.List.of(1)), {"a": [1]}),
        (java.util.Set.of(java.util.List.of(1, 2)), {(1, 2)}),
        (java.util.Set.of(java.util.Map.of(1, 2)), [{1: 2}]),  # a dict cannot be in a set
        (java.util.Map.of(java.util.Map.of(1, 2), 3), [[{1: 2}, 3]]),
    ]
    for given, expected in made:
        assert list(from_flow_publisher(jvm.make("One", given))) == [expected]


def test_a_list_that_contains_itself_fails_either_way(jvm: Jvm) -> None:
    ring = jvm.java.util.ArrayList()
    ring.add(ring)
    with pytest.raises(JavaError, match=r"^java\.lang\.StackOverflowError"):
        list(from_flow_publisher(jvm.make("One", ring)))
    loop: list[Any] = []
    loop.append(loop)
    taker = jvm.make("Taker", True, False)
    with closing(to_flow_publisher(Stream.just(loop), jvm.gateway)) as publisher:
        publisher.subscribe(taker)
        assert taker.waitForEnd(SECONDS)
    assert taker.error().getPythonType() == "RecursionError"


# Arguments.


def test_bad_arguments(jvm: Jvm, jvms: dict[str, Jvm]) -> None:
    gateway = jvm.gateway
    numbers = jvm.make("Numbers", 3)
    with pytest.raises(TypeError, match=r"^from_flow_publisher: publisher must be an object of Java's, got 3$"):
        from_flow_publisher(3)
    with pytest.raises(
        TypeError,
        match=r"^from_flow_publisher: publisher must be .*, got an object of the class java\.util\.ArrayList; ",
    ):
        from_flow_publisher(jvm.java.util.ArrayList())
    with pytest.raises(
        TypeError,
        match=r"^from_flow_publisher: publisher must be .*\.Publisher, got a Subscriber, .*; from_java takes it$",
    ):
        from_flow_publisher(jvm.make("Taker", True, False))
    with pytest.raises(
        TypeError,
        match=r"^from_flow_publisher: gateway must be a gateway of Py4J, a SparkSession or a SparkContext, got 'here'$",
    ):
        from_flow_publisher(numbers, "here")
    other = jvms["plain" if jvm is jvms["pinned"] else "pinned"]
    with pytest.raises(ValueError, match=r"^from_flow_publisher: publisher must be an object of this gateway, got "):
        from_flow_publisher(numbers, other.gateway)
    with pytest.raises(ValueError, match=r"^from_flow_publisher: prefetch must be >= 1, got 0$"):
        from_flow_publisher(numbers, prefetch=0)
    with pytest.raises(
        TypeError, match=r"^to_flow_publisher: stream must be a Stream or another Publisher, got \[1\]$"
    ):
        to_flow_publisher([1], gateway)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^to_flow_publisher: prefetch must be >= 0, got -1$"):
        to_flow_publisher(Stream.range(3), gateway, prefetch=-1)
    with pytest.raises(TypeError, match=r"^to_flow_publisher: gateway must be a gateway of Py4J, .*, got None$"):
        to_flow_publisher(Stream.range(3), None)


def test_without_py4j_the_message_says_what_to_install() -> None:
    program = "import sys; sys.modules['py4j'] = None\nimport penstock.bridges.java"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    message = "penstock.bridges.java needs py4j, which is not installed: pip install 'penstock[java]'"
    assert done.stderr.splitlines()[-1] == f"ModuleNotFoundError: {message}"


def test_the_classes_that_are_shipped_are_those_of_the_source(jvms: dict[str, Jvm], tmp_path: Path) -> None:
    write_jar(jvms["plain"].gateway, tmp_path / "flow.jar")
    found = []
    for file in (tmp_path / "flow.jar", BRIDGE / "flow.jar"):
        with zipfile.ZipFile(file) as jar:
            found.append({name: jar.read(name) for name in jar.namelist()})
    made, shipped = found
    assert made == shipped, "Peer.java has changed: run python -m tests.spark.java_peers"
