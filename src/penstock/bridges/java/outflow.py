"""outflow: a Stream as a publisher in the JVM.

What subscribers in the JVM ask for is put into a queue there (`Peer.Desk`), and a thread of the publisher takes it from
there. Each run has its own worker, which subscribes and requests; so one that is slow holds up no other, and a cancel
is not held up by any. Elements are delivered by calls into the JVM, from whichever thread they come on.
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from penstock.bridges.java.errors import JavaError
from penstock.bridges.java.frames import JavaFrame, write
from penstock.bridges.java.kept import keep
from penstock.bridges.java.peer import JavaClass, Py4JError, as_java_error, client_of, peer_of
from penstock.engine.grounds.outlet import accepts, element_or_raise
from penstock.engine.places.context import worker_of
from penstock.engine.places.executors import Thread, Worker
from penstock.engine.words.arguments import count_given
from penstock.engine.words.dropped import drop
from penstock.engine.words.part import Part
from penstock.spec.dialects.strangers import publisher_given
from penstock.spec.interfaces import Publisher, Subscription
from penstock.stream import Stream

_NAME = "to_flow_publisher"
_THREAD = "penstock-java"


def to_flow_publisher(stream: Publisher[Any], gateway: Any, *, prefetch: int = 0) -> Any:
    """Make a `java.util.concurrent.Flow.Publisher` of a stream: each subscriber in the JVM gets a run of it.

    `gateway` is one of Py4J, or a SparkSession. What is returned is a reference to the publisher, to be given to Java.
    Emits when the stream does; a subscriber's methods are called one at a time. Backpressures by passing demand on:
    the stream is asked for what the subscriber has asked for, and nothing is held. Each element is a call into the JVM
    then; with `prefetch` so many are read ahead, on a thread of the run, and go in chunks. Completes and fails as the
    stream does: with a `PythonException`, a RuntimeException with the message and the type; with the Throwable itself
    if the error came from Java; with an IllegalArgumentException at `request(0)`. Cancels the run.

    `close()` lets no more subscribers in; when the last run has ended, or when Java has no use for the publisher any
    more, the thread that serves it ends. Elements are numbers, texts, bytes, booleans, Decimals, lists, sets and dicts
    of these, or objects of Java's; any other fails the run.

        to_flow_publisher(Stream.range(3), gateway).subscribe(gateway.jvm.Printer())
    """
    publisher_given("to_flow_publisher: stream must be a Stream or another Publisher", stream)
    count_given("to_flow_publisher", "prefetch", prefetch, 0)
    return outlet_of(stream, client_of("to_flow_publisher", gateway), prefetch)


def outlet_of(stream: Publisher[Any], client: Any, prefetch: int = 0) -> Any:
    """Return a publisher in the JVM of this client."""
    served = stream if isinstance(stream, Stream) else Stream.from_publisher(stream)  # held to the contract
    if prefetch:
        served = served.publish_on(Thread(_THREAD), prefetch=prefetch)
    outlet = peer_of(client).outlet()
    attendant = _Attendant(served, outlet.desk(), client)
    threading.Thread(target=attendant.attend, name=_THREAD, daemon=True).start()
    return outlet


class _Attendant:
    """The thread's work for the subscribers of one publisher."""

    def __init__(self, stream: Publisher[Any], desk: Any, client: Any) -> None:
        self._stream = stream
        self._desk = desk
        self._client = client
        self._runs: dict[int, _Outflow] = {}

    def attend(self) -> None:
        """Take the subscribers' calls from the queue until it has ended."""
        ended = False
        try:
            while told := self._desk.take():
                self._tell(JavaFrame(told, int))
            ended = True
        except Py4JError as error:
            if self._runs:
                drop("to_flow_publisher: subscribers were lost", as_java_error(_NAME, error))
        except Exception as error:  # noqa: BLE001  no thread can be started, say
            drop("to_flow_publisher: subscribers can be served no longer", error)
            with suppress(Py4JError):
                self._desk.fail(f"{_NAME}: {type(error).__qualname__}: {error}")
        finally:
            if not ended:
                for run in list(self._runs.values()):
                    run.cancel()

    def _tell(self, told: JavaFrame) -> None:
        while told.left:
            number, new, over = told.long(), told.flag(), told.flag()
            asked, illegal, refused = told.long(), told.flag(), told.long()
            if over:
                gone = self._runs.pop(number, None)
                if gone is not None:
                    gone.cancel()
                continue
            if new:
                self._enter(number)
            run = self._runs.get(number)
            if run is not None and asked:
                run.request(asked)
            if run is not None and illegal:
                run.request(refused)

    def _enter(self, number: int) -> None:
        java = self._desk.run(number)
        if java is not None:  # it may be gone by now
            run = self._runs[number] = _Outflow(java, self._client, partial(self._runs.pop, number, None))
            run.start(self._stream)


