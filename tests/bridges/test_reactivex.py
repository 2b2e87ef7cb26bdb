"""reactivex: Observables in, with a policy for what nobody asked for, and streams out; disposing is cancelling."""

from __future__ import annotations

import gc
import re
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import reactivex
from reactivex import Observable, operators
from reactivex.disposable import Disposable
from reactivex.scheduler import EventLoopScheduler, NewThreadScheduler
from reactivex.subject import Subject
from reactivex.testing import TestScheduler

from penstock import Overflow, OverflowedError, ProtocolError, Stream, thread
from penstock.bridges.reactivex import from_observable, to_observable
from penstock.tck import Limits, render, verify_publisher
from penstock.testing import ManualPublisher, Probe, Tracked
from tests.engine.watch import PATIENCE, dropped, no_thread_is_left

__all__ = ["dropped", "no_thread_is_left"]

LOST = LookupError("lost")
REFUSES_BUFFER = (
    "from_observable: overflow must be Overflow.DROP, LATEST or ERROR, got Overflow.BUFFER; "
    "an Observable cannot keep what is refused"
)
LIMITS = Limits(elements=20, timeout=5.0, quiet=0.02)


class Source:
    """Be an Observable driven by hand, which may break the contract."""

    def __init__(self) -> None:
        self.observer: Any = None
        self.disposed = 0
        self.observable: Observable[Any] = Observable(self._subscribe)

    def _subscribe(self, observer: Any, _: Any = None) -> Any:
        self.observer = observer
        return Disposable(self._dispose)

    def _dispose(self) -> None:
        self.disposed += 1


def observed(source: Source, overflow: Overflow, request: int = 0, size: int = 2) -> Probe[Any]:
    probe: Probe[Any] = Probe(request)
    from_observable(source.observable, overflow=overflow, size=size).subscribe(probe)
    return probe


# From an Observable.


@pytest.mark.parametrize("overflow", [Overflow.ERROR, Overflow.LATEST, Overflow.DROP])
def test_elements_that_are_asked_for_come_with_the_end(overflow: Overflow) -> None:
    source = Source()
    probe = observed(source, overflow, 9)
    for n in range(3):
        source.observer.on_next(n)
    source.observer.on_completed()
    assert (probe.elements, probe.completed, probe.breaches, source.disposed) == ([0, 1, 2], True, [], 1)


@pytest.mark.parametrize(
    ("overflow", "elements"), [(Overflow.LATEST, [0, 4]), (Overflow.DROP, [0]), (Overflow.ERROR, [0, 1, 2])]
)
def test_what_nobody_asked_for_is_treated_by_the_policy(overflow: Overflow, elements: list[int]) -> None:
    source = Source()
    probe = observed(source, overflow, 1)
    for n in range(5):
        source.observer.on_next(n)
    probe.request()
    assert probe.elements == elements
    if overflow is Overflow.ERROR:
        assert type(probe.error) is OverflowedError
        assert str(probe.error) == "from_observable: 2 elements wait and another came; no subscriber asks for them"
        assert source.disposed == 1
    else:
        assert not probe.ended
        probe.cancel()
    assert probe.breaches == []


def test_a_failure_is_the_same_object() -> None:
    source = Source()
    probe = observed(source, Overflow.ERROR)
    source.observer.on_next(1)
    source.observer.on_error(LOST)
    assert not probe.ended  # what waits comes first
    probe.request(1)
    assert (probe.elements, probe.error, source.disposed) == ([1], LOST, 1)


@pytest.mark.parametrize("where", ["here", "elsewhere"])
def test_to_cancel_is_to_dispose(where: str) -> None:
    source = Source()
    probe = observed(source, Overflow.ERROR, 1)
    if where == "here":
        probe.cancel()
    else:
        other = threading.Thread(target=probe.cancel)
        other.start()
        other.join(PATIENCE)
    assert source.disposed == 1
    source.observer.on_next(1)
    source.observer.on_completed()
    assert probe.signals == []


def test_an_observable_without_end_can_be_left_while_it_sends() -> None:
    seen: list[int] = []
    endless = reactivex.repeat_value(7).pipe(operators.do_action(seen.append))
    probe: Probe[int] = Probe(9)
    from_observable(endless, overflow=Overflow.ERROR).take(3).subscribe(probe)
    assert (probe.elements, probe.completed, len(seen)) == ([7] * 3, True, 3)


