"""on_error_resume: go on with another stream after a failure."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from penstock.engine.arguments import function_given
from penstock.engine.blame import blamed
from penstock.engine.chain import connect_to
from penstock.engine.relay import Relay
from penstock.spec.interfaces import Publisher, Subscriber
from penstock.stage import Joint

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class OnErrorResume(Joint[T, T]):
    """Subscribe to what the function returns for the error, in place of the stream that failed.

    Emits when upstream, or what took its place, emits. Backpressures when downstream does; demand left over moves on.
    Completes when upstream or its replacement completes; fails if the function raises or the replacement fails.
    Cancels the one at hand.
    """

    fn: Callable[[Exception], Publisher[T] | Iterable[T] | AsyncIterable[T]]

    def __post_init__(self) -> None:
        function_given("on_error_resume", "fn", self.fn)

    def open(self, downstream: Subscriber[T], /) -> Subscriber[T]:
        """Put a relay in front of what follows."""
        leg = _ResumeRun(downstream, self).leg
        assert leg is not None
        return leg


class _ResumeRun(Relay[Any]):
    def __init__(self, downstream: Subscriber[Any], step: OnErrorResume[Any]) -> None:
        super().__init__(downstream)
        self._step: OnErrorResume[Any] | None = step

    def failed(self, error: Exception) -> None:
        step, self._step = self._step, None
        if step is None:
            self.end(error)
        else:
            self.attach(lambda leg: self._resume(step, error, leg))

    def _resume(self, step: OnErrorResume[Any], error: Exception, leg: Subscriber[Any]) -> None:
        try:
            connect_to("on_error_resume", step.fn(error), leg)
        except Exception as failure:  # noqa: BLE001  rule 1.4
            if failure is error:
                self.end(error)
                return
            if failure.__cause__ is None:
                failure.__cause__ = error
            self.end(blamed(failure, step, step.fn))
