"""Publishers that break one rule each: every class changes one step of a correct one."""

from __future__ import annotations

import contextlib
import threading
import weakref

from tests.tck.publisher.correct_publishers import (
    UNBOUNDED,
    CppHandle,
    CppPublisher,
    Nothing,
    SyncPublisher,
    SyncRun,
    ThreadRun,
    UnicastPublisher,
)

# 1.1 to 1.7: what is sent


class SendsOneTooMany(SyncRun):
    def send(self, element):
        super().send(element)
        if self.demand == 0 and self.ahead and not self.over:
            super().send(self.ahead.popleft())


class WaitsForFullDemand(SyncRun):
    """Sends nothing while fewer elements are left than were asked for."""

    sent = 0

    def step(self):
        source = self.publisher.source
        if isinstance(source, range) and 0 < len(source) - self.sent < self.demand:
            return self.idle()
        return super().step()

    def send(self, element):
        self.sent += 1
        super().send(element)


class ServesEveryThread(SyncRun):
    """Keeps no other thread out while one is sending."""

    def __init__(self, publisher, subscriber):
        super().__init__(publisher, subscriber)
        self.here = threading.local()

    def drain(self):
        if self.draining or getattr(self.here, "busy", False):
            return
        self.here.busy = True
        while self.step():
            pass
        self.here.busy = False

    def idle(self):
        return False


class SwallowsFailure(SyncRun):
    def fail(self, error):
        if isinstance(error, ValueError):
            super().fail(error)


class CompletesOnFailure(SyncRun):
    def fail(self, error):
        super().fail(error) if isinstance(error, ValueError) else self.complete()


class NeverCompletes(SyncRun):
    def complete(self):
        with self.lock:
            self.over = True
        self.release()


class NeverCompletesWhenEmpty(SyncRun):
    sent = False

    def send(self, element):
        self.sent = True
        super().send(element)

    def complete(self):
        if self.sent:
            super().complete()
        else:
            self.cancel()


class AnswersAfterTheEnd(SyncRun):
    """Tells a subscriber that asks once the stream is over that it is over."""

    ended = None

    def complete(self):
        self.ended = weakref.ref(self.subscriber)
        super().complete()

    def request(self, n):
        if self.ended is not None and n == -1 and self.ended() is not None:
            self.ended().on_complete()
        super().request(n)


class KeepsEndedSubscriber(SyncRun):
    def end(self, signal):
        self.kept = self.subscriber
        super().end(signal)


class KeepsFailedSubscriber(SyncRun):
    def fail(self, error):
        self.kept = self.subscriber
        super().fail(error)


class CompletesTwice(SyncRun):
    def complete(self):
        def twice(subscriber):
            subscriber.on_complete()
            subscriber.on_complete()

        self.end(twice)


class GoesOnAfterRefusal(SyncRun):
    """Signals that a request was wrong, and serves those that were right."""

    told = False

    def request(self, n):
        if n > 0 or self.over:
            super().request(n)
        elif not self.told:
            self.told = True
            self.subscriber.on_error(self.refusal(n))


class CompletesAfterFailure(SyncRun):
    def fail(self, error):
        def both(subscriber):
            subscriber.on_error(error)
            subscriber.on_complete()

        super().fail(error) if isinstance(error, ValueError) else self.end(both)


class SendsNone(SyncRun):
    def send(self, element):
        super().send(None)


# 1.8: after cancel


class CompletesAfterCancelInOnSubscribe(SyncRun):
    def begin(self):
        subscriber = self.subscriber
        super().begin()
        if self.over and self.iterator is None and not self.started:
            subscriber.on_complete()

    started = False

    def start(self):
        self.started = True
        super().start()


class SendsWhatWasAskedForInOnSubscribe(SyncRun):
    """Sends one element that was asked for inside on_subscribe, though a cancel followed there."""

    def begin(self):
        subscriber = self.subscriber
        super().begin()
        if self.over and self.iterator is None and self.demand:
            subscriber.on_next("late")


class CompletesAfterCancelInLast(SyncRun):
    ended = False

    def end(self, signal):
        self.ended = True
        super().end(signal)

    def send(self, element):
        subscriber, iterator = self.subscriber, self.iterator
        super().send(element)
        if self.over and not self.ended and next(iterator, self) is self:
            subscriber.on_complete()


# 1.9 to 1.11, 2.12, 2.13, 3.1: subscribing


