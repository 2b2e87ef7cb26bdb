"""penstock: Reactive Streams for Python, from one thread to a Spark cluster."""

from penstock.engine.clocks import Clock, SystemClock, VirtualClock
from penstock.engine.dropped import Dropped, set_on_dropped
from penstock.engine.emitter import EmitResult, Emitter, Overflow
from penstock.engine.executors import Executor, inline, loop, pool, thread
from penstock.engine.hub import Slow
from penstock.engine.inlet import Receiver
from penstock.errors import EmptyError, OverflowedError, PenstockError, ProtocolError, RunCancelledError
from penstock.flow import Flow, Pipeline, Sink, flow, processor, subscriber
from penstock.run import Plan, Progress, Run
from penstock.spec.element_count import ElementCount
from penstock.spec.erased import AnyPublisher, AnySubscriber, AnySubscription
from penstock.spec.interfaces import Processor, Publisher, Subscriber, Subscription
from penstock.spec.predicates import is_processor, is_publisher, is_subscriber, is_subscription
from penstock.stream import Running, Stream

__all__ = [
    "AnyPublisher",
    "AnySubscriber",
    "AnySubscription",
    "Clock",
    "Dropped",
    "ElementCount",
    "EmitResult",
    "Emitter",
    "EmptyError",
    "Executor",
    "Flow",
    "Overflow",
    "OverflowedError",
    "PenstockError",
    "Pipeline",
    "Plan",
    "Processor",
    "Progress",
    "ProtocolError",
    "Publisher",
    "Receiver",
    "Run",
    "RunCancelledError",
    "Running",
    "Sink",
    "Slow",
    "Stream",
    "Subscriber",
    "Subscription",
    "SystemClock",
    "VirtualClock",
    "flow",
    "inline",
    "is_processor",
    "is_publisher",
    "is_subscriber",
    "is_subscription",
    "loop",
    "pool",
    "processor",
    "set_on_dropped",
    "subscriber",
    "thread",
]
