"""renewed: substreams whose cancelled branches are followed by others.

The heir of a cancelled branch takes over what its subscriber had not asked for, in front of what has come since, and is
sent out when the branch has been let go of. So that there can be one, the outer stream completes after the branches
that have a subscriber.
"""

from __future__ import annotations

from typing import Any

from penstock.engine.many.branch import Branch
from penstock.engine.many.substreams import Trunk
from penstock.engine.places.clocks import Clock
from penstock.spec.interfaces import Subscriber


class RenewedTrunk(Trunk):
    """A trunk in which a branch that was cancelled is followed by another of its key."""

    _renews = True

    def __init__(self, operator: str, downstream: Subscriber[Any], size: int, patience: float, clock: Clock) -> None:
        super().__init__(operator, downstream, size, patience, clock)
        self._sending = 0
        """How many branches are on their way to the outer subscriber."""
        self.outer.on_taken = self._sent

    def send(self, branch: Branch) -> None:
        with self.lock:
            self._sending += 1
        super().send(branch)

    def _sent(self, count: int) -> None:
        with self.lock:
            self._sending -= count
        self._complete_outer()

    def _follows(self) -> bool:
        return bool(self._claimed or self._sending)

    def _retire(self, branch: Branch) -> None:
        if branch.left:
            return
        super()._retire(branch)
        if not (self._failed or self._outer_done or self.outer.closed):
            heir = branch.heir = self._enter(branch.key)
            heir.done = self.done

    def _heir_of(self, branch: Branch, rest: list[Any]) -> Branch | None:
        if rest:
            self._retire(branch)
        heir, branch.heir = branch.heir, None
        if heir is None or heir.left:
            return None
        heir.queue.extendleft(reversed(rest))
        heir.held += len(rest)
        branch.held -= len(rest)
        self._unclaimed += len(rest)
        if not heir.queue:
            heir.left = True
            self._leave(heir)
            self._orphans.pop(heir, None)
            return None
        if heir.done:
            self._open.pop(heir, None)
        return heir
