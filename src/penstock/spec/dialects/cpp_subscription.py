"""cpp_subscription: a subscription of the C++ text, which cancels when its last reference goes.

What the C++ text says of destructors is said here of the last reference: CPython lets go of an object at once when
nothing refers to it. A run knows its subscriber and never the subscription that was given out, so the two make no
circle. A subscriber that keeps its own subscription does: nothing else can drop that one, so cancel it, or wait for the
end, which breaks the circle as well.
"""

from __future__ import annotations

import _thread
import gc
import threading
from typing import Any, NoReturn, Self

from penstock.spec.dialects.cpp_parties import CppSubscriber
from penstock.spec.interfaces import Subscription
from penstock.spec.link import Link

_said: dict[str, object] = {}
"""What the cycle collector has said at its `start` and its `stop`, on whatever thread; the newest stands last."""
_here = threading.local()  # what it has said on this thread

# The collector calls these with its phase and a dictionary that is new each time. They are C code, in which no signal
# is handled: the KeyboardInterrupt of a Ctrl-C would be lost in a function of Python's, since the collector drops it.
gc.callbacks += [_here.__setattr__, _said.pop, _said.setdefault]


def _collecting() -> bool:
    """Tell whether the cycle collector is at work on this thread."""
    newest = next(reversed(_said), "stop")
    return newest == "start" and _said[newest] is getattr(_here, "start", None)


class CppSubscription:
    """A subscription of the C++ dialect: to drop it is to cancel; one that is made without a stream does nothing.

    A `with` block drops it at its end. It cannot be copied, but moved: what was moved from does nothing any more.

    >>> nothing = CppSubscription()
    >>> nothing.request(5)
    >>> nothing.cancel()
    """

    __slots__ = ("__weakref__", "_link")

    def __init__(self) -> None:
        self._link: Link | None = None

    @classmethod
    def over(cls, link: Link) -> Self:
        """Return the one owner of a link."""
        made = cls()
        made._link = link
        return made

    def request(self, count: int, /) -> None:
        """Ask for `count` more elements, an ElementCount or another whole number; zero asks for nothing."""
        link = self._link
        if link is not None and (count or isinstance(count, bool) or not isinstance(count, int)):
            link.request(count)

    def cancel(self) -> None:
        """Ask for no more signals."""
        link, self._link = self._link, None
        if link is not None:
            link.cancel()

    Request, Cancel = request, cancel  # as the text writes them

    def move(self) -> Self:
        """Return a new owner of the stream and own nothing any more."""
        moved = type(self)()
        moved._link, self._link = self._link, None
        return moved

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.cancel()

    def __reduce__(self) -> NoReturn:
        raise TypeError("CppSubscription: a subscription has one owner and cannot be copied; use move()")

    def __del__(self) -> None:
        link, self._link = self._link, None
        if link is None or link.over:
            return
        if not _collecting():
            link.cancel()
            return
        # The collector may have stopped this very thread while it holds a lock of the run, so another one cancels.
        try:
            _thread.start_new_thread(link.cancel, ())
        except RuntimeError:  # the interpreter is going down, and the run with it
            return

    def __repr__(self) -> str:
        return "<CppSubscription>" if self._link is not None and not self._link.over else "<CppSubscription of nothing>"


class Owned:
    """The subscriber of one run, as a subscriber with on_subscribe that lets go of it with the last signal."""

    __slots__ = ("__weakref__", "_link", "_subscriber", "on_next")

    def __init__(self, subscriber: CppSubscriber[Any], link: Link) -> None:
        self._subscriber = subscriber
        self._link = link
        self.on_next = subscriber.on_next

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Give the link its run."""
        self._link.begin(subscription)

    def on_error(self, error: Exception, /) -> None:
        """Let go of the run, and pass the failure on."""
        self._link.end()
        self._subscriber.on_error(error)

    def on_complete(self) -> None:
        """Let go of the run, and pass the completion on."""
        self._link.end()
        self._subscriber.on_complete()