class FailsWithCancel(SyncRun):
    """Tells the subscriber that it has cancelled."""

    def cancel(self):
        self.fail(RuntimeError("cancelled"))


class CompletesWithCancel(ThreadRun):
    """Says farewell on its own thread."""

    def serve(self, subscriber):
        super().serve(subscriber)
        if self.over and self.left:
            subscriber.on_complete()

    left = False

    def cancel(self):
        self.left = not self.over
        super().cancel()


class AcceptsNone(SyncPublisher):
    def subscribe(self, subscriber):
        if subscriber is not None:
            super().subscribe(subscriber)


class RaisesAttributeErrorForNone(SyncPublisher):
    def subscribe(self, subscriber):
        self.run(self, subscriber).begin()


class SendsBeforeOnSubscribe(SyncRun):
    def begin(self):
        if self.publisher.source == range(0):
            self.over = True
            self.subscriber.on_complete()
            self.subscriber.on_subscribe(Nothing())
        else:
            super().begin()


class NeverCallsOnSubscribe(SyncPublisher):
    def subscribe(self, subscriber):
        if subscriber is None:
            raise TypeError("subscribe: subscriber must not be None")


class RejectsByRaising(UnicastPublisher):
    def subscribe(self, subscriber):
        if subscriber is not None and self.taken:
            raise RuntimeError("one subscriber only")
        super().subscribe(subscriber)


class RejectsByCompleting(UnicastPublisher):
    def subscribe(self, subscriber):
        if subscriber is not None and self.taken:
            subscriber.on_subscribe(Nothing())
            subscriber.on_complete()
            return
        super().subscribe(subscriber)


class RaisesWhenSourceDoes(SyncRun):
    """Lets an exception of iter(source) out of subscribe, having signalled it."""

    def start(self):
        super().start()
        iter(self.publisher.source)


class IgnoresSecondSubscriber(SyncPublisher):
    taken = False

    def subscribe(self, subscriber):
        if not self.taken or subscriber is None:
            self.taken = subscriber is not None
            super().subscribe(subscriber)


class ShowsEachItsOwn(SyncPublisher):
    """Sends each subscriber other elements."""

    subscribers = 0

    def run(self, publisher, subscriber):
        self.subscribers += 1
        run = SendsShifted(publisher, subscriber)
        run.shift = 1000 * self.subscribers
        return run


class ReadsOneIteratorForAll(SyncPublisher):
    def __init__(self, source):
        super().__init__(source)
        self.opened = None

    def run(self, publisher, subscriber):
        return ReadsWithTheOthers(publisher, subscriber)


class ReadsWithTheOthers(SyncRun):
    def open(self):
        if self.publisher.opened is None:
            self.publisher.opened = iter(self.publisher.source)
        self.iterator = self.publisher.opened
        self.look_ahead()

    def close(self, iterator):
        pass


class SendsShifted(SyncRun):
    def send(self, element):
        super().send(element + self.shift)


class CallsOnSubscribeTwice(SyncRun):
    def start(self):
        super().start()
        if not self.over:
            self.subscriber.on_subscribe(self)


class FailsWithAText(SyncRun):
    def fail(self, error):
        super().fail(error if isinstance(error, ValueError) else str(error))


class GoesOnAfterSubscriberRaised(SyncRun):
    def send(self, element):
        with contextlib.suppress(Exception):
            self.subscriber.on_next(element)
        if not self.over and not self.ahead:
            try:
                self.look_ahead()
            except Exception as error:
                self.fail(error)


class SharesSubscription(SyncPublisher):
    """Hands every subscriber the first one's subscription."""

    first = None

    def subscribe(self, subscriber):
        if subscriber is None:
            raise TypeError("subscribe: subscriber must not be None")
        if self.first is None:
            self.first = self.run(self, subscriber)
            self.first.begin()
        else:
            subscriber.on_subscribe(self.first)


# 3.2 to 3.4, 3.10, 3.11: calls inside signals


class LosesRequestInsideOnNext(SyncRun):
    inside = False

    def send(self, element):
        self.inside = True
        super().send(element)
        self.inside = False

    def add(self, n):
        if not self.inside:
            super().add(n)


class LosesRequestInsideOnSubscribe(SyncRun):
    begun = False

    def open(self):
        self.begun = True
        super().open()

    def add(self, n):
        if self.begun:
            super().add(n)


class Deadlocks(SyncRun):
    """Holds a lock that is not re-entrant while it calls its subscriber."""

    def __init__(self, publisher, subscriber):
        super().__init__(publisher, subscriber)
        self.sending = threading.Lock()

    def request(self, n):
        with self.sending:
            super().request(n)


