"""broken_subscribers: for each rule subscribers that break just that one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from penstock.spec.interfaces import Subscription
from penstock.tck.outcome import Limits, Report
from tests.tck.subscriber.broken_subscribers_sound import Asynchronous, Sound, StopAndWait, Windowed

# Synchronous ones do everything at once, so the shortest quiet shows that nothing more comes; only ones that leave
# something undone are waited for.
PROMPT = Limits(elements=50, timeout=5, quiet=0.001)
WAITED_FOR = Limits(elements=50, timeout=0.5, quiet=0.001)
THREADED = Limits(elements=50, timeout=5, quiet=0.3)


class NeverAsks(Sound):
    def ask(self, n: int = 1) -> None:
        """Forget to ask."""


class AsksOnce(Sound):
    def begin(self) -> None:
        super().ask(2)

    def ask(self, n: int = 1) -> None:
        """Forget to ask again."""


class ReportsNothing(Sound):
    def work(self, element: Any) -> None:
        """Leave the probe in the dark."""


class HidesItsTriggers(Sound):
    def on_subscribe(self, subscription: Subscription, /) -> None:
        self.refuse_none(subscription)


class CancelsInOnComplete(StopAndWait):
    def on_complete(self) -> None:
        assert self.subscription is not None
        self.subscription.cancel()
        super().on_complete()


class RequestsInOnError(StopAndWait):
    def on_error(self, error: Exception, /) -> None:
        self.refuse_none(error)
        self.ask(1)
        super().on_error(error)


class AsksAfterTheEnd(Sound):
    def ask(self, n: int = 1) -> None:
        assert self.subscription is not None
        self.subscription.request(n)


class CancelsSoonAfterTheEnd(StopAndWait):
    """Hand the clean-up, which cancels, to another thread."""

    def on_complete(self) -> None:
        super().on_complete()
        assert self.subscription is not None
        threading.Thread(target=self.subscription.cancel, daemon=True).start()


class IgnoresTheSecond(StopAndWait):
    def on_second(self, subscription: Subscription) -> None:
        """Leave it hanging."""


class SwitchesToTheSecond(Windowed):
    def on_second(self, subscription: Subscription) -> None:
        assert self.subscription is not None
        self.subscription.cancel()
        self.subscription = subscription
        self.begin()


class CancelsBoth(StopAndWait):
    def on_second(self, subscription: Subscription) -> None:
        assert self.subscription is not None
        subscription.cancel()
        self.subscription.cancel()


class AsksTheSecond(StopAndWait):
    def on_second(self, subscription: Subscription) -> None:
        subscription.request(1)
        subscription.cancel()


class RaisesAtTheSecond(StopAndWait):
    def on_second(self, subscription: Subscription) -> None:
        subscription.cancel()
        raise RuntimeError("already subscribed")


class ForgetsTheFirst(StopAndWait):
    """Cancel the second and treat the first as gone as well."""

    def on_second(self, subscription: Subscription) -> None:
        subscription.cancel()
        self.done = True


class StopsWithoutCancel(Sound):
    def stop(self) -> None:
        self.done = True


class QuitsWithoutCancel(Sound):
    """Take the trigger to cancel for a reason to be silent, and cancel only when no more is wanted."""

    def quit(self) -> None:
        self.done = True

    def stop(self) -> None:
        super().quit()


class AsksOnTwoThreads(Asynchronous):
    """Ask where the signal arrives and where the work is done."""

    def on_next(self, element: Any, /) -> None:
        super().on_next(element)
        Sound.ask(self, 1)


class RaisesAfterCancel(StopAndWait):
    """Refuse what was under way when it cancelled."""

    def begin(self) -> None:
        self.ask(5)

    def work(self, element: Any) -> None:
        Sound.work(self, element)
        if self.probe is None:
            self.quit()

    def on_next(self, element: Any, /) -> None:
        if self.done:
            raise RuntimeError("cancelled, and yet an element came")
        super().on_next(element)


class CompletionNeedsDemand(Sound):
    asked = False

    def ask(self, n: int = 1) -> None:
        self.asked = True
        super().ask(n)

    def on_complete(self) -> None:
        if not self.asked:
            raise RuntimeError("completed before it was asked anything")
        super().on_complete()


class CompletionOwesElements(Windowed):
    """Take it for a failure to be completed with demand left open."""

    owed = 0

    def ask(self, n: int = 1) -> None:
        self.owed += n
        super().ask(n)

    def work(self, element: Any) -> None:
        self.owed -= 1
        super().work(element)

    def on_complete(self) -> None:
        if self.owed > 0 and not self.done and self.taken > 0:
            self.done = True
            raise RuntimeError("elements were still to come")
        super().on_complete()


class ErrorOwesElements(CompletionOwesElements):
    def on_complete(self) -> None:
        Windowed.on_complete(self)

    def on_error(self, error: Exception, /) -> None:
        self.refuse_none(error)
        if self.owed > 0 and not self.done and self.taken > 0:
            self.done = True
            raise RuntimeError("elements were still to come")
        super().on_error(error)


class LosesEarlyCompletion(CompletionNeedsDemand):
    def on_complete(self) -> None:
        self.done = True
        if self.asked:
            self.finish(None)


class CompletesTwice(Sound):
    def on_complete(self) -> None:
        super().on_complete()
        self.finish(None)


class ErrorNeedsDemand(Sound):
    asked = False

    def ask(self, n: int = 1) -> None:
        self.asked = True
        super().ask(n)

    def on_error(self, error: Exception, /) -> None:
        self.refuse_none(error)
        if not self.asked:
            raise RuntimeError("failed before it was asked anything")
        super().on_error(error)


class WrapsErrors(Sound):
    def finish(self, error: Exception | None) -> None:
        super().finish(RuntimeError(str(error)) if error else None)


class TakesErrorsForCompletion(Sound):
    def finish(self, error: Exception | None) -> None:
        super().finish(None)


class SwapsTwo(Sound):
    """Work on the twelfth element before the eleventh."""

    held: Any = None

    def work(self, element: Any) -> None:
        if element == 10:
            self.held = element
            return
        super().work(element)
        if self.held is not None:
            super().work(self.held)
            self.held = None


class LosesOne(Sound):
    def work(self, element: Any) -> None:
        if element != 10:
            super().work(element)


class LosesOneBeforeASecondSubscription(Sound):
    def work(self, element: Any) -> None:
        if element != 6:
            super().work(element)


class RepeatsOne(Sound):
    def work(self, element: Any) -> None:
        super().work(element)
        if element == 10:
            super().work(element)


class EndOvertakesWork(Asynchronous):
    """Report the end where it arrives, ahead of the work that is waiting."""

    def on_complete(self) -> None:
        self.finish(None)
        self.tasks.put(None)


class TakesNoneForASubscription(Sound):
    def on_subscribe(self, subscription: Subscription, /) -> None:
        if subscription is not None:
            super().on_subscribe(subscription)


class TakesNoneForAnElement(Sound):
    def on_next(self, element: Any, /) -> None:
        if element is not None:
            super().on_next(element)


class TakesNoneForAnError(Sound):
    def on_error(self, error: Exception, /) -> None:
        if error is not None:
            super().on_error(error)


class RefusesNoneWrongly(Sound):
    def refuse_none(self, argument: object) -> None:
        if argument is None:
            raise ValueError("a signal must not carry None")


class RaisesWhenReentered(StopAndWait):
    """Hold it for impossible that an element comes before request has returned."""

    asking = False

    def ask(self, n: int = 1) -> None:
        self.asking = True
        super().ask(n)
        self.asking = False

    def on_next(self, element: Any, /) -> None:
        if self.asking and not self.done:
            raise TypeError("an element came inside request")
        super().on_next(element)


class RaisesAtAnEndAfterCancel(Sound):
    def finish(self, error: Exception | None) -> None:
        super().finish(error)
        if self.quitted:
            raise RuntimeError("cancelled, and yet the end came")

    quitted = False

    def quit(self) -> None:
        super().quit()
        self.quitted = True


class AsksForOthers(StopAndWait):
    """Share what should be its own: ask on behalf of everyone."""

    everyone: list[AsksForOthers] = []

    def begin(self) -> None:
        self.everyone.append(self)
        super().begin()

    def work(self, element: Any) -> None:
        super().work(element)
        for other in self.everyone:
            if other is not self:
                other.ask(1)


class CountsOnlyTheLargestRequest(Sound):
    """Take a request for a level to keep, where it is an amount to add."""

    open = 0

    def ask(self, n: int = 1) -> None:
        missing, self.open = n - self.open, max(n, self.open)
        if missing > 0:
            super().ask(missing)

    def on_next(self, element: Any, /) -> None:
        self.refuse_none(element)
        self.open -= 1
        super().on_next(element)


class AsksForMoreThanItHolds(Sound):
    """Ask for forty with room for twenty, which nobody empties."""

    def __init__(self, probe: Any = None) -> None:
        super().__init__(probe)
        self.room: list[Any] = []

    def begin(self) -> None:
        self.ask(40)

    def work(self, element: Any) -> None:
        if len(self.room) == 20:
            raise OverflowError("no room")
        self.room.append(element)


class AsksForNothing(StopAndWait):
    def work(self, element: Any) -> None:
        super().work(element)
        self.ask(0)


class AsksForNothingInBetween(Windowed):
    """Asks with every element, also when it has no room for another."""

    def work(self, element: Any) -> None:
        super().work(element)
        if self.taken:
            self.ask(0)


class AsksForHalves(Sound):
    def ask(self, n: int = 1) -> None:
        super().ask(n)
        super().ask(0.5)  # type: ignore[arg-type]


class AsksForTrue(Sound):
    def ask(self, n: int = 1) -> None:
        super().ask(n)
        super().ask(True)


class AsksForOneOfMany(Sound):
    """Take every trigger for a request of one."""

    def ask(self, n: int = 1) -> None:
        super().ask(1)


@dataclass(frozen=True)
class Broken:
    """Say which rule a subscriber breaks, which tests must say so, and what the first of them says."""

    rule: str
    make: Callable[..., Sound]
    tests: tuple[str, ...]
    detail: str
    claims: dict[str, Any] = field(default_factory=dict)
    limits: Limits = PROMPT
    also: tuple[tuple[str, str], ...] = ()
    """Rules of others that it cannot help breaking with it, each with the test that says so."""

    def __str__(self) -> str:
        return f"{self.rule}-{getattr(self.make, '__name__', self.make)}"

    def caught(self, kit: str, verify: Callable[..., Report]) -> None:
        """Assert that a kit blames this subscriber for its rule, by these tests and no others."""
        failed = verify(self.make, limits=self.limits, **self.claims).failed
        others = [outcome for outcome in failed if outcome.rule != self.rule]
        assert [(outcome.rule, outcome.test) for outcome in others] == [
            (rule, f"{kit}.{test}") for rule, test in self.also
        ]
        failed = tuple(outcome for outcome in failed if outcome.rule == self.rule)
        assert [outcome.test for outcome in failed] == [f"{kit}.{test}" for test in self.tests]
        assert failed[0].detail == self.detail
        assert failed[0].hint


def trials_of(kit: str, cases: list[Broken]) -> set[tuple[str, str]]:
    """Return the rules and the trials of a kit that these cases fail."""
    return {(case.rule, f"{kit}.{test}") for case in cases for test in case.tests}
