"""measure: time contenders side by side, round after round, and pair their times."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.workload import Contender, Measure, Workload


class WrongResultError(Exception):
    """Say that a contender computed something else than it had to."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Hold what one run cost, in seconds."""

    wall: float
    cpu: float

    def of(self, measure: Measure) -> float:
        """Read one of the two costs."""
        return self.wall if measure is Measure.WALL else self.cpu


@dataclass(frozen=True, slots=True)
class Measurement:
    """Hold the samples of every contender of a workload; sample k of each was taken in round k."""

    workload: Workload
    size: int
    samples: Mapping[str, tuple[Sample, ...]]

    def ratio(self, contender: str, against: str, measure: Measure = Measure.WALL) -> Ratio:
        """Compare two contenders round by round."""
        return paired(
            [sample.of(measure) for sample in self.samples[contender]],
            [sample.of(measure) for sample in self.samples[against]],
        )

    def ratio_to(self, seconds: float, contender: str, measure: Measure = Measure.WALL) -> Ratio:
        """Compare a contender with a fixed number of seconds."""
        costs = [sample.of(measure) for sample in self.samples[contender]]
        return paired(costs, [seconds] * len(costs))

    def median(self, contender: str, measure: Measure = Measure.WALL) -> float:
        """Give the middle cost of a contender in seconds."""
        return statistics.median(sample.of(measure) for sample in self.samples[contender])


@dataclass(frozen=True, slots=True)
class Ratio:
    """Hold the median of paired ratios and the quartiles around it."""

    median: float
    low: float
    high: float


def paired(costs: Sequence[float], baseline: Sequence[float]) -> Ratio:
    """Divide cost by cost, each pair from one round, then take the median and the quartiles."""
    ratios = [cost / base for cost, base in zip(costs, baseline, strict=True)]
    if len(ratios) == 1:
        return Ratio(ratios[0], ratios[0], ratios[0])
    low, median, high = statistics.quantiles(ratios, n=4, method="inclusive")
    return Ratio(median, low, high)


def checked_run(workload: Workload, contender: Contender, size: int, expected: object) -> Sample:
    """Time one run with the collector held off, and refuse a wrong result."""
    gc.collect()
    gc.disable()
    try:
        cpu, wall = time.process_time(), time.perf_counter()
        result = contender.run(size)
        sample = Sample(time.perf_counter() - wall, time.process_time() - cpu)
    finally:
        gc.enable()
    check(workload, contender, result, expected)
    return sample


def check(workload: Workload, contender: Contender, result: object, expected: object) -> None:
    """Refuse a wrong result."""
    if result != expected:
        message = f"{workload.name}: {contender.name} must give {short(expected)}, got {short(result)}"
        raise WrongResultError(message)


def measure(
    workload: Workload,
    size: int,
    rounds: int,
    run: Callable[[Workload, Contender, int, object], Sample] = checked_run,
) -> Measurement:
    """Run every contender once to warm up, then in turn in each round."""
    if rounds < 1:
        message = f"measure: rounds must be >= 1, got {rounds!r}"
        raise ValueError(message)
    expected = workload.expected(size)
    samples: dict[str, list[Sample]] = {contender.name: [] for contender in workload.contenders}
    for contender in workload.contenders:
        run(workload, contender, size, expected)
    for index in range(rounds):
        # every second round goes backwards: neighbours stay neighbours, and a drift of the machine favours nobody
        for contender in workload.contenders[:: -1 if index % 2 else 1]:
            samples[contender.name].append(run(workload, contender, size, expected))
    return Measurement(workload, size, {name: tuple(taken) for name, taken in samples.items()})


def short(value: object) -> str:
    """Show a value in at most 60 characters."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
