"""penstock: Reactive Streams for Python, from one thread to a Spark cluster."""

from penstock.engine.assembly import assembly_trace
from penstock.engine.clocks import Clock, SystemClock, VirtualClock
from penstock.engine.dropped import Dropped, set_on_dropped
from penstock.engine.emitter import EmitResult, Emitter, Overflow
from penstock.engine.executors import Executor, inline, loop, pool, thread
from penstock.engine.hub import Connection
from penstock.engine.inlet import Receiver
from penstock.engine.loop_clock import LoopClock
from penstock.engine.observe import Listener, Observation, Reading, RunState, observe
from penstock.engine.recorder import Recorder
from penstock.engine.registry import REGISTRY, Counted, Registry
from penstock.engine.shared import Slow
from penstock.engine.signals import Completed, Failed, Next, Signal
from penstock.errors import EmptyError, OverflowedError, PenstockError, ProtocolError, RunCancelledError
from penstock.flow import Flow, Pipeline, Sink, flow, processor, subscriber
from penstock.run import Plan, Progress, Run
from penstock.spec.element_count import ElementCount
from penstock.spec.erased import AnyPublisher, AnySubscriber, AnySubscription
from penstock.spec.interfaces import Processor, Publisher, Subscriber, Subscription
from penstock.spec.made import make_publisher, make_subscriber, make_subscription
from penstock.spec.predicates import is_processor, is_publisher, is_subscriber, is_subscription
from penstock.stream import Connectable, GroupedStream, Running, Stream, Subject

__all__ = [
    "REGISTRY",
    "AnyPublisher",
    "AnySubscriber",
    "AnySubscription",
    "Clock",
    "Completed",
    "Connectable",
    "Connection",
    "Counted",
    "Dropped",
    "ElementCount",
    "EmitResult",
    "Emitter",
    "EmptyError",
    "Executor",
    "Failed",
    "Flow",
    "GroupedStream",
    "Listener",
    "LoopClock",
    "Next",
    "Observation",
    "Overflow",
    "OverflowedError",
    "PenstockError",
    "Pipeline",
    "Plan",
    "Processor",
    "Progress",
    "ProtocolError",
    "Publisher",
    "Reading",
    "Receiver",
    "Recorder",
    "Registry",
    "Run",
    "RunCancelledError",
    "RunState",
    "Running",
    "Signal",
    "Sink",
    "Slow",
    "Stream",
    "Subject",
    "Subscriber",
    "Subscription",
    "SystemClock",
    "VirtualClock",
    "assembly_trace",
    "flow",
    "inline",
    "is_processor",
    "is_publisher",
    "is_subscriber",
    "is_subscription",
    "loop",
    "make_publisher",
    "make_subscriber",
    "make_subscription",
    "observe",
    "pool",
    "processor",
    "set_on_dropped",
    "subscriber",
    "thread",
]
