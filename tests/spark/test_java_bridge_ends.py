"""Every subscriber at the bridge to `java.util.concurrent.Flow` hears an end, whatever goes wrong at the other side."""

from __future__ import annotations

import threading
from contextlib import closing
from decimal import Decimal
from typing import Any

import pytest

from penstock import Dropped, Stream
from penstock.bridges.java import JavaError, from_flow_publisher, outflow, to_flow_publisher
from penstock.testing import Probe
from penstock.testing.signals import PATIENCE
from tests.engine.watch import dropped, no_thread_is_left
from tests.spark.java_peers import SECONDS, Jvm, compiled, jvm, jvms, wait_until

__all__ = ["dropped", "jvm", "jvms", "no_thread_is_left"]

SOURCE = """
package peers;

import java.util.concurrent.*;

public final class Nasty {
    /** Wait in onSubscribe until it is let go. */
    public static class Slow implements Flow.Subscriber {
        public final CountDownLatch inside = new CountDownLatch(1);
        public final CountDownLatch go = new CountDownLatch(1);
        public final CountDownLatch ended = new CountDownLatch(1);

        public void onSubscribe(Flow.Subscription subscription) {
            this.inside.countDown();
            try {
                this.go.await();
            } catch (InterruptedException error) {
                throw new IllegalStateException(error);
            }
            subscription.request(9);
        }

        public void onNext(Object element) {
        }

        public void onError(Throwable error) {
            this.ended.countDown();
        }

        public void onComplete() {
            this.ended.countDown();
        }

        public void enter(final Flow.Publisher publisher) throws Exception {
            final Slow self = this;
            new Thread(new Runnable() {
                public void run() {
                    publisher.subscribe(self);
                }
            }).start();
            this.inside.await();
        }

        public void go() {
            this.go.countDown();
        }

        public boolean waitForEnd(long seconds) throws Exception {
            return this.ended.await(seconds, TimeUnit.SECONDS);
        }
    }

    /** Throw again when asked what was wrong. */
    public static class Mute extends RuntimeException {
        public String getMessage() {
            throw new IllegalStateException("no words");
        }
    }

    /** Be cancelled with a Mute, or fail with one. */
    public static class Failing implements Flow.Publisher {
        private final boolean fails;

        public Failing(boolean fails) {
            this.fails = fails;
        }

        public void subscribe(final Flow.Subscriber subscriber) {
            final boolean fails = this.fails;
            subscriber.onSubscribe(new Flow.Subscription() {
                public void request(long n) {
                    if (fails) {
                        subscriber.onError(new Mute());
                    }
                }

                public void cancel() {
                    throw new Mute();
                }
            });
        }
    }
}
"""


def nasty(jvm: Jvm, name: str, *arguments: Any) -> Any:
    kind = compiled(jvm.gateway, SOURCE).getClassLoader().loadClass(f"peers.Nasty${name}")
    given = jvm.gateway.new_array(jvm.gateway.jvm.Object, len(arguments))
    for place, argument in enumerate(arguments):
        given[place] = argument
    return kind.getConstructors()[0].newInstance(given)


class Mute(Exception):
    """Be an error that cannot say what it is."""

    def __str__(self) -> str:
        raise ArithmeticError("no words")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (Mute(), "its message could not be had: ArithmeticError"),
        (ValueError("half \ud800 pair"), "half \\ud800 pair"),
    ],
    ids=["mute", "a surrogate"],
)
def test_an_error_that_cannot_be_said_still_ends_the_stream(jvm: Jvm, error: Exception, text: str) -> None:
    taker = jvm.make("Taker", True, False)
    with closing(to_flow_publisher(Stream.error(error), jvm.gateway)) as publisher:
        publisher.subscribe(taker)
        assert taker.waitForEnd(SECONDS)
    assert taker.error().getMessage() == text


def test_an_element_that_java_cannot_read_fails_the_run(jvm: Jvm, dropped: list[Dropped]) -> None:
    taker = jvm.make("Taker", True, False)
    with closing(to_flow_publisher(Stream.just(Decimal("1E+99999999999")), jvm.gateway)) as publisher:
        publisher.subscribe(taker)
        assert taker.waitForEnd(SECONDS)
    assert "NumberFormatException" in taker.error().toString()
    assert wait_until(lambda: dropped)
    dropped.clear()


@pytest.mark.parametrize("value", [7**9999, -(7**9999), 2**63, -(2**63) - 1], ids=["a", "b", "c", "d"])
def test_whole_numbers_of_any_size_cross(jvm: Jvm, value: int) -> None:
    with closing(to_flow_publisher(Stream.just(value), jvm.gateway)) as publisher:
        assert list(from_flow_publisher(publisher, jvm.gateway)) == [value]


def test_who_subscribes_while_a_publisher_is_closed_is_served_or_refused(jvm: Jvm) -> None:
    before = set(threading.enumerate())
    slow = nasty(jvm, "Slow")
    publisher = to_flow_publisher(Stream.range(3), jvm.gateway)
    slow.enter(publisher)
    publisher.close()
    for thread in set(threading.enumerate()) - before:
        thread.join(2.0)  # time enough for one who believes that nobody is left
    slow.go()
    assert slow.waitForEnd(SECONDS)


def test_a_slow_cleanup_holds_up_no_other_run(jvm: Jvm) -> None:
    cleaning, go_on = threading.Event(), threading.Event()

    def clean(*_: Any) -> None:
        cleaning.set()
        go_on.wait(10 * PATIENCE)

    runs = iter([Stream.range(9).do_finally(clean), Stream.range(9)])
    first, second = jvm.make("Taker", False, False), jvm.make("Taker", False, False)
    with closing(to_flow_publisher(Stream.defer(lambda: next(runs)), jvm.gateway)) as publisher:
        publisher.subscribe(first)
        first.request(1)
        assert first.waitFor(1, SECONDS) == 1
        first.cancel()
        assert cleaning.wait(PATIENCE)
        try:
            publisher.subscribe(second)
            second.request(9)
            assert second.waitForEnd(SECONDS)
        finally:
            go_on.set()


def test_an_exception_of_java_that_cannot_say_what_it_is(jvm: Jvm, dropped: list[Dropped]) -> None:
    probe: Probe[Any] = Probe(1)
    from_flow_publisher(nasty(jvm, "Failing", True)).subscribe(probe)
    probe.wait_for_end()
    assert isinstance(probe.error, JavaError)
    silent: Probe[Any] = Probe(1)
    from_flow_publisher(nasty(jvm, "Failing", False)).subscribe(silent)
    silent.cancel()  # returns; Py4J may lose what was thrown
    dropped.clear()


def test_subscribers_are_told_when_python_can_serve_them_no_longer(
    jvm: Jvm, monkeypatch: pytest.MonkeyPatch, dropped: list[Dropped]
) -> None:
    def no_worker(_: Any) -> Any:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(outflow, "worker_of", no_worker)
    taker = jvm.make("Taker", True, False)
    with closing(to_flow_publisher(Stream.range(3), jvm.gateway)) as publisher:
        publisher.subscribe(taker)
        assert taker.waitForEnd(SECONDS)
    assert "can't start new thread" in str(taker.error().toString())
    assert [type(each.error) for each in dropped] == [RuntimeError]
    dropped.clear()
