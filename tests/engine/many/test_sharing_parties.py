"""sharing: whatever one subscriber does, the others get all that comes, and upstream is let go of with the last one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from penstock import Dropped, RunCancelledError, Stream, Subject
from penstock.engine.words.demand import UNBOUNDED
from penstock.spec.interfaces import Subscription
from penstock.testing import ManualPublisher, Probe, subscribed
from tests.engine.parts import in_thread
from tests.engine.watch import PATIENCE

who: ContextVar[str] = ContextVar("who", default="nobody")


@dataclass
class Case:
    """Hold what several subscribers take part in, and how elements and ends are brought."""

    stream: Stream[Any]
    bring: Callable[[int], object]
    complete: Callable[[], object]
    fail: Callable[[Exception], object]
    upstream: ManualPublisher[int] | None
    """The publisher in front of it, if there is one: it must be cancelled after the last subscriber."""
    begin: Callable[[], object] = bool
    """What is done when the first ones are there."""


def _behind(make: Callable[[Stream[int]], Stream[Any]]) -> Callable[[], Case]:
    def case() -> Case:
        upstream: ManualPublisher[int] = ManualPublisher()
        stream = make(Stream.from_publisher(upstream))
        return Case(stream, upstream.next, upstream.complete, upstream.fail, upstream)

    return case


def _published() -> Case:
    upstream: ManualPublisher[int] = ManualPublisher()
    stream = Stream.from_publisher(upstream).publish()
    return Case(stream, upstream.next, upstream.complete, upstream.fail, None, stream.connect)


def _subject() -> Case:
    subject: Subject[int] = Stream.subject()
    return Case(subject, subject.emit, subject.complete, subject.fail, None)


def _kept() -> Case:
    subject: Subject[int] = Stream.subject(kept=2)
    return Case(subject, subject.emit, subject.complete, subject.fail, None)


CASES: dict[str, Callable[[], Case]] = {
    "share": _behind(lambda stream: stream.share()),
    "replay": _behind(lambda stream: stream.replay(2)),
    "cache": _behind(lambda stream: stream.cache()),
    "publish": _published,
    "subject": _subject,
    "subject(kept=2)": _kept,
}
RUNS: dict[str, Callable[[Stream[int]], Stream[int]]] = {
    "share": lambda stream: stream.share(),
    "replay": lambda stream: stream.replay(1),
    "cache": lambda stream: stream.cache(),
}
each_case = pytest.mark.parametrize("name", CASES)


class Odd(Probe[int]):
    """Raise in one of the four methods."""

    def __init__(self, method: str, raises: type[BaseException] = ValueError) -> None:
        super().__init__(UNBOUNDED)
        self._method = method
        self._raises = raises

    def _maybe(self, method: str) -> None:
        if method == self._method:
            raise self._raises(method)

    def on_subscribe(self, subscription: Subscription, /) -> None:
        super().on_subscribe(subscription)
        self._maybe("on_subscribe")

    def on_next(self, element: int, /) -> None:
        super().on_next(element)
        self._maybe("on_next")

    def on_error(self, error: Exception, /) -> None:
        super().on_error(error)
        self._maybe("on_error")

    def on_complete(self) -> None:
        super().on_complete()
        self._maybe("on_complete")


@pytest.mark.parametrize("method", ["on_subscribe", "on_next", "on_error", "on_complete"])
@pytest.mark.parametrize("place", [0, 1, 2])
@each_case
def test_one_that_raises_does_no_harm_to_the_others(name: str, place: int, method: str, dropped: list[Dropped]) -> None:
    case = CASES[name]()
    probes: list[Probe[int]] = [Probe(UNBOUNDED), Probe(UNBOUNDED)]
    probes.insert(place, Odd(method))
    for probe in probes:
        case.stream.subscribe(probe)
    case.begin()
    case.bring(1)
    case.bring(2)
    error = KeyError("lost")
    _ = case.fail(error) if method == "on_error" else case.complete()
    odd = probes.pop(place)
    for probe in probes:
        assert probe.elements == [1, 2]
        assert (probe.error is error) if method == "on_error" else probe.completed
        assert probe.breaches == []
    assert odd.elements == {"on_subscribe": [], "on_next": [1]}.get(method, [1, 2])
    assert [what.what for what in dropped] == [f"rule 2.13: the subscriber raised in {method}"]
    dropped.clear()


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("end", ["complete", "fail"])
@each_case
def test_an_interruption_of_one_at_the_end_does_not_keep_it_from_the_others(name: str, end: str, place: int) -> None:
    case = CASES[name]()
    probes: list[Probe[int]] = [Probe(UNBOUNDED), Probe(UNBOUNDED)]
    probes.insert(place, Odd("on_complete" if end == "complete" else "on_error", KeyboardInterrupt))
    for probe in probes:
        case.stream.subscribe(probe)
    case.begin()
    case.bring(1)
    with pytest.raises(KeyboardInterrupt):
        case.complete() if end == "complete" else case.fail(KeyError("lost"))
    assert [probe.ended for probe in probes] == [True] * 3


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("name", ["subject", "subject(kept=2)"])
def test_an_interruption_of_one_does_not_keep_an_element_from_the_others(name: str, place: int) -> None:
    case = CASES[name]()
    probes: list[Probe[int]] = [Probe(UNBOUNDED), Probe(UNBOUNDED)]
    probes.insert(place, Odd("on_next", KeyboardInterrupt))
    for probe in probes:
        case.stream.subscribe(probe)
    with pytest.raises(KeyboardInterrupt):
        case.bring(1)
    case.bring(2)
    probes.pop(place)
    assert [probe.elements for probe in probes] == [[1, 2], [1, 2]]
    case.complete()


@pytest.mark.parametrize("moment", ["on_subscribe", "on_next"])
@pytest.mark.parametrize("place", [0, 1, 2])
@each_case
def test_one_that_cancels_inside_a_signal_leaves_the_others(name: str, place: int, moment: str) -> None:
    case = CASES[name]()
    leaver: Probe[int] = Probe(
        0 if moment == "on_subscribe" else UNBOUNDED,
        on_subscribe=lambda subscription: subscription.cancel() if moment == "on_subscribe" else None,
        on_signal=lambda _: leaver.cancel(),
    )
    probes: list[Probe[int]] = [Probe(UNBOUNDED), Probe(UNBOUNDED)]
    probes.insert(place, leaver)
    for probe in probes:
        case.stream.subscribe(probe)
    case.begin()
    case.bring(1)
    case.bring(2)
    case.complete()
    assert leaver.elements == ([] if moment == "on_subscribe" else [1])
    assert not leaver.ended
    probes.pop(place)
    assert [probe.elements for probe in probes] == [[1, 2], [1, 2]]
    assert all(probe.completed for probe in probes)


@pytest.mark.parametrize("moment", ["on_subscribe", "on_next", "later"])
@pytest.mark.parametrize("name", [name for name in CASES if CASES[name]().upstream is not None])
def test_the_last_one_to_leave_lets_go_of_upstream(name: str, moment: str) -> None:
    case = CASES[name]()
    assert case.upstream is not None
    probe: Probe[int] = Probe(
        UNBOUNDED if moment != "on_subscribe" else 0,
        on_subscribe=lambda subscription: subscription.cancel() if moment == "on_subscribe" else None,
        on_signal=lambda _: probe.cancel() if moment == "on_next" else None,
    )
    case.stream.subscribe(probe)
    if moment != "on_subscribe":
        case.bring(1)
    if moment == "later":
        probe.cancel()
    assert not case.upstream.subscribers or case.upstream.cancelled
    after = subscribed(case.stream, UNBOUNDED)
    case.bring(2)
    assert after.elements == [2]
    after.cancel()


@pytest.mark.parametrize("name", RUNS)
def test_a_subscription_that_comes_after_the_last_one_has_left_is_cancelled(name: str) -> None:
    """Upstream takes its time to signal on_subscribe, and nobody is left by then."""
    held: list[Any] = []

    class Late:
        def subscribe(self, subscriber: Any, /) -> None:
            held.append(subscriber)

    class Subscribed:
        cancelled = False

        def request(self, n: int, /) -> None:
            raise AssertionError(n)

        def cancel(self) -> None:
            self.cancelled = True

    stream: Stream[int] = Stream.from_publisher(Late())
    subscribed(RUNS[name](stream), UNBOUNDED).cancel()
    subscription = Subscribed()
    held[0].on_subscribe(subscription)
    assert subscription.cancelled


@pytest.mark.parametrize("end", ["complete", "fail", "empty"])
@each_case
def test_ends_need_no_demand_and_come_with_the_last_element(name: str, end: str) -> None:
    case = CASES[name]()
    probes = [subscribed(case.stream) for _ in range(2)]
    for probe in probes if end != "empty" else ():
        probe.request(2)
    case.begin()
    for element in (1, 2) if end != "empty" else ():
        case.bring(element)
    _ = case.fail(KeyError("lost")) if end == "fail" else case.complete()
    assert [probe.elements for probe in probes] == [[] if end == "empty" else [1, 2]] * 2
    assert all(probe.ended for probe in probes)
    assert all(probe.breaches == [] for probe in probes)


def _as(name: str, call: Callable[[], object]) -> None:
    def named() -> None:
        who.set(name)
        call()

    copy_context().run(named)


@pytest.mark.parametrize("demand", [9, UNBOUNDED])
@each_case
def test_each_has_its_own_context_whoever_brings_an_element(name: str, demand: int) -> None:
    case = CASES[name]()
    seen: dict[str, list[str]] = {}
    for person in ("ada", "ben", "cleo"):

        def look(_: object, person: str = person) -> str:
            seen.setdefault(person, []).append(who.get())
            return person

        _as(person, partial(case.stream.map(look).subscribe, Probe[str](demand)))
    _as("connected", case.begin)
    _as("brought", lambda: case.bring(1))
    in_thread(lambda: case.bring(2))
    _as("brought", lambda: case.bring(3))
    case.complete()
    if name in {"subject", "subject(kept=2)"}:
        assert seen == {person: [person] * 3 for person in ("ada", "ben", "cleo")}
    else:  # upstream is a publisher that signals where it likes; the first one takes part in that
        assert {person: seen[person] for person in ("ben", "cleo")} == {"ben": ["ben"] * 3, "cleo": ["cleo"] * 3}


@pytest.mark.parametrize("name", RUNS)
def test_what_stands_before_runs_in_the_context_of_who_began(name: str) -> None:
    """A later subscriber asks for more than the first one, and so brings the elements; but the run is not its own."""
    seen: list[str] = []

    def look(n: int) -> int:
        seen.append(who.get())
        return n

    stream = RUNS[name](Stream.range(4).map(look))
    first: Probe[int] = Probe()
    second: Probe[int] = Probe(UNBOUNDED)
    _as("ada", lambda: stream.subscribe(first))
    _as("ben", lambda: stream.subscribe(second))
    assert second.elements == [0, 1, 2, 3]
    assert seen == ["ada"] * 4
    first.cancel()


@pytest.mark.parametrize("call", ["cancel the connection", "an illegal request"])
def test_a_failure_from_elsewhere_waits_for_the_element_on_its_way(call: str) -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    stream = Stream.from_publisher(upstream).publish()
    inside, may_go = threading.Event(), threading.Event()

    def stay(_: object) -> None:
        if not inside.is_set():
            inside.set()
            assert may_go.wait(PATIENCE)

    probe: Probe[int] = Probe(UNBOUNDED)
    stream.subscribe(probe)
    connection = stream.connect()
    upstream.next(1)  # from now on it is served straight
    probe._on_signal = stay
    worker = threading.Thread(target=lambda: upstream.next(2))
    worker.start()
    assert inside.wait(PATIENCE)
    if call == "cancel the connection":
        connection.cancel()
    else:
        assert probe.subscription is not None
        probe.subscription.request(-1)
    ended = probe.ended
    may_go.set()
    worker.join(PATIENCE)
    assert not ended
    assert probe.elements == [1, 2]
    assert type(probe.error) is (RunCancelledError if call == "cancel the connection" else ValueError)
    assert probe.breaches == []
    connection.cancel()
