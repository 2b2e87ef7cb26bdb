"""sequence: the ground of what goes on with another upstream when one has ended.

What is to follow is said by turns on a stack: the one on top is asked first, and when it has nothing more to give, the
end goes to the one below it. A stream that is itself such a sequence, and is subscribed as the upstream of another one,
puts its turn on the stack of that one instead of standing in front of it. A turn leaves the stack before its last
upstream is subscribed. So streams that follow each other in a recursion, page by page, take neither stack nor memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.engine.grounds.relay import Attach, Leg, Relay
from penstock.spec.interfaces import Subscriber


@dataclass(frozen=True, slots=True)
class Following:
    """The upstream that follows one that has ended."""

    connect: Attach
    last: bool
    """Whether the turn that gives it has no other to give."""
    at_once: bool = True
    """Whether it is subscribed without waiting until the subscriber asks for more than has come."""


Turn = Callable[[Exception | None], Following | Exception | None]
"""What returns what follows an end, or, where nothing does, how the whole ends: with an error or without."""


class Sequence(Relay[Any]):
    """The subscription over one upstream after another."""

    plain = True

    def __init__(self, downstream: Subscriber[Any]) -> None:
        super().__init__(downstream)
        self._turns: list[Turn] = []
        self._touched = False

    def arrived(self, element: Any) -> None:
        self._touched = True
        downstream = self.downstream
        if downstream is not None:
            downstream.on_next(element)

    def arrived_together(self, elements: list[Any]) -> None:
        self._touched = True
        super().arrived_together(elements)

    def completed(self) -> None:
        self._after(None)

    def failed(self, error: Exception) -> None:
        self._after(error)

    def begin(self, turn: Turn) -> None:
        """Put a turn on the stack, and subscribe to what it gives first."""
        self._turns.append(turn)
        self._after(None, begins=True)

    def guard(self, turn: Turn) -> None:
        """Put a turn on the stack that says what follows the upstream to come."""
        self._turns.append(turn)

    def _after(self, error: Exception | None, *, begins: bool = False) -> None:
        while self._turns:
            following = self._turns[-1](error)
            if isinstance(following, Following):
                if following.last:
                    self._turns.pop()
                self.attach(following.connect, when_asked=self._touched and not (begins or following.at_once))
                return
            self._turns.pop()
            error = following
        self.end(error)


def sequence_before(downstream: Subscriber[Any]) -> Sequence:
    """Return the sequence whose next upstream is about to be subscribed with this subscriber, or a new one."""
    if isinstance(downstream, Leg) and downstream.subscription is None:
        relay = downstream.relay
        if isinstance(relay, Sequence) and relay.leg is downstream:
            return relay
    return Sequence(downstream)


def guarded(downstream: Subscriber[Any], after: Callable[[Exception], Following | Exception | None]) -> Leg:
    """Return the subscriber of an upstream whose failure is looked at."""
    sequence = sequence_before(downstream)
    sequence.guard(lambda error: None if error is None else after(error))
    return sequence.entrance
