"""via: a stream goes through any Processor, ours or of another make."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock import Stream, flow, processor
from penstock.bridges.cpp import from_cpp, to_cpp
from penstock.bridges.dotnet import to_dotnet
from penstock.spec import Subscriber, Subscription
from penstock.testing import Tracked, subscribed
from tests.engine.watch import dropped, no_thread_is_left

__all__ = ["dropped", "no_thread_is_left"]


class Doubling:
    """Be a processor, written by hand, for one subscriber."""

    def __init__(self) -> None:
        self.downstream: Any = None
        self.upstream: Any = None

    def subscribe(self, subscriber: Subscriber[int], /) -> None:
        self.downstream = subscriber
        if self.upstream is not None:
            subscriber.on_subscribe(self.upstream)

    def on_subscribe(self, subscription: Subscription, /) -> None:
        if self.upstream is not None:
            subscription.cancel()
            return
        self.upstream = subscription
        if self.downstream is not None:
            self.downstream.on_subscribe(subscription)

    def on_next(self, element: int, /) -> None:
        self.downstream.on_next(2 * element)

    def on_error(self, error: Exception, /) -> None:
        self.downstream.on_error(error)

    def on_complete(self) -> None:
        self.downstream.on_complete()


@flow
def doubled(numbers: Stream[int]) -> Stream[int]:
    return numbers.map(lambda n: 2 * n)


MAKES: dict[str, Callable[[], Any]] = {
    "ours": lambda: processor(doubled),
    "by hand": Doubling,
    ".NET": lambda: to_dotnet(Doubling()),
    ".NET over ours": lambda: to_dotnet(processor(doubled)),
}
each_make = pytest.mark.parametrize("make", MAKES.values(), ids=MAKES.keys())


@each_make
@pytest.mark.parametrize("way", [lambda stream, one: stream.via(one), lambda stream, one: stream | one])
def test_goes_through(make: Callable[[], Any], way: Callable[[Any, Any], Stream[int]]) -> None:
    assert list(way(Stream.range(4), make())) == [0, 2, 4, 6]
    assert list(way(Stream.range(4), make()).map(str).take(2)) == ["0", "2"]
    assert list(Stream.just(9).concat(way(Stream.range(2), make()))) == [9, 0, 2]


@each_make
def test_passes_demand_and_cancel_on(make: Callable[[], Any]) -> None:
    items = Tracked(range(100))
    probe = subscribed(Stream.from_iterable(items).via(make()), 2)
    assert (probe.elements, items.taken) == ([0, 2], 2)
    probe.cancel()
    items.wait_until_closed()


@each_make
def test_passes_a_failure_on(make: Callable[[], Any]) -> None:
    lost = LookupError("lost")
    probe = subscribed(Stream.just(1).concat(Stream.error(lost)).via(make()), 5)
    assert (probe.elements, probe.error) == ([2], lost)


def test_nothing_runs_before_somebody_subscribes() -> None:
    items = Tracked([1])
    one = Doubling()
    stream = Stream.from_iterable(items).via(one)
    assert (items.open_runs, one.upstream) == (0, None)
    assert list(stream) == [2]


def test_a_processor_has_one_upstream_and_says_itself_whether_it_serves_more_subscribers() -> None:
    stream = Stream.range(3).via(processor(doubled))
    assert list(stream) == [0, 2, 4]
    second = subscribed(stream, 1)
    assert str(second.error) == "rule 1.11: this processor serves one subscriber; put share() behind it for more"


def test_makes_one_for_each_run_with_defer() -> None:
    stream = Stream.defer(lambda: Stream.range(2).via(Doubling()))
    assert [list(stream), list(stream)] == [[0, 2], [0, 2]]


def test_an_unasked_element_of_a_processor_fails_the_stream(dropped: list[Any]) -> None:
    class Generous(Doubling):
        def on_next(self, element: int, /) -> None:
            self.downstream.on_next(element)
            self.downstream.on_next(element)

    probe = subscribed(Stream.range(3).via(Generous()), 1)
    assert str(probe.error) == "rule 1.1: the publisher sent an element that was not requested"
    dropped.clear()


def test_an_operator_of_the_cpp_text_is_a_function() -> None:
    def skip_one(publisher: Any) -> Any:
        return to_cpp(from_cpp(publisher).skip(1))

    assert list(Stream.range(3).via(lambda stream: from_cpp(skip_one(to_cpp(stream))))) == [1, 2]


class Headless:
    """Be a processor as the C++ text would have it, with no way to get its upstream."""

    def subscribe(self, subscriber: Any, /) -> Any: ...
    def on_next(self, element: int, /) -> None: ...
    def on_error(self, error: Exception, /) -> None: ...
    def on_complete(self) -> None: ...


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (3, r"^via: flow must be a Flow, a function from Stream to Stream or a Processor, got 3$"),
        (Stream.range(3), r"^via: flow must be a Flow, .* got Stream\(range\)$"),
        (Headless(), r"^via: a processor must have on_subscribe .*from_cpp\(operator\(to_cpp\(stream\)\)\)\)$"),
    ],
)
def test_refuses_what_is_neither(given: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        Stream.range(3).via(given)
