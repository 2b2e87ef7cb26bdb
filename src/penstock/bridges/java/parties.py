"""parties: subscribers and processors of either side in the hands of the other, and publishers by both interfaces.

A subscriber in the JVM is reached as the subscribers of a stream are: it is subscribed to a publisher there, which
serves it alone. A subscriber of Python's is one in the JVM that holds what it is told (`Peer.Door`), from where a
thread takes it. So here, too, Java never calls Python.
"""

from __future__ import annotations

import threading
from typing import Any, Literal

from penstock.bridges.java.inflow import FlowPublisher, Inflow
from penstock.bridges.java.outflow import outlet_of
from penstock.bridges.java.peer import (
    Py4JError,
    as_flow,
    as_java_error,
    as_reactive,
    client_of,
    party_given,
    peer_of,
    reactive_known,
)
from penstock.engine.words.arguments import count_given
from penstock.engine.words.dropped import drop
from penstock.flow import flow, processor
from penstock.spec.dialects.strangers import cure_for, library_of
from penstock.spec.interfaces import Processor, Publisher, Subscriber, Subscription
from penstock.spec.predicates import is_publisher, is_subscriber
from penstock.stream import Stream

Api = Literal["flow", "reactive-streams"]
_APIS = ("flow", "reactive-streams")


def from_java(party: Any, gateway: Any = None, *, prefetch: int = 256) -> Any:
    """Make a Stream of a publisher in the JVM, a Subscriber of a subscriber there, a Processor of what is both.

    It is one of `java.util.concurrent.Flow` or of org.reactivestreams, as Py4J refers to it. Emits, completes and fails
    as it does. Backpressures and cancels as `from_flow_publisher` does for what comes from it, and as
    `to_flow_publisher` for what goes to it.

        stream.subscribe(from_java(gateway.jvm.Printer()))
        stream.via(from_java(gateway.jvm.Upper())).take(10)
    """
    count_given("from_java", "prefetch", prefetch, 1)
    client, kind = party_given("from_java", "party", party, gateway)
    inside = as_flow(client, party, kind)
    front = _ToSubscriber(inside, client)
    if kind.endswith("Subscriber"):
        return front
    back = Stream.from_publisher(FlowPublisher(inside, client, prefetch))
    return _JavaProcessor(front, back) if kind.endswith("Processor") else back


def to_java(party: Any, gateway: Any, *, api: Api = "flow", prefetch: int = 0) -> Any:
    """Make a publisher, a subscriber or a processor in the JVM of a stream, a Subscriber or a Processor.

    `api` says of which make: "flow" for `java.util.concurrent.Flow`, "reactive-streams" for org.reactivestreams, which
    the JVM must have on its class path. What is returned is a reference to it, to be given to Java. A publisher is as
    `to_flow_publisher` makes it. A subscriber hears its signals on a thread that waits in Python until Java has no use
    for it any more; at most `prefetch` elements, or 256, wait for it in the JVM. A processor is both.

        publisher_in_java.subscribe(to_java(subscriber(Sink.count()), gateway))
    """
    if api not in _APIS:
        raise ValueError(f"to_java: api must be one of {', '.join(_APIS)}, got {api!r}")
    count_given("to_java", "prefetch", prefetch, 0)
    client = client_of("to_java", gateway)
    given: object = party
    known = library_of(given) is None
    publishes, subscribes = known and is_publisher(given), known and is_subscriber(given, "jvm")
    if not publishes and not subscribes:
        wanted = "a Publisher, a Subscriber or a Processor"
        raise TypeError(f"to_java: party must be {wanted}, got {party!r}{cure_for(party)}")
    name, made = "Processor", None
    if api != "flow":
        reactive_known("to_java", client)  # before anything waits for it
    outlet = outlet_of(party, client, prefetch) if publishes else None
    if subscribes:
        made = door = _door(party, client, prefetch or 256)
        if outlet is not None:
            made = peer_of(client).processor(door, outlet)
    if not publishes or not subscribes:
        name, made = ("Publisher", outlet) if publishes else ("Subscriber", made)
    return made if api == "flow" else as_reactive(client, made, name)


class _ToSubscriber:
    """A subscriber in the JVM as one of Python's; it is told of its subscription when there is one."""

    __slots__ = ("__weakref__", "_client", "_front", "_lock", "_subscriber")

    def __init__(self, subscriber: Any, client: Any) -> None:
        self._subscriber = subscriber
        self._client = client
        self._lock = threading.Lock()
        self._front: Processor[Any, Any] | None = None

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Subscribe the one in the JVM to a publisher there, which passes on what comes here."""
        if subscription is None:
            raise TypeError("rule 2.13: on_subscribe(None): None is not allowed here")
        with self._lock:
            second = self._front is not None
            if not second:
                self._front = processor(flow(_unchanged))
        if second or self._front is None:
            subscription.cancel()  # rule 2.5
            return
        self._front.on_subscribe(subscription)
        outlet = outlet_of(self._front, self._client)
        outlet.subscribe(self._subscriber)
        outlet.close()

    def on_next(self, element: Any, /) -> None:
        """Pass an element on."""
        if element is None:
            raise TypeError("rule 2.13: on_next(None): None is not allowed here")
        if self._front is not None:
            self._front.on_next(element)

    def on_error(self, error: Exception, /) -> None:
        """Pass the failure on."""
        if error is None:
            raise TypeError("rule 2.13: on_error(None): None is not allowed here")
        if self._front is not None:
            self._front.on_error(error)

    def on_complete(self) -> None:
        """Pass the completion on."""
        if self._front is not None:
            self._front.on_complete()


class _JavaProcessor:
    """A processor in the JVM as one of Python's."""

    __slots__ = ("__weakref__", "_back", "on_complete", "on_error", "on_next", "on_subscribe")

    def __init__(self, front: Subscriber[Any], back: Publisher[Any]) -> None:
        self.on_subscribe = front.on_subscribe
        self.on_next = front.on_next
        self.on_error = front.on_error
        self.on_complete = front.on_complete
        self._back = back

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        """Subscribe to what comes out of it."""
        self._back.subscribe(subscriber)


def _door(subscriber: Subscriber[Any], client: Any, prefetch: int) -> Any:
    """Return a subscriber in the JVM for one of Python's, and wait on a thread for what it is told."""
    peer = peer_of(client)
    inbox = peer.inbox(prefetch)
    door = peer.door(inbox)
    threading.Thread(target=_attend, args=[inbox, subscriber], name="penstock-java", daemon=True).start()
    return door


def _attend(inbox: Any, subscriber: Subscriber[Any]) -> None:
    try:
        if not inbox.met():
            return  # Java has let go of it unused
    except Py4JError as error:
        drop("to_java: a subscriber was lost", as_java_error("to_java", error))
        return
    front: Processor[Any, Any] = processor(flow(_unchanged))  # so that the subscriber is served by the contract
    run = Inflow(inbox, front)
    front.on_subscribe(run)
    front.subscribe(subscriber)
    del front, subscriber
    run.take()


def _unchanged(elements: Stream[Any]) -> Stream[Any]:
    return elements


__all__ = ["Api", "from_java", "to_java"]
