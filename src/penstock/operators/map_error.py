"""map_error: fail with another error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from penstock.engine.arguments import function_given
from penstock.engine.blame import blamed
from penstock.engine.caught import When, caught, following, when_given
from penstock.engine.relay import Relay
from penstock.spec.interfaces import Subscriber
from penstock.stage import Joint

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class MapError(Joint[T, T]):
    """Fail with what the function makes of the error; the error of before is its cause.

    Emits when upstream does. Backpressures when downstream does. Completes when upstream does; an error that `when`
    does not name is passed on as it is. Cancels when downstream cancels.
    """

    fn: Callable[[Exception], Exception]
    when: When | None = None

    def __post_init__(self) -> None:
        function_given("map_error", "fn", self.fn)
        when_given("map_error", self.when)

    def open(self, downstream: Subscriber[T], /) -> Subscriber[T]:
        """Put a relay in front of what follows."""
        leg = _MapErrorRun(downstream, self).leg
        assert leg is not None
        return leg


class _MapErrorRun(Relay[Any]):
    def __init__(self, downstream: Subscriber[Any], step: MapError[Any]) -> None:
        super().__init__(downstream)
        self._step = step

    def failed(self, error: Exception) -> None:
        step = self._step
        meant, error = caught(step, step.when, error)
        self.end(_mapped(step, error) if meant else error)


def _mapped(step: MapError[Any], error: Exception) -> Exception:
    try:
        other = step.fn(error)
        if not isinstance(other, Exception):
            raise TypeError(f"map_error: fn must return an Exception, got {other!r}")
    except Exception as failure:  # noqa: BLE001  rule 1.4
        return error if failure is error else blamed(following(failure, error), step, step.fn)
    return following(other, error)
