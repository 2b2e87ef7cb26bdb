"""otel: runs are spans and steps are counted, as OpenTelemetry's own readers see them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from penstock import Observation, Registry, Stream, VirtualClock, inline, observe, thread
from penstock.otel import Telemetry, export_registry
from penstock.testing import subscribed


class Collected:
    """Hold a tracer and a meter, and what they have collected."""

    def __init__(self) -> None:
        self.spans = InMemorySpanExporter()
        tracers = TracerProvider()
        tracers.add_span_processor(SimpleSpanProcessor(self.spans))
        self.tracer = tracers.get_tracer("tests")
        self._reader = InMemoryMetricReader()
        self.meter = MeterProvider([self._reader]).get_meter("tests")
        self.telemetry = Telemetry(tracer=self.tracer, meter=self.meter)

    def points(self, metric: str, key: str = "penstock.step") -> dict[str, Any]:
        """Return the values of a metric by step, or by another attribute."""
        data = self._reader.get_metrics_data()
        assert data is not None
        return {
            point.attributes[key]: point.value  # type: ignore[index, union-attr, misc]
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for each in scope.metrics
            if each.name == metric
            for point in each.data.data_points
        }


def is_odd(n: int) -> int:
    return n % 2


def fail(_: object) -> object:
    raise ValueError("lost")


def test_a_run_is_a_span() -> None:
    collected = Collected()
    with observe(collected.telemetry):
        assert list(Stream.range(5).filter(is_odd).map(str)) == ["1", "3"]
    (span,) = collected.spans.get_finished_spans()
    assert span.name == "penstock.run"
    assert dict(span.attributes or {}) == {
        "penstock.stream": "range | filter(is_odd) | map(str)",
        "penstock.state": "completed",
        "penstock.delivered": 2,
    }
    assert span.status.status_code is StatusCode.UNSET


def test_the_span_is_a_child_of_the_one_at_hand_also_on_another_thread() -> None:
    collected = Collected()
    with collected.tracer.start_as_current_span("request") as request, observe(collected.telemetry):
        list(Stream.range(5).publish_on(thread()).flat_map(lambda n: [list(Stream.range(n))]))
    spans = [span for span in collected.spans.get_finished_spans() if span.name == "penstock.run"]
    assert len(spans) == 6  # the one of the request, and one of each loop inside of it
    assert {span.context.trace_id for span in spans} == {request.get_span_context().trace_id}  # type: ignore[union-attr]


def test_a_failure_is_on_the_span() -> None:
    collected = Collected()
    with observe(collected.telemetry), pytest.raises(ValueError, match="lost"):
        list(Stream.range(5).map(fail))
    (span,) = collected.spans.get_finished_spans()
    assert span.status.status_code is StatusCode.ERROR
    assert span.status.description == "lost"
    assert [event.name for event in span.events] == ["exception"]
    assert collected.points("penstock.errors") == {"range": 0, "map(fail)": 1}


def test_steps_are_counted() -> None:
    collected = Collected()
    clock = VirtualClock()

    def last(n: int) -> int:
        clock.advance(2)
        return n

    with observe(collected.telemetry, clock=clock):
        for _ in range(2):
            list(Stream.range(5).filter(is_odd).map(last))
    name = "map(test_steps_are_counted.last)"
    assert collected.points("penstock.delivered") == {"range": 10, "filter(is_odd)": 4, name: 4}
    assert collected.points("penstock.requested") == {"range": 10, "filter(is_odd)": 4, name: 4}
    assert collected.points("penstock.seconds")[name] == 8
    assert collected.points("penstock.delivered", "penstock.place") == {"0": 10, "1": 4, "2": 4}


def test_what_is_under_way_is_told_as_it_goes() -> None:
    collected = Collected()
    clock = VirtualClock()
    with observe(collected.telemetry, every=1, clock=clock):
        probe = subscribed(Stream.interval(1, clock=clock).publish_on(inline(), prefetch=8), 100)
    clock.advance(5)
    assert collected.points("penstock.delivered")["publish_on"] >= 3
    assert collected.points("penstock.waited")["interval"] >= 3
    probe.cancel()
    assert collected.points("penstock.delivered") == {"interval": 5, "publish_on": 5}
    assert collected.points("penstock.buffered") == {"interval": 0, "publish_on": 0}
    assert dict(collected.spans.get_finished_spans()[0].attributes or {})["penstock.state"] == "cancelled"


def test_where_everything_is_asked_for_what_came_is_told() -> None:
    collected = Collected()
    with observe(collected.telemetry):
        subscribed(Stream.range(3).map(str), 2**63 - 1).wait_for_end()
    assert collected.points("penstock.requested") == {"range": 3, "map(str)": 3}


def test_a_run_that_it_does_not_know_is_none_of_its_business() -> None:
    seen: list[Observation] = []

    class Other:
        def started(self, run: Observation, /) -> None:
            seen.append(run)

        progressed = ended = started

    list(Stream.range(3).observed(Other()))
    collected = Collected()
    collected.telemetry.progressed(seen[0])
    collected.telemetry.ended(seen[0])
    assert collected.spans.get_finished_spans() == ()


def test_without_arguments_it_uses_the_providers_of_the_program() -> None:
    with observe(Telemetry()):
        assert list(Stream.range(3)) == [0, 1, 2]
    assert not trace.get_current_span().is_recording()
    export_registry()


def test_what_metrics_counts_is_read() -> None:
    collected = Collected()
    registry = Registry()
    export_registry(registry, meter=collected.meter)
    list(Stream.range(3).metrics("orders", registry=registry))
    waiting = iter(Stream.range(3).metrics("orders", registry=registry))
    next(waiting)
    expected: dict[str, int] = {"runs": 2, "running": 1, "delivered": 4, "completed": 1, "failed": 0, "cancelled": 0}
    read: Callable[[str], Any] = lambda number: collected.points(f"penstock.metrics.{number}", "penstock.name")  # noqa: E731
    assert {number: read(number)["orders"] for number in expected} == expected


def test_without_opentelemetry_the_cure_is_named() -> None:
    code = "import sys; sys.modules['opentelemetry'] = None\nimport penstock.otel"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.stderr.splitlines()[-1] == (
        "ImportError: penstock.otel needs OpenTelemetry; say pip install 'penstock[otel]'"
    )
