"""testing: what users test their streams and operators with; needs no test framework."""

from penstock.engine.places.clocks import VirtualClock
from penstock.testing.committing import check_commits
from penstock.testing.laws import Form, Promise, Way, check_contract, check_joint, check_source, check_stage
from penstock.testing.manual_publisher import ManualPublisher, ManualSubscription, PlannedBreach
from penstock.testing.marbles import MarbleError, expected, marble, record, timeline
from penstock.testing.probe import Probe, subscribed
from penstock.testing.resuming import check_resumable
from penstock.testing.signals import Completed, Failed, Next, Signal, VerificationError
from penstock.testing.speed import Speed, compare_speed
from penstock.testing.step_verifier import StepVerifier
from penstock.testing.tracked import Tracked

__all__ = [
    "Completed",
    "Failed",
    "Form",
    "ManualPublisher",
    "ManualSubscription",
    "MarbleError",
    "Next",
    "PlannedBreach",
    "Probe",
    "Promise",
    "Signal",
    "Speed",
    "StepVerifier",
    "Tracked",
    "VerificationError",
    "VirtualClock",
    "Way",
    "check_commits",
    "check_contract",
    "check_joint",
    "check_resumable",
    "check_source",
    "check_stage",
    "compare_speed",
    "expected",
    "marble",
    "record",
    "subscribed",
    "timeline",
]