class Recurses(SyncRun):
    """Answers a request made inside on_next then and there."""

    def __init__(self, publisher, subscriber):
        super().__init__(publisher, subscriber)
        self.sending = threading.RLock()

    def drain(self):
        with self.sending:
            while not self.draining and self.step():
                pass

    def send(self, element):
        failure = None
        if not self.ahead:
            try:
                self.look_ahead()
            except Exception as error:
                failure = error
        super().send(element)
        if failure is not None:
            self.fail(failure)


class SpoilsElementAskedForInside(SyncRun):
    """Sends another element than the next one when it was asked for more than one from inside on_next."""

    inside = False
    asked = False

    def request(self, n):
        self.asked = self.asked or (self.inside and n > 1)
        super().request(n)

    def send(self, element):
        self.inside = True
        if self.asked and self.iterator is not None:
            element, self.asked = -element, False
        super().send(element)
        self.inside = False


class DropsLastInsideOnSubscribe(SyncRun):
    early = False

    def request(self, n):
        self.early = self.early or self.iterator is None
        super().request(n)

    def send(self, element):
        if not (self.early and self.publisher.source == range(3) and element == 2):
            super().send(element)


# 3.5 to 3.7, 3.12 to 3.15: cancel


class CancelWaitsForOnNext(SyncRun):
    def __init__(self, publisher, subscriber):
        super().__init__(publisher, subscriber)
        self.sending = threading.RLock()

    def drain(self):
        with self.sending:
            super().drain()

    def cancel(self):
        with self.sending:
            super().cancel()


class CancelDrainsTheSource(SyncRun):
    def cancel(self):
        if not self.over and self.iterator is not None:
            with contextlib.suppress(Exception):
                next(self.iterator, None)
        super().cancel()


class CancelIsForOneThread(SyncRun):
    """Refuses to be cancelled by more than one thread."""

    canceller = None

    def cancel(self):
        me = threading.get_ident()
        self.canceller = self.canceller or me
        if self.canceller != me:
            raise RuntimeError("cancelled by two threads")
        super().cancel()


class AnswersRequestAfterCancel(SyncRun):
    """Tells a subscriber that asks after cancel that it has cancelled."""

    last = None

    def cancel(self):
        if not self.over:
            self.last = weakref.ref(self.subscriber)
        super().cancel()

    def request(self, n):
        last, self.last = self.last, None
        if last is not None and last() is not None:
            last().on_error(RuntimeError("cancelled already"))
        super().request(n)


class RefusesRequestAfterCancel(SyncRun):
    """Refuses a bad request although it was cancelled."""

    last = None

    def cancel(self):
        if not self.over:
            self.last = weakref.ref(self.subscriber)
        super().cancel()

    def request(self, n):
        if self.last is not None and n == -1:
            self.last().on_error(self.refusal(n))
        super().request(n)


class SecondCancelCompletes(SyncRun):
    last = None

    def cancel(self):
        if self.last is not None and self.last() is not None:
            self.last().on_complete()
            self.last = None
        elif not self.over:
            self.last = weakref.ref(self.subscriber)
        super().cancel()


class CancelsWhenDemandIsMet(SyncRun):
    """Takes notice of cancel only between requests."""

    asked_to_stop = False

    def cancel(self):
        if self.draining and self.demand > 0 and not self.over:
            self.asked_to_stop = True
        else:
            super().cancel()

    def step(self):
        if self.asked_to_stop and self.demand == 0 and not self.over:
            super().cancel()
        return super().step()


class KeepsCancelledSubscriber(SyncRun):
    def cancel(self):
        self.kept = self.subscriber or self.kept
        super().cancel()

    kept = None


class KeepsSubscriberThatNeverAsked(SyncRun):
    asked = False
    kept = None

    def request(self, n):
        self.asked = True
        super().request(n)

    def cancel(self):
        if not self.asked:
            self.kept = self.subscriber
        super().cancel()


class KeepsSubscriberThatCancelsInside(SyncRun):
    kept = None
    sending = False

    def send(self, element):
        self.sending = True
        super().send(element)
        self.sending = False

    def cancel(self):
        if self.sending:
            self.kept = self.subscriber
        super().cancel()


class KeepsSubscriberUntilTheSecondCancel(SyncRun):
    kept = None

    def cancel(self):
        self.kept = self.subscriber if self.draining else None
        super().cancel()