def test_an_observable_without_end_can_be_iterated_if_it_has_a_thread() -> None:
    endless = reactivex.interval(0.0001, scheduler=NewThreadScheduler())
    found = list(from_observable(endless, overflow=Overflow.DROP).take(3))
    assert len(found) == 3
    assert found == sorted(set(found))


@pytest.mark.parametrize("last", [3, None])
def test_an_observable_is_disposed_of_though_a_failure_waits_behind_elements(last: int | None) -> None:
    source = Source()
    probe = observed(source, Overflow.ERROR, size=2)
    for element in (1, 2, last, 4):  # the third is one too many, or none
        source.observer.on_next(element)
    assert (source.disposed, probe.elements, probe.error) == (1, [], None)
    probe.request(2)
    assert probe.elements == [1, 2]
    assert type(probe.error) is (TypeError if last is None else OverflowedError)


def test_an_observable_without_end_ends_with_its_failure() -> None:
    sent: list[int] = []
    endless = reactivex.repeat_value(1, 20_000).pipe(operators.do_action(sent.append))
    with pytest.raises(OverflowedError):
        list(from_observable(endless, overflow=Overflow.ERROR, size=5))
    assert len(sent) < 20


def test_an_observable_on_a_thread_is_taken_from_there() -> None:
    scheduler = NewThreadScheduler()
    numbers = reactivex.range(0, 100).pipe(operators.subscribe_on(scheduler))
    assert list(from_observable(numbers, overflow=Overflow.ERROR, size=100)) == list(range(100))


def test_the_scheduler_is_handed_to_the_observable() -> None:
    given: list[Any] = []

    def subscribe(observer: Any, scheduler: Any = None) -> Any:
        given.append(scheduler)
        observer.on_completed()
        return Disposable()

    scheduler = TestScheduler()
    assert list(from_observable(Observable(subscribe), overflow=Overflow.ERROR, scheduler=scheduler)) == []
    assert given == [scheduler]


def test_each_subscriber_subscribes_anew_and_each_element_comes_once() -> None:
    numbers = from_observable(reactivex.of(1, 2), overflow=Overflow.ERROR)
    assert [list(numbers), list(numbers)] == [[1, 2], [1, 2]]


def test_what_is_brought_in_keeps_every_rule(dropped: list[Any]) -> None:
    def make(count: int | None) -> Stream[Any]:
        requests: Subject[int] = Subject()
        numbers = to_observable(Stream.range(10**6 if count is None else count), requests=requests)
        return from_observable(numbers, overflow=Overflow.ERROR, size=1, requests=requests)

    report = verify_publisher(
        lambda count: Stream.defer(lambda: make(count)),
        failing=lambda *_: from_observable(reactivex.throw(LOST), overflow=Overflow.ERROR),
        limits=LIMITS,
    )
    assert report.ok, render(report)
    dropped.clear()  # what a subscriber of the kit raised


def test_what_was_asked_for_has_room_whoever_delivers_it() -> None:
    """Elements come on a thread while another one, which has asked for them, is still busy with the first."""
    requests: Subject[int] = Subject()
    first = threading.Event()

    def busy(signal: Any) -> None:
        if not first.is_set():
            first.set()
            assert all_sent.wait(PATIENCE)

    source, all_sent = Source(), threading.Event()
    probe: Probe[int] = Probe(on_signal=busy)
    from_observable(source.observable, overflow=Overflow.ERROR, size=1, requests=requests).subscribe(probe)
    asked: list[int] = []
    requests.subscribe(asked.append)
    probe.request(5)
    assert asked == [5]

    def send() -> None:
        source.observer.on_next(0)

    sending = threading.Thread(target=send)
    sending.start()
    assert first.wait(PATIENCE)
    for n in range(1, 6):
        source.observer.on_next(n)  # the last one is the one beyond, for which there is room too
    all_sent.set()
    sending.join(PATIENCE)
    assert (probe.wait_for(5), probe.ended, probe.breaches) == ([0, 1, 2, 3, 4], False, [])
    source.observer.on_next(6)
    probe.request(1)
    assert (probe.elements[5:], type(probe.error)) == ([5], OverflowedError)


