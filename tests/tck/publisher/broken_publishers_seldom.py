"""Publishers that break a rule where it is seldom tried: while refusing, after a raise, with unbounded demand."""

from __future__ import annotations

import contextlib
import itertools
import threading

from tests.tck.publisher.correct_publishers import UNBOUNDED, FailsAfter, Nothing, SyncRun, ThreadRun, UnicastPublisher

# 1.7, 1.8, 2.13: the ends that nobody waits for


class FailsIfTheEndRaises(SyncRun):
    """Takes what on_complete raises for a failure of its own."""

    def end(self, signal):
        def tell(subscriber):
            try:
                signal(subscriber)
            except Exception as error:
                subscriber.on_error(error)

        super().end(tell)


class CompletesTwiceIfUnbounded(SyncRun):
    def complete(self):
        subscriber = self.subscriber
        super().complete()
        if self.demand > UNBOUNDED // 2:
            subscriber.on_complete()


# 1.1, 1.4, 1.5: the ends that depend on how was asked


class SendsTheLastBeforeAFailureUnasked(SyncRun):
    """Gives its third element along with the second, where it fails behind it."""

    sent = 0

    def send(self, element):
        self.sent += 1
        super().send(element)
        if self.sent == 2 and isinstance(self.publisher.source, FailsAfter):
            self.demand += 1


class NeverCompletesIfUnbounded(SyncRun):
    def complete(self):
        if self.demand > UNBOUNDED // 2:
            self.cut_off()
        else:
            super().complete()


class NeverCompletesForTheNext(SyncRun):
    def begin(self):
        self.turn = _turn_of(self.publisher)
        super().begin()

    def complete(self):
        if self.turn == 0:
            super().complete()
        else:
            self.cut_off()


class LosesAnEnd(SyncRun):
    """Tells no end that it comes to by a request of some kind."""

    lost = False

    def end(self, signal):
        super().end((lambda subscriber: None) if self.lost else signal)


class LosesAFailureThatIsAskedForInside(LosesAnEnd):
    def request(self, n):
        self.lost = n > 0 and self.draining and isinstance(self.publisher.source, FailsAfter)
        super().request(n)


class LosesAnEndThatIsAskedForElsewhere(LosesAnEnd):
    def begin(self):
        self.here = threading.get_ident()
        super().begin()

    def request(self, n):
        fails = isinstance(self.publisher.source, FailsAfter)
        self.lost = n > 0 and threading.get_ident() != self.here and not fails
        super().request(n)


class LosesWhatTheNextAsksAtFirst(SyncRun):
    """Keeps what is asked inside on_subscribe for the first subscriber only."""

    deaf = False

    def begin(self):
        self.deaf = _turn_of(self.publisher) > 0
        super().begin()

    def start(self):
        self.deaf = False
        super().start()

    def request(self, n):
        if not self.deaf or n < 1:
            super().request(n)


class ServesTheNextOnTwoThreads(ThreadRun):
    """Sends the second element of a second subscriber on a thread of its own, and does not wait for it."""

    def serve(self, subscriber):
        shares = _turn_of(self.publisher) == 1
        super().serve(_Sharing(subscriber) if shares else subscriber)


def _turn_of(publisher):
    """Return how many subscribers a publisher has served before."""
    return next(vars(publisher).setdefault("turns", itertools.count()))


class _Sharing:
    def __init__(self, subscriber):
        self.sent = 0
        self.on_subscribe, self.on_error = subscriber.on_subscribe, subscriber.on_error
        self.on_complete, self.take = subscriber.on_complete, subscriber.on_next

    def on_next(self, element):
        self.sent += 1
        if self.sent == 2:
            threading.Thread(target=self.take, args=(element,), daemon=True).start()
        else:
            self.take(element)


class FailsAfterCancelInLast(SyncRun):
    """Looks ahead for a failure though it was cancelled."""

    def send(self, element):
        subscriber, iterator = self.subscriber, self.iterator
        super().send(element)
        if self.over:
            try:
                next(iterator, None)
            except Exception as error:
                subscriber.on_error(error)

    def close(self, iterator):
        pass


