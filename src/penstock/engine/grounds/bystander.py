"""bystander: what stands between two parts, lets their elements pass, and sees when the run is over."""

from __future__ import annotations

from typing import Any

from penstock.engine.grounds.cold_paths import nobody
from penstock.engine.words.part import Part, chunks_of, height_of
from penstock.spec.interfaces import Subscriber, Subscription


class Bystander(Part):
    """A subscriber whose elements pass as if it were not there, and the subscription of `downstream`."""

    __slots__ = ("_downstream", "_subscription", "height", "on_chunk", "on_next")

    def __init__(self, downstream: Subscriber[Any], height: int = 0) -> None:
        self.height = height_of(downstream) + height
        self._downstream: Subscriber[Any] | None = downstream
        self._subscription: Subscription | None = None
        self.on_next = downstream.on_next
        self.on_chunk = chunks_of(downstream)

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Pass itself on as the subscription."""
        downstream = self._downstream
        if downstream is None:
            subscription.cancel()
        elif subscription is None or self._subscription is not None:
            downstream.on_subscribe(subscription)  # which knows what to do with it
        else:
            self._subscription = subscription
            downstream.on_subscribe(self)

    def request(self, n: int, /) -> None:
        """Pass a request on."""
        assert self._subscription is not None
        self._subscription.request(n)

    def cancel(self) -> None:
        """Pass the cancel on, and be over."""
        assert self._subscription is not None
        self._subscription.cancel()
        self._over(None, whole=False)

    def on_error(self, error: Exception, /) -> None:
        """Be over, and pass the failure on."""
        downstream = self._over(error, whole=False)
        if downstream is not None:
            downstream.on_error(error)

    def on_complete(self) -> None:
        """Be over, and pass the end on."""
        downstream = self._over(None, whole=True)
        if downstream is not None:
            downstream.on_complete()

    def stand_aside(self) -> Subscriber[Any] | None:
        """Be over, and return the subscriber."""
        return self._over(None, whole=False)

    def _over(self, error: BaseException | None, *, whole: bool) -> Subscriber[Any] | None:
        """Let go of the subscriber (rule 3.13), which is returned, once; others override this to see the end."""
        downstream, self._downstream = self._downstream, None
        self.on_next = nobody
        self.on_chunk = None if self.on_chunk is None else nobody
        return downstream
