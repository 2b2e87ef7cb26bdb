"""using: a resource is opened for each subscriber and closed exactly once, however the stream made with it ends."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from penstock import Dropped, Stream, set_on_dropped, thread
from penstock.testing import ManualPublisher, Probe, check_source, subscribed
from tests.operators.subjects import failure_of, notes, place


class Connection:
    """Be a resource that remembers what is done to it."""

    def __init__(self, log: list[str]) -> None:
        self.log = log
        self.closed = 0
        self.was_closed = threading.Event()

    def close(self) -> None:
        self.log.append("close")
        self.closed += 1
        self.was_closed.set()

    def wait_until_closed(self) -> None:
        assert self.was_closed.wait(10)
        assert self.closed == 1

    def rows(self, count: int = 3, error: Exception | None = None) -> Iterator[int]:
        try:
            for number in range(count):
                assert not self.closed
                yield number
            if error is not None:
                raise error
        finally:
            self.log.append("closed" if self.closed else "rows over")

    async def rows_later(self, count: int = 3, error: Exception | None = None) -> AsyncIterator[int]:
        try:
            for number in range(count):
                assert not self.closed
                yield number
            if error is not None:
                raise error
        finally:
            self.log.append("closed" if self.closed else "rows over")


USES: dict[str, Callable[..., Any]] = {
    "iterable": lambda connection, **options: connection.rows(**options),
    "stream": lambda connection, **options: Stream.from_iterable(connection.rows(**options)).map(lambda n: n),
    "asynchronous": lambda connection, **options: connection.rows_later(**options),
    "signals": lambda connection, **options: Stream.from_iterable(connection.rows(**options)).do_finally(bool),
    "deferred": lambda connection, **options: Stream.defer(lambda: connection.rows(**options)),
    "nested": lambda connection, **options: Stream.using(object, lambda _: connection.rows(**options), bool),
    "thread": lambda connection, **options: Stream.from_iterable(connection.rows(**options)).publish_on(thread()),
}
each_use = pytest.mark.parametrize("use", USES)


def opened(use: str, **options: Any) -> tuple[list[str], list[Connection], Stream[int]]:
    log: list[str] = []
    connections: list[Connection] = []

    def connect() -> Connection:
        log.append("open")
        connections.append(Connection(log))
        return connections[-1]

    stream = Stream.using(connect, lambda connection: USES[use](connection, **options), Connection.close)
    return log, connections, stream


@each_use
def test_laws(use: str) -> None:
    _, connections, stream = opened(use)
    check_source(lambda: stream, [0, 1, 2], examples=5)
    for connection in connections:
        connection.wait_until_closed()
    assert len(connections) > 5


@each_use
def test_is_closed_once_when_the_stream_completes(use: str) -> None:
    log, _, stream = opened(use)
    probe = subscribed(stream, 9)
    assert probe.wait_for_end() == [0, 1, 2]
    assert probe.completed
    assert log == ["open", "rows over", "close"]


@each_use
def test_is_closed_once_when_the_stream_fails(use: str) -> None:
    log, _, stream = opened(use, error=ValueError("lost"))
    probe = subscribed(stream, 9)
    assert probe.wait_for_end() == [0, 1, 2]
    assert repr(probe.error) == "ValueError('lost')"
    assert log == ["open", "rows over", "close"]


@each_use
def test_is_closed_once_when_downstream_cancels(use: str) -> None:
    log, connections, stream = opened(use)
    probe = subscribed(stream, 2)
    probe.wait_for(2)
    probe.cancel()
    probe.cancel()
    connections[0].wait_until_closed()
    if use != "thread":  # where the one who cancels cannot wait for the rows
        assert log == ["open", "rows over", "close"]


@pytest.mark.parametrize("use", [use for use in USES if use != "thread"])
def test_a_cancel_inside_on_next_closes_what_was_made_before_the_resource(use: str) -> None:
    log, connections, stream = opened(use)
    probe: Probe[int] = Probe(9, on_signal=lambda _: probe.cancel())
    stream.subscribe(probe)
    connections[0].wait_until_closed()
    assert log == ["open", "rows over", "close"]
    assert probe.elements == [0]


@each_use
def test_a_cancel_before_the_first_request_closes_it(use: str) -> None:
    log, connections, stream = opened(use)
    probe = subscribed(stream)
    assert log[0] == "open"
    probe.cancel()
    probe.request(1)
    connections[0].wait_until_closed()
    assert log.count("close") == 1
    assert probe.signals == []


@each_use
def test_is_closed_when_a_stage_has_had_enough(use: str) -> None:
    _, connections, stream = opened(use)
    assert list(stream.take(1)) == [0]
    connections[0].wait_until_closed()


@each_use
def test_is_closed_when_a_request_is_illegal(use: str) -> None:
    _, connections, stream = opened(use)
    probe = subscribed(stream, 1)
    probe.wait_for(1)
    assert probe.subscription is not None
    probe.subscription.request(0)
    probe.wait_for_end()
    assert isinstance(probe.error, ValueError)
    connections[0].wait_until_closed()


def test_a_publisher_is_cancelled_before_the_resource_is_closed() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    log: list[str] = []
    stream = Stream.using(
        lambda: log.append("open") or "resource",
        lambda _: Stream.from_publisher(upstream).tap(on_cancel=lambda: log.append("cancel")),
        lambda _: log.append("close"),
    )
    probe = subscribed(stream, 3)
    assert upstream.requests == [3]
    probe.cancel()
    assert log == ["open", "cancel", "close"]


def test_each_subscriber_has_one_of_its_own() -> None:
    _, connections, stream = opened("iterable")
    assert list(stream) == list(stream) == [0, 1, 2]
    assert [connection.closed for connection in connections] == [1, 1]


def bad(*_: object) -> Any:
    raise LookupError("not today")


def test_a_resource_that_does_not_open_fails_the_stream_and_nothing_is_closed() -> None:
    closed: list[object] = []
    error = failure_of(Stream.using(bad, lambda _: [1], closed.append))
    assert repr(error) == "LookupError('not today')"
    assert notes(error) == [f"in using(bad), {place(bad)}"]
    assert closed == []


def test_a_function_that_makes_no_stream_fails_it_and_the_resource_is_closed() -> None:
    closed: list[object] = []
    error = failure_of(Stream.using(lambda: "resource", bad, closed.append))
    assert repr(error) == "LookupError('not today')"
    assert notes(error) == [f"in using(bad), {place(bad)}"]
    error = failure_of(Stream.using(lambda: "resource", lambda _: 5, closed.append))  # type: ignore[arg-type, return-value]
    assert str(error) == "using: the function must return a Publisher or an iterable, got 5"
    assert closed == ["resource", "resource"]


@each_use
def test_a_close_that_raises_fails_a_stream_that_would_complete(use: str) -> None:
    stream = Stream.using(lambda: Connection([]), USES[use], bad)
    probe = subscribed(stream, 9)
    assert probe.wait_for_end() == [0, 1, 2]
    assert probe.error is not None
    assert repr(probe.error) == "LookupError('not today')"
    assert notes(probe.error) == [f"in using(bad), {place(bad)}"]


@each_use
def test_a_close_that_raises_does_not_hide_a_failure(use: str, dropped: list[Dropped]) -> None:
    stream = Stream.using(lambda: Connection([]), lambda it: USES[use](it, error=ValueError("lost")), bad)
    probe = subscribed(stream, 9)
    probe.wait_for_end()
    assert repr(probe.error) == "ValueError('lost')"
    assert [(one.what, repr(one.error)) for one in dropped] == [("using: close raised", "LookupError('not today')")]
    dropped.clear()


@each_use
def test_a_close_that_raises_after_a_cancel_is_dropped_not_lost(use: str, dropped: list[Dropped]) -> None:
    told = threading.Event()

    def tell(one: Dropped) -> None:
        dropped.append(one)
        told.set()

    set_on_dropped(tell)
    stream = Stream.using(lambda: Connection([]), USES[use], bad)
    probe = subscribed(stream, 1)
    probe.wait_for(1)
    probe.cancel()
    assert told.wait(10)
    assert [(one.what, repr(one.error)) for one in dropped] == [("using: close raised", "LookupError('not today')")]
    dropped.clear()


async def coroutine(*_: object) -> Any:
    return None


@pytest.mark.parametrize("place", range(3))
def test_refuses_what_cannot_be_called(place: int) -> None:
    name = ("open", "use", "close")[place]
    functions: list[Any] = [list, list, list]
    functions[place] = 5
    with pytest.raises(TypeError, match=f"^using: {name} must be callable, got 5$"):
        Stream.using(*functions)
    functions[place] = coroutine
    with pytest.raises(TypeError) as refusal:
        Stream.using(*functions)
    assert str(refusal.value) == (
        f"using: {name} must not be a coroutine function, got {coroutine!r}; write an asynchronous generator with "
        "`async with` and give it to from_async_iterable"
    )