class LeavesTheUnreadOpen(SyncRun):
    asked = False

    def request(self, n):
        self.asked = True
        super().request(n)

    def close(self, iterator):
        if self.asked:
            super().close(iterator)


class NeverCloses(SyncRun):
    def close(self, iterator):
        pass


class ClosesTwice(SyncRun):
    def close(self, iterator):
        super().close(iterator)
        super().close(iterator)


class ClosesUnderTheOthers(SyncPublisher):
    """Ends every subscription when one is cancelled."""

    def __init__(self, source):
        super().__init__(source)
        self.runs = []

    def run(self, publisher, subscriber):
        run = ClosesAllRuns(publisher, subscriber)
        self.runs.append(run)
        return run


class ClosesAllRuns(SyncRun):
    def cancel(self):
        super().cancel()
        for run in self.publisher.runs:
            SyncRun.cancel(run)


class CancelRaisesWithTheSource(SyncRun):
    def close(self, iterator):
        if hasattr(iterator, "close"):
            iterator.close()


class SecondCancelRaises(SyncRun):
    def cancel(self):
        if self.over:
            raise KeyError("no such subscription")
        super().cancel()


class FirstCancelRaises(SyncRun):
    sent = False

    def send(self, element):
        self.sent = True
        super().send(element)

    def cancel(self):
        if not self.sent and not self.over:
            raise AttributeError("nothing to close")
        super().cancel()


class CancelRaisesAfterTheEnd(SyncRun):
    def complete(self):
        self.ended = True
        super().complete()

    def cancel(self):
        if getattr(self, "ended", False):
            raise RuntimeError("over already")
        super().cancel()


# 3.8, 3.9, 3.16, 3.17: demand


class LosesOneOfSeven(SyncRun):
    def add(self, n):
        super().add(n - 1 if n == 7 else n)


class IgnoresZero(SyncRun):
    def request(self, n):
        if n != 0:
            super().request(n)


class IgnoresNegative(SyncRun):
    def request(self, n):
        if n >= 0:
            super().request(n)


class IgnoresNegativeWithDemand(SyncRun):
    def request(self, n):
        if n > 0 or not self.demand:
            super().request(n)


class RefusesWithTypeError(SyncRun):
    def refusal(self, n):
        return TypeError("wrong")


class RaisesForZero(SyncRun):
    def request(self, n):
        if n <= 0 and not self.over:
            self.cancel()
            raise ValueError("a request must be positive")
        super().request(n)


class RaisesAfterTheEnd(SyncRun):
    def request(self, n):
        if self.over:
            raise RuntimeError("over already")
        super().request(n)


class RaisesWithTheSource(SyncRun):
    """Signals the failure of its source, then raises it too."""

    def fail(self, error):
        super().fail(error)
        if not isinstance(error, ValueError) and self.iterator is None and self.ran:
            raise error

    ran = False

    def send(self, element):
        self.ran = True
        super().send(element)


class Overflows(SyncRun):
    """Counts demand in a signed word of 64 bits."""

    def add(self, n):
        self.demand = (self.demand + n + 2**63) % 2**64 - 2**63


class RefusesUnbounded(SyncRun):
    def request(self, n):
        if n == UNBOUNDED:
            self.fail(OverflowError("too much"))
        super().request(n)


class CountsRequests(SyncRun):
    """Serves a hundred and fifty requests that come from outside its signals."""

    requests = 0

    def add(self, n):
        self.requests += not self.draining
        if self.requests <= 150:
            super().add(n)


# the C++ and .NET dialects


class EndsWithItsPublisher(CppPublisher):
    """Ends its subscriptions when it is destroyed."""

    def __init__(self, source):
        super().__init__(source)
        self.runs = []

    def subscribe(self, subscriber):
        handle = super().subscribe(subscriber)
        handle.run.publisher = None
        self.runs.append(handle.run)
        return handle

    def __del__(self):
        for run in self.runs:
            run.cancel()


class DroppingDoesNothing(CppPublisher):
    class handle(CppHandle):
        def __del__(self):
            pass

    def __init__(self, source):
        super().__init__(source)
        self.runs = []

    def subscribe(self, subscriber):
        handle = super().subscribe(subscriber)
        self.runs.append(handle.run)
        return handle


class RefusesZero(CppPublisher):
    run = SyncRun


class UnnamedRefusal(SyncRun):
    def refusal(self, n):
        return ValueError("must be positive")
