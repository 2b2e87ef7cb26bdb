"""java_peers: a JVM for tests, and publishers and subscribers in it that are written in Java.

They are compiled in the JVM itself, by Janino, which Spark brings; so a JRE is enough.
"""

from __future__ import annotations

import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType
from typing import Any

import pyspark
import pytest
from py4j.clientserver import ClientServer, JavaParameters, PythonParameters
from py4j.finalizer import ThreadSafeFinalizer  # type: ignore[import-untyped]
from py4j.java_gateway import JavaGateway

from penstock.spark.session.java import find_java
from penstock.testing.signals import PATIENCE
from tests.bridges.crossings import Crossing

SECONDS = int(PATIENCE)
JARS = Path(pyspark.__file__).parent / "jars"
BRIDGE = Path(__file__).parents[2] / "src" / "penstock" / "bridges" / "java"

SOURCE = """
package peers;

import java.util.*;
import java.util.concurrent.*;

public final class Peers {
    /** Send the numbers from 1 to `count` as they are asked for, on the thread that asks. */
    public static class Numbers implements Flow.Publisher {
        protected final int count;
        public final CountDownLatch cancelled = new CountDownLatch(1);
        public long requested;
        public long most;

        public Numbers(int count) {
            this.count = count;
        }

        public boolean wasCancelled(long seconds) throws Exception {
            return this.cancelled.await(seconds, TimeUnit.SECONDS);
        }

        public synchronized long requested() {
            return this.requested;
        }

        public synchronized long most() {
            return this.most;
        }

        public void subscribe(final Flow.Subscriber subscriber) {
            final Numbers self = this;
            subscriber.onSubscribe(new Flow.Subscription() {
                int sent;
                long demand;
                boolean sending;
                boolean over;

                public void request(long n) {
                    synchronized (self) {
                        self.requested += n;
                        self.most = Math.max(self.most, n);
                        this.demand += n;
                        if (this.sending) {
                            return;
                        }
                        this.sending = true;
                    }
                    while (this.demand > 0 && !this.over && this.sent < self.count) {
                        this.demand--;
                        this.sent++;
                        subscriber.onNext(Integer.valueOf(this.sent));
                    }
                    this.sending = false;
                    if (this.sent == self.count && !this.over) {
                        this.over = true;
                        self.end(subscriber);
                    }
                }

                public void cancel() {
                    this.over = true;
                    self.cancelled.countDown();
                }
            });
        }

        protected void end(Flow.Subscriber subscriber) {
            subscriber.onComplete();
        }
    }

    /** End with a failure. */
    public static class Failing extends Numbers {
        private final Throwable failure;

        public Failing(int count, Throwable failure) {
            super(count);
            this.failure = failure;
        }

        protected void end(Flow.Subscriber subscriber) {
            subscriber.onError(this.failure);
        }
    }

    /** Send one object. */
    public static class One implements Flow.Publisher {
        private final Object element;

        public One(Object element) {
            this.element = element;
        }

        public void subscribe(final Flow.Subscriber subscriber) {
            final One self = this;
            subscriber.onSubscribe(new Flow.Subscription() {
                public void request(long n) {
                    subscriber.onNext(self.element);
                    subscriber.onComplete();
                }

                public void cancel() {
                }
            });
        }
    }

    /** Break a rule. */
    public static class Broken implements Flow.Publisher {
        private final String how;
        public final CountDownLatch cancelled = new CountDownLatch(1);
        public final CountDownLatch refused = new CountDownLatch(1);
        public volatile Throwable thrown;

        public Broken(String how) {
            this.how = how;
        }

        public boolean wasCancelled(long seconds) throws Exception {
            return this.cancelled.await(seconds, TimeUnit.SECONDS);
        }

        public String thrown(long seconds) throws Exception {
            this.refused.await(seconds, TimeUnit.SECONDS);
            return String.valueOf(this.thrown);
        }

        public void subscribe(final Flow.Subscriber subscriber) {
            final Broken self = this;
            if (this.how.equals("subscribe raises")) {
                throw new IllegalStateException("no pump");
            }
            if (this.how.equals("element first")) {
                subscriber.onNext("early");
                return;
            }
            if (this.how.equals("end first")) {
                subscriber.onComplete();
                return;
            }
            Flow.Subscription subscription = new Flow.Subscription() {
                public void request(long n) {
                    try {
                        self.signal(subscriber, n);
                    } catch (NullPointerException thrown) {
                        self.thrown = thrown;
                        self.refused.countDown();
                        throw thrown;
                    }
                }

                public void cancel() {
                    self.cancelled.countDown();
                    if (self.how.equals("cancel raises")) {
                        throw new IllegalStateException("stuck");
                    }
                }
            };
            subscriber.onSubscribe(subscription);
            if (this.how.equals("one subscription twice")) {
                subscriber.onSubscribe(subscription);
            }
            if (this.how.equals("two subscriptions")) {
                subscriber.onSubscribe(new Flow.Subscription() {
                    public void request(long n) {
                        throw new IllegalStateException("nobody should ask here");
                    }

                    public void cancel() {
                        self.cancelled.countDown();
                    }
                });
            }
        }

        void signal(Flow.Subscriber subscriber, long n) {
            if (this.how.equals("one subscription twice")) {
                return;
            } else if (this.how.equals("request raises")) {
                throw new IllegalStateException("no request, please");
            } else if (this.how.equals("null element")) {
                subscriber.onNext(null);
            } else if (this.how.equals("null error")) {
                subscriber.onError(null);
            } else if (this.how.equals("excess")) {
                for (long sent = 0; sent < n + 3; sent++) {
                    subscriber.onNext(Long.valueOf(sent));
                }
            } else if (this.how.equals("flood")) {
                for (long sent = 0; sent < 1000000; sent++) {
                    subscriber.onNext(Long.valueOf(sent));
                }
            } else if (this.how.equals("after the end")) {
                subscriber.onNext("one");
                subscriber.onComplete();
                subscriber.onNext("two");
                subscriber.onComplete();
                subscriber.onError(new IllegalStateException("three"));
            } else {
                subscriber.onNext("one");
                subscriber.onComplete();
            }
        }
    }

    /** Take what comes, asking for more only when told to, or for one after the other. */
    public static class Taker implements Flow.Subscriber {
        private final boolean greedy;
        private final boolean raises;
        public final List elements = Collections.synchronizedList(new ArrayList());
        public final CountDownLatch ended = new CountDownLatch(1);
        public volatile Throwable error;
        public volatile boolean completed;
        private final CountDownLatch subscribed = new CountDownLatch(1);
        private Flow.Subscription subscription;
        private int inside;
        public int deepest;

        public Taker(boolean greedy, boolean raises) {
            this.greedy = greedy;
            this.raises = raises;
        }

        public void onSubscribe(Flow.Subscription subscription) {
            this.subscription = subscription;
            this.subscribed.countDown();
            if (this.greedy) {
                subscription.request(1);
            }
        }

        public void onNext(Object element) {
            this.inside++;
            this.deepest = Math.max(this.deepest, this.inside);
            synchronized (this.elements) {
                this.elements.add(element);
                this.elements.notifyAll();
            }
            if (this.raises) {
                throw new IllegalStateException("no appetite");
            }
            if (this.greedy) {
                this.subscription.request(1);
            }
            this.inside--;
        }

        public void onError(Throwable error) {
            this.error = error;
            this.ended.countDown();
        }

        public void onComplete() {
            this.completed = true;
            this.ended.countDown();
        }

        public void request(long n) throws Exception {
            this.subscribed.await();
            this.subscription.request(n);
        }

        public void cancel() throws Exception {
            this.subscribed.await();
            this.subscription.cancel();
        }

        public boolean waitForEnd(long seconds) throws Exception {
            return this.ended.await(seconds, TimeUnit.SECONDS);
        }

        public int waitFor(int count, long seconds) throws Exception {
            long until = System.nanoTime() + seconds * 1000000000L;
            synchronized (this.elements) {
                while (this.elements.size() < count && System.nanoTime() < until) {
                    this.elements.wait(100);
                }
                return this.elements.size();
            }
        }

        public List elements() {
            return this.elements;
        }

        public List kinds() {
            List names = new ArrayList();
            for (int place = 0; place < this.elements.size(); place++) {
                names.add(this.elements.get(place).getClass().getSimpleName());
            }
            return names;
        }

        public Throwable error() {
            return this.error;
        }

        public boolean completed() {
            return this.completed;
        }

        public int deepest() {
            return this.deepest;
        }
    }

    /** Pass everything on as it is, both ways; an end that comes before there is anybody to tell waits. */
    public static class Same implements Flow.Processor {
        private Flow.Subscriber downstream;
        private Flow.Subscription upstream;
        private boolean opened;
        private boolean ended;
        private Throwable error;

        public void subscribe(Flow.Subscriber subscriber) {
            boolean now;
            synchronized (this) {
                this.downstream = subscriber;
                now = this.upstream != null;
            }
            if (now) {
                this.open();
            }
        }

        public void onSubscribe(Flow.Subscription subscription) {
            boolean now;
            synchronized (this) {
                this.upstream = subscription;
                now = this.downstream != null;
            }
            if (now) {
                this.open();
            }
        }

        private void open() {
            this.downstream.onSubscribe(this.upstream);
            synchronized (this) {
                this.opened = true;
                if (!this.ended) {
                    return;
                }
            }
            this.end(this.error);
        }

        public void onNext(Object element) {
            Flow.Subscriber to;
            synchronized (this) {
                to = this.downstream;
            }
            to.onNext(element);
        }

        public void onError(Throwable error) {
            this.end(error);
        }

        public void onComplete() {
            this.end(null);
        }

        private void end(Throwable error) {
            Flow.Subscriber to;
            synchronized (this) {
                this.ended = true;
                this.error = error;
                to = this.opened ? this.downstream : null;
            }
            if (to != null && error == null) {
                to.onComplete();
            } else if (to != null) {
                to.onError(error);
            }
        }
    }
}
"""


