"""otel: what a listener sees, as OpenTelemetry spans and metrics; with the extra `otel`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from threading import Lock

from penstock.engine.watching.observe import Observation, Reading, RunState
from penstock.engine.words.demand import UNBOUNDED
from penstock.operators.metrics import REGISTRY, Counted, Registry

try:
    from opentelemetry import metrics, trace
except ImportError as missing:
    raise ImportError("penstock.otel needs OpenTelemetry; say pip install 'penstock[otel]'") from missing

__all__ = ["Telemetry", "export_registry"]

_NAME = "penstock"


class Telemetry:
    """A listener that makes a span of every run and counts its steps.

    The span `penstock.run` is a child of the current span where the stream is run. The counters `penstock.requested`,
    `penstock.delivered`, `penstock.errors`, `penstock.seconds` and `penstock.waited` and the level `penstock.buffered`
    have the stream, the step and its place as attributes.
    """

    def __init__(self, *, tracer: trace.Tracer | None = None, meter: metrics.Meter | None = None) -> None:
        self._tracer = trace.get_tracer(_NAME) if tracer is None else tracer
        meter = metrics.get_meter(_NAME) if meter is None else meter
        self._requested = meter.create_counter(f"{_NAME}.requested", "{element}", "Elements asked of a step.")
        self._delivered = meter.create_counter(f"{_NAME}.delivered", "{element}", "Elements that a step gave.")
        self._errors = meter.create_counter(f"{_NAME}.errors", "{error}", "Failures that began in a step.")
        self._seconds = meter.create_counter(f"{_NAME}.seconds", "s", "How long a step worked.")
        self._waited = meter.create_counter(f"{_NAME}.waited", "s", "How long elements of a step were waited for.")
        self._buffered = meter.create_up_down_counter(f"{_NAME}.buffered", "{element}", "Elements that wait in a step.")
        self._lock = Lock()
        self._running: dict[Observation, tuple[trace.Span, dict[tuple[int, ...], Reading]]] = {}

    def started(self, run: Observation, /) -> None:
        """Begin a span."""
        span = self._tracer.start_span(f"{_NAME}.run", attributes={f"{_NAME}.stream": run.chain})
        with self._lock:
            self._running[run] = (span, {})

    def progressed(self, run: Observation, /) -> None:
        """Count what has changed."""
        with self._lock:
            found = self._running.get(run)
        if found is not None:
            self._count(run, found[1])

    def ended(self, run: Observation, /) -> None:
        """Count the rest, and end the span."""
        with self._lock:
            found = self._running.pop(run, None)
        if found is None:
            return
        span, known = found
        self._count(run, known)
        span.set_attribute(f"{_NAME}.state", run.state.value)
        span.set_attribute(f"{_NAME}.delivered", run.readings()[-1].delivered)
        if run.state is RunState.FAILED and isinstance(run.error, Exception):
            span.record_exception(run.error)
            span.set_status(trace.Status(trace.StatusCode.ERROR, str(run.error)))
        span.end()

    def _count(self, run: Observation, known: dict[tuple[int, ...], Reading]) -> None:
        stream = run.chain
        for now in run.readings():
            before = known.get(now.place)
            attributes = {
                f"{_NAME}.stream": stream,
                f"{_NAME}.step": now.step,
                f"{_NAME}.place": ".".join(map(str, now.place)),
            }
            # Where everything was asked for, as much as came is told: a sum of more than that says nothing.
            self._requested.add(_asked(now) - (0 if before is None else _asked(before)), attributes)
            self._delivered.add(now.delivered - (0 if before is None else before.delivered), attributes)
            self._errors.add(now.errors - (0 if before is None else before.errors), attributes)
            self._buffered.add(now.buffered - (0 if before is None else before.buffered), attributes)
            # These are estimates, which may turn out to have been too high.
            self._seconds.add(max(0.0, now.seconds - (0.0 if before is None else before.seconds)), attributes)
            self._waited.add(max(0.0, now.waited - (0.0 if before is None else before.waited)), attributes)
            known[now.place] = now


def _asked(reading: Reading) -> int:
    return reading.delivered if reading.requested >= UNBOUNDED else reading.requested


def export_registry(registry: Registry = REGISTRY, *, meter: metrics.Meter | None = None) -> None:
    """Let OpenTelemetry read what `metrics` counts: one counter per number, with the name as an attribute."""
    meter = metrics.get_meter(_NAME) if meter is None else meter
    numbers: dict[str, Callable[[Counted], int]] = {
        "runs": lambda counted: counted.runs,
        "delivered": lambda counted: counted.delivered,
        "completed": lambda counted: counted.completed,
        "failed": lambda counted: counted.failed,
        "cancelled": lambda counted: counted.cancelled,
    }
    for number, read in numbers.items():
        meter.create_observable_counter(f"{_NAME}.metrics.{number}", [_reading(registry, read)])
    meter.create_observable_gauge(f"{_NAME}.metrics.running", [_reading(registry, lambda counted: counted.running)])


def _reading(
    registry: Registry, read: Callable[[Counted], int]
) -> Callable[[metrics.CallbackOptions], Iterable[metrics.Observation]]:
    def observe(_: metrics.CallbackOptions) -> Iterable[metrics.Observation]:
        return [
            metrics.Observation(read(counted), {f"{_NAME}.name": name}) for name, counted in registry.read().items()
        ]

    return observe
