"""on_error_return: end with a last element in place of a failure.

Group: handle failure
Marble: a.on_error_return(0) over -1-2-#
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal, TypeVar

from penstock.engine.grounds.sequence import guarded
from penstock.engine.runs.resume import replaced
from penstock.engine.weaving.handled_errors import When, when_given
from penstock.engine.weaving.segment import no_element
from penstock.engine.words.arguments import Missing, elements_given, function_given
from penstock.spec.interfaces import Subscriber
from penstock.stage import Joint, Results, Tie

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class OnErrorReturn(Joint[T, T]):
    """Emit the value, or what the function makes of the error, and complete in place of a failure.

    Emits when upstream does, and once after a failure that `when` names. Backpressures when downstream does; the value
    waits to be asked for. Completes when upstream does, or with the value; fails with any other error, or if the
    function raises. Cancels when downstream cancels.
    """

    results: ClassVar[Results] = Results.AS_MANY
    tie: ClassVar[Tie] = Tie.FAILURE
    value: T | Literal[Missing.MISSING] = Missing.MISSING
    fn: Callable[[Exception], T] | None = None
    when: When | None = None

    def __post_init__(self) -> None:
        if (self.value is Missing.MISSING) == (self.fn is None):
            raise TypeError("on_error_return: value or fn must be given, and not both")
        elements_given("on_error_return", self.value)
        if self.fn is not None:
            function_given("on_error_return", "fn", self.fn)
        when_given("on_error_return", self.when)

    def open(self, downstream: Subscriber[T], /) -> Subscriber[T]:
        """Guard what follows against a failure."""
        return guarded(downstream, partial(replaced, self, self.when, self._made, self.fn))

    def _made(self, error: Exception) -> tuple[Any]:
        value = self.value if self.fn is None else self.fn(error)
        if value is None:
            raise no_element()
        return (value,)