class CompletesWhenItsLoopIsLeft(ThreadRun):
    """Takes the end of its loop for the end of the stream, though a cancel inside on_next has ended it."""

    inside = False

    def serve(self, subscriber):
        super().serve(_Noting(self, subscriber))
        if self.inside:
            subscriber.on_complete()


class _Noting:
    def __init__(self, run, subscriber):
        self.run = run
        self.on_subscribe, self.on_error = subscriber.on_subscribe, subscriber.on_error
        self.on_complete, self.take = subscriber.on_complete, subscriber.on_next

    def on_next(self, element):
        self.take(element)
        self.run.inside = self.run.over


class FailsIfOnSubscribeRaises(SyncRun):
    def begin(self):
        subscriber = self.subscriber
        try:
            super().begin()
        except Exception as error:
            self.over = True
            subscriber.on_error(error)


class GoesOnIfOnSubscribeRaises(SyncRun):
    def begin(self):
        with contextlib.suppress(Exception):
            self.subscriber.on_subscribe(self)
        self.draining = False
        if not self.over:
            self.start()


# 1.6, 3.1, 3.8, 3.16: who is refused


class GivesTheRefusedTheFirstSubscription(UnicastPublisher):
    """Refuses with the subscription of the first subscriber, so that what the refused does is done to it."""

    def subscribe(self, subscriber):
        if subscriber is not None and self.taken:
            subscriber.on_subscribe(self.first)
            subscriber.on_error(RuntimeError("one subscriber only"))
            return
        super().subscribe(subscriber)

    def run(self, publisher, subscriber):
        self.first = SyncRun(publisher, subscriber)
        return self.first


class RefusalStopsTheFirst(GivesTheRefusedTheFirstSubscription):
    def subscribe(self, subscriber):
        if subscriber is not None and self.taken:
            self.first.cancel()
        UnicastPublisher.subscribe(self, subscriber)


class RefusedRequestRaises(UnicastPublisher):
    def subscribe(self, subscriber):
        if subscriber is not None and self.taken:
            subscriber.on_subscribe(_Raising())
            subscriber.on_error(RuntimeError("one subscriber only"))
            return
        super().subscribe(subscriber)


class _Raising(Nothing):
    def request(self, n):
        raise RuntimeError("one subscriber only")


class KeepsTheRefused(UnicastPublisher):
    kept = None

    def subscribe(self, subscriber):
        if self.taken:
            self.kept = subscriber
        super().subscribe(subscriber)


# 3.9: bad requests that are not looked at


class TakesUnboundedForEverything(SyncRun):
    """Has a short way for demand that cannot grow any more, before it looks at the number."""

    unbounded = False

    def request(self, n):
        if not self.unbounded:
            self.unbounded = n == UNBOUNDED
            super().request(n)


class IgnoresNegativeInsideOnSubscribe(SyncRun):
    def request(self, n):
        if n > 0 or self.iterator is not None or self.over:
            super().request(n)


# 3.4: who is held up


class RequestWaitsForOnNext(ThreadRun):
    """Lets nobody ask on another thread while an element is under way."""

    def __init__(self, publisher, subscriber):
        self.sending = threading.RLock()
        super().__init__(publisher, subscriber)

    def request(self, n):
        with self.sending:
            super().request(n)

    def serve(self, subscriber):
        super().serve(_Held(subscriber, self.sending))


class _Held:
    def __init__(self, subscriber, sending):
        self.sending = sending
        self.on_subscribe, self.on_error = subscriber.on_subscribe, subscriber.on_error
        self.on_complete, self.to = subscriber.on_complete, subscriber

    def on_next(self, element):
        with self.sending:
            self.to.on_next(element)


# 3.13: who is kept


class KeepsSubscriberThatCancelsInOnSubscribe(SyncRun):
    kept = None

    def begin(self):
        subscriber = self.subscriber
        super().begin()
        if self.over and self.iterator is None and not self.ended:
            self.kept = subscriber

    ended = False

    def end(self, signal):
        self.ended = True
        super().end(signal)


class KeepsSubscriberCancelledElsewhere(SyncRun):
    kept = None

    def begin(self):
        self.here = threading.get_ident()
        super().begin()

    def cancel(self):
        if threading.get_ident() != self.here:
            self.kept = self.subscriber
        super().cancel()
