"""examples: what hypothesis makes for the laws; it is imported when it is needed."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

_SAMPLES = 40


def hypothesis_for(call: str) -> Any:
    """Return hypothesis, or say how to get it."""
    try:
        import_module("hypothesis.strategies")
        return import_module("hypothesis")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"{call}: the laws need hypothesis; say pip install hypothesis") from error


def sizes(strategies: Any) -> Any:
    """Return a strategy for sizes of requests."""
    return strategies.lists(strategies.integers(1, 4), min_size=1, max_size=4)


def for_all(call: str, examples: int, check: Callable[..., None], *strategies: Any) -> None:
    """Check examples of these strategies, and say the smallest that fails."""
    hypothesis = hypothesis_for(call)
    phases = hypothesis.Phase
    quiet = hypothesis.settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=(phases.generate, phases.shrink),
        report_multiple_bugs=False,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    quiet(hypothesis.given(*strategies)(check))()


def sampled(call: str, elements: Any) -> list[Any]:
    """Return some elements of a strategy, the same ones each time."""
    hypothesis = hypothesis_for(call)
    found: list[Any] = []

    def keep(element: Any) -> None:
        found.append(element)

    quiet = hypothesis.settings(
        max_examples=_SAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=(hypothesis.Phase.generate,),
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    quiet(hypothesis.given(elements)(keep))()
    return found
