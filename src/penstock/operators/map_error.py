"""map_error: fail with another error.

Group: handle failure
Marble: a.map_error(lambda error: LookupError('row')) over -1-2-#
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from penstock.engine.grounds.sequence import guarded
from penstock.engine.weaving.blame import blamed, caused_by
from penstock.engine.weaving.handled_errors import When, caught, when_given
from penstock.engine.words.arguments import function_given
from penstock.spec.interfaces import Subscriber
from penstock.stage import Gives, Joint, Sight

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class MapError(Joint[T, T]):
    """Fail with what the function makes of the error; the error of before is its cause.

    Emits when upstream does. Backpressures when downstream does. Completes when upstream does; an error that `when`
    does not name is passed on as it is. Cancels when downstream cancels.
    """

    sight: ClassVar[Sight] = Sight.ITEM
    fn: Callable[[Exception], Exception]
    when: When | None = None
    gives: ClassVar[Gives] = Gives.ONE

    @property
    def steady(self) -> bool:
        """Tell that it changes neither the elements nor their order."""
        return True

    def __post_init__(self) -> None:
        function_given("map_error", "fn", self.fn)
        when_given("map_error", self.when)

    def open(self, downstream: Subscriber[T], /) -> Subscriber[T]:
        """Guard what follows against a failure."""
        return guarded(downstream, self._after)

    def _after(self, error: Exception) -> Exception:
        meant, error = caught(self, self.when, error)
        if not meant:
            return error
        try:
            other = self.fn(error)
            if not isinstance(other, Exception):
                raise TypeError(f"map_error: fn must return an Exception, got {other!r}")
        except Exception as failure:  # noqa: BLE001  rule 1.4
            return error if failure is error else blamed(caused_by(failure, error), self, self.fn)
        return caused_by(other, error)
