"""tck: the conformance kit, plain functions that hold every rule against a subject and report rule by rule."""

from __future__ import annotations

from penstock.tck.monitor import monitor
from penstock.tck.outcome import Limits, Outcome, Report, Status
from penstock.tck.processor import verify_processor
from penstock.tck.publisher import verify_publisher
from penstock.tck.report import render, summary
from penstock.tck.subscriber import verify_subscriber, verify_subscriber_blackbox

__all__ = [
    "Limits",
    "Outcome",
    "Report",
    "Status",
    "monitor",
    "render",
    "summary",
    "verify_processor",
    "verify_publisher",
    "verify_subscriber",
    "verify_subscriber_blackbox",
]
