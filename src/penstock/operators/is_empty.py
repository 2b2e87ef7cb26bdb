"""is_empty: say whether there is no element at all.

Group: ask one thing of all
Marble: a.is_empty() over ---1-2-|
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.stage import Body, Results, Stage


@dataclass(frozen=True, slots=True)
class IsEmpty(Stage[Any, bool]):
    """Emit one element: whether upstream completed without any.

    Emits when upstream emits for the first time, or completes. Backpressures when downstream does; it asks for one
    element. Completes with its element. Cancels when downstream cancels, and upstream as soon as the answer is known.
    """

    results: ClassVar[Results] = Results.ONE
    loop: ClassVar[Body] = Body(
        "{known} = True\nv = False", state=(("known", "False"),), ends="{known}", tail="() if {known} else (True,)"
    )

    def demand(self, n: int) -> int:
        """Ask for one element."""
        return min(n, 1)

    @property
    def cap(self) -> int:
        """Return one."""
        return 1
