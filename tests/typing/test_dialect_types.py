"""Types survive what other texts bring: processors, executors, parties of the C++ text, and a choice of defaults."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import assert_type

from penstock import Processor, Stream, Subscriber, flow, is_subscriber, make_subscriber, make_subscription, processor
from penstock.spec import AnyPublisher, AnySubscription, Subscription
from penstock.spec.dialects.cpp_parties import CppSubscriber
from penstock.spec.examples import RangePublisher


def _named(numbers: Stream[int]) -> Stream[str]:
    return numbers.map(str)


class _Taker:
    def on_next(self, element: int, /) -> None: ...

    def on_error(self, error: Exception, /) -> None: ...

    def on_complete(self) -> None: ...


def test_processors() -> None:
    made: Processor[int, str] = processor(flow(_named))
    assert_type(Stream.range(3).via(made), Stream[str])
    assert_type(Stream.range(3) | processor(flow(_named)), Stream[str])


def test_executors() -> None:
    with ThreadPoolExecutor(1) as executor:
        assert_type(Stream.range(3).publish_on(executor), Stream[int])


def test_erasers_and_predicates() -> None:
    taker: CppSubscriber[int] = _Taker()
    assert_type(AnyPublisher(Stream.range(3)).subscribe(taker), AnySubscription)
    candidate: object = taker
    assert is_subscriber(candidate)
    candidate.on_complete()
    assert not is_subscriber(candidate, "jvm")


def test_parties_of_functions() -> None:
    printing: Subscriber[int] = make_subscriber(print)
    Stream.range(0).subscribe(printing)
    assert_type(make_subscription(), Subscription)
    assert_type(Stream.from_publisher(RangePublisher(0, 3)), Stream[int])


def test_where_there_is_nothing() -> None:
    assert_type(Stream.range(3).max(default="none"), Stream[int | str])
    assert_type(Stream.range(3).first(required=True), Stream[int])
    assert_type(Stream.range(3).min(less=lambda a, b: a > b), Stream[int])
    assert_type(Stream.range(0.5, count=3), Stream[float])
