"""timestamp: emit each element with the time it came.

Group: mind the time
Marble: a.timestamp(clock=clock) over -x---y--z|
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeVar

from penstock.engine.places.clocks import SYSTEM_CLOCK, Clock, clock_given
from penstock.stage import Body, Results, Stage

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Timestamp(Stage[T, tuple[float, T]]):
    """Emit pairs of the clock's time and the element; the system's clock counts from an arbitrary start.

    Emits when upstream emits. Backpressures when downstream does. Completes when upstream completes. Cancels when
    downstream cancels.
    """

    results: ClassVar[Results] = Results.AS_MANY
    clock: Clock = SYSTEM_CLOCK
    loop: ClassVar[Body] = Body("v = ({now}(), v)", state=(("now", "{clock}.now"),))

    @property
    def steady(self) -> bool:
        """Tell that the time decides."""
        return False

    def __post_init__(self) -> None:
        clock_given("timestamp", self.clock)
