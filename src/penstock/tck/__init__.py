"""tck: the conformance kit, plain functions that hold every rule against a subject and report rule by rule.

Publishers, subscribers and processors are held to the rules of Reactive Streams; sources, throughs and sinks to the
properties of the pull-stream protocol.
"""

from __future__ import annotations

from penstock.tck.monitor import monitor
from penstock.tck.outcome import Limits, Outcome, Report, Status
from penstock.tck.processor.verify import verify_processor
from penstock.tck.publisher.verify import verify_publisher
from penstock.tck.pull.checker import PullChecker
from penstock.tck.pull.sink import verify_pull_sink
from penstock.tck.pull.source import verify_pull_source
from penstock.tck.pull.through import verify_pull_through
from penstock.tck.report import render, summary
from penstock.tck.report_formats import to_json, to_junit
from penstock.tck.subscriber.verify import verify_subscriber, verify_subscriber_blackbox

__all__ = [
    "Limits",
    "Outcome",
    "PullChecker",
    "Report",
    "Status",
    "monitor",
    "render",
    "summary",
    "to_json",
    "to_junit",
    "verify_processor",
    "verify_publisher",
    "verify_pull_sink",
    "verify_pull_source",
    "verify_pull_through",
    "verify_subscriber",
    "verify_subscriber_blackbox",
]