def test_demand_inside_a_trampoline_of_reactivex_is_not_lost() -> None:
    found: list[Any] = []

    def inside(_: object) -> None:
        requests: Subject[int] = Subject()
        numbers = to_observable(Stream.range(3), requests=requests)
        probe: Probe[int] = Probe(9, on_signal=found.append)
        from_observable(numbers, overflow=Overflow.ERROR, size=1, requests=requests).subscribe(probe)

    reactivex.of(1).subscribe(inside)
    assert [str(signal) for signal in found] == ["next(0)", "next(1)", "next(2)", "complete"]


def test_demand_is_not_lost_when_the_run_starts_later() -> None:
    scheduler = TestScheduler()
    requests: Subject[int] = Subject()
    seen, _ = subscribed(to_observable(Stream.range(3), requests=requests), scheduler=scheduler)
    requests.on_next(2)
    requests.on_next(1)
    scheduler.start()
    assert seen.signals == [0, 1, 2, "completed"]


def test_the_subscriber_is_let_go_of() -> None:
    source = Source()
    probe = observed(source, Overflow.ERROR, 1)
    gone = weakref.ref(probe)
    probe.cancel()
    del probe
    gc.collect()
    assert gone() is None


# Breaches.


def test_none_is_no_element_and_ends_the_stream() -> None:
    source = Source()
    probe = observed(source, Overflow.ERROR, 3)
    source.observer.on_next(None)
    assert (type(probe.error), str(probe.error)) == (
        TypeError,
        "rule 2.13: the observable sent None, which is not an element",
    )
    assert (source.disposed, probe.breaches) == (1, [])


def test_a_failure_that_is_no_exception_is_told_of_by_rule() -> None:
    source = Source()
    probe = observed(source, Overflow.ERROR)
    source.observer.on_error("burst")
    assert (type(probe.error), str(probe.error)) == (
        ProtocolError,
        "rule 1.4: the observable failed with 'burst', which is not an exception",
    )


def test_signals_after_the_end_change_nothing() -> None:
    source = Source()
    probe = observed(source, Overflow.ERROR, 9)
    source.observer.on_completed()
    source.observer.on_next(1)
    source.observer.on_error(LOST)
    source.observer.on_completed()
    assert (probe.elements, probe.completed, probe.error, probe.breaches) == ([], True, None, [])


def test_an_observable_that_does_not_guard_its_end_changes_nothing_either(dropped: list[Any]) -> None:
    """Another make may hand the observer over as it is."""

    class Bare(reactivex.abc.ObservableBase[Any]):
        observer: Any

        def subscribe(self, on_next: Any = None, *_: Any, scheduler: Any = None) -> Any:  # type: ignore[override]
            self.observer = on_next
            return Disposable()

    bare = Bare()
    probe: Probe[Any] = Probe(9)
    from_observable(bare, overflow=Overflow.ERROR).subscribe(probe)
    bare.observer.on_next(1)
    bare.observer.on_completed()
    bare.observer.on_next(2)
    bare.observer.on_completed()
    bare.observer.on_error(LOST)
    assert (probe.elements, probe.completed, probe.breaches) == ([1], True, [])
    assert [(each.what, each.error) for each in dropped] == [("an emitter failed after the end", LOST)]
    dropped.clear()


