"""examples: the parties that the JVM texts come with as examples, for Python: bases to extend, and two publishers.

They are written for reading: each rule that a line keeps is named there. `Stream` does all of this faster.
"""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from penstock.spec.element_count import UNBOUNDED
from penstock.spec.interfaces import Subscriber, Subscription, T_co, T_contra

T = TypeVar("T")
_log = logging.getLogger("penstock")


class Submitting(Protocol):
    """A party that runs functions elsewhere, such as a concurrent.futures.Executor."""

    def submit(self, fn: Callable[..., object], /) -> object:
        """Run a function soon."""
        ...


def _given(signal: str, argument: object) -> None:
    if argument is None:
        raise TypeError(f"rule 2.13: {signal}(None): None is not allowed here")


class SyncSubscriber(ABC, Generic[T_contra]):
    """A subscriber that takes elements one by one on the thread they come on; extend it with `foreach`.

    >>> from penstock import Stream
    >>> class Printing(SyncSubscriber[int]):
    ...     def foreach(self, element: int) -> bool:
    ...         print(element)
    ...         return element < 1
    >>> Stream.range(9).subscribe(Printing())
    0
    1
    """

    def __init__(self) -> None:
        self._subscription: Subscription | None = None
        self._done = False

    @abstractmethod
    def foreach(self, element: T_contra, /) -> bool:
        """Take one element, and tell whether there should be more."""

    def when_complete(self) -> None:
        """Hear of a good end; override it to do something then."""

    def when_failed(self, error: Exception, /) -> None:
        """Hear of a failure, the upstream's or one of `foreach`; override it to do something then."""

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Ask for the first element."""
        _given("on_subscribe", subscription)
        if self._subscription is not None:
            subscription.cancel()  # rule 2.5
            return
        self._subscription = subscription  # before asking: the answer may come inside of request (rule 3.10)
        subscription.request(1)  # rule 2.1

    def on_next(self, element: T_contra, /) -> None:
        """Take the element, and ask for the next one or cancel."""
        _given("on_next", element)
        if self._done or self._subscription is None:  # rule 2.8: it was under way when this one cancelled
            return
        try:
            wanted = self.foreach(element)
        except Exception as error:  # noqa: BLE001  rule 2.13: it must return normally
            self._finish()
            self.when_failed(error)
            return
        if wanted:
            self._subscription.request(1)  # the last thing to do here, so that signals keep their order
        else:
            self._finish()

    def on_error(self, error: Exception, /) -> None:
        """Hear of the failure, and call neither subscription nor publisher (rule 2.3)."""
        _given("on_error", error)
        if not self._done:
            self._done = True  # rule 2.4
            self.when_failed(error)

    def on_complete(self) -> None:
        """Hear of the end, and call neither subscription nor publisher (rule 2.3)."""
        if not self._done:
            self._done = True  # rule 2.4
            self.when_complete()

    def _finish(self) -> None:
        self._done = True
        if self._subscription is not None:
            self._subscription.cancel()  # rule 2.6


class _Mailbox:
    """The messages to one party, worked off one after the other on the threads of an executor."""

    def __init__(self, executor: Submitting) -> None:
        self._executor = executor
        self._lock = threading.Lock()
        self._letters: deque[Callable[[], None]] = deque()
        self._busy = False

    def post(self, letter: Callable[[], None]) -> None:
        """Have a letter worked off after those before it; rule 2.11: it is handed over before work on it begins."""
        with self._lock:
            self._letters.append(letter)
            if self._busy:
                return
            self._busy = True
        self._executor.submit(self._work)

    def _work(self) -> None:
        """Work off one letter, and let others have the thread before the next one."""
        with self._lock:
            letter = self._letters.popleft()
        try:
            letter()
        finally:
            with self._lock:
                self._busy = bool(self._letters)
                again = self._busy
            if again:
                self._executor.submit(self._work)


class AsyncSubscriber(SyncSubscriber[T_contra]):
    """A subscriber that takes elements one by one on an executor's threads and does not block the publisher (rule 2.2).

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from penstock import Stream
    >>> done = threading.Event()
    >>> class Printing(AsyncSubscriber[int]):
    ...     def foreach(self, element: int) -> bool:
    ...         print(element)
    ...         return True
    ...     def when_complete(self) -> None:
    ...         done.set()
    >>> with ThreadPoolExecutor(2) as executor:
    ...     Stream.range(2).subscribe(Printing(executor))
    ...     done.wait()
    0
    1
    True
    """

    def __init__(self, executor: Submitting) -> None:
        super().__init__()
        self._mailbox = _Mailbox(executor)

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Ask for the first element, elsewhere."""
        _given("on_subscribe", subscription)
        self._mailbox.post(partial(super().on_subscribe, subscription))

    def on_next(self, element: T_contra, /) -> None:
        """Take the element elsewhere."""
        _given("on_next", element)
        self._mailbox.post(partial(super().on_next, element))

    def on_error(self, error: Exception, /) -> None:
        """Hear of the failure elsewhere."""
        _given("on_error", error)
        self._mailbox.post(partial(super().on_error, error))

    def on_complete(self) -> None:
        """Hear of the end elsewhere."""
        self._mailbox.post(super().on_complete)


