"""processor: send a live stream through a DataFrame transformation and back, Spark as one step of a chain.

The query begins with the first request. The upstream is subscribed before that, so that an end without any demand is
passed on at once, and a cancel reaches it without a detour through Spark. An error of the upstream comes out after the
rows that came before it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

from pyspark.sql import DataFrame

from penstock.engine.grounds.outlet import element_or_raise
from penstock.engine.grounds.relay import Relay
from penstock.engine.runs.chain import Chain
from penstock.engine.runs.wiring import connect
from penstock.engine.words.arguments import function_given
from penstock.engine.words.part import Part, chunks_of
from penstock.flow import Flow
from penstock.flow import flow as record
from penstock.spark.egress.microbatch import QuerySource
from penstock.spark.egress.streams import stream
from penstock.spark.ingest.frames import frame, retire
from penstock.spark.pipeline.modes import Closing, chosen, ends_with, watermarked
from penstock.spark.session.held import HeldSession
from penstock.spark.wire.gate import Gate
from penstock.spark.wire.schema import Form, Schema, SchemaError
from penstock.spec.interfaces import Subscriber, Subscription
from penstock.stage import Source
from penstock.stream import Stream


class _Entry(Part):
    """The upstream's subscriber from the start, and the publisher that the gate subscribes to once Spark asks."""

    def __init__(self, end: Callable[[Exception | None], None]) -> None:
        self._end = end
        self._lock = Lock()
        self._upstream: Subscription | None = None
        self._gate: Any = None
        self._ended = self._cancelled = False

    # Towards the upstream.

    def on_subscribe(self, subscription: Subscription, /) -> None:
        element_or_raise(subscription, "on_subscribe")
        with self._lock:
            unwanted = self._cancelled or self._upstream is not None
            if not unwanted:
                self._upstream = subscription
            gate = self._gate
        if unwanted:
            subscription.cancel()  # rule 2.5
        elif gate is not None:
            gate.on_subscribe(subscription)

    def on_next(self, element: Any, /) -> None:
        element_or_raise(element, "on_next")
        if self._gate is not None:
            self._gate.on_next(element)

    def on_chunk(self, elements: list[Any], /) -> None:
        on_chunk = chunks_of(self._gate)
        if on_chunk is not None:
            on_chunk(elements)
        else:
            for element in elements:
                self.on_next(element)

    def on_error(self, error: Exception, /) -> None:
        element_or_raise(error, "on_error")
        self._over(error)

    def on_complete(self) -> None:
        self._over(None)

    def _over(self, error: Exception | None) -> None:
        with self._lock:
            self._ended = True
            gate = self._gate
        if gate is None:
            self._end(error)  # nothing was asked for, so nothing is inside
        elif error is None:
            gate.on_complete()
        else:
            gate.on_error(error)

    def cancel(self) -> None:
        """Cancel the upstream."""
        with self._lock:
            self._cancelled = True
            upstream = self._upstream
        if upstream is not None:
            upstream.cancel()

    # Towards the gate.

    def subscribe(self, gate: Subscriber[Any], /) -> None:
        """Let the gate take over the upstream's subscription."""
        with self._lock:
            late = self._ended
            if not late:
                self._gate = gate
            upstream = self._upstream
        if late:
            Stream.empty().subscribe(gate)  # the passage has ended already
        elif upstream is not None:
            gate.on_subscribe(upstream)


class _Passage(Relay[Any]):
    """One run: the subscription of what follows, and the end of a query's rows."""

    def __init__(self, downstream: Subscriber[Any]) -> None:
        super().__init__(downstream)
        self.entry = _Entry(lambda error: self.end(error, cancel=True))
        self.gate: Gate | None = None

    def cancelled(self) -> None:
        self.entry.cancel()

    def released(self) -> None:
        if self.gate is not None:
            retire(self.gate, self.entry)


@dataclass(frozen=True, slots=True)
class ThroughSpark(Source[Any]):
    """What a DataFrame transformation makes of the elements of another chain; each run is another query.

    Emits when downstream asks and a micro-batch has rows. Backpressures when Spark has `capacity` rows that it has not
    committed. Completes when the chain has completed and its rows are out. Cancels the chain and the query.
    """

    upstream: Chain
    spark: HeldSession
    transform: Callable[[DataFrame], DataFrame]
    takes: Schema
    gives: Schema
    rows: Form | None
    options: tuple[tuple[str, Any], ...]

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Subscribe to the chain and prepare a query that reads it."""
        passage = _Passage(downstream)
        leg = passage.entrance
        try:
            passage.gate = self.spark.gate
            closing = Closing(self.spark.session, self.spark.gate)
            given = frame(self.spark, passage.entry, self.takes, together=closing.together, **dict(self.options))
            made = self.transform(given)
            if not isinstance(made, DataFrame):
                raise TypeError(f"spark.flow: transform must return a DataFrame, got {made!r}")
            _check_columns(self.gives, Schema.of(made.schema))
            found = self._returned(made, closing)
        except Exception as error:  # noqa: BLE001  rule 1.4
            Stream.error(error).subscribe(leg)
            return
        found.subscribe(leg)
        connect(self.upstream, passage.entry)

    def _returned(self, made: DataFrame, closing: Closing) -> Stream[Any]:
        """Return the rows that come out, those that are held back until the end of the upstream included."""
        rows: Any = self.rows or self.gives.row
        if not made.isStreaming:
            return stream(self.spark, made, rows=rows)
        ends = ends_with(made, closing.together.doors)
        mode, at_end = chosen(made, None, ends=ends)
        closing.wanted = at_end or (ends and watermarked(made))
        source = stream(self.spark, closing.marked(made), rows=rows, trigger={"availableNow": True})._chain.source
        assert isinstance(source, QuerySource)
        return Stream(Chain(replace(source, mode=mode, shape=closing.final if at_end else None)))


def _check_columns(said: Schema, found: Schema) -> None:
    """Refuse a result of other columns than was said."""
    if _columns(said) != _columns(found):
        raise SchemaError(
            f"spark.flow: transform must return the columns of schema, {', '.join(_columns(said))},"
            f" got {', '.join(_columns(found))}; where other columns go in than come out, say so with input_schema"
        )


def _columns(schema: Schema) -> list[str]:
    return sorted(f"{field.name} {field.dataType.simpleString()}" for field in schema.struct)


def flow(
    spark: HeldSession,
    transform: Callable[[DataFrame], DataFrame],
    schema: Schema,
    *,
    input_schema: Schema | None = None,
    rows: Form | None = None,
    **options: Any,
) -> Flow[Any, Any]:
    """Make a Flow of a DataFrame transformation; `schema` is that of what comes out.

    `input_schema` is that of what goes in, where it is another. `rows` says in which form rows come out if not in that
    of the schema; the other options are those of `spark.frame`.
    """
    function_given("spark.flow", "transform", transform)
    given = tuple(options.items())
    takes = schema if input_schema is None else input_schema
    return record(
        lambda upstream: Stream(Chain(ThroughSpark(upstream._chain, spark, transform, takes, schema, rows, given)))
    )
