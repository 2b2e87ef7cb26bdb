"""Publishers written by hand to keep every rule; the broken ones change one step of them."""

from __future__ import annotations

import itertools
import logging
import threading
from collections import deque

UNBOUNDED = 2**63 - 1
LOG = logging.getLogger("penstock.tests.tck")


def numbers(count):
    """Return the first `count` numbers, or all of them."""
    return itertools.count() if count is None else range(count)


class FailsAfter:
    """An iterable that raises after `count` elements."""

    def __init__(self, count):
        self.count = count

    def __iter__(self):
        yield from range(self.count)
        raise RuntimeError("planned to fail")


class SyncRun:
    """A subscription that serves its subscriber on the thread that asks; cut into steps that can be broken."""

    def __init__(self, publisher, subscriber):
        self.publisher = publisher
        self.subscriber = subscriber
        self.lock = threading.Lock()
        self.demand = 0
        self.refused = None
        self.draining = True  # until on_subscribe has returned
        self.over = False
        self.iterator = None
        self.ahead = deque()

    # the subscriber's side

    def request(self, n):
        with self.lock:
            if self.over:
                return
            if n <= 0:
                self.refused = n
            else:
                self.add(n)
        self.drain()

    def cancel(self):
        with self.lock:
            if self.over:
                return
            self.over = True
        self.release()

    # the steps

    def cut_off(self):
        SyncRun.cancel(self)

    def begin(self):
        self.subscriber.on_subscribe(self)
        with self.lock:
            self.draining = False
        if not self.over:
            self.start()

    def start(self):
        try:
            self.open()
        except Exception as error:
            self.fail(error)
        self.drain()

    def open(self):
        self.iterator = iter(self.publisher.source)
        self.look_ahead()

    def add(self, n):
        self.demand = min(self.demand + n, UNBOUNDED)

    def drain(self):
        with self.lock:
            if self.draining:
                return
            self.draining = True
        while self.step():
            pass

    def step(self):
        """Do one thing; return False when there is nothing to do."""
        with self.lock:
            if self.over:
                return self.idle()
            refused = self.refused
            more = self.demand > 0 and bool(self.ahead)
            if refused is None and not more and self.ahead:
                return self.idle()
            if refused is None and more:
                self.demand -= 1
        if refused is not None:
            self.fail(self.refusal(refused))
        elif not self.ahead:
            self.complete()
        else:
            self.send(self.ahead.popleft())
        return True

    def idle(self):
        self.draining = False
        return False

    def refusal(self, n):
        return ValueError(f"rule 3.9: request({n}): a request must be positive")

    def look_ahead(self):
        """Keep one element in hand, so that the end comes with the last element."""
        element = next(self.iterator, self)
        if element is not self:
            self.ahead.append(element)

    def send(self, element):
        subscriber = self.subscriber
        if subscriber is None:
            return
        try:
            subscriber.on_next(element)
        except Exception:
            self.cut_off()
            LOG.debug("a subscriber raised", exc_info=True)
            return
        if not self.over and not self.ahead:
            try:
                self.look_ahead()
            except Exception as error:
                self.fail(error)

    def complete(self):
        self.end(lambda subscriber: subscriber.on_complete())

    def fail(self, error):
        self.end(lambda subscriber: subscriber.on_error(error))

    def end(self, signal):
        with self.lock:
            if self.over:
                return
            self.over = True
        subscriber = self.subscriber
        self.release()
        signal(subscriber)

    def release(self):
        self.subscriber = None
        iterator, self.iterator = self.iterator, None
        self.close(iterator)

    def close(self, iterator):
        if hasattr(iterator, "close"):
            try:
                iterator.close()
            except Exception:
                LOG.debug("a source raised in close", exc_info=True)


class SyncPublisher:
    """A publisher of an iterable, for any number of subscribers."""

    run = SyncRun

    def __init__(self, source):
        self.source = source

    def subscribe(self, subscriber):
        if subscriber is None:
            raise TypeError("subscribe: subscriber must not be None")
        self.run(self, subscriber).begin()


class UnicastPublisher(SyncPublisher):
    """A publisher for one subscriber, which refuses the next."""

    taken = False

    def subscribe(self, subscriber):
        if subscriber is not None and self.taken:
            subscriber.on_subscribe(Nothing())
            subscriber.on_error(RuntimeError("one subscriber only"))
            return
        self.taken = subscriber is not None
        super().subscribe(subscriber)


