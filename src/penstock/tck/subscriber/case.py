"""case: what the trials of a subscriber share: the subject in its seat, and how far they reach into it.

The same trial runs whitebox, where a probe drives the subject and sees what it processes, and blackbox, where nothing
but the calls on its subscription is seen; a `Reach` hides which of the two it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NoReturn, Protocol

from penstock.spec.interfaces import Subscriber
from penstock.spec.shown import shown
from penstock.tck.environment import Environment, NotApplicable
from penstock.tck.subscriber.upstream import NOBODY, THIS_TRIAL, DrivenUpstream
from penstock.tck.trial import Trials

LACKS = {
    "triggers": "it never handed its triggers to the probe: call probe.subscribed from on_subscribe",
    "demand": "it was to ask for an element, but request was not called",
    "processing": "it never reported an element as processed: call probe.processed where it works",
}


class Reach(Protocol):
    """What can be done to a subject, and seen of it, beside its signals and its subscription."""

    @property
    def sees(self) -> bool:
        """Tell whether processing is seen."""
        ...

    @property
    def attached(self) -> bool:
        """Tell whether the subject can be driven."""
        ...

    @property
    def cancels(self) -> bool:
        """Tell whether what makes the subject cancel is to reach its subscription."""
        ...

    @property
    def asks_its_own_way(self) -> bool:
        """Tell whether what makes the subject ask belongs to it, so that it is not to ask after the end (rule 2.4)."""
        ...

    @property
    def processed_elements(self) -> list[Any]:
        """Return the elements that were processed."""
        ...

    @property
    def ends(self) -> list[object]:
        """Return the ends that were processed: an error, or None for completion."""
        ...

    @property
    def ended_after(self) -> list[int]:
        """Return for each of these ends how many elements had been processed before it."""
        ...

    def trigger_request(self, n: int) -> None:
        """Make the subject ask for `n` more, if there is a way."""

    def trigger_cancel(self) -> None:
        """Make the subject cancel, or bow out."""

    def stop_wanting(self) -> None:
        """Tell the subject that no more is wanted, or bow out."""

    def hold(self) -> None:
        """Stop the subject where it processes, or bow out."""

    def release(self) -> None:
        """Let the subject process again."""

    def abandon(self) -> None:
        """Make the subject cancel if it can be made to, come what may: its trial is over."""


@dataclass(frozen=True, slots=True)
class Claims:
    """What a subject says of itself."""

    asynchronous: bool = False
    ordered: bool = True
    concurrent: bool = False  # it may be triggered on one thread while signals come on another
    overlapping: bool = False  # and it may be triggered on two threads at once
    recovers: bool = False


@dataclass(frozen=True, slots=True)
class SubscriberSetup:
    """What a whole verification knows: how to make subjects, what they claim, and what they were found to lack."""

    make: Callable[[Environment], tuple[Subscriber[Any], Reach]]
    element: Callable[[int], Any]
    expects: int = 1
    claims: Claims = Claims()
    lacks: set[str] = field(default_factory=set)


class SubjectSeat:
    """A fresh subject below one upstream."""

    def __init__(self, environment: Environment, setup: SubscriberSetup) -> None:
        self.subject, self.reach = setup.make(environment)
        self.upstream = DrivenUpstream(environment, setup.element)
        self.asked = 0
        self._before = 0  # what it had requested when it was last made to ask
        self._environment = environment
        self._setup = setup

    def subscribe(self) -> None:
        """Send on_subscribe and wait until the subject can be driven."""
        self.need("triggers")
        self.upstream.subscribe(self.subject)
        if not self._environment.comes(lambda: self.reach.attached):
            self.lack("triggers")

    def ask(self, n: int) -> None:
        """Make the subject ask for `n` more, if there is a way."""
        self.asked += n
        self._before = self.upstream.requested
        self.reach.trigger_request(n)

    def demanded(self) -> bool:
        """Make the subject ask for one more element, if it has not, and tell whether that may be sent.

        What a probe drives may ask ahead of its triggers and yet process no more than they asked for, as processors do.
        """
        upstream = self.upstream
        if upstream.cancelled:
            return False
        if upstream.demand <= 0:
            self.need("demand")
        if self.asked <= len(upstream.sent) if self.reach.sees else upstream.demand <= 0:
            self.ask(1)
        if upstream.demand <= 0 and not self.reach.sees and len(upstream.sent) >= self._setup.expects:
            return False
        if not self._environment.comes(lambda: upstream.demand > 0 or upstream.cancelled):
            if self.reach.sees and self._before < upstream.requested < self.asked:
                self.asks_too_little(self.asked)
            self.lack("demand")
        return not upstream.cancelled

    def asks_too_little(self, wanted: int) -> NoReturn:
        """Note that the subject asked for less than it was made to ask for, and bow out."""
        requested = self.upstream.requested
        self._environment.breach("3.8", f"it was made to ask for {wanted} elements, the demand was {requested}")
        raise NotApplicable(f"it asked for {requested} of {wanted} elements (rule 3.8)")

    def feed(self, count: int, *, blame: str = "2.13") -> int:
        """Send up to `count` elements, each once it was asked for; return how many were sent."""
        for sent in range(count):
            if not self.demanded():
                return sent
            self.upstream.next(blame=blame)
        return count

    def feed_owed(self, bound: int) -> int:
        """Send what is still owed, even after a cancel, up to `bound` and without a pause; return how much that was."""
        owed = min(self.upstream.demand, bound)
        for _ in range(owed):
            self.upstream.next(blame=THIS_TRIAL)
        return owed

    def took_all(self) -> None:
        """Wait until everything that was sent was processed, where that can be seen."""
        if not self.reach.sees:
            return
        self.need("processing")
        sent, processed = self.upstream.sent, self.reach.processed_elements
        if not self._environment.comes(self.has_taken_all):
            raise AssertionError(f"{len(sent)} elements were sent, {len(processed)} were reported as processed")

    def takes_all(self) -> None:
        """See that everything that was sent was processed, which a trial takes for granted."""
        try:
            self.took_all()
        except AssertionError as lost:
            self._environment.breach("2.11", str(lost))
            raise NotApplicable(f"{lost} (rule 2.11)") from lost

    def has_taken_all(self) -> bool:
        """Tell whether everything was processed that was sent, or that need be, as it cancelled."""
        return len(self.reach.processed_elements) >= len(self.upstream.sent) or self.upstream.cancelled

    def took_end(self, end: object) -> None:
        """Wait until the subject processed this end: an error, or None for completion, where that can be seen."""
        if not self.reach.sees or (end is not None and self._setup.claims.recovers):
            return
        name = "on_complete" if end is None else "on_error"
        ends = self.reach.ends
        self._environment.wait_until(lambda: bool(ends), f"{name} was sent, but no end was reported as processed")
        self._environment.check(carries(ends[0], end), f"{name} was sent, but {shown(ends[0])} was reported as the end")

    def need(self, what: str) -> None:
        """Bow out when an earlier trial found that the subject lacks `what`."""
        if what in self._setup.lacks:
            raise NotApplicable(f"{LACKS[what]} (see rule 2.1)")

    def lack(self, what: str) -> None:
        """Note that the subject lacks `what`, so that later trials need not wait for it, and bow out."""
        self._setup.lacks.add(what)
        self._environment.breach("2.1", LACKS[what])
        self.need(what)

    def close(self) -> None:
        """End the subject's stream, so that it can let go of what it holds."""
        self.reach.release()
        if self.upstream.subscribed and not self.upstream.ended:
            self.upstream.complete(blame=NOBODY)
        self.reach.abandon()


def carries(end: object, sent: object) -> bool:
    """Tell whether `end` is the one that was sent, or an error caused by it."""
    return end is sent or (sent is not None and getattr(end, "__cause__", None) is sent)


class SubscriberCase:
    """The seats of one trial."""

    def __init__(self, environment: Environment, setup: SubscriberSetup) -> None:
        self.environment = environment
        self.setup = setup
        self._seats: list[SubjectSeat] = []

    def seat(self, *, subscribed: bool = True) -> SubjectSeat:
        """Make a fresh subject, which by default receives on_subscribe at once."""
        seat = SubjectSeat(self.environment, self.setup)
        self._seats.append(seat)
        if subscribed:
            seat.subscribe()
        return seat

    def second_upstream(self) -> DrivenUpstream:
        """Make another upstream, to be given to a subject that has one."""
        return DrivenUpstream(self.environment, self.setup.element)

    def close(self) -> None:
        """End every stream of the trial, unless a subject never returned from it."""
        for seat in self._seats if not self.environment.stuck else ():
            seat.close()


whitebox: Trials[SubscriberCase] = Trials("subscriber")
blackbox: Trials[SubscriberCase] = Trials("blackbox")
