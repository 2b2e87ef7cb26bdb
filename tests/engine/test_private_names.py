"""private names: what penstock's parts say to each other is said to nobody else."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

import pytest

from penstock import Stream, inline
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