class Nothing:
    """A subscription to nothing."""

    def request(self, n):
        pass

    def cancel(self):
        pass


class ThreadRun:
    """A subscription served by a thread of its own."""

    def __init__(self, publisher, subscriber):
        self.publisher = publisher
        self.changed = threading.Condition()
        self.demand = 0
        self.refused = None
        self.over = False
        threading.Thread(target=self.serve, args=(subscriber,), name="threaded-publisher", daemon=True).start()

    def request(self, n):
        with self.changed:
            if n <= 0:
                self.refused = self.refused or n
            else:
                self.demand = min(self.demand + n, UNBOUNDED)
            self.changed.notify()

    def cancel(self):
        with self.changed:
            self.over = True
            self.changed.notify()

    def serve(self, subscriber):
        subscriber.on_subscribe(self)
        try:
            for element in self.publisher.source:
                if not self.wait():
                    return
                if self.refused is not None:
                    raise ValueError("rule 3.9: a request must be positive")
                try:
                    subscriber.on_next(element)
                except Exception:
                    LOG.debug("a subscriber raised", exc_info=True)
                    return
        except Exception as error:
            if not self.over:
                self.over = True
                subscriber.on_error(error)
        else:
            if not self.over:
                self.over = True
                subscriber.on_complete()

    def wait(self):
        with self.changed:
            self.changed.wait_for(lambda: self.over or self.demand > 0 or self.refused is not None)
            self.demand -= 1
            return not self.over


class ThreadPublisher(SyncPublisher):
    """A publisher with a thread for each subscriber."""

    def subscribe(self, subscriber):
        if subscriber is None:
            raise TypeError("subscribe: subscriber must not be None")
        ThreadRun(self, subscriber)


class Scheduler:
    """A queue of tasks that runs when it is told to."""

    def __init__(self):
        self.tasks = deque()

    def run_dry(self):
        while self.tasks:
            self.tasks.popleft()()


class ScheduledRun(SyncRun):
    """A subscription served by tasks on a scheduler."""

    def drain(self):
        self.publisher.scheduler.tasks.append(super().drain)


class ScheduledPublisher(SyncPublisher):
    """A publisher that does everything later, on a scheduler."""

    run = ScheduledRun

    def __init__(self, source, scheduler):
        super().__init__(source)
        self.scheduler = scheduler

    def subscribe(self, subscriber):
        if subscriber is None:
            raise TypeError("subscribe: subscriber must not be None")
        self.scheduler.tasks.append(self.run(self, subscriber).begin)


class CppRun(SyncRun):
    """The state of a subscription of the C++ dialect, where request(0) is legal."""

    def request(self, n):
        if n:
            super().request(n)


class CppHandle:
    """A subscription of the C++ dialect: letting it go cancels."""

    def __init__(self, run):
        self.run = run

    def request(self, n):
        self.run.request(n)

    def cancel(self):
        self.run.cancel()

    def __del__(self):
        self.run.cancel()


class CppPublisher(SyncPublisher):
    """A publisher of the C++ dialect: subscribe returns the subscription."""

    run = CppRun
    handle = CppHandle

    def subscribe(self, subscriber):
        run = self.run(self, subscriber)
        run.draining = False
        run.start()
        return self.handle(run)


class PascalSubscription:
    """A subscription with the names of the .NET text."""

    def __init__(self, subscription):
        self.subscription = subscription

    def Request(self, n):
        self.subscription.request(n)

    def Cancel(self):
        self.subscription.cancel()


class PascalRelay:
    """A subscriber that speaks to one with the names of the .NET text."""

    def __init__(self, subscriber):
        self.subscriber = subscriber

    def on_subscribe(self, subscription):
        self.subscriber.OnSubscribe(PascalSubscription(subscription))

    def on_next(self, element):
        self.subscriber.OnNext(element)

    def on_error(self, error):
        self.subscriber.OnError(error)

    def on_complete(self):
        self.subscriber.OnComplete()


class PascalPublisher:
    """A publisher with the names of the .NET text."""

    def __init__(self, publisher):
        self.publisher = publisher

    def Subscribe(self, subscriber):
        self.publisher.subscribe(None if subscriber is None else PascalRelay(subscriber))
