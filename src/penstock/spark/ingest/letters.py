"""letters: rows that do not fit the schema of a live stream, on their way to the sink that takes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.engine.many.emitter import EmitResult, Emitter
from penstock.errors import OverflowedError
from penstock.flow import Sink, subscriber
from penstock.spark.ingest.supply import IngestError
from penstock.spark.wire.schema import SchemaError
from penstock.stream import Stream


@dataclass(frozen=True, slots=True)
class Rejected:
    """A row that does not fit the schema, and why."""

    row: Any
    error: SchemaError


class Letters:
    """A sink for rejected rows, and the stream that feeds it."""

    def __init__(self, sink: Sink[Rejected, Any], size: int) -> None:
        emitters: list[Emitter[Rejected]] = []
        self._receiver = subscriber(sink)
        Stream.create(emitters.append, size=size).subscribe(self._receiver)
        self._emitter = emitters[0]

    def reject(self, row: Any, error: SchemaError) -> None:
        """Pass a row on; a sink that takes no more fails the stream, for no row is dropped silently."""
        result = self._emitter.emit(Rejected(row, error))
        if result is EmitResult.OVERFLOW:
            raise OverflowedError("frame: the dead-letter sink does not keep up with the rows that do not fit")
        if result is not EmitResult.OK:
            raise IngestError("frame: the dead-letter sink has ended, and a row does not fit") from error

    def close(self) -> None:
        """End the sink's stream."""
        self._emitter.complete()


__all__ = ["Letters", "Rejected"]
