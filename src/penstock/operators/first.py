"""first: emit the first element alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeVar

from penstock.stage import Body, Stage

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class First(Stage[T, T]):
    """Emit the first element; nothing if there is none.

    Emits when upstream emits for the first time. Backpressures when downstream does. Completes with that element, or
    when upstream completes before. Cancels when downstream cancels, and upstream once it has its element.
    """

    loop: ClassVar[Body] = Body("{found} = True", state=(("found", "False"),), ends="{found}")

    def demand(self, n: int) -> int:
        """Ask for one element."""
        return min(n, 1)

    @property
    def cap(self) -> int:
        """Return one."""
        return 1
