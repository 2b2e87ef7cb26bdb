"""distinct: let each element through once.

Group: let some through
Marble: a.distinct() over -1-2-1-3-2-|
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from penstock.engine.words.arguments import count_given, function_given
from penstock.stage import Body, Results, Stage

T = TypeVar("T")

_ALL = Body("if v in {seen}: skip\n{seen}.add(v)", state=(("seen", "set()"),))
_ALL_KEYS = Body(
    "{now} = {key}(v)\nif {now} in {seen}: skip\n{seen}.add({now})", state=(("seen", "set()"), ("now", "None"))
)
_FORGET = "if len({order}) == {size}: {seen}.discard({order}.popleft())\n"
_SOME = Body(
    "if v in {seen}: skip\n" + _FORGET + "{seen}.add(v)\n{order}.append(v)",
    state=(("seen", "set()"), ("order", "deque()")),
)
_SOME_KEYS = Body(
    "{now} = {key}(v)\nif {now} in {seen}: skip\n" + _FORGET + "{seen}.add({now})\n{order}.append({now})",
    state=(("seen", "set()"), ("order", "deque()"), ("now", "None")),
)


@dataclass(frozen=True, slots=True)
class Distinct(Stage[T, T]):
    """Emit an element only when its key is not among those of the elements emitted before, or of the last `size`.

    Emits when a key is new. Backpressures when downstream does; an element that is left out is replaced by asking for
    one more. It holds the keys of all that it has emitted, or with `size` those of the last `size`. Completes when
    upstream completes. Cancels when downstream cancels.
    """

    results: ClassVar[Results] = Results.AS_MANY
    key: Callable[[T], Hashable] | None = None
    size: int | None = None
    loops = (_ALL, _ALL_KEYS, _SOME, _SOME_KEYS)

    def __post_init__(self) -> None:
        if self.key is not None:
            function_given("distinct", "key", self.key)
        if self.size is not None:
            count_given("distinct", "size", self.size, 1)

    @property
    def body(self) -> Body:
        """Remember elements or their keys, all or some."""
        if self.size is None:
            return _ALL if self.key is None else _ALL_KEYS
        return _SOME if self.key is None else _SOME_KEYS
