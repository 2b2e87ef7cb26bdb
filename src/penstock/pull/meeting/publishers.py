"""publishers: pull-stream and Reactive Streams: a source as a Stream, and a publisher as a source.

One ask that is out is one element of demand. What cannot be carried: the reason of an abort and its confirmation end
at a publisher, which knows only `cancel`; a failed close goes to the hook for what cannot be delivered. None is a value
of a pull-stream and no element of a publisher (rule 2.13): it fails the stream.
"""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import Any, TypeVar, overload

from penstock.engine.grounds.cold_paths import signal_end
from penstock.engine.words.arguments import count_given
from penstock.engine.words.demand import UNBOUNDED, add, refused
from penstock.engine.words.dropped import drop
from penstock.errors import ProtocolError
from penstock.pull.ground.protocol import (
    Abort,
    Answer,
    End,
    PullError,
    Read,
    answer_given,
    asks,
    cause,
    end_of,
    failure,
    give,
    raised,
    twice,
    unheard,
    worst,
)
from penstock.pull.ground.serial import Serial
from penstock.pull.module import PullSource, read_of
from penstock.spec.dialects.cpp import returned
from penstock.spec.dialects.strangers import publisher_given
from penstock.spec.interfaces import Publisher, Subscriber, Subscription
from penstock.stream import Stream

A = TypeVar("A")
B = TypeVar("B")


class _Unread:
    """The subscription of a second subscriber: a source is read once."""

    def request(self, n: int, /) -> None:
        pass

    def cancel(self) -> None:
        pass


class _Pulled:
    """A source as a publisher of one subscriber."""

    def __init__(self, read: Read, concurrency: int) -> None:
        self._read: Read | None = read
        self._concurrency = concurrency

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        read, self._read = self._read, None
        if read is None:
            subscriber.on_subscribe(_Unread())
            subscriber.on_error(RuntimeError("to_publisher: a source is read once, and this one is read already"))
            return
        _Reading(read, subscriber, self._concurrency).start()


class _Reading:
    """A reader that asks the source for what was requested, at most `concurrency` values at a time."""

    def __init__(self, read: Read, downstream: Subscriber[Any], concurrency: int) -> None:
        self._read = read
        self._downstream: Subscriber[Any] | None = downstream
        self._concurrency = concurrency
        self._serial = Serial()
        self._demand = 0
        self._asked = 0
        self._answers = 0
        self._over = False
        self._draining = False

    def start(self) -> None:
        assert self._downstream is not None
        self._serial.run(self._downstream.on_subscribe, self)

    def request(self, n: int, /) -> None:
        """Ask for `n` more values."""
        self._serial.run(self._requested, n)

    def cancel(self) -> None:
        """Abort the source."""
        self._over = True
        self._serial.run(self._abort, True)

    def _requested(self, n: int) -> None:
        if self._downstream is None or self._over:
            return
        error = refused(n) if type(n) is not int or n <= 0 else None
        if error is not None:
            self._fail(error)
            return
        self._demand = add(self._demand, n)
        self._drain()

    def _drain(self) -> None:
        if self._draining:
            return
        self._draining = True
        try:
            while not self._over and self._asked - self._answers < min(self._demand, self._concurrency):
                self._asked += 1
                try:
                    self._read(None, partial(self._answered, self._asked))
                except Exception as error:  # noqa: BLE001  property F10
                    self._end(raised(error))
        finally:
            self._draining = False

    def _answered(self, number: int, end: bool | Exception | None, value: Any = None, /) -> None:
        self._serial.run(self._deliver, number, end_of(end), value)

    def _deliver(self, number: int, end: End | None, value: Any) -> None:
        if number != self._answers + 1:
            self._out_of_turn(number)
            return
        self._answers = number
        downstream = self._downstream
        if downstream is None or self._over:
            return
        if end is not None:
            self._end(end)
            return
        if value is None:
            self._fail(TypeError("rule 2.13: the source gave None, which is not an element"))
            return
        if self._demand < UNBOUNDED:
            self._demand -= 1
        try:
            downstream.on_next(value)
        except Exception as error:  # noqa: BLE001  rule 2.13
            drop("rule 2.13: the subscriber raised in on_next", error)
            self._over = True
            self._abort(error)
            return
        self._drain()

    def _out_of_turn(self, number: int) -> None:
        if number <= self._answers:
            twice(number)
        elif not self._over:
            self._fail(PullError("B3", f"request {number} was answered before request {self._answers + 1}"))

    def _end(self, end: End) -> None:
        downstream, self._downstream = self._downstream, None
        if downstream is not None and not self._over:
            self._over = True
            signal_end(downstream, failure(end))

    def _fail(self, error: Exception) -> None:
        downstream = self._downstream
        self._over = True
        self._abort(error)
        if downstream is not None:
            signal_end(downstream, error)

    def _abort(self, end: End) -> None:
        if self._downstream is None:
            return
        self._downstream = None
        try:
            self._read(end, unheard(end))
        except Exception as error:  # noqa: BLE001  property F10
            drop("property F10: a read raised", error)


@overload
def to_publisher(source: PullSource[A], concurrency: int = 1) -> Stream[A]: ...
@overload
def to_publisher(source: Read, concurrency: int = 1) -> Stream[Any]: ...
def to_publisher(source: Read, concurrency: int = 1) -> Stream[Any]:
    """Read a source as a Stream: it is asked for what was requested, `concurrency` values at a time, and read once.

    The end of a source is known only by asking: it appears with the next request.

    >>> from penstock import pull
    >>> list(pull.to_publisher(pull.count(3)).map(lambda n: n * n))
    [0, 1, 4, 9]
    """
    count_given("to_publisher", "concurrency", concurrency, 1)
    return Stream.from_publisher(_Pulled(read_of("to_publisher", source), concurrency))


