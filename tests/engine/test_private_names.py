"""private names: what penstock's parts say to each other is said to nobody else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

import pytest

from penstock import Recorder, Stream, inline
from tests.engine.parts import Plain

VARIABLE: ContextVar[int] = ContextVar("private_names")
NAMES = ("on_chunk", "height", "held", "pending", "gone", "_pulled", "_chain", "arrives", "demand", "queue", "deliver")


class Named(Plain):
    """A subscriber whose attributes have the names of the engine's."""

    def __getattr__(self, name: str) -> Any:
        if name in NAMES:
            raise AssertionError(f"the engine asked a subscriber for {name}")
        raise AttributeError(name)


STREAMS: dict[str, Stream[Any]] = {
    "a list": Stream.from_iterable([1, 2, 3]),
    "a loop": Stream.just(1, 2, 3).map(lambda n: n),
    "a relay": Stream.just(1, 2, 3).do_finally(lambda: None),
    "pushed": Stream.just(1, 2, 3).do_finally(lambda: None).map(lambda n: n),
    "fed": Stream.just(1, 2, 3).do_finally(lambda: None).flat_map(lambda n: [n]),
    "a boundary": Stream.just(1, 2, 3).publish_on(inline()),
    "merge": Stream.just(1).do_finally(lambda: None).merge(Stream.just(2), Stream.just(3)),
    "zip": Stream.just(1, 2, 3).do_finally(lambda: None).zip(Stream.range(3)).map(lambda pair: pair[0]),
    "share": Stream.just(1, 2, 3).share(),
    "flat_map": Stream.just(1).flat_map(lambda _: Stream.just(1, 2, 3), concurrency=2),
    "with_context": Stream.just(1, 2, 3).with_context({VARIABLE: 1}),
}


@pytest.mark.parametrize("name", STREAMS)
def test_a_subscriber_is_asked_for_nothing_but_the_four_methods(name: str) -> None:
    subscriber = Named(9)
    STREAMS[name].subscribe(subscriber)
    assert subscriber.signals == [1, 2, 3, "complete"]


@pytest.mark.parametrize("name", STREAMS)
def test_a_subscriber_that_raises_is_told_nothing_else(name: str, dropped: list[Any]) -> None:
    def refuse(_: object) -> None:
        raise ArithmeticError("no")

    subscriber = Named(9, refuse)
    STREAMS[name].subscribe(subscriber)
    assert str(dropped.pop().error) == "no"


def test_an_object_with_a_method_called_pulled_is_an_iterable_like_any_other() -> None:
    class Mine(list[int]):
        def pulled(self, _: object) -> None:
            raise AssertionError("not the engine's to call")

    assert list(Stream.just(1).flat_map(lambda _: Mine([1, 2]))) == [1, 2]


class Prices(Iterator[int]):
    """An iterator whose names mean something else than the engine's: its close is a price."""

    close = 101.5
    aclose = None
    subscribe = "by mail"
    to_pylist = iterrows = gi_frame = 5
    _chain = _pulled = None

    def __init__(self) -> None:
        self.left = iter([1, 2, 3])

    def __next__(self) -> int:
        return next(self.left)


class Feed:
    """A publisher whose names mean something else than the engine's."""

    on_subscribe = None
    height = "180 cm"

    @property
    def _chain(self) -> Any:
        raise AssertionError("the engine asked a publisher for _chain")

    _pulled = close = __iter__ = _chain

    def subscribe(self, subscriber: Any, /) -> None:
        Stream.just(1, 2, 3).subscribe(subscriber)


class Counted(list[int]):
    """A list that does not tell its length."""

    def __len__(self) -> int:
        raise AssertionError("the engine asked a list of a user's for its length")


