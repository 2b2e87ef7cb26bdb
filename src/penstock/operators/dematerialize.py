"""dematerialize: turn elements that stand for signals into signals again.

Group: change each element
Marble: Stream.just(Next(1), Next(2), Completed(), Next(3)).dematerialize()
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from penstock.engine.words.signals import Completed, Failed, Next, Signal
from penstock.stage import Body, Stage

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Dematerialize(Stage[Signal[Any], T]):
    """Emit the element of each Next, end with Completed, and fail with the error of a Failed.

    Emits when upstream emits a Next; fails with TypeError at what is no signal. Backpressures when downstream does.
    Completes when upstream emits Completed, or completes. Cancels when downstream cancels, and upstream once it has
    emitted a Failed or Completed.
    """

    proceeds: ClassVar[type] = Next
    loop: ClassVar[Body] = Body(
        "if type(v) is not {proceeds}:\n    {ended}(v)\n    {over} = True\n    stop\nv = v.element\nif v is None: none",
        state=(("over", "False"),),
        ends="{over}",
    )

    @staticmethod
    def ended(signal: object) -> None:
        """Raise what ends the stream, unless it just completes."""
        if isinstance(signal, Failed):
            raise signal.error
        if not isinstance(signal, Completed):
            raise TypeError(f"dematerialize: each element must be a Next, Failed or Completed, got {signal!r}")