class SubscribedSource:
    """The subscriber that answers asks with the elements of a publisher; it holds none."""

    def __init__(self, publisher: Publisher[Any], source: Read | None = None) -> None:
        self._publisher = publisher
        self._source = source
        """What the publisher reads once it is subscribed to, if that is known."""
        self._serial = Serial()
        self._waiting: deque[Answer] = deque()
        self._owed = 0
        """Asks made before there was a subscription."""
        self._subscription: Subscription | None = None
        self._started = False
        self._known = False
        """Whether there is or was a subscription."""
        self._end: End | None = None
        self._unseen: End | None = None
        """How the publisher ended while no ask waited: an end is an answer, and an abort may come first."""
        self._closing = False

    def read(self, abort: Abort, answer: Answer | None = None, /) -> None:
        if asks(abort):
            answer_given(answer)
        self._serial.run(self._asked, abort, answer)

    def _asked(self, abort: Abort, answer: Answer | None) -> None:
        if self._closing:
            if answer is not None:
                self._waiting.append(answer)
            return
        if self._end is None and self._unseen is not None:
            self._end = self._unseen if asks(abort) else worst(cause(abort), self._unseen)
        if self._end is None and not asks(abort):
            if self._source is not None and not self._started:
                self._leave(self._source, cause(abort), answer)
                return
            self._settle(cause(abort), cancel=True)
        if self._end is not None:
            if answer is not None:
                give(answer, self._end)
            return
        self._waiting.append(answer_given(answer))
        if self._subscription is not None:
            self._request(self._subscription, 1)
            return
        self._owed += 1
        if not self._started:
            self._started = True
            found: object = None
            try:
                found = self._publisher.subscribe(self)  # type: ignore[func-returns-value]
            except Exception as error:  # noqa: BLE001  it is the end
                self._settle(error)
            subscription = None if found is None else returned(found)
            if subscription is not None and not self._known:  # of the C++ text, which has no on_subscribe
                self._known = True
                self._subscribed(subscription)

    def _leave(self, source: Read, end: End, answer: Answer | None) -> None:
        """Abort a source that was never read: the publisher has no subscription through which it could be told."""
        self._end, self._closing = end, True
        if answer is not None:
            self._waiting.append(answer)
        try:
            source(end, partial(self._serial.run, self._left))
        except Exception as error:  # noqa: BLE001  property F10
            self._left(raised(error))

    def _left(self, end: bool | Exception | None, value: Any = None, /) -> None:
        if self._closing:
            self._closing = False
            self._end = worst(self._end, end)
            while self._waiting:
                give(self._waiting.popleft(), self._end)

    # What the publisher says.

    def on_subscribe(self, subscription: Subscription, /) -> None:
        if subscription is None:
            raise TypeError("rule 2.13: on_subscribe(None)")
        self._known = True
        self._serial.run(self._subscribed, subscription)

    def on_next(self, element: Any, /) -> None:
        if element is None:
            raise TypeError("rule 2.13: on_next(None)")
        self._serial.run(self._arrived if self._known else self._unasked, element)

    def on_error(self, error: Exception, /) -> None:
        if error is None:
            raise TypeError("rule 2.13: on_error(None)")
        self._serial.run(self._settle, error)

    def on_complete(self) -> None:
        self._serial.run(self._settle, True)

    def _subscribed(self, subscription: Subscription) -> None:
        if subscription is self._subscription:  # to cancel it is to cut the stream off
            self._settle(ProtocolError("2.12", "the publisher sent its subscription twice"), cancel=True)
            return
        if self._subscription is not None or self._end is not None or self._unseen is not None:
            subscription.cancel()  # rule 2.5
            return
        self._subscription = subscription
        owed, self._owed = self._owed, 0
        if owed:
            self._request(subscription, owed)

    def _request(self, subscription: Subscription, n: int) -> None:
        try:
            subscription.request(n)
        except Exception as error:  # noqa: BLE001  rule 3.16
            self._settle(error)

    def _arrived(self, element: Any) -> None:
        if self._end is not None or self._unseen is not None:
            return
        if not self._waiting:
            self._unasked(element)
            return
        give(self._waiting.popleft(), None, element)

    def _unasked(self, _: Any) -> None:
        self._settle(ProtocolError("1.1", "the publisher sent an element that was not requested"), cancel=True)

    def _settle(self, end: End, *, cancel: bool = False) -> None:
        if self._end is not None or self._unseen is not None:
            return
        if not self._waiting and not cancel:
            self._unseen = end
            return
        self._end = end
        subscription = self._subscription
        if cancel and subscription is not None:
            try:
                subscription.cancel()
            except Exception as error:  # noqa: BLE001  rule 3.15
                drop("rule 3.15: cancel raised", error)
        while self._waiting:
            give(self._waiting.popleft(), end)


def from_publisher(publisher: Publisher[A]) -> PullSource[A]:
    """Read any publisher as a source: each ask requests one element, nothing is held, an abort cancels.

    >>> from penstock import Stream, pull
    >>> pull.pull(pull.from_publisher(Stream.range(3)), pull.collect(lambda error, found: print(found)))
    [0, 1, 2]
    """
    publisher_given("from_publisher: publisher must have subscribe", publisher)
    return PullSource(SubscribedSource(publisher).read, "from_publisher")


__all__ = ["SubscribedSource", "from_publisher", "to_publisher"]
