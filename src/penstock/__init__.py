"""penstock: Reactive Streams for Python, from one thread to a Spark cluster."""

from penstock.engine.doors.inlet import Receiver
from penstock.engine.many.broadcast import Connection
from penstock.engine.many.emitter import EmitResult, Emitter, Overflow
from penstock.engine.many.shared_run import Slow
from penstock.engine.places.clocks import Clock, SystemClock, VirtualClock
from penstock.engine.places.executors import Executor, inline, loop, pool, thread
from penstock.engine.places.loop_clock import LoopClock
from penstock.engine.watching.observe import Listener, Observation, Reading, RunState, observe
from penstock.engine.watching.recorder import Recorder
from penstock.engine.weaving.assembly import assembly_trace
from penstock.engine.words.dropped import Dropped, set_on_dropped
from penstock.engine.words.signals import Completed, Failed, Next, Signal
from penstock.errors import EmptyError, OverflowedError, PenstockError, ProtocolError, RunCancelledError
from penstock.flow import Flow, Pipeline, Sink, branch, flow, processor, subscriber
from penstock.operators.metrics import REGISTRY, Counted, Registry
from penstock.operators.resumable import Opened
from penstock.run import Plan, Progress, Run
from penstock.run.carrying.lifting import NotCarriedError
from penstock.run.resumption import NotResumableError, Resumption
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
    "NotCarriedError",
    "NotResumableError",
    "Observation",
    "Opened",
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
    "Resumption",
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
    "branch",
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
