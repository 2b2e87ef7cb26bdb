"""on_error_complete: complete in place of a failure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

from penstock.engine.caught import When, caught, when_given
from penstock.engine.relay import Relay
from penstock.spec.interfaces import Subscriber
from penstock.stage import Joint

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class OnErrorComplete(Joint[T, T]):
    """End quietly where upstream fails with an error that `when` names.

    Emits when upstream does. Backpressures when downstream does. Completes when upstream does or fails so; fails with
    any other error. Cancels when downstream cancels.
    """

    when: When | None = None

    def __post_init__(self) -> None:
        when_given("on_error_complete", self.when)

    def open(self, downstream: Subscriber[T], /) -> Subscriber[T]:
        """Put a relay in front of what follows."""
        leg = _OnErrorCompleteRun(downstream, self).leg
        assert leg is not None
        return leg


class _OnErrorCompleteRun(Relay[Any]):
    def __init__(self, downstream: Subscriber[Any], step: OnErrorComplete[Any]) -> None:
        super().__init__(downstream)
        self._step = step

    def failed(self, error: Exception) -> None:
        meant, error = caught(self._step, self._step.when, error)
        self.end(None if meant else error)