REACTIVE = """
package org.reactivestreams;

public interface Subscription { void request(long n); void cancel(); }

public interface Subscriber {
    void onSubscribe(Subscription subscription);
    void onNext(Object element);
    void onError(Throwable error);
    void onComplete();
}

public interface Publisher { void subscribe(Subscriber subscriber); }

public interface Processor extends Subscriber, Publisher {}
"""
"""The interfaces of org.reactivestreams as they are in the bytecode of its jar, which Spark does not bring."""


class Jvm:
    """Be a JVM with the peers in it."""

    def __init__(self, gateway: Any) -> None:
        self.gateway = gateway
        self.java = gateway.jvm.java
        self._loader = compiled(gateway, SOURCE).getClassLoader()
        interfaces = compiled(gateway, REACTIVE).getClassLoader()
        self.reactive = compiled(
            gateway,
            SOURCE.replace("Flow.", "org.reactivestreams.").replace("package peers", "package reactive"),
            interfaces,
        ).getClassLoader()

    def make(self, name: str, *arguments: Any, reactive: bool = False) -> Any:
        """Make a peer, of Flow or of org.reactivestreams."""
        loader, package = (self.reactive, "reactive") if reactive else (self._loader, "peers")
        kind = loader.loadClass(f"{package}.Peers${name}")  # by names of their own, which Py4J knows classes by
        given = self.gateway.new_array(self.gateway.jvm.Object, len(arguments))
        for place, argument in enumerate(arguments):
            given[place] = argument
        return kind.getConstructors()[0].newInstance(given)