def test_several_threads_that_send_at_once_are_put_in_line() -> None:
    source = Source()
    probe = observed(source, Overflow.ERROR, 9999, size=9999)
    threads = [
        threading.Thread(target=lambda: [source.observer.on_next(n) for n in range(500)])  # type: ignore[func-returns-value]
        for _ in range(4)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join(PATIENCE)
    probe.wait_for(2000)
    assert probe.breaches == []
    probe.cancel()


def test_an_observable_that_raises_when_it_is_subscribed_fails_the_stream() -> None:
    def subscribe(*_: Any) -> Any:
        raise LOST

    probe: Probe[Any] = Probe(1)
    from_observable(Observable(subscribe), overflow=Overflow.ERROR).subscribe(probe)
    assert (probe.error, probe.breaches) == (LOST, [])


def test_requests_that_cannot_be_told_fail_the_stream() -> None:
    class Deaf(Subject[int]):
        def on_next(self, value: int) -> None:
            raise LOST

    source = Source()
    probe: Probe[Any] = Probe(1)
    from_observable(source.observable, overflow=Overflow.ERROR, requests=Deaf()).subscribe(probe)
    assert (probe.error, source.disposed) == (LOST, 1)


# To an Observable.


class Seen:
    """Record what an observer is told."""

    def __init__(self) -> None:
        self.signals: list[Any] = []
        self.threads: list[str] = []
        self.ended = threading.Event()

    def on_next(self, element: Any) -> None:
        self.signals.append(element)
        self.threads.append(threading.current_thread().name)

    def on_error(self, error: Exception) -> None:
        self.signals.append(error)
        self.ended.set()

    def on_completed(self) -> None:
        self.signals.append("completed")
        self.ended.set()


def subscribed(observable: Observable[Any], **options: Any) -> tuple[Seen, Any]:
    seen = Seen()
    return seen, observable.subscribe(seen.on_next, seen.on_error, seen.on_completed, **options)


def test_a_stream_is_sent_whole_and_anew_to_each_observer() -> None:
    numbers = to_observable(Stream.range(3))
    assert [subscribed(numbers)[0].signals, subscribed(numbers)[0].signals] == [[0, 1, 2, "completed"]] * 2


def test_the_failure_of_a_stream_is_the_same_object() -> None:
    seen, _ = subscribed(to_observable(Stream.just(1).concat(Stream.error(LOST))))
    assert seen.signals == [1, LOST]


def test_operators_of_reactivex_go_on_from_there_and_leave_when_they_have_enough() -> None:
    items = Tracked(range(10**6))
    seen, _ = subscribed(to_observable(Stream.from_iterable(items)).pipe(operators.skip(1), operators.take(2)))
    assert (seen.signals, items.taken, items.open_runs) == ([1, 2, "completed"], 3, 0)


@pytest.mark.parametrize("where", ["here", "elsewhere"])
def test_to_dispose_is_to_cancel(where: str) -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    seen, disposable = subscribed(to_observable(upstream))
    upstream.next(1)
    if where == "here":
        disposable.dispose()
    else:
        other = threading.Thread(target=disposable.dispose)
        other.start()
        other.join(PATIENCE)
    disposable.dispose()
    assert (seen.signals, upstream.subscriptions[0].cancelled) == ([1], True)


def test_a_stream_on_a_thread_can_be_disposed_of_while_it_sends() -> None:
    items = Tracked(range(10**9))
    reached = threading.Event()
    disposable = to_observable(Stream.from_iterable(items).subscribe_on(thread())).subscribe(lambda _: reached.set())
    assert reached.wait(PATIENCE)
    disposable.dispose()
    items.wait_until_closed()


def test_the_run_starts_on_the_scheduler_that_is_given() -> None:
    scheduler = EventLoopScheduler()
    seen, _ = subscribed(to_observable(Stream.range(2)), scheduler=scheduler)
    assert seen.ended.wait(PATIENCE)
    assert seen.signals == [0, 1, "completed"]
    assert threading.current_thread().name not in seen.threads
    scheduler.dispose()


def test_a_run_that_is_disposed_of_before_its_scheduler_gets_to_it_never_starts() -> None:
    scheduler = TestScheduler()
    items = Tracked(range(3))
    seen, disposable = subscribed(to_observable(Stream.from_iterable(items)), scheduler=scheduler)
    disposable.dispose()
    scheduler.start()
    assert (seen.signals, items.opened) == ([], 0)
    made: list[Any] = []

    class Counted:
        def subscribe(self, subscriber: Any, /) -> None:
            made.append(subscriber)

    subscribed(to_observable(Counted()), scheduler=(later := TestScheduler()))[1].dispose()
    later.start()
    assert made == []


def test_demand_is_that_of_the_requests_where_they_are_given() -> None:
    requests: Subject[int] = Subject()
    items = Tracked(range(5))
    seen, _ = subscribed(to_observable(Stream.from_iterable(items), requests=requests))
    assert (seen.signals, items.taken) == ([], 0)
    requests.on_next(2)
    assert (seen.signals, items.taken) == ([0, 1], 2)
    requests.on_completed()
    assert seen.signals == [0, 1]
    assert items.open_runs == 1


def test_wrong_requests_fail_the_observable_by_rule() -> None:
    requests: Subject[int] = Subject()
    items = Tracked(range(5))
    seen, _ = subscribed(to_observable(Stream.from_iterable(items), requests=requests))
    requests.on_next(1)
    requests.on_next(0)
    assert [str(each) for each in seen.signals] == ["0", "rule 3.9: request(0): a request must be positive"]
    assert items.open_runs == 0


def test_requests_that_fail_fail_the_observable() -> None:
    requests: Subject[int] = Subject()
    items = Tracked(range(5))
    seen, _ = subscribed(to_observable(Stream.from_iterable(items), requests=requests))
    requests.on_next(1)
    requests.on_error(LOST)
    assert (seen.signals, items.open_runs) == ([0, LOST], 0)
    requests = Subject()
    seen, _ = subscribed(to_observable(Stream.range(3), requests=requests))
    requests.on_error("burst")  # type: ignore[arg-type]
    assert [str(each) for each in seen.signals] == [
        "rule 1.4: the requests failed with 'burst', which is not an exception"
    ]


def test_requests_are_let_go_of_with_the_end() -> None:
    requests: Subject[int] = Subject()
    subscribed(to_observable(Stream.range(2), requests=requests))
    assert len(requests.observers) == 1
    requests.on_next(9)
    assert len(requests.observers) == 0


@pytest.mark.parametrize("signal", ["on_next", "on_error", "on_completed"])
def test_an_observer_that_raises_is_cut_off_and_reported(signal: str, dropped: list[Any]) -> None:
    def raises(*_: Any) -> None:
        raise ArithmeticError("observer")

    items = Tracked(range(5), LOST if signal == "on_error" else None)
    calls: dict[str, Callable[..., None]] = {"on_next": lambda _: None, "on_error": lambda _: None, signal: raises}
    to_observable(Stream.from_iterable(items)).subscribe(**calls)
    assert items.open_runs == 0
    assert items.taken == (1 if signal == "on_next" else 5)
    assert [repr(each.error) for each in dropped] == ["ArithmeticError('observer')"]
    dropped.clear()


def test_another_publisher_is_offered_and_held_to_the_contract(dropped: list[Any]) -> None:
    class Excess:
        def subscribe(self, subscriber: Any, /) -> None:
            subscriber.on_subscribe(self)
            subscriber.on_next(1)
            subscriber.on_next(None)

        def request(self, n: int, /) -> None:
            pass

        def cancel(self) -> None:
            pass

    requests: Subject[int] = Subject()
    seen, _ = subscribed(to_observable(Excess(), requests=requests))
    assert str(seen.signals[0]) == "rule 1.1: the publisher sent an element that was not requested"
    dropped.clear()


# Arguments.


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: from_observable(3, overflow=Overflow.DROP),
            "from_observable: observable must be an Observable, got 3",
        ),  # type: ignore[arg-type]
        (
            lambda: from_observable(reactivex.never(), overflow=Overflow.BUFFER),
            REFUSES_BUFFER,
        ),
        (
            lambda: from_observable(reactivex.never(), overflow="drop"),  # type: ignore[arg-type]
            "from_observable: overflow must be an Overflow, got 'drop'",
        ),
        (
            lambda: from_observable(reactivex.never(), overflow=Overflow.DROP, size=0),
            "from_observable: size must be >= 1, got 0",
        ),
        (
            lambda: from_observable(reactivex.never(), overflow=Overflow.DROP, requests=3),  # type: ignore[arg-type]
            "from_observable: requests must be an Observer, got 3",
        ),
        (
            lambda: from_observable(reactivex.never(), overflow=Overflow.DROP, requests=Subject()),
            "from_observable: overflow must be Overflow.ERROR with requests, got Overflow.DROP",
        ),
        (lambda: to_observable(3), "to_observable: stream must be a Stream or another Publisher, got 3"),  # type: ignore[arg-type]
        (
            lambda: to_observable(Stream.range(3), requests=3),  # type: ignore[arg-type]
            "to_observable: requests must be an Observable, got 3",
        ),
    ],
)
def test_wrong_arguments_are_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=f"^{re.escape(message)}$"):
        call()


def test_the_policy_has_to_be_said() -> None:
    with pytest.raises(TypeError, match="overflow"):
        from_observable(reactivex.never())  # type: ignore[call-arg]


def test_without_reactivex_the_module_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "penstock.bridges.reactivex")
    for name in [name for name in sys.modules if name.partition(".")[0] == "reactivex"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ModuleNotFoundError, match=r"needs reactivex: pip install 'penstock\[reactivex\]'$"):
        import penstock.bridges.reactivex  # noqa: F401
