"""resume: the ground of joints that go on with something else after a failure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.engine.blame import blamed, operator_name
from penstock.engine.caught import When, caught, following
from penstock.engine.chain import connect_to
from penstock.engine.relay import Relay
from penstock.spec.interfaces import Subscriber
from penstock.stage import Joint


class Resume(Relay[Any]):
    """Subscribe to what `replace` returns for the first failure that is meant; `fn` is whom to blame if it raises."""

    def __init__(
        self,
        downstream: Subscriber[Any],
        step: Joint[Any, Any],
        when: When | None,
        replace: Callable[[Exception], object],
        fn: object,
    ) -> None:
        super().__init__(downstream)
        self._step = step
        self._when = when
        self._replace: Callable[[Exception], object] | None = replace
        self._fn = fn

    def failed(self, error: Exception) -> None:
        """Go on with the replacement, or fail."""
        replace = self._replace
        if replace is None:
            self.end(error)
            return
        meant, error = caught(self._step, self._when, error)
        if not meant:
            self.end(error)
            return
        self._replace = None  # a failure of the replacement is final
        self.attach(lambda leg: self._resume(replace, error, leg))

    def _resume(self, replace: Callable[[Exception], object], error: Exception, leg: Subscriber[Any]) -> None:
        try:
            connect_to(operator_name(self._step), replace(error), leg)
        except Exception as failure:  # noqa: BLE001  rule 1.4
            self.end(error if failure is error else blamed(following(failure, error), self._step, self._fn))
