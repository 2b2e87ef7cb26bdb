"""monitor: watch the contract at one joint of a running chain.

`monitor(publisher)` is a publisher that passes everything on and judges both sides by what it sees:

- a publisher that breaks a rule is cut off: its subscription is cancelled, the signal is not passed on, and the
  subscriber gets on_error with the ProtocolError, or nothing if its stream was over already;
- a subscriber that breaks a rule is reported; a call that must not be made at all (after the end, or inside it) goes
  no further, any other one is passed on, as the publisher has its own answer to it.

`on_breach` is called with every breach. Without it those that no on_error can carry are logged. Two calls of request
count as overlapping only if nothing was sent since the first began: a signal in between may have caused the second.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from penstock.errors import ProtocolError
from penstock.spec.dialects.cpp import returned
from penstock.spec.dialects.strangers import publisher_given
from penstock.spec.element_count import asked_for
from penstock.spec.interfaces import Publisher, Subscriber, Subscription
from penstock.tck.monitor_registry import BUSY_SUBSCRIBERS, LIVE_SUBSCRIPTIONS, SEEN_SUBSCRIBERS

T = TypeVar("T")
OnBreach = Callable[[ProtocolError], object]

_log = logging.getLogger("penstock")


def monitor(publisher: Publisher[T], on_breach: OnBreach | None = None) -> Publisher[T]:
    """Return `publisher` with a watch on the contract between it and each of its subscribers."""
    publisher_given("monitor: publisher must have subscribe(subscriber)", publisher)
    return _Monitored(publisher, on_breach)


class _Monitored:
    """A publisher that puts a joint between the real publisher and each subscriber."""

    def __init__(self, publisher: Publisher[Any], on_breach: OnBreach | None) -> None:
        self._publisher = publisher
        self._on_breach = on_breach

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        """Subscribe `subscriber` through a joint."""
        if subscriber is None:
            raise TypeError("subscribe: subscriber must not be None")  # rule 1.9
        joint = MonitoredJoint(subscriber, self._on_breach)
        if not SEEN_SUBSCRIBERS.add(subscriber):
            joint.blame_subscriber("1.10", "subscriber was subscribed before")
        found: object = None
        try:
            found = self._publisher.subscribe(joint)  # type: ignore[func-returns-value]
        except Exception as error:
            if error is joint.raised:
                raise  # the subscriber's own, which the publisher let through
            joint.blame_publisher("1.9", f"publisher raised {error!r} in subscribe", error)
        if found is not None and not joint.begun and returned(found) is not None:
            joint.blame_publisher("1.9", "publisher called no on_subscribe but returned a subscription")


class MonitoredJoint:
    """The joint between one publisher, as its subscriber, and one subscriber, as its subscription."""

    def __init__(self, subscriber: Subscriber[Any], on_breach: OnBreach | None) -> None:
        self._downstream: Subscriber[Any] | None = subscriber
        self._upstream: Subscription | None = None
        self._on_breach = on_breach
        self._lock = threading.Lock()
        self._begun = False
        self._alone = False  # the only joint in use of its subscriber
        self._refused = False  # cut off before it called on_subscribe
        self._ended = ""
        self._over = False  # ended, cancelled or cut off
        self._requested = 0
        self._sent = 0
        self._signalling: dict[int, list[str]] = {}
        self._requesting: dict[int, int] = {}  # thread: how many signals there had been when it entered request
        self._signals = 0
        self._verdict: ProtocolError | None = None  # on its way to the subscriber
        self.raised: Exception | None = None  # by the subscriber, passing through

    @property
    def begun(self) -> bool:
        """Tell whether on_subscribe was called."""
        return self._begun

    # As the publisher's subscriber.

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Pass the subscription on, as this joint."""
        if subscription is None:
            self.blame_publisher("2.13", "publisher called on_subscribe with None")
            return
        with self._lock:
            second, refused = self._begun, self._refused
            if not second:
                self._begun = True
                self._upstream = subscription
        if second:
            _cancel(subscription)
            if not refused:
                self.blame_publisher("2.12", "publisher called on_subscribe a second time")
            return
        shared = not LIVE_SUBSCRIPTIONS.add(subscription)
        self._alone = self._downstream is None or BUSY_SUBSCRIBERS.add(self._downstream)
        self._signal("on_subscribe", lambda downstream: downstream.on_subscribe(self))
        if not self._alone and not self._over:
            self.blame_subscriber("2.5", "subscriber kept a second subscription beside one in use")
        if shared:
            self._upstream = None  # it belongs to another: leave it alone
            self.blame_publisher("3.1", "publisher gave one subscription to two subscribers")

    def on_next(self, element: Any, /) -> None:
        """Pass an element on that was asked for."""
        breach = self._judge("on_next", element)
        if breach is None:
            with self._lock:
                self._sent += 1
                sent, requested = self._sent, self._requested
            if sent > requested:
                breach = ("1.1", f"publisher sent {sent} elements, {requested} were requested")
        if breach is not None:
            self.blame_publisher(*breach)
        else:
            self._signal("on_next", lambda downstream: downstream.on_next(element))

    def on_error(self, error: Exception, /) -> None:
        """Pass the failure on."""
        self._end("on_error", error, lambda downstream: downstream.on_error(error))

    def on_complete(self) -> None:
        """Pass the completion on."""
        self._end("on_complete", "no argument", lambda downstream: downstream.on_complete())

    def _end(self, name: str, argument: object, signal: Callable[[Subscriber[Any]], None]) -> None:
        breach = self._judge(name, argument)
        if breach is not None:
            self.blame_publisher(*breach)
            return
        with self._lock:
            self._ended = name
        self._signal(name, signal)

    def _judge(self, name: str, argument: object) -> tuple[str, str] | None:
        if self._ended:
            return "1.7", f"publisher called {name} after {self._ended}"
        if not self._begun:
            return "1.9", f"publisher called {name} before on_subscribe"
        if argument is None:
            return "2.13", f"publisher called {name} with None"
        return None

    def _signal(self, name: str, signal: Callable[[Subscriber[Any]], None]) -> None:
        """Send one signal on, with no lock held, and see that no other runs on another thread."""
        me = threading.get_ident()
        with self._lock:
            if self._over:
                return
            downstream = self._downstream
            others = [names for thread, names in self._signalling.items() if thread != me]
            if not others:
                self._signalling.setdefault(me, []).append(name)
                self._signals += 1
                self._over = name in ("on_error", "on_complete")
            done = self._take_upstream() if self._over and not others else None
        if done is not None:
            LIVE_SUBSCRIPTIONS.remove(done)  # rule 1.6
        if others:
            self.blame_publisher("1.3", f"publisher called {name} while {others[0][-1]} ran on another thread")
            return
        try:
            if downstream is not None:
                signal(downstream)
        except Exception as error:
            self.raised = error
            self._cut_off()
            self.blame_subscriber("2.13", f"subscriber raised {error!r} in {name}")
            raise  # the publisher is the one to deal with it
        finally:
            self._leave(me)

    def _leave(self, me: int) -> None:
        with self._lock:
            self._signalling[me].pop()
            if not self._signalling[me]:
                del self._signalling[me]
        self._deliver()
        if self._over and not self._signalling:
            self._release()

    # As the subscriber's subscription.

    def request(self, n: int, /) -> None:
        """Pass the demand on."""
        me = threading.get_ident()
        asked = asked_for(n)
        with self._lock:
            ending = [name for name in self._signalling.get(me, ()) if name in ("on_error", "on_complete")]
            rivals = [began for thread, began in self._requesting.items() if thread != me and began == self._signals]
            ended, over, upstream = self._ended, self._over, self._upstream
            if not over and asked > 0:
                self._requested += asked
        if ending:
            self.blame_subscriber("2.3", f"subscriber called request({n}) inside {ending[0]}")
        elif ended:
            self.blame_subscriber("2.4", f"subscriber called request({n}) after {ended}")
        if over or upstream is None:
            return  # rule 3.6
        if rivals:
            self.blame_subscriber("2.7", "subscriber called request on two threads at once")
        if asked <= 0:
            self.blame_subscriber("3.9", f"subscriber called request({n}), a request must be positive")
        self._request(upstream, n, me)

    def _request(self, upstream: Subscription, n: int, me: int) -> None:
        with self._lock:
            before = self._requesting.get(me)
            self._requesting[me] = self._signals
        try:
            upstream.request(n)
        except Exception as error:
            if error is self.raised:
                raise  # the subscriber's own, which the publisher let through
            self.blame_publisher("3.16", f"publisher raised {error!r} in request({n})", error)
        finally:
            with self._lock:
                if before is None:
                    del self._requesting[me]
                else:
                    self._requesting[me] = before

    def cancel(self) -> None:
        """Pass the cancellation on."""
        me = threading.get_ident()
        with self._lock:
            ending = [name for name in self._signalling.get(me, ()) if name in ("on_error", "on_complete")]
        if ending:
            self.blame_subscriber("2.3", f"subscriber called cancel() inside {ending[0]}")
        self._cut_off()

    # What is done about a breach.

    def blame_subscriber(self, rule: str, message: str) -> None:
        """Report a breach of the subscriber."""
        self._report(ProtocolError(rule, message))

    def blame_publisher(self, rule: str, message: str, cause: Exception | None = None) -> None:
        """Cut the publisher off and hand its breach to the subscriber."""
        breach = ProtocolError(rule, message)
        breach.__cause__ = cause
        if not self._begun:
            breach.add_note("a publisher of the C++ text has no on_subscribe: monitor(from_cpp(publisher))")
        with self._lock:
            deliverable = not self._over and self._verdict is None
            if deliverable:
                self._verdict = breach
        if self._on_breach is not None or not deliverable:
            self._report(breach)
        if deliverable:
            self._cut_off(keep=True)
            self._deliver()

    def _deliver(self) -> None:
        """Send the verdict once no other signal is running (rule 1.3)."""
        me = threading.get_ident()
        with self._lock:
            verdict, downstream, begun = self._verdict, self._downstream, self._begun
            if verdict is None or self._signalling or downstream is None:
                return
            self._verdict = None
            self._begun, self._refused = True, not begun
            self._signalling[me] = ["on_error"]
        try:
            if not begun:
                downstream.on_subscribe(self)  # rule 1.9: nothing may come before it
            self._ended = "on_error"
            downstream.on_error(verdict)
        except Exception as error:
            self.blame_subscriber("2.13", f"subscriber raised {error!r} in on_error")
        finally:
            self._leave(me)

    def _cut_off(self, *, keep: bool = False) -> None:
        """Cancel upstream, once; forget the subscriber unless it is still to hear why."""
        with self._lock:
            upstream = self._take_upstream()
            self._over = True
            running = bool(self._signalling)
        if upstream is not None:
            LIVE_SUBSCRIPTIONS.remove(upstream)
            error = _cancel(upstream)
            if error is not None:
                self._report(ProtocolError("3.15", f"publisher raised {error!r} in cancel()"))
        if not keep and not running:
            self._release()

    def _release(self) -> None:
        """Let go of the subscriber (rules 1.6, 3.13)."""
        with self._lock:
            if self._verdict is not None:
                return
            downstream, self._downstream = self._downstream, None
        if downstream is not None and self._alone:
            BUSY_SUBSCRIBERS.remove(downstream)

    def _take_upstream(self) -> Subscription | None:
        upstream, self._upstream = self._upstream, None
        return upstream

    def _report(self, breach: ProtocolError) -> None:
        if self._on_breach is None:
            _log.error("%s", breach)
            return
        try:
            self._on_breach(breach)
        except Exception as error:
            _log.error("on_breach raised %r at %s", error, breach, exc_info=error)


def _cancel(subscription: Subscription) -> Exception | None:
    try:
        subscription.cancel()
    except Exception as error:
        return error
    return None
