"""required: the failure of an operator that was to give one element and found none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeVar

from penstock.errors import EmptyError
from penstock.stage import Body, Results, Stage

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Required(Stage[T, T]):
    """A step that passes elements on, and fails with EmptyError if there was none.

    Emits when upstream does. Backpressures when downstream does. Completes when upstream completes after an element,
    and fails when it completes without one. Cancels when downstream cancels.
    """

    results: ClassVar[Results] = Results.AS_MANY
    operator: str
    loop: ClassVar[Body] = Body("{seen} = True", state=(("seen", "False"),), tail="() if {seen} else {lacking}()")

    def lacking(self) -> tuple[object, ...]:
        """Fail."""
        raise EmptyError(f"{self.operator}: the stream completed without such an element")
