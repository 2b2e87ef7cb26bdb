"""law_parties: subscribers with more methods than the four, or that raise, and errors that refuse changes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from penstock.engine.words.demand import UNBOUNDED
from penstock.engine.words.dropped import Dropped, set_on_dropped
from penstock.spec.interfaces import Subscription
from penstock.stream import Stream
from penstock.testing.laws.case import Case
from penstock.testing.laws.forms import UpstreamError
from penstock.testing.probe import Probe


class NamesakeSubscriber:
    """A subscriber with every name there is: a call of it beside the four of the contract is noted."""

    def __init__(self, request: int) -> None:
        self.probe: Probe[Any] = Probe(request)
        self.called: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_, **__: self.called.append(name)

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Take the subscription."""
        self.probe.on_subscribe(subscription)

    def on_next(self, element: Any, /) -> None:
        """Take an element."""
        self.probe.on_next(element)

    def on_error(self, error: Exception, /) -> None:
        """Take a failure."""
        self.probe.on_error(error)

    def on_complete(self) -> None:
        """Take the end."""
        self.probe.on_complete()


def makes_the_four_calls_and_no_other(case: Case) -> None:
    """Signal a subscriber that has names of the engine's by on_next, one element after the other."""
    results = case.expected.of(case.items)
    for request in (UNBOUNDED, len(results) + 1):
        stranger = NamesakeSubscriber(request)
        stranger.probe.patience = case.session.patience
        try:
            case.over(case.upstream()).subscribe(stranger)
        except Exception as error:
            raise case.broken(f"subscribe raised {error!r}") from None
        case.ended(stranger.probe, "expected the end")
        if stranger.called:
            raise case.broken(f"{sorted(set(stranger.called))} of the subscriber were called")
        if stranger.probe.error is not None or not case.expected.same(stranger.probe.elements, results):
            raise case.broken(f"expected {results!r}, got {stranger.probe}")


class SubscriberError(Exception):
    """The error that a subscriber raises in a law."""


class Raising:
    """A subscriber that raises in one of its four methods."""

    def __init__(self, where: str, request: int) -> None:
        self.signals: list[str] = []
        self.subscription: Subscription | None = None
        self._where = where
        self._request = request

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Take the subscription and ask."""
        self.subscription = subscription
        self._signal("on_subscribe")
        if self._request:
            subscription.request(self._request)

    def on_next(self, element: Any, /) -> None:
        """Take an element."""
        self._signal("on_next")

    def on_error(self, error: Exception, /) -> None:
        """Take a failure."""
        self._signal("on_error")

    def on_complete(self) -> None:
        """Take the end."""
        self._signal("on_complete")

    def _signal(self, name: str) -> None:
        self.signals.append(name)
        if name == self._where:
            raise SubscriberError(name)


def a_subscriber_that_raises_is_let_go(case: Case) -> None:
    """Tell the hook once, let upstream go, signal nothing more, and raise nothing out of subscribe and request."""
    wheres = ["on_subscribe"]
    if case.expected.of(case.items):
        wheres.append("on_next")
    wheres.append("on_complete")
    if case.passes_failures:
        wheres.append("on_error")
    for where in wheres:
        for inside in (True, False):
            _raises(case, where, inside)


def _raises(case: Case, where: str, inside: bool) -> None:
    upstream = case.upstream(case.failure if where == "on_error" else None)
    stream = case.over(upstream)
    raising = Raising(where, UNBOUNDED if inside else 0)
    what = f"the subscriber raised in {where}{'' if inside else ', asking later'}"
    with _dropped() as dropped:
        try:
            stream.subscribe(raising)
            if not inside and where != "on_subscribe":
                case.session.comes(lambda: raising.subscription is not None)
                assert raising.subscription is not None
                raising.subscription.request(UNBOUNDED)
        except Exception as error:
            raise case.broken(f"{what}: {error!r} came out of subscribe or request") from None
        if not case.session.comes(lambda: _told(dropped)):
            if raising.subscription is not None:
                raising.subscription.cancel()
            raise case.broken(f"{what}: the on_dropped hook was not told; signals: {raising.signals}")
        case.let_go(upstream, f"{what[4:]}")
    if len(_told(dropped)) > 1:
        raise case.broken(f"{what}: the on_dropped hook was told {len(_told(dropped))} times")
    others = [one for one in dropped if not isinstance(one.error, SubscriberError | UpstreamError)]
    if others:
        raise case.broken(f"{what}: the on_dropped hook was told of {others[0]}")
    if raising.signals[-1] != where or raising.signals.count(where) > 1:
        raise case.broken(f"{what}: more signals followed: {raising.signals}")


def _told(dropped: list[Dropped]) -> list[Dropped]:
    return [one for one in list(dropped) if isinstance(one.error, SubscriberError)]


@contextmanager
def _dropped() -> Iterator[list[Dropped]]:
    """Collect what goes to the hook meanwhile."""
    found: list[Dropped] = []
    before = set_on_dropped(found.append)
    try:
        yield found
    finally:
        set_on_dropped(before)


@dataclass(frozen=True)
class FrozenError(UpstreamError):
    """An error that takes neither notes nor attributes."""

    number: int = 7


def whatever_is_raised_arrives(case: Case) -> None:
    """Pass errors on as they are, also those that refuse to be changed, and those that mean something to a loop."""
    if not case.passes_failures:
        return
    errors: list[Exception] = [FrozenError()]
    if case.form.knows and case.form.counted:
        errors.append(StopIteration("an error like any other"))  # out of an iterator it would be the end
    for error in errors:
        for take in (_signalled, _looped):
            found = take(case, case.over(case.upstream(error)), error)
            stopped = isinstance(error, StopIteration) and (take is _looped or _cause_of(found) is error)
            if found is not error and not stopped:
                raise case.broken(f"and {error!r}: got {found!r}")


def _cause_of(error: Exception | None) -> BaseException | None:
    """Return what a stop became the cause of, where something raised it that must not stop."""
    return None if error is None else error.__cause__


def _signalled(case: Case, stream: Stream[Any], error: Exception) -> Exception | None:
    probe = case.probe(stream, UNBOUNDED)
    case.ended(probe, f"and {error!r}: expected the error")
    return probe.error


def _looped(case: Case, stream: Stream[Any], error: Exception) -> Exception | None:
    """Loop on a thread, since a loop that is not told waits for ever."""
    found: list[Exception | None] = []

    def loop() -> None:
        try:
            for _ in stream:
                pass
        except Exception as raised:
            found.append(raised)
        else:
            found.append(None)

    _in_time(case, loop, f"and {error!r}: a for loop over it does not end")
    return found[0]


def _in_time(case: Case, call: Callable[[], None], what: str) -> None:
    thread = threading.Thread(target=call, name="law", daemon=True)
    thread.start()
    thread.join(case.session.patience)
    if thread.is_alive():
        raise case.broken(what)
