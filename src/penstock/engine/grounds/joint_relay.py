"""joint_relay: the relay for joints of users, whose methods may raise.

A `Relay` trusts its joint: what a method of the joint raises is taken for a subscriber that raised (rule 2.13), which
is told nothing more. Here the two are told apart: an error of the joint fails the stream, and arrives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from penstock.engine.grounds.relay import Relay
from penstock.spec.interfaces import Subscriber

A = TypeVar("A")
B = TypeVar("B")


class JointRelay(Relay[B], Generic[A, B]):
    """The subscription of what follows a joint; override what begins with `on_` to see signals and demand.

    Call `deliver` to pass an element on, `left_out` in place of that, and `end` to end the stream.
    """

    def __init__(self, downstream: Subscriber[B]) -> None:
        super().__init__(downstream)
        self._below = False
        """Whether the subscriber below is at work, so that an error is of its making."""

    # What a joint overrides.

    def on_element(self, element: A) -> None:
        """Take an element of upstream; it is delivered unless this is overridden."""
        self.deliver(element)

    def on_failure(self, error: Exception) -> None:
        """Take upstream's failure; it ends the stream unless this is overridden."""
        self.end(error)

    def on_end(self) -> None:
        """Take upstream's end; it ends the stream unless this is overridden."""
        self.end()

    def on_request(self, n: int) -> None:
        """Look at a request for `n` more elements, on its way up."""

    def on_cancel(self) -> None:
        """Look at the cancel of the subscriber below."""

    def on_release(self) -> None:
        """Let go of timers and the like; called once, however the run ends."""

    # What a joint calls, besides `end` and `left_out`.

    def deliver(self, element: Any) -> None:
        """Pass an element on; there is one for each element that came, or `left_out` is called in its place."""
        if element is None:
            raise TypeError(f"rule 2.13: {type(self).__name__}.deliver(None): None is not an element")
        downstream = self.downstream
        if downstream is not None and not self.over:
            self._below = True
            downstream.on_next(element)
            self._below = False

    # What the relay calls.

    def arrived(self, element: Any) -> None:
        """Hand an element to the joint."""
        self._below = False
        try:
            self.on_element(element)
        except Exception as error:
            if self._below:
                raise  # rule 2.13
            self.end(error, cancel=True)

    def failed(self, error: Exception) -> None:
        """Hand a failure to the joint."""
        self._guarded(self.on_failure, error)

    def completed(self) -> None:
        """Hand the end to the joint."""
        self._guarded(self.on_end)

    def requested(self, n: int, first: bool) -> None:
        """Hand a request to the joint."""
        self._guarded(self.on_request, n, cancel=True)

    def _guarded(self, call: Callable[..., None], *args: object, cancel: bool = False) -> None:
        try:
            call(*args)
        except Exception as error:  # noqa: BLE001  rules 1.4 and 3.16
            self.end(error, cancel=cancel)

    def cancelled(self) -> None:
        """Hand the cancel to the joint."""
        self.on_cancel()

    def released(self) -> None:
        """Let the joint let go."""
        self.on_release()