def compiled(gateway: Any, source: str, parent: Any = None) -> Any:
    """Compile a source in the JVM, and return the compiler."""
    compiler = gateway.jvm.org.codehaus.janino.SimpleCompiler()
    if parent is not None:
        compiler.setParentClassLoader(parent)
    compiler.cook(source)
    return compiler


def write_jar(gateway: Any, target: Path) -> None:
    """Write the classes of the bridge as they are shipped; the same source makes the same file."""
    found = compiled(gateway, (BRIDGE / "Peer.java").read_text(encoding="utf-8")).getBytecodes()
    with zipfile.ZipFile(target, "w") as jar:
        for name in sorted(found):
            member = zipfile.ZipInfo(f"{name.replace('.', '/')}.class")
            jar.writestr(member, bytes(found[name]), zipfile.ZIP_DEFLATED)


@contextmanager
def plain_gateway() -> Iterator[JavaGateway]:
    """Start a JVM that knows nothing of Spark, with a compiler in it."""
    jars = [*JARS.glob("janino-*.jar"), *JARS.glob("commons-compiler-*.jar")]
    gateway = JavaGateway.launch_gateway(
        classpath=":".join(map(str, jars)),
        javaopts=["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m"],
        java_path=str(find_java().home / "bin" / "java"),
        die_on_exit=True,
    )
    try:
        yield gateway
    finally:
        gateway.shutdown()
        gateway.java_process.stdin.close()
        gateway.java_process.wait(PATIENCE)
        forget_objects(gateway)


