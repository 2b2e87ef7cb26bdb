"""end_with: emit some elements after those of upstream.

Group: bring streams together
Marble: a.end_with(8, 9) over -1-2-|
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeVar

from penstock.engine.words.arguments import elements_given
from penstock.stage import Body, Stage

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class EndWith(Stage[T, T]):
    """Emit the elements of upstream, then the given ones.

    Emits when upstream emits, and once it has completed when downstream asks; nothing is added to a failure.
    Backpressures when downstream does. Completes with the last of the given elements. Cancels when downstream cancels.
    """

    items: tuple[T, ...]
    loop: ClassVar[Body] = Body(tail="{items}")

    def __post_init__(self) -> None:
        elements_given("end_with", *self.items)
