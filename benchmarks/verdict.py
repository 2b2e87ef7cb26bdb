"""verdict: what was asked of a measurement, and whether it was reached."""

from __future__ import annotations

from dataclasses import dataclass, replace

from benchmarks.measure import Measurement, Ratio
from benchmarks.workload import PENSTOCK, Measure, Target


@dataclass(frozen=True, slots=True)
class Verdict:
    """Hold one thing that was asked, what was seen and whether it is enough."""

    workload: str
    asked: str
    seen: str
    passed: bool
    ratio: float | None = None  # None for what is not a ratio
    limit: float | None = None


def verdicts(measurement: Measurement) -> tuple[Verdict, ...]:
    """Judge the targets of a workload, then its bounded peers, then its checks."""
    return (
        *(judge_target(measurement, target) for target in measurement.workload.targets),
        *(judge_peer(measurement, peer) for peer in measurement.workload.bounded_peers()),
        *judge_checks(measurement),
    )


def judge_target(measurement: Measurement, target: Target) -> Verdict:
    """Compare the ratio with its limit."""
    if target.ideal is None:
        ratio = measurement.ratio(target.contender, target.against, target.measure)
    else:
        ratio = measurement.ratio_to(target.ideal(measurement.size), target.contender, target.measure)
    what = "" if target.measure is Measure.WALL else f"{target.measure.value} "
    asked = f"{what}at most {target.at_most:g}x {target.against}"
    if target.rate:
        asked = f"at least {1 / target.at_most:g}x the rate of {target.against}"
    judged = verdict_of(measurement, asked, ratio, target.at_most, ratio.median <= target.at_most)
    return replace(judged, seen=times(1 / ratio.median)) if target.rate else judged


def judge_peer(measurement: Measurement, peer: str) -> Verdict:
    """Ask that penstock is faster than a peer that keeps a bound too."""
    ratio = measurement.ratio(PENSTOCK, peer)
    return verdict_of(measurement, f"faster than {peer}", ratio, 1.0, ratio.median < 1.0)


def judge_checks(measurement: Measurement) -> tuple[Verdict, ...]:
    """Run what is looked at and not timed."""
    found = ((check.name, check.run()) for check in measurement.workload.checks)
    return tuple(Verdict(measurement.workload.name, name, finding.text, finding.passed) for name, finding in found)


def verdict_of(measurement: Measurement, asked: str, ratio: Ratio, limit: float, passed: bool) -> Verdict:
    """Put a ratio into words."""
    return Verdict(measurement.workload.name, asked, times(ratio.median), passed, ratio.median, limit)


def times(ratio: float) -> str:
    """Write a ratio with about three figures, such as 0.002x, 1.18x, 37.4x or 412x."""
    digits = 3 if ratio < 0.1 else 2 if ratio < 10 else 1 if ratio < 100 else 0
    return f"{ratio:.{digits}f}x"
