"""Publishers whose demand is wrong only when much is asked for, from inside a signal, or on another thread."""

from __future__ import annotations

import threading
from itertools import chain

from tests.tck.publisher.broken_publishers import Recurses
from tests.tck.publisher.correct_publishers import UNBOUNDED, SyncPublisher, SyncRun, ThreadRun

# 1.1: where buffers end


class SendsOneMoreWith64(SyncRun):
    def add(self, n):
        super().add(n + (n == 64))


# 3.12: short ways


class SendsOneAhead(SyncRun):
    """Sends the first element unasked, to have it there when it is asked for."""

    def start(self):
        self.add(1)
        super().start()


class IgnoresCancelWhenUnbounded(SyncRun):
    """Looks for a cancel only while it counts, and else with every ten thousandth element."""

    def drain(self):
        if self.demand < UNBOUNDED or self.draining or self.refused is not None or not self.ahead:
            super().drain()
            return
        self.draining, subscriber, iterator = True, self.subscriber, self.iterator
        try:
            for sent, element in enumerate(chain(self.ahead, iterator)):
                if self.over and sent % 10_000 == 0:
                    return
                if self.refused is not None and not self.over:
                    self.fail(self.refusal(self.refused))
                    return
                subscriber.on_next(element)
            self.complete()
        except Exception as error:
            self.fail(error)


class HearsCancelOnItsThreadOnly(ThreadRun):
    """Hears a cancel on another thread once all that was asked for has been sent."""

    def cancel(self):
        if threading.current_thread().name == "threaded-publisher" or self.demand <= 0:
            super().cancel()


# 1.4: long streams


class CompletesOnLateFailure(SyncRun):
    """Takes a failure after a hundred elements for the end."""

    sent = 0

    def send(self, element):
        self.sent += 1
        super().send(element)

    def fail(self, error):
        super().fail(error) if self.sent < 100 or isinstance(error, ValueError) else self.complete()


# 3.17: words and flags


class CountsIn32Bits(SyncRun):
    def add(self, n):
        self.demand = (self.demand + n) % 2**32


class CutsRequestsTo32Bits(SyncRun):
    def add(self, n):
        super().add(n % 2**32)


class CountsInASigned32BitWord(SyncRun):
    def add(self, n):
        self.demand = (self.demand + n + 2**31) % 2**32 - 2**31


class CountsIn63Bits(SyncRun):
    def add(self, n):
        self.demand = (self.demand + n) % 2**63


class CountsIn64Bits(SyncRun):
    """Wraps only where several unbounded requests add up."""

    def add(self, n):
        self.demand = (self.demand + n) % 2**64


class OverwritesUnbounded(SyncRun):
    """Takes a request after an unbounded one for all there is."""

    unbounded = False

    def add(self, n):
        if self.unbounded:
            self.demand = n
        else:
            super().add(n)
        self.unbounded = n == UNBOUNDED


class IgnoresUnboundedWhileSending(SyncRun):
    """Takes it that what is running already is running without bound."""

    def add(self, n):
        if n != UNBOUNDED or not self.draining or self.iterator is None:
            super().add(n)


class SendsAllAtOnceWhenUnbounded(SyncRun):
    """Has a short way for unbounded demand, which it takes inside on_next as well."""

    def request(self, n):
        if n != UNBOUNDED or self.over or self.iterator is None:
            super().request(n)
            return
        self.draining = True
        while self.refused is None and self.send_next():
            pass
        if self.refused is not None:
            self.fail(self.refusal(self.refused))
        elif not self.over:
            self.complete()

    def send_next(self):
        if not self.over and not self.ahead:
            self.look_ahead()
        if not self.over and self.ahead:
            self.send(self.ahead.popleft())
            return True
        return False


# 3.8: what is lost


class ServesNoMoreThan64AtATime(SyncRun):
    def add(self, n):
        super().add(min(n, 64))


