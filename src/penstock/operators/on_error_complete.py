"""on_error_complete: complete in place of a failure.

Group: handle failure
Marble: a.on_error_complete() over -1-2-#
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeVar

from penstock.engine.grounds.sequence import guarded
from penstock.engine.weaving.handled_errors import When, caught, when_given
from penstock.spec.interfaces import Subscriber
from penstock.stage import Joint, Results, Tie

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class OnErrorComplete(Joint[T, T]):
    """End quietly where upstream fails with an error that `when` names.

    Emits when upstream does. Backpressures when downstream does. Completes when upstream does or fails so; fails with
    any other error. Cancels when downstream cancels.
    """

    results: ClassVar[Results] = Results.AS_MANY
    tie: ClassVar[Tie] = Tie.FAILURE
    when: When | None = None

    def __post_init__(self) -> None:
        when_given("on_error_complete", self.when)

    def open(self, downstream: Subscriber[T], /) -> Subscriber[T]:
        """Guard what follows against a failure."""
        return guarded(downstream, self._after)

    def _after(self, error: Exception) -> Exception | None:
        meant, error = caught(self, self.when, error)
        return None if meant else error
