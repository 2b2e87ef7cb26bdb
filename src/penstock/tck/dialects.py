"""dialects: publishers, subscribers and processors of each text as the trials drive them.

The trials speak the JVM text. A party of another one is put behind an adapter, and the report counts by that text's own
numbers. A subscriber of the C++ text has no on_subscribe: its subscription belongs to the one who subscribed it. Here
that is the kit, unless `attach` hands it to the subscriber; then the rules on what a subscriber does with its
subscription can be held against it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, TypeVar

from penstock.spec.dialects.cpp import CppSubscription, FromCpp, respelled
from penstock.spec.dialects.dotnet import PublisherFromDotnet, SubscriberFromDotnet
from penstock.spec.dialects.strangers import cure_for
from penstock.spec.interfaces import Subscriber, Subscription
from penstock.spec.link import Link
from penstock.spec.predicates import is_processor, is_publisher, is_subscriber
from penstock.spec.rules.every import rule
from penstock.tck.contract import DIALECTS
from penstock.tck.outcome import Outcome, Status
from penstock.tck.planned import NotRun
from penstock.tck.trial import Trial, Trials

Attach = Callable[[Any, CppSubscription], object]

C = TypeVar("C")

_OWNERS: Final = ("2.1", "2.5", "2.6", "2.7", "3.8", "3.9")
_OWNED_BY_THE_KIT: Final = (
    "its subscription belongs to the one who subscribed it, here the kit: give attach=, which hands it over"
)


def dialect_given(function: str, dialect: str, attach: Attach | None) -> None:
    """Refuse a dialect that is none, and `attach` where the text has on_subscribe for it."""
    if dialect not in DIALECTS:
        raise ValueError(f"{function}: dialect must be one of {', '.join(sorted(DIALECTS))}, got {dialect!r}")
    if attach is not None and dialect != "cpp":
        raise ValueError(f"{function}: attach is for the C++ text alone, the others have on_subscribe, got {dialect!r}")


def subscriber_of(function: str, dialect: str, made: Any, attach: Attach | None = None) -> Subscriber[Any]:
    """Return a subscriber of a dialect as the trials drive it; refuse what is none, with the cure."""
    if dialect == "jvm":
        return made  # type: ignore[no-any-return]
    if not is_subscriber(made, dialect):  # type: ignore[call-overload]
        raise NotRun(
            f"{function}: the factory must return a subscriber of the {DIALECTS[dialect].value} text, got {made!r}"
            f"{cure_for(made)}"
        )
    return SubscriberFromDotnet(made) if dialect == "dotnet" else CppSeat(respelled(made), made, attach)


def processor_of(function: str, dialect: str, made: Any, attach: Attach | None = None) -> Any:
    """Return a processor of a dialect as the trials drive it; one of the C++ text may be an operator, a function."""
    if dialect == "jvm":
        return made
    if dialect == "cpp" and callable(made) and not is_publisher(made, "cpp"):
        return Operator(made)
    if not is_processor(made, dialect):  # type: ignore[call-overload]
        raise NotRun(
            f"{function}: the factory must return a processor of the {DIALECTS[dialect].value} text, got {made!r}"
            f"{cure_for(made)}"
        )
    given: Any = made
    if dialect == "dotnet":
        return _Processor(SubscriberFromDotnet(given), PublisherFromDotnet(given), given)
    return _Processor(CppSeat(respelled(given), given, attach), FromCpp(given), given)


def publisher_of(dialect: str, adapted: Any) -> Any:
    """Return the publisher of a processor as its dialect has it."""
    return adapted if dialect == "jvm" else adapted.publisher


def trials_of(trials: Trials[C], dialect: str) -> list[Trial[C]]:
    """Return the trials that a dialect has; the C++ text has no null that could be refused."""
    found = trials.of(dialect)
    return found if dialect != "cpp" else [trial for trial in found if ".none_" not in trial.name]


def in_dialect(outcomes: tuple[Outcome, ...], dialect: str, attach: Attach | None) -> tuple[Outcome, ...]:
    """Leave out what a dialect has no rule for, and say what cannot be told of a subscriber without a subscription."""
    kept = [outcome for outcome in outcomes if rule(outcome.rule).id_in(DIALECTS[dialect])]
    if dialect != "cpp" or attach is not None:
        return tuple(kept)
    return tuple(
        replace(outcome, status=Status.NOT_APPLICABLE, detail=_OWNED_BY_THE_KIT, hint="")
        if outcome.rule in _OWNERS and outcome.test.startswith(("subscriber.", "blackbox."))
        else outcome
        for outcome in kept
    )


class CppSeat:
    """A subscriber of the C++ text with on_subscribe, which hands its subscription over or keeps it for the kit."""

    __slots__ = ("__weakref__", "_attach", "_link", "_made", "_subscriber", "subscription")

    def __init__(self, subscriber: Any, made: Any, attach: Attach | None) -> None:
        self._subscriber = subscriber
        self._made = made
        self._attach = attach
        self._link: Link | None = None
        self.subscription: CppSubscription | None = None

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Give the subscriber its subscription, if there is a way."""
        if self._link is not None:
            subscription.cancel()  # the text takes a subscriber over, so this is the kit's own affair
            return
        self._link = link = Link()
        link.begin(subscription)
        owned = CppSubscription.over(link)
        if self._attach is None:
            self.subscription = owned
        else:
            self._attach(self._made, owned)

    def ask(self) -> None:
        """Ask for one more element, as its owner."""
        if self.subscription is not None:
            self.subscription.request(1)

    def quit(self) -> None:
        """Cancel, as its owner."""
        if self.subscription is not None:
            self.subscription.cancel()

    def on_next(self, element: Any, /) -> None:
        """Pass an element on."""
        self._subscriber.on_next(element)

    def on_error(self, error: Exception, /) -> None:
        """Pass the failure on."""
        self._ended()
        self._subscriber.on_error(error)

    def on_complete(self) -> None:
        """Pass the completion on."""
        self._ended()
        self._subscriber.on_complete()

    def _ended(self) -> None:
        """Leave the subscription as it is after the end: dropping it is no call on it (C++ 2.4)."""
        if self._attach is None and self._link is not None:
            self._link.end()