class ServesWholeTensOnly(SyncRun):
    def add(self, n):
        super().add(n if n < 10 else n // 10 * 10)


class InsideOnNext(SyncRun):
    """Knows whether it is being asked inside on_next."""

    inside = False

    def send(self, element):
        self.inside = True
        super().send(element)
        self.inside = False


class CountsOneInsideOnNext(InsideOnNext):
    """Remembers that it was asked, and not for how many."""

    def add(self, n):
        super().add(1 if self.inside and n != UNBOUNDED else n)


class KeepsTheLastInsideOnNext(InsideOnNext):
    def add(self, n):
        if self.inside and n != UNBOUNDED:
            self.demand = n
        else:
            super().add(n)


class KeepsTheLargestInsideOnNext(InsideOnNext):
    def add(self, n):
        if self.inside:
            self.demand = max(self.demand, n)
        else:
            super().add(n)


class HoldsTwentyRequests(InsideOnNext):
    """Blocks in the twenty-first request that is made inside one on_next."""

    def __init__(self, publisher, subscriber):
        super().__init__(publisher, subscriber)
        self.room = threading.Semaphore(20)

    def request(self, n):
        if self.inside:
            self.room.acquire()
        super().request(n)

    def send(self, element):
        super().send(element)
        self.room = threading.Semaphore(20)


class KeepsTheLastInsideOnSubscribe(SyncRun):
    def add(self, n):
        if self.iterator is None:
            self.demand = n
        else:
            super().add(n)


class BeginsAnewWithEachRequest(SyncRun):
    """Sends the first elements again and again."""

    def request(self, n):
        if n > 0 and not self.draining and not self.over:
            self.iterator = iter(self.publisher.source)
            self.ahead.clear()
            self.look_ahead()
        super().request(n)


class LosesDemandLate(SyncRun):
    """Forgets one request after a hundred and fifty elements."""

    sent = 0

    def send(self, element):
        self.sent += 1
        if self.sent == 150:
            self.demand = max(0, self.demand - 1)
        super().send(element)


class LosesRequestsWhileSending(ThreadRun):
    """Takes no request on another thread while its own is sending."""

    sending = None

    def request(self, n):
        if n <= 0 or self.sending in (None, threading.get_ident()):
            super().request(n)

    def serve(self, subscriber):
        super().serve(_Marking(self, subscriber))


class _Marking:
    def __init__(self, run, subscriber):
        self.run, self.subscriber = run, subscriber
        self.on_subscribe, self.on_error, self.on_complete = (
            subscriber.on_subscribe,
            subscriber.on_error,
            subscriber.on_complete,
        )

    def on_next(self, element):
        self.run.sending = threading.get_ident()
        try:
            self.subscriber.on_next(element)
        finally:
            self.run.sending = None


# 3.3


class RecursesForMoreThanOne(SendsAllAtOnceWhenUnbounded):
    """Leaves a request for one to the loop that is running, and answers a larger one then and there."""

    def request(self, n):
        if 1 < n < 1000 and self.draining and self.iterator is not None and not self.over:
            for _ in range(n):
                self.send_next()
        else:
            SyncRun.request(self, n)


# 1.11: what subscriptions share


class SharesDemand(SyncPublisher):
    """Keeps one count of what all its subscribers have asked for."""

    demand = 0


class SharingDemand(SyncRun):
    @property
    def demand(self):
        return self.publisher.demand

    @demand.setter
    def demand(self, demand):
        self.publisher.demand = demand


SharesDemand.run = SharingDemand


class LeavesDemandToTheNext(SyncPublisher):
    """Begins with the demand that the one before it left at its end."""

    left = 0


class LeavingDemand(SyncRun):
    def begin(self):
        self.demand, self.publisher.left = self.publisher.left, 0
        super().begin()

    def complete(self):
        self.publisher.left = min(self.demand, 3)
        super().complete()


LeavesDemandToTheNext.run = LeavingDemand


class SharesUnboundedDemand(SyncPublisher):
    """Stops counting for all once one has asked for everything."""

    unbounded = False


class SharingUnboundedDemand(SyncRun):
    def add(self, n):
        self.publisher.unbounded |= n == UNBOUNDED
        super().add(UNBOUNDED if self.publisher.unbounded else n)


SharesUnboundedDemand.run = SharingUnboundedDemand


class SharesCancel(SyncPublisher):
    """Stops for all when one of them has cancelled."""

    cancelled = False


class SharingCancel(SyncRun):
    def cancel(self):
        self.publisher.cancelled = self.publisher.cancelled or not self.over
        super().cancel()

    def step(self):
        if self.publisher.cancelled and not self.over:
            return self.idle()
        return super().step()


SharesCancel.run = SharingCancel


class SharesRefusal(SyncPublisher):
    """Refuses all when one of them has asked for less than nothing."""

    refused = None


class SharingRefusal(SyncRun):
    @property
    def refused(self):
        return self.publisher.refused

    @refused.setter
    def refused(self, n):
        self.publisher.refused = self.publisher.refused if n is None else n


SharesRefusal.run = SharingRefusal


class DropsRequestsWhileAnotherIsServed(SyncPublisher):
    serving = None


class ServingOneAtATime(SyncRun):
    def request(self, n):
        if self.publisher.serving in (None, self):
            super().request(n)

    def send(self, element):
        self.publisher.serving = self
        super().send(element)
        self.publisher.serving = None


DropsRequestsWhileAnotherIsServed.run = ServingOneAtATime


# 1.3: what overlaps late or rarely


class ThreadsOf(SyncPublisher):
    """A publisher with a thread for each subscriber, served by the class `serving`."""

    serving = ThreadRun

    def subscribe(self, subscriber):
        if subscriber is None:
            raise TypeError("subscribe: subscriber must not be None")
        self.serving(self, subscriber)


class HelpedOut(ThreadRun):
    """Lets another thread send some of the elements, and does not wait for it."""

    def serve(self, subscriber):
        super().serve(_Helping(self, subscriber))

    def helped(self, number):
        raise NotImplementedError


class _Helping:
    def __init__(self, run, subscriber):
        self.run, self.subscriber, self.sent = run, subscriber, 0
        self.on_subscribe, self.on_error, self.on_complete = (
            subscriber.on_subscribe,
            subscriber.on_error,
            subscriber.on_complete,
        )

    def on_next(self, element):
        self.sent += 1
        if self.run.helped(self.sent):
            threading.Thread(target=self.subscriber.on_next, args=(element,), daemon=True).start()
        else:
            self.subscriber.on_next(element)


class IsHelpedLate(HelpedOut):
    def helped(self, number):
        return number == 150


class IsHelpedRarely(HelpedOut):
    def helped(self, number):
        return number % 64 == 0


class IsHelpedWithTheLast(HelpedOut):
    """Sends the last element and the completion on two threads."""

    def helped(self, number):
        source = self.publisher.source
        return isinstance(source, range) and number == len(source)


class ServesEveryThreadLate(Recurses):
    """Keeps no other thread out once it has sent sixty elements."""

    sent = 0

    def __init__(self, publisher, subscriber):
        super().__init__(publisher, subscriber)
        self.here = threading.local()

    def send(self, element):
        self.sent += 1
        super().send(element)

    def drain(self):
        with self.lock:
            if self.iterator is None or (self.draining and self.sent <= 60) or getattr(self.here, "busy", False):
                return
            self.draining = True
        self.here.busy = True
        while self.step():
            pass
        self.here.busy = False


class RefusesAtOnce(ThreadRun):
    """Sends on_error on the thread that asks, whatever its own thread is doing."""

    def __init__(self, publisher, subscriber):
        self.receiver = subscriber
        super().__init__(publisher, subscriber)

    def request(self, n):
        if n > 0:
            super().request(n)
            return
        with self.changed:
            over, self.over = self.over, True
            receiver, self.receiver = self.receiver, None
            self.changed.notify()
        if not over and receiver is not None:
            receiver.on_error(ValueError("rule 3.9: a request must be positive"))

    def cancel(self):
        self.receiver = None
        super().cancel()

    def serve(self, subscriber):
        super().serve(subscriber)
        self.receiver = None
