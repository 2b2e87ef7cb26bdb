"""probe: a subscriber that records every signal and notes every breach it can see by itself.

A probe judges nothing but the invariants that hold in any trial (demand, seriality, order of signals); what it sees it
notes under the rule that was broken. Calls made through `subscribe_to`, `request` and `cancel` never raise: an
exception of the subject is kept in `raised` and noted as a breach of the rule that forbids it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from penstock.spec.interfaces import Publisher, Subscription
from penstock.spec.shown import shown

if TYPE_CHECKING:
    from penstock.tck.environment import Environment

UNBOUNDED = 2**63 - 1
_CANCEL = "cancel()"
_LATE = 8 * 1024  # elements, a few batches, that may be under way on other threads at a cancel
_EXCESS = 100  # signals that nothing entitles to, after which the publisher is stopped


class Runaway(SystemExit):
    """The exception that stops a party that signals without end; a thread that lets it pass ends silently."""


@dataclass(frozen=True, slots=True)
class Signal:
    """The record of one signal; `inside` names the probe's own calls it came within, innermost last."""

    kind: str
    value: Any = None
    thread: int = 0
    inside: tuple[str, ...] = ()
    after_cancel: bool = False


class TrialProbe:
    """A probe that records what a publisher signals, and calls its subscription on demand."""

    def __init__(
        self,
        environment: Environment,
        *,
        on_subscribe: Callable[[TrialProbe], object] | None = None,
        on_next: Callable[[TrialProbe, Any], object] | None = None,
        on_end: Callable[[TrialProbe], object] | None = None,
    ) -> None:
        self.environment = environment
        self.signals: list[Signal] = []
        self.elements: list[Any] = []
        self.subscription: Subscription | None = None
        self.requested = 0
        self.ignored = 0  # requested after cancel: what comes of it is a matter of rule 3.6
        self.cancelled = False
        self.ended = False
        self.raised: list[Exception] = []
        self.deepest = 0
        self.overlapped = False
        self.late = 0
        self.planted: Exception | None = None  # an exception the trial itself raises in a hook
        self.on_subscribe_hook = on_subscribe
        self.on_next_hook = on_next
        self.on_end_hook = on_end
        self._calls: dict[int, tuple[str, ...]] = {}
        self._running: dict[int, list[str]] = {}
        self._begun = False
        self._abandoned = False
        self._excess = 0
        self._since = time.monotonic()  # when it last asked, or was last done with a signal

    # What was seen.

    @property
    def ends(self) -> list[Signal]:
        """Return the end signals; a correct publisher sends one at most."""
        return [signal for signal in self.signals if signal.kind in ("error", "complete")]

    @property
    def completed(self) -> bool:
        """Tell whether on_complete arrived."""
        return any(signal.kind == "complete" for signal in self.signals)

    @property
    def error(self) -> Any:
        """Return what the first on_error carried, or None; one that a cancel brought is a matter of rule 1.8."""
        errors = (signal for signal in self.signals if signal.kind == "error" and not signal.after_cancel)
        return next((signal.value for signal in errors if signal.inside[-1:] != (_CANCEL,)), None)

    @property
    def subscribed(self) -> bool:
        """Tell whether on_subscribe arrived with a subscription."""
        return self.subscription is not None

    # What the trial does with it.

    def subscribe_to(self, publisher: Publisher[Any]) -> None:
        """Subscribe this probe to `publisher`."""
        with self._calling("subscribe", "1.9"):
            publisher.subscribe(self)

    def request(self, n: int) -> None:
        """Ask for `n` more elements."""
        subscription = self.subscription
        if subscription is None:
            return
        with self.environment.activity.changed:
            if n > 0 and not self.ended:
                if self.cancelled:
                    self.ignored += n
                else:
                    self.requested += n
        self._since = time.monotonic()
        with self._calling(f"request({n})", "3.16"):
            subscription.request(n)

    def cancel(self) -> None:
        """Ask for no more signals."""
        subscription = self.subscription
        if subscription is None:
            return
        with self._calling(_CANCEL, "3.15"):
            subscription.cancel()
        with self.environment.activity.changed:
            self.cancelled = True

    def forget_subscription(self) -> None:
        """Let go of the subscription without cancelling it."""
        self.subscription = None
        self.signals = [
            replace(signal, value=None) if signal.kind == "subscribe" else signal for signal in self.signals
        ]

    def stuck_in(self) -> tuple[str, str] | None:
        """Return the innermost call that has not returned, if a rule says that it must, after that rule."""
        with self.environment.activity.changed:  # signals that begin or end now change both
            for thread, calls in list(self._calls.items()):
                if calls and calls[-1] == _CANCEL:
                    return "3.5", "cancel() did not return"
                if calls and calls[-1].startswith("request") and thread in self._running:
                    return "3.2", f"{calls[-1]} inside on_{self._running[thread][-1]} did not return"
        return None

    def abandon(self) -> None:
        """Cancel whatever still runs once the trial is over, or is subscribed later, come what may."""
        self._abandoned = True
        subscription = self.subscription
        self.on_next_hook = self.on_end_hook = self.on_subscribe_hook = None
        if subscription is not None and not self.ended and not self.cancelled:
            self.cancelled = True
            try:
                subscription.cancel()
            except Exception as error:
                self.raised.append(error)

    # The four signals.

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Keep the subscription."""
        with self._during("subscribe", subscription):
            if self.on_subscribe_hook is not None:
                self.on_subscribe_hook(self)
        if self._abandoned:
            self.abandon()

    def on_next(self, element: Any, /) -> None:
        """Keep the element."""
        with self._during("next", element):
            if self.on_next_hook is not None:
                self.on_next_hook(self, element)

    def on_error(self, error: Exception, /) -> None:
        """Keep the failure."""
        with self._during("error", error):
            if self.on_end_hook is not None:
                self.on_end_hook(self)

    def on_complete(self) -> None:
        """Keep the completion."""
        with self._during("complete"):
            if self.on_end_hook is not None:
                self.on_end_hook(self)

    # How signals and calls are watched.

    @contextmanager
    def _during(self, kind: str, value: Any = None) -> Iterator[None]:
        me = threading.get_ident()
        changed = self.environment.activity.changed
        with changed:
            if self.environment.stuck:
                raise Runaway
            running = self._running.setdefault(me, [])
            if len(self._running) > 1:
                others = [name for thread, names in self._running.items() if thread != me for name in names]
                self.overlapped = True
                self._breach("1.3", f"on_{kind} began on one thread while on_{others[-1]} ran on another")
            running.append(kind)
            self.deepest = max(self.deepest, running.count("next"))
            inside = self._calls.get(me, ())
            if inside[-1:] == (_CANCEL,) and not self.ended and not self.cancelled:
                self._breach("1.8", f"cancel() brought on_{kind}")
            self._judge(kind, value)
            self._record(Signal(kind, value, me, inside, self.cancelled))
        self.environment.pulse()
        try:
            yield
        finally:
            with changed:
                running.pop()
                if not running:
                    del self._running[me]
                self._since = time.monotonic()
            self.environment.pulse()

    def _judge(self, kind: str, value: Any) -> None:
        if self.ended and (self._begun or kind != "subscribe"):
            self._breach("1.7", f"on_{kind} came after on_{self.ends[0].kind}")
        if kind == "subscribe":
            if self._begun:
                self._breach("2.12", "on_subscribe came a second time")
            if value is None:
                self._breach("2.13", "on_subscribe carried None")
            return
        if not self._begun:
            self._breach("1.9", f"on_{kind} came before on_subscribe")
        if kind == "next" and value is None:
            self._breach("2.13", "on_next carried None")
        if kind == "error" and not isinstance(value, BaseException):
            self._breach("2.13", f"on_error carried {shown(value)}, which is no exception")
        if kind == "next" and not self.ended and len(self.elements) >= self.requested + self.ignored:
            self._breach("1.1", f"publisher sent {len(self.elements) + 1} elements, {self.requested} were requested")

    def _record(self, signal: Signal) -> None:
        self.signals.append(signal)
        if signal.kind in ("error", "complete"):
            self.ended = True
        if signal.kind == "subscribe" and not self._begun:
            self._begun = True
            self.subscription = signal.value
        if signal.kind == "next":
            self.elements.append(signal.value)
            self.environment.element_took(max(0.0, time.monotonic() - self._since))
            if signal.after_cancel:
                self.late += 1
            most = 10 * self.environment.limits.elements
            if self.late > (most if signal.inside else max(most, _LATE)):
                self._breach("3.12", f"publisher sent {self.late} elements after cancel() had returned")
                raise Runaway

    def _breach(self, rule: str, message: str) -> None:
        self.environment.breach(rule, message)
        self._excess += rule in ("1.1", "1.7")
        if self._excess > _EXCESS:
            raise Runaway

    @contextmanager
    def _calling(self, call: str, rule: str) -> Iterator[None]:
        me = threading.get_ident()
        calls = self._calls.get(me, ())
        self._calls[me] = (*calls, call)
        try:
            yield
        except Exception as error:
            self.raised.append(error)
            if error is not self.planted:
                self.environment.breach(rule, f"{call} raised {shown(error)}")
        finally:
            self._calls[me] = calls
