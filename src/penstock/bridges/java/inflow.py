"""inflow: the elements of a publisher in the JVM, as a Stream.

Our subscriber in the JVM puts what it is told into a queue (`Peer.Inbox`), and a thread of each run takes it from
there, as much as there is in one call. Requests and cancels go to the JVM on the thread that makes them; those that the
consumer makes while an element is handed to it go with the thread's next call.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any

from penstock.bridges.java.errors import KINDS, JavaError
from penstock.bridges.java.frames import JavaFrame
from penstock.bridges.java.kept import recalled
from penstock.bridges.java.peer import Py4JError, Py4JJavaError, as_flow, as_java_error, party_given, peer_of
from penstock.engine.words.arguments import count_given
from penstock.engine.words.demand import add
from penstock.engine.words.dropped import drop
from penstock.errors import ProtocolError
from penstock.spec.interfaces import Subscriber
from penstock.stream import Stream


def from_flow_publisher(publisher: Any, gateway: Any = None, *, prefetch: int = 256) -> Stream[Any]:
    """Take the elements of a `Flow.Publisher`, or of one of org.reactivestreams; each run subscribes to it.

    `publisher` is a reference to it, as Py4J gives one; `gateway`, that gateway or a SparkSession, may be left out.
    Emits when the publisher does, on a thread of the run. Backpressures by asking the publisher for what is asked for
    here, at most `prefetch` elements at a time. Completes and fails as the publisher does: with a JavaError that has
    the class, the message and the Throwable, or with the very exception if Python raised it before it crossed Java.
    Cancels the subscription. A publisher that breaks a rule is cancelled, and the stream fails with that rule.

    Numbers, texts, bytes, booleans, lists, sets and maps come as Python's own; any other object as a reference.

        from_flow_publisher(gateway.jvm.Feed(), gateway).map(str).take(10)
    """
    count_given("from_flow_publisher", "prefetch", prefetch, 1)
    client, kind = party_given("from_flow_publisher", "publisher", publisher, gateway)
    if kind.endswith("Subscriber"):
        raise TypeError(
            f"from_flow_publisher: publisher must be a java.util.concurrent.Flow.Publisher, got a {kind.split()[1]}, "
            f"{publisher!r}; from_java takes it"
        )
    return Stream.from_publisher(FlowPublisher(as_flow(client, publisher, kind), client, prefetch))


class FlowPublisher:
    """A publisher of Java's, as one of Python's."""

    def __init__(self, publisher: Any, client: Any, prefetch: int) -> None:
        self._publisher = publisher
        self._client = client
        self._prefetch = prefetch

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        """Start a run."""
        inbox = peer_of(self._client).inbox(self._prefetch)
        run = Inflow(inbox, subscriber)
        subscriber.on_subscribe(run)
        run.start(inbox, self._publisher)


class Inflow:
    """A run: the subscription, and the thread that hands on what the JVM holds."""

    def __init__(self, inbox: Any, subscriber: Subscriber[Any]) -> None:
        self._inbox: Any = inbox
        self._subscriber: Subscriber[Any] | None = subscriber
        self._lock = threading.Lock()
        self._cancelled = False
        self._more = 0
        self._taker: int | None = None
        """The thread that takes; 0 before it has begun."""

    def start(self, inbox: Any, publisher: Any) -> None:
        """Subscribe in the JVM, and begin to take."""
        # On this thread, so that who subscribes has subscribed; after a cancel too, which the publisher hears then.
        inbox.attach(publisher)
        if not self._cancelled:
            threading.Thread(target=self.take, name="penstock-java", daemon=True).start()

    def request(self, n: int, /) -> None:
        """Ask for `n` more elements."""
        with self._lock:
            if self._taker in (None, threading.get_ident()):
                self._more = add(self._more, n)  # for the thread's next call
                return
            inbox = self._inbox
        if inbox is not None:
            with suppress(Py4JError):  # then the JVM is gone, which the thread says
                inbox.request(n)

    def cancel(self) -> None:
        """Cancel the subscription in the JVM; the thread wakes and ends."""
        with self._lock:
            self._cancelled = True
            inbox, self._inbox = self._inbox, None
            self._subscriber = None
        if inbox is not None:
            self._cancel(inbox)

    @staticmethod
    def _cancel(inbox: Any) -> None:
        try:
            inbox.cancel()
        except Py4JJavaError as error:
            raise as_java_error("from_flow_publisher", error) from error  # rule 3.15
        except Py4JError:
            pass  # the JVM is gone, and with it what was to be cancelled

    def take(self) -> None:
        """Hand on what the JVM holds, until the end."""
        inbox = self._inbox
        self._taker = threading.get_ident()
        ended = inbox is None
        try:
            while not ended:
                ended = self._deliver(inbox)
        except Py4JError as error:  # the JVM is gone, or an element could not be written
            self._end(as_java_error("from_flow_publisher", error))
        except Exception as error:  # noqa: BLE001  an element could not be read
            self._end(error)
        finally:
            self._taker = 0
            if not ended:
                self._leave()
            self._inbox = self._subscriber = None

    def _leave(self) -> None:
        """Cancel behind a failure, or a KeyboardInterrupt and its like, which pass."""
        inbox, self._inbox = self._inbox, None
        if inbox is not None:
            try:
                self._cancel(inbox)
            except JavaError as error:
                drop("rule 3.15: the publisher's cancel raised", error)

    def _deliver(self, inbox: Any) -> bool:
        """Take what there is and hand it on; tell whether that was the end."""
        with self._lock:
            more, self._more = self._more, 0
        frame = JavaFrame(inbox.take(more), inbox.kept)
        while frame.left:
            tag = frame.tag()
            if tag == "N":
                subscriber = self._subscriber
                if subscriber is None:
                    return True
                subscriber.on_next(frame.value())
            else:
                self._end(_end_of(tag, frame, inbox), cancelled=tag == "X")
                return True
        return self._cancelled

    def _end(self, error: Exception | None, *, cancelled: bool = False) -> None:
        with self._lock:
            subscriber, self._subscriber = self._subscriber, None
        if subscriber is None or cancelled:
            if error is not None:
                drop("an error came after the end or the cancel", error)
        elif error is None:
            subscriber.on_complete()
        else:
            subscriber.on_error(error)


def _end_of(tag: str, frame: JavaFrame, inbox: Any) -> Exception | None:
    """Return what the publisher failed with, or None if it did not."""
    if tag == "B":
        rule, text = str(frame.text()), str(frame.text())
        return TypeError(f"rule {rule}: {text}") if rule == "2.13" else ProtocolError(rule, text)
    if tag != "E":
        return None
    java_class, kind, message, trace = str(frame.text()), frame.tag(), frame.text(), str(frame.text())
    known = recalled(frame.long())
    if known is not None and frame.flag():
        return known
    made = KINDS[kind](java_class, message, trace, inbox.failure())
    made.__cause__ = known
    return made