class _Outflow(Part):
    """The subscriber that delivers to one subscriber in the JVM."""

    def __init__(self, java: Any, client: Any, left: Callable[[], object]) -> None:
        self._java = java
        self._client = client
        self._left = left
        self._worker: Worker = worker_of(Thread(_THREAD))
        self._lock = threading.Lock()
        self._subscription: Subscription | None = None
        self._early: list[int] = []
        self._refused = False
        self._asking = False
        self._over = False

    # What the attendant calls.

    def start(self, stream: Publisher[Any]) -> None:
        """Subscribe, on the worker."""
        self._worker.submit(partial(stream.subscribe, self))

    def request(self, n: int) -> None:
        """Ask for more, on the worker; what is wrong with `n` the stream says."""
        self._worker.submit(partial(self._request, n))

    def cancel(self) -> None:
        """Cancel, on the worker or beside it where it is in the middle of the stream; to clean up may take long."""
        with self._lock:
            self._over = True
            subscription, asking = self._subscription, self._asking
        if subscription is not None and asking:
            threading.Thread(target=subscription.cancel, name=_THREAD, daemon=True).start()
        elif subscription is not None:
            self._worker.submit(subscription.cancel)
        self._let_go()

    def _request(self, n: int) -> None:
        with self._lock:
            subscription = self._subscription
            if subscription is None:
                self._early.append(n)
        if subscription is not None:
            self._ask(subscription, n)

    def _ask(self, subscription: Subscription, n: int) -> None:
        with self._lock:
            if self._over:
                return
            self._refused = self._refused or n <= 0
            self._asking = True
        try:
            subscription.request(n)
        finally:
            self._asking = False

    # What the stream calls.

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Take the subscription, and ask for what was asked for by then."""
        if not accepts(subscription, self._subscription):
            return
        with self._lock:
            self._subscription = subscription
            early, self._early = self._early, []
            over = self._over
        if over:
            subscription.cancel()
            return
        for n in early:
            self._ask(subscription, n)

    def on_next(self, element: Any, /) -> None:
        """Deliver one element."""
        element_or_raise(element, "on_next")
        self.on_chunk([element])

    def on_chunk(self, elements: list[Any], /) -> None:
        """Deliver several elements in one call."""
        frame, kept, whole = bytearray(), list[Any](), 0
        try:
            for element in elements:
                write(frame, element, kept)
                whole = len(frame)
        except Exception as error:  # noqa: BLE001  it is the stream's failure: Java has no such thing
            self._deliver(frame[:whole], kept)  # those before it
            self.cancel()
            self.on_error(error)
            return
        self._deliver(frame, kept)

    def _deliver(self, frame: bytearray, kept: list[Any]) -> None:
        if self._over or not frame:
            return
        given: Any = None
        if kept:
            given = JavaClass("java.util.ArrayList", self._client)()
            for value in kept:
                given.add(value)
        try:
            self._java.next(bytes(frame), given)
        except Py4JError as error:
            self._let_go()
            raise as_java_error(_NAME, error) from error  # rule 2.13

    def on_error(self, error: Exception, /) -> None:
        """Pass the failure on."""
        element_or_raise(error, "on_error")
        if self._refused:
            self._end(self._java.refuse, _message(error))
        elif isinstance(error, JavaError) and getattr(error.java_exception, "_gateway_client", None) is self._client:
            self._end(self._java.fail, error.java_exception)
        else:
            name = type(error).__qualname__
            module = type(error).__module__
            trace = "".join(traceback.format_exception(error))
            key = keep(error)
            type_name = name if module == "builtins" else f"{module}.{name}"
            self._end(self._java.fail, key, _sendable(type_name), _message(error), _sendable(trace))

    def on_complete(self) -> None:
        """Pass the end on."""
        self._end(self._java.complete)

    def _end(self, signal: Callable[..., object], *details: Any) -> None:
        try:
            signal(*details)
        except Py4JError as error:
            raise as_java_error(_NAME, error) from error
        finally:
            self._let_go()

    def _let_go(self) -> None:
        with self._lock:
            self._over = True
        self._left()
        self._worker.close()


def _message(error: Exception) -> str:
    try:
        return _sendable(str(error))
    except Exception as failure:  # noqa: BLE001  the exception is the user's, and so is what it says
        return f"its message could not be had: {type(failure).__name__}"


def _sendable(text: str) -> str:
    """Return a text as Py4J can send it, which has no form for half a pair."""
    return text.encode("utf-8", "backslashreplace").decode()
