"""throttle_first: let an element through, then none for a while.

Group: mind the time
Marble: a.throttle_first(3, clock=clock) over -12-34--5|
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeVar

from penstock.engine.places.clocks import SYSTEM_CLOCK, Clock, clock_given, seconds_of
from penstock.stage import Body, Results, Stage

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ThrottleFirst(Stage[T, T]):
    """Emit an element unless another was emitted less than `seconds` ago; those are left out.

    Emits when upstream emits and `seconds` have passed since the last time. Backpressures when downstream does.
    Completes when upstream completes. Cancels when downstream cancels.
    """

    results: ClassVar[Results] = Results.AS_MANY
    seconds: float
    clock: Clock = SYSTEM_CLOCK
    loop: ClassVar[Body] = Body(
        "{at} = {now}()\nif {at} < {until}: skip\n{until} = {at} + {seconds}",
        state=(("now", "{clock}.now"), ("until", "float('-inf')"), ("at", "0.0")),
    )

    @property
    def steady(self) -> bool:
        """Tell that the time decides."""
        return False

    def __post_init__(self) -> None:
        seconds_of("throttle_first", "seconds", self.seconds)
        clock_given("throttle_first", self.clock)
