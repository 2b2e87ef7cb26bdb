"""drop_repeats: let a run of equal elements through once.

Group: let some through
Marble: a.drop_repeats() over -1-1-2-2-1-|
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from penstock.engine.words.arguments import function_given
from penstock.stage import Body, Results, Stage

T = TypeVar("T")

# None is never an element, so it can stand for "nothing yet"; a key may be None, so it is kept in a tuple.
_BY_ELEMENT = Body("if v == {last}: skip\n{last} = v", state=(("last", "None"),))
_BY_KEY = Body(
    "{now} = ({key}(v),)\nif {now} == {last}: skip\n{last} = {now}", state=(("last", "None"), ("now", "None"))
)


@dataclass(frozen=True, slots=True)
class DropRepeats(Stage[T, T]):
    """Emit an element only when its key differs from that of the one before it.

    Emits when the key changes. Backpressures when downstream does. Completes when upstream completes. Cancels when
    downstream cancels.
    """

    results: ClassVar[Results] = Results.AS_MANY
    key: Callable[[T], object] | None = None
    loops = (_BY_ELEMENT, _BY_KEY)

    def __post_init__(self) -> None:
        if self.key is not None:
            function_given("drop_repeats", "key", self.key)

    @property
    def body(self) -> Body:
        """Compare elements, or their keys."""
        return _BY_ELEMENT if self.key is None else _BY_KEY
