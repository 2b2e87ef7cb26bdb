"""pull: the pull-stream protocol: modules that ask for values one by one, and how they compose.

>>> from penstock import pull
>>> pull.pull(pull.count(5), pull.filter(lambda n: n % 2), pull.collect(lambda error, found: print(found)))
[1, 3, 5]
"""

from penstock.pull.composition import pull
from penstock.pull.ground.protocol import Abort, Answer, Done, End, PullError, Read
from penstock.pull.meeting.asynchronous import (
    Asked,
    Dataflow,
    StreamEnd,
    dataflow,
    from_async_iter,
    from_dataflow,
    to_async_iter,
)
from penstock.pull.meeting.flows import through_flow
from penstock.pull.meeting.iterating import to_iter
from penstock.pull.meeting.publishers import from_publisher, to_publisher
from penstock.pull.module import CompositionError, Duplex, PullSink, PullSource, PullThrough
from penstock.pull.modules.buffering import batch, buffer, sliding
from penstock.pull.modules.combining import LengthError, Many, cat, many, merge, zip_sources
from penstock.pull.modules.deferred import (
    DeferredSink,
    DeferredSource,
    DeferredThrough,
    cont,
    defer_sink,
    defer_source,
    defer_through,
)
from penstock.pull.modules.drain import Drain
from penstock.pull.modules.flattening import Queue, flat_map, flatten, queue_through
from penstock.pull.modules.pushable import Pushable, pushable
from penstock.pull.modules.reading import ByteReader, Handshake, Rest, handshake, reader
from penstock.pull.modules.sinks import MISSING, collect, concat, drain, find, log, on_end, reduce
from penstock.pull.modules.sources import count, empty, error, from_iter, infinite, keys, once, values
from penstock.pull.modules.switching import Abortable, abortable, catch
from penstock.pull.modules.throughs import filter, filter_not, map, non_unique, scan, take, take_while, through, unique  # noqa: A004
from penstock.pull.modules.tubes import Notify, Pair, notify, pair
from penstock.pull.modules.working import async_map, para_map
from penstock.pull.result import SinkResult
from penstock.pull.text.checker import Checker, checker
from penstock.pull.text.notation import notation
from penstock.pull.text.reference import RefSink, RefSource, Schedule, probe, ref_sink, ref_source, ref_through

__all__ = [
    "MISSING",
    "Abort",
    "Abortable",
    "Answer",
    "Asked",
    "ByteReader",
    "Checker",
    "CompositionError",
    "Dataflow",
    "DeferredSink",
    "DeferredSource",
    "DeferredThrough",
    "Done",
    "Drain",
    "Duplex",
    "End",
    "Handshake",
    "LengthError",
    "Many",
    "Notify",
    "Pair",
    "PullError",
    "PullSink",
    "PullSource",
    "PullThrough",
    "Pushable",
    "Queue",
    "Read",
    "RefSink",
    "RefSource",
    "Rest",
    "Schedule",
    "SinkResult",
    "StreamEnd",
    "abortable",
    "async_map",
    "batch",
    "buffer",
    "cat",
    "catch",
    "checker",
    "collect",
    "concat",
    "cont",
    "count",
    "dataflow",
    "defer_sink",
    "defer_source",
    "defer_through",
    "drain",
    "empty",
    "error",
    "filter",
    "filter_not",
    "find",
    "flat_map",
    "flatten",
    "from_async_iter",
    "from_dataflow",
    "from_iter",
    "from_publisher",
    "handshake",
    "infinite",
    "keys",
    "log",
    "many",
    "map",
    "merge",
    "non_unique",
    "notation",
    "notify",
    "on_end",
    "once",
    "pair",
    "para_map",
    "probe",
    "pull",
    "pushable",
    "queue_through",
    "reader",
    "reduce",
    "ref_sink",
    "ref_source",
    "ref_through",
    "scan",
    "sliding",
    "take",
    "take_while",
    "through",
    "through_flow",
    "to_async_iter",
    "to_iter",
    "to_publisher",
    "unique",
    "values",
    "zip_sources",
]  # fmt: skip
