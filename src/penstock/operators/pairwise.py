"""pairwise: emit each element together with the one before it.

Group: collect
Marble: a.pairwise() over -1--2--3--|
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeVar

from penstock.stage import Body, Results, Stage

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Pairwise(Stage[T, tuple[T, T]]):
    """Emit each element but the first in a pair with the one before it.

    Emits when upstream emits, from the second element on. Backpressures when downstream does; it holds one element.
    Completes when upstream completes. Cancels when downstream cancels.
    """

    results: ClassVar[Results] = Results.AS_MANY
    # None is never an element, so it can stand for "nothing yet".
    keeps: ClassVar[int] = 1
    loop: ClassVar[Body] = Body(
        "if {last} is None:\n    {last} = v\n    skip\n{last}, v = v, ({last}, v)",
        state=(("last", "None"),),
        lacks="1 if {last} is not None else 2",
    )