GIVEN: dict[str, Callable[[Callable[[], Any]], Stream[Any]]] = {
    "defer": Stream.defer,
    "concat_map": lambda make: Stream.just(0).concat_map(lambda _: make()),
    "flat_map": lambda make: Stream.just(0).flat_map(lambda _: make(), concurrency=2),
    "switch_map": lambda make: Stream.just(0).switch_map(lambda _: make()),
    "expand": lambda make: Stream.just(0).expand(lambda n: () if n else make(), concurrency=1).skip(1),
    "using": lambda make: Stream.using(object, lambda _: make(), bool),
    "on_error_resume": lambda make: Stream.error(OSError()).on_error_resume(lambda _: make()),
}
ITERATED: dict[str, Callable[[Callable[[], Any]], Stream[Any]]] = {
    "from_iterable": lambda make: Stream.from_iterable(make()),
    "map": lambda make: Stream.from_iterable(make()).map(lambda n: n),
    "flat_map, iterated": lambda make: Stream.just(0).flat_map(lambda _: make()),
    "flatten": lambda make: Stream.just(make()).flatten(),
    "map_batches": lambda make: Stream.just(0).map_batches(lambda _: make(), 1),
    "expand, iterated": lambda make: Stream.just(0).expand(lambda n: () if n else make()).skip(1),
    "concat": lambda make: Stream.from_iterable(make()).concat(Stream.empty()),
    "merge": lambda make: Stream.from_iterable(make()).merge(Stream.empty()),
    "zip": lambda make: Stream.from_iterable(make()).zip(Stream.range(9)).map(lambda pair: pair[0]),
    "publish_on": lambda make: Stream.from_iterable(make()).publish_on(inline()),
    "take": lambda make: Stream.from_iterable(make()).take(3),
}
PUBLISHED: dict[str, Callable[[Callable[[], Any]], Stream[Any]]] = {
    "from_publisher": lambda make: Stream.from_publisher(make()),
    "concat": lambda make: Stream.empty().concat(make()),
    "merge": lambda make: Stream.empty().merge(make()),
    "zip": lambda make: Stream.range(9).zip(make()).map(lambda pair: pair[1]),
}


def taken(stream: Stream[Any]) -> list[Any]:
    subscriber = Plain(9)
    stream.subscribe(subscriber)
    return subscriber.signals


@pytest.mark.parametrize("place", [*GIVEN, *ITERATED])
@pytest.mark.parametrize("make", [Prices, lambda: Counted([1, 2, 3])], ids=["iterator", "list"])
def test_an_iterable_is_asked_for_its_items_alone(make: Callable[[], Any], place: str) -> None:
    placed = {**GIVEN, **ITERATED}[place]
    assert list(placed(make)) == [1, 2, 3]
    assert taken(placed(make)) == [1, 2, 3, "complete"]


@pytest.mark.parametrize("place", [*GIVEN, *PUBLISHED])
def test_a_publisher_is_asked_to_subscribe_and_nothing_else(place: str) -> None:
    placed = {**GIVEN, **PUBLISHED}[place]
    assert list(placed(Feed)) == [1, 2, 3]
    assert taken(placed(Feed)) == [1, 2, 3, "complete"]


def test_a_value_of_an_asynchronous_iterator_that_is_called_aclose_is_no_method() -> None:
    class Ticks:
        aclose = 101.5

        def __init__(self) -> None:
            self.left = 3

        def __aiter__(self) -> Ticks:
            return self

        async def __anext__(self) -> int:
            if not self.left:
                raise StopAsyncIteration
            self.left -= 1
            return self.left

    assert list(Stream.from_async_iterable(Ticks())) == [2, 1, 0]
    assert list(Stream.using(object, lambda _: Ticks(), bool)) == [2, 1, 0]


def test_a_function_is_called_and_asked_for_nothing_else() -> None:
    class Switches:
        """A function whose names mean something else than the engine's."""

        def __call__(self, number: int) -> Stream[int]:
            return Stream.just(number, number * 10)

        def takes(self, element: object) -> None:
            raise AssertionError("not the engine's to call")

        drops = takes

    assert list(Stream.just(1).switch_map(Switches())) == [1, 10]
    assert list(Stream.just(1, 2).concat_map(Switches())) == [1, 10, 2, 20]


class Faceless:
    """An element that lets nothing be asked of it, its class included."""

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        raise AssertionError("the engine asked an element for its class")


@pytest.mark.parametrize(
    "use",
    [
        lambda stream: stream.observed(Recorder()),
        lambda stream: stream.map(lambda element: element).observed(Recorder()),
        lambda stream: stream.concat(Stream.empty()).observed(Recorder()),
        lambda stream: stream.merge(Stream.empty()),
    ],
    ids=["observed", "observed behind a stage", "observed inside concat", "merge"],
)
def test_an_element_of_just_is_asked_for_nothing(use: Callable[[Stream[Any]], Stream[Any]]) -> None:
    element = Faceless()
    (found,) = use(Stream.just(element))
    assert found is element
