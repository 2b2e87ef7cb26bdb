"""enumerate: number the elements.

Group: change each element
Marble: a.enumerate() over -x--y--z--|
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeVar

from penstock.engine.words.arguments import count_given
from penstock.stage import Body, Results, Stage

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Enumerate(Stage[T, tuple[int, T]]):
    """Emit each element with its number, counting from `start`.

    Emits when upstream emits. Backpressures when downstream does. Completes when upstream completes.
    Cancels when downstream cancels.
    """

    results: ClassVar[Results] = Results.AS_MANY
    start: int = 0
    loop: ClassVar[Body] = Body("v = ({number}, v)\n{number} += 1", state=(("number", "{start}"),))

    def __post_init__(self) -> None:
        count_given("enumerate", "start", self.start, 0)
