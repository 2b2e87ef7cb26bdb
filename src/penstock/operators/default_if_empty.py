"""default_if_empty: emit given elements if no other came.

Group: bring streams together
Marble: a.default_if_empty(0) over -----|
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeVar

from penstock.engine.words.arguments import elements_given
from penstock.stage import Body, Results, Stage

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class DefaultIfEmpty(Stage[T, T]):
    """Emit the elements of upstream, or the given ones if it completes without any.

    Emits when upstream emits, or when it has completed without an element. Backpressures when downstream does.
    Completes when upstream completes, or with the last of the given elements. Cancels when downstream cancels.
    """

    items: tuple[T, ...]
    loop: ClassVar[Body] = Body("{empty} = False", state=(("empty", "True"),), tail="{items} if {empty} else ()")

    def __post_init__(self) -> None:
        if not self.items:
            raise ValueError("default_if_empty: items must be one element or more, got none")
        elements_given("default_if_empty", *self.items)

    @property
    def results(self) -> Results:  # type: ignore[override]
        """Give one where there is one at most to stand in."""
        return Results.AS_MANY if len(self.items) <= 1 else Results.ANY
