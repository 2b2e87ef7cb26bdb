"""start_with: emit some elements before those of upstream.

Group: bring streams together
Marble: a.start_with(8, 9) over -1-2-|
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeVar

from penstock.engine.words.arguments import elements_given
from penstock.stage import Body, Stage

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class StartWith(Stage[T, T]):
    """Emit the given elements, then those of upstream.

    Emits when downstream asks, and then when upstream emits. Backpressures when downstream does; upstream is asked for
    nothing before the given elements are delivered. Completes when upstream completes. Cancels when downstream cancels.
    """

    items: tuple[T, ...]
    loop: ClassVar[Body] = Body(head="{items}")

    def __post_init__(self) -> None:
        elements_given("start_with", *self.items)
