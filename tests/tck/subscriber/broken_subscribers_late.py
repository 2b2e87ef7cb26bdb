"""broken_subscribers_late: subscribers that go wrong late, rarely, with large amounts, or inside request only."""

from __future__ import annotations

import threading
from typing import Any

from penstock.spec.interfaces import Subscription
from tests.tck.subscriber.broken_subscribers_sound import Sound, StopAndWait

LATE = 30


class Counting(StopAndWait):
    """Know how many elements have come."""

    count = 0

    def on_next(self, element: Any, /) -> None:
        self.refuse_none(element)
        self.count += 1
        super().on_next(element)


class AsksElsewhereLate(Counting):
    """Ask on another thread as well once it has had thirty elements."""

    def begin(self) -> None:
        self.ask(2)

    def work(self, element: Any) -> None:
        if self.count >= LATE:
            threading.Thread(target=self.ask, args=(1,), daemon=True).start()
        super().work(element)


class AsksElsewhereRarely(AsksElsewhereLate):
    """Ask on another thread as well for every twentieth element."""

    def work(self, element: Any) -> None:
        if self.count % 20 == 0:
            threading.Thread(target=self.ask, args=(1,), daemon=True).start()
        Counting.work(self, element)


class LosesOneLate(Counting):
    def work(self, element: Any) -> None:
        if self.count != LATE:
            super().work(element)
        else:
            self.ask(1)


class SwapsTwoLate(Counting):
    held: Any = None

    def work(self, element: Any) -> None:
        if self.count == LATE:
            self.held = element
            self.ask(1)
            return
        super().work(element)
        if self.held is not None:
            element, self.held = self.held, None
            Sound.work(self, element)


class FinishesTwiceLate(Counting):
    def on_complete(self) -> None:
        super().on_complete()
        if self.count > LATE:
            self.finish(None)


class LosesWhatComesInsideRequest(StopAndWait):
    """Take it that no element comes before request has returned."""

    asking = 0

    def ask(self, n: int = 1) -> None:
        self.asking += 1
        super().ask(n)
        self.asking -= 1

    def work(self, element: Any) -> None:
        if self.asking == 0:
            super().work(element)
        else:
            self.ask(1)


class LosesTheEndInsideRequest(LosesWhatComesInsideRequest):
    def work(self, element: Any) -> None:
        StopAndWait.work(self, element)

    def on_complete(self) -> None:
        self.done = True
        if self.asking == 0:
            self.finish(None)


class AsksIn32Bits(Sound):
    def ask(self, n: int = 1) -> None:
        super().ask(n % 2**32 or n)


class TakesTheSecondLate(Counting):
    """Change over to another subscription once it has had some elements."""

    def on_second(self, subscription: Subscription) -> None:
        if self.count > 5:
            self.subscription = subscription
        else:
            subscription.cancel()


class SharesItsSubscription(StopAndWait):
    """Keep the subscription where all of its kind find it."""

    shared: Subscription | None = None

    def on_subscribe(self, subscription: Subscription, /) -> None:
        if self.subscription is None:
            SharesItsSubscription.shared = subscription
        super().on_subscribe(subscription)

    def ask(self, n: int = 1) -> None:
        if self.shared is not None and not self.done:
            self.shared.request(n)


class RaisesLate(Counting):
    def work(self, element: Any) -> None:
        if self.count == LATE:
            raise OverflowError("no room")
        super().work(element)


class CancelsInALateOnError(Counting):
    def on_error(self, error: Exception, /) -> None:
        self.refuse_none(error)
        if self.count > LATE and self.subscription is not None:
            self.subscription.cancel()
        super().on_error(error)


class TakesNoneLater(StopAndWait):
    """Looks for None in what comes before the first element only."""

    begun = False

    def refuse_none(self, argument: object) -> None:
        if not self.begun:
            super().refuse_none(argument)

    def work(self, element: Any) -> None:
        self.begun = True
        super().work(element)


class TakesNoneForASecondSubscription(StopAndWait):
    def on_subscribe(self, subscription: Subscription | None, /) -> None:
        if subscription is not None or self.subscription is None:
            super().on_subscribe(subscription)  # type: ignore[arg-type]
