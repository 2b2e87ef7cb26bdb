"""time_interval: emit each element with the seconds since the one before it.

Group: mind the time
Marble: a.time_interval(clock=clock) over -x---y--z|
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeVar

from penstock.engine.places.clocks import SYSTEM_CLOCK, Clock, clock_given
from penstock.stage import Body, Results, Stage

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TimeInterval(Stage[T, tuple[float, T]]):
    """Emit pairs of the seconds since the element before and the element; the first counts from the first request.

    Emits when upstream emits. Backpressures when downstream does. Completes when upstream completes. Cancels when
    downstream cancels.
    """

    results: ClassVar[Results] = Results.AS_MANY
    clock: Clock = SYSTEM_CLOCK
    loop: ClassVar[Body] = Body(
        "{at} = {now}()\nv = ({at} - {before}, v)\n{before} = {at}",
        state=(("now", "{clock}.now"), ("before", "{now}()"), ("at", "0.0")),
    )

    @property
    def steady(self) -> bool:
        """Tell that the time decides."""
        return False

    def __post_init__(self) -> None:
        clock_given("time_interval", self.clock)