class _Sending:
    """The subscription of one subscriber to an iterator: it sends what is asked for, in turns that do not nest."""

    def __init__(self, items: Iterator[Any], subscriber: Subscriber[Any], run: Callable[[Callable[[], None]], object]):
        self._items: Iterator[Any] | None = items
        self._subscriber: Subscriber[Any] | None = subscriber
        self._run = run
        self._lock = threading.Lock()
        self._demand = 0
        self._illegal: int | None = None
        self._sending = True  # until on_subscribe has returned
        self._ahead: list[Any] = []

    def start(self) -> None:
        """Signal on_subscribe, then what has been asked for by then, or an end that needs no asking."""
        if self._subscriber is None:
            return
        try:
            self._subscriber.on_subscribe(self)  # rule 1.9: first of all
        except Exception as error:  # noqa: BLE001  rule 2.13: the subscriber broke the contract
            self._give_up(error)
            return
        self._look_ahead()
        self._send()

    def request(self, n: int, /) -> None:
        """Add to the demand, and send unless that is being done already."""
        with self._lock:
            if self._subscriber is None:
                return  # rule 3.6
            if n < 1:
                self._illegal = n  # rule 3.9
            else:
                self._demand = min(self._demand + n, UNBOUNDED)  # rules 3.8 and 3.17
            if self._sending:
                return  # rule 3.3: the one who sends will see it
            self._sending = True
        self._run(self._send)

    def cancel(self) -> None:
        """Send no more, and let go of the subscriber (rules 3.12 and 3.13)."""
        with self._lock:
            self._subscriber = None
            if self._sending:
                return  # the one who sends lets go of the items
        self._let_go()

    def _send(self) -> None:
        while True:
            with self._lock:
                subscriber, illegal = self._subscriber, self._illegal
                ended = not self._ahead and self._items is None
                if subscriber is not None and illegal is None and not ended and not self._demand:
                    self._sending = False
                    return
                self._demand -= 1
            if subscriber is None:
                self._let_go()
                return
            if illegal is not None:
                message = f"rule 3.9: request({illegal}): a request must be positive"
                self._end(subscriber, partial(subscriber.on_error, ValueError(message)))
                return
            if ended:
                self._end(subscriber, subscriber.on_complete)  # rule 1.5
                return
            try:
                subscriber.on_next(self._ahead.pop())
            except Exception as error:  # noqa: BLE001  rule 2.13
                self._give_up(error)
                return
            self._look_ahead()

    def _look_ahead(self) -> None:
        """Take the next element, so that the end is told with the last one and not with a further request."""
        items = self._items
        if items is None or self._subscriber is None:
            return
        try:
            self._ahead = [next(items)]
            if self._ahead[0] is None:
                raise TypeError("rule 2.13: None is not an element")
        except StopIteration:
            self._items = None
        except Exception as error:  # noqa: BLE001  rule 1.4
            self._ahead, subscriber = [], self._subscriber
            if subscriber is not None:
                self._end(subscriber, partial(subscriber.on_error, error))

    def _end(self, subscriber: Subscriber[Any], signal: Callable[[], None]) -> None:
        with self._lock:
            self._subscriber = None  # rules 1.6 and 1.7
        self._let_go()
        try:
            signal()
        except Exception as error:  # noqa: BLE001  rule 2.13
            _log.error("rule 2.13: %r raised %r at the end", subscriber, error)

    def _give_up(self, error: Exception) -> None:
        with self._lock:
            subscriber, self._subscriber = self._subscriber, None
        self._let_go()
        _log.error("rule 2.13: %r raised %r", subscriber, error)

    def _let_go(self) -> None:
        items, self._items = self._items, None
        self._ahead = []
        close = getattr(items, "close", None)
        if not callable(close):
            return
        try:
            close()
        except Exception as error:  # noqa: BLE001  rule 3.15: cancel returns normally
            _log.error("the items failed to close: %r", error)


class RangePublisher:
    """A publisher of whole numbers in order, which sends on the thread of the one who asks.

    >>> from penstock import Stream
    >>> list(Stream.from_publisher(RangePublisher(3, 2)))
    [3, 4]
    """

    def __init__(self, start: int, count: int) -> None:
        if count < 0:
            raise ValueError(f"RangePublisher: count must be >= 0, got {count!r}")
        self._numbers = range(start, start + count)

    def subscribe(self, subscriber: Subscriber[int], /) -> None:
        """Send the numbers to one more subscriber, from the first one on."""
        if subscriber is None:
            raise TypeError("rule 1.9: subscribe(None): a subscriber is needed")
        _Sending(iter(self._numbers), subscriber, lambda send: send()).start()


class AsyncIterablePublisher(Generic[T_co]):
    """A publisher of the items of an iterable, which sends on the threads of an executor.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from penstock import Stream
    >>> with ThreadPoolExecutor(1) as executor:
    ...     list(Stream.from_publisher(AsyncIterablePublisher("ab", executor)))
    ['a', 'b']
    """

    def __init__(self, items: Iterable[T_co], executor: Submitting) -> None:
        self._items = items
        self._executor = executor

    def subscribe(self, subscriber: Subscriber[T_co], /) -> None:
        """Send the items to one more subscriber, from the first one on, elsewhere."""
        if subscriber is None:
            raise TypeError("rule 1.9: subscribe(None): a subscriber is needed")
        self._executor.submit(partial(self._start, subscriber))

    def _start(self, subscriber: Subscriber[T_co]) -> None:
        try:
            items = iter(self._items)
        except Exception as error:  # noqa: BLE001  rule 1.4, after on_subscribe (rule 1.9)
            items = _failing(error)
        _Sending(items, subscriber, self._executor.submit).start()


def _failing(error: Exception) -> Iterator[Any]:
    raise error
    yield


__all__ = ["AsyncIterablePublisher", "AsyncSubscriber", "RangePublisher", "Submitting", "SyncSubscriber"]
