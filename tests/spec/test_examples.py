"""The examples of the JVM texts and the parties made of functions keep the rules, which the kit shows."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from penstock import Stream, make_publisher, make_subscriber, make_subscription
from penstock.bridges.cpp import to_cpp
from penstock.spec.examples import AsyncIterablePublisher, AsyncSubscriber, RangePublisher, SyncSubscriber
from penstock.tck import Limits, render, verify_publisher, verify_subscriber_blackbox
from penstock.testing import Probe, Tracked
from tests.engine.watch import PATIENCE, dropped

__all__ = ["dropped"]

LIMITS = Limits(elements=50, timeout=5.0, quiet=0.03)


@pytest.fixture(scope="module")
def executor() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as made:
        yield made


class Counting:
    """Count elements up to a limit; a mixin over either base."""

    def __init__(self, *arguments: Any, probe: Any = None, most: int = 10**9) -> None:
        super().__init__(*arguments)
        self.taken: list[Any] = []
        self.ended = threading.Event()
        self.error: Exception | None = None
        self.probe = probe
        self.most = most

    def foreach(self, element: Any, /) -> bool:
        self.taken.append(element)
        if len(self.taken) == self.most:
            self.ended.set()
        return len(self.taken) < self.most

    def when_complete(self) -> None:
        self.ended.set()

    def when_failed(self, error: Exception, /) -> None:
        self.error = error
        self.ended.set()


class Sync(Counting, SyncSubscriber[Any]):
    pass


class Async(Counting, AsyncSubscriber[Any]):
    pass


def test_a_sync_subscriber_keeps_the_rules() -> None:
    report = verify_subscriber_blackbox(Sync, limits=LIMITS)
    assert report.ok, render(report)


def test_an_async_subscriber_keeps_the_rules(executor: ThreadPoolExecutor) -> None:
    report = verify_subscriber_blackbox(lambda: Async(executor), limits=LIMITS)
    assert report.ok, render(report)


@pytest.mark.parametrize("kind", [Sync, Async])
def test_takes_elements_until_it_has_enough(kind: Any, executor: ThreadPoolExecutor) -> None:
    items = Tracked(range(100))
    taker = kind(*([executor] if kind is Async else []), most=3)
    Stream.from_iterable(items).subscribe(taker)
    assert taker.ended.wait(PATIENCE)
    items.wait_until_closed()
    assert taker.taken == [0, 1, 2]


@pytest.mark.parametrize("kind", [Sync, Async])
def test_a_failure_of_foreach_cancels_and_is_told(kind: Any, executor: ThreadPoolExecutor) -> None:
    class Failing(kind):  # type: ignore[misc]
        def foreach(self, element: Any, /) -> bool:
            raise LookupError("no")

    items = Tracked(range(100))
    taker = Failing(*([executor] if kind is Async else []))
    Stream.from_iterable(items).subscribe(taker)
    assert taker.ended.wait(PATIENCE)
    items.wait_until_closed()
    assert repr(taker.error) == "LookupError('no')"


def test_a_range_publisher_keeps_the_rules() -> None:
    report = verify_publisher(lambda n: RangePublisher(0, 10**6 if n is None else n), limits=LIMITS)
    assert report.ok, render(report)


def test_an_async_iterable_publisher_keeps_the_rules(executor: ThreadPoolExecutor) -> None:
    def failing(after: int) -> Any:
        def items() -> Iterator[int]:
            yield from range(after)
            raise LookupError("lost")

        return AsyncIterablePublisher(items(), executor)

    report = verify_publisher(
        lambda n: AsyncIterablePublisher(range(10**6 if n is None else n), executor),
        failing=failing,
        over=lambda items: AsyncIterablePublisher(items, executor),
        asynchronous=True,
        closes=True,
        limits=LIMITS,
    )
    assert report.ok, render(report)


# Parties made of functions.


def test_a_subscriber_made_of_functions_keeps_the_rules() -> None:
    report = verify_subscriber_blackbox(lambda: make_subscriber(lambda _: None), limits=LIMITS)
    assert report.ok, render(report)


def test_a_subscriber_made_of_functions_is_one_of_either_text() -> None:
    taken: list[object] = []
    lost = LookupError("lost")
    Stream.just(1).concat(Stream.error(lost)).subscribe(make_subscriber(taken.append, taken.append))
    subscription = to_cpp(Stream.range(2)).subscribe(make_subscriber(taken.append, None, lambda: taken.append("end")))
    subscription.request(5)
    assert taken == [1, lost, 0, 1, "end"]
    made: Any = make_subscriber(taken.append, request=1)
    Stream.range(9).subscribe(made)
    made.subscription.request(1)
    made.subscription.cancel()
    assert taken[5:] == [0, 1]
    Stream.range(3).subscribe(make_subscriber())


def test_a_publisher_made_of_a_function_returns_the_subscription_or_hands_it_over() -> None:
    def returning(subscriber: Any) -> Any:
        left = iter([1, 2])

        def send(n: int) -> None:
            for _ in range(n):
                element = next(left, None)
                if element is None:
                    return
                subscriber.on_next(element)
                if element == 2:
                    subscriber.on_complete()

        return make_subscription(send)

    assert list(Stream.from_publisher(make_publisher(returning))) == [1, 2]
    assert list(Stream.from_publisher(make_publisher(RangePublisher(1, 2).subscribe))) == [1, 2]
    probe: Probe[int] = Probe(1)
    make_publisher(returning).subscribe(probe)
    assert (probe.elements, probe.breaches) == ([1], [])
    with pytest.raises(TypeError, match=r"^rule 1\.9: subscribe\(None\)"):
        make_publisher(returning).subscribe(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("make", [make_publisher, make_subscriber, make_subscription])
def test_refuses_what_cannot_be_called(make: Any) -> None:
    with pytest.raises(TypeError, match=rf"^{make.__name__}: \w+ must be callable, got 3$"):
        make(3)