def forget_objects(gateway: JavaGateway) -> None:
    """Let py4j send nothing about objects of a JVM that is gone.

    It would connect when they are collected, in whatever test that is, log a failure and leave a socket open.
    """
    for name, reference in ThreadSafeFinalizer.finalizers.copy().items():
        if gateway._gateway_client in (getattr(reference.__callback__, "__defaults__", None) or ()):
            ThreadSafeFinalizer.remove_finalizer(name)


@contextmanager
def pinned_gateway(within: JavaGateway) -> Iterator[ClientServer]:
    """Start the other kind of server in a JVM, the one that Spark uses: every thread has a connection of its own."""
    java = within.jvm
    here = java.java.net.InetAddress.getLoopbackAddress()
    doors = java.javax.net.ServerSocketFactory.getDefault(), java.javax.net.SocketFactory.getDefault()
    server = java.py4j.ClientServer(0, here, 0, here, 0, 0, *doors, None)
    server.startServer(True)
    port = server.getJavaServer().getListeningPort()
    gateway = ClientServer(JavaParameters(port=port, auto_convert=True), PythonParameters(port=0))
    try:
        yield gateway
    finally:
        gateway.shutdown()


def for_crossings(test: Any, crossings: list[Crossing]) -> Any:
    """Return a test of the shared table of round trips, to be run for other crossings."""
    copy: Any = FunctionType(test.__code__, test.__globals__, test.__name__, test.__defaults__, test.__closure__)
    copy.pytestmark = [mark for mark in test.pytestmark if mark.args[0] != "crossing"]
    cases = [pytest.param(each, id=each.name, marks=each.marks) for each in crossings]
    return pytest.mark.parametrize("crossing", cases)(copy)


@pytest.fixture(scope="module")
def jvms() -> Iterator[dict[str, Jvm]]:
    with plain_gateway() as plain, pinned_gateway(plain) as pinned:
        yield {"plain": Jvm(plain), "pinned": Jvm(pinned)}


@pytest.fixture(params=["plain", "pinned"])
def jvm(request: pytest.FixtureRequest, jvms: dict[str, Jvm]) -> Jvm:
    """Give a JVM by each kind of gateway: connections that threads share, and one for each thread, as Spark has it."""
    return jvms[request.param]


def wait_until(condition: Callable[[], object]) -> bool:
    """Look again and again, for what Python is not told."""
    pause = threading.Event()
    for _ in range(SECONDS * 20):
        if condition():
            return True
        pause.wait(0.05)
    return False


if __name__ == "__main__":  # python -m tests.spark.java_peers: after a change of Peer.java
    with plain_gateway() as made:
        write_jar(made, BRIDGE / "flow.jar")