class _Processor:
    """A processor of the JVM text made of two sides."""

    __slots__ = ("__weakref__", "on_complete", "on_error", "on_next", "on_subscribe", "publisher", "subscribe")

    def __init__(self, front: Any, back: Any, publisher: Any) -> None:
        self.publisher = publisher
        self.on_subscribe = front.on_subscribe
        self.on_next = front.on_next
        self.on_error = front.on_error
        self.on_complete = front.on_complete
        self.subscribe = back.subscribe


class Operator:
    """An operator of the C++ text, a function from publisher to publisher, as a processor for one subscriber."""

    __slots__ = ("__weakref__", "_below", "_early", "_front", "_link", "_taken", "publisher")

    def __init__(self, operator: Callable[[Any], Any]) -> None:
        self._link = Link()
        self._front: Any = None
        self._taken = False
        self._early: Callable[[Any], None] | None = None
        self.publisher = operator(_Above(self))
        self._below: FromCpp[Any] = FromCpp(self.publisher)

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        """Subscribe to what the operator made."""
        self._below.subscribe(subscriber)

    def taken(self, subscriber: Any) -> CppSubscription:
        """Take the subscriber that the operator puts in front."""
        named = respelled(subscriber)
        if self._taken:
            named.on_error(RuntimeError("an operator is put over one upstream, and serves one subscriber"))
            return CppSubscription()
        self._front, self._taken = named, True
        early, self._early = self._early, None
        if early is not None:
            early(named)
        return CppSubscription.over(self._link)

    def let_go(self) -> None:
        """Let go of the operator's subscriber, as an upstream does whose subscription is over (C++ 3.12)."""
        self._front = None

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Take the upstream."""
        self._link.begin(subscription)

    def on_next(self, element: Any, /) -> None:
        """Pass an element into the operator."""
        front = self._front
        if front is not None:
            front.on_next(element)

    def on_error(self, error: Exception, /) -> None:
        """Pass a failure into the operator."""
        self._end(lambda front: front.on_error(error))

    def on_complete(self) -> None:
        """Pass the end into the operator."""
        self._end(lambda front: front.on_complete())

    def _end(self, end: Callable[[Any], None]) -> None:
        self._link.end()
        if not self._taken:  # the operator subscribes when it is subscribed to
            self._early = end
        elif (front := self._front) is not None:
            end(front)


class _Above:
    """The publisher that an operator is given to subscribe to."""

    __slots__ = ("_operator",)

    def __init__(self, operator: Operator) -> None:
        self._operator = operator

    def subscribe(self, subscriber: Any, /) -> CppSubscription:
        """Take the operator's subscriber over."""
        return self._operator.taken(subscriber)

    Subscribe = subscribe


__all__ = [
    "Attach",
    "CppSeat",
    "Operator",
    "dialect_given",
    "in_dialect",
    "processor_of",
    "publisher_of",
    "subscriber_of",
    "trials_of",
]
