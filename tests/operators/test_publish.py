"""publish: one run for all subscribers, begun and ended by hand."""

from __future__ import annotations

import gc
import pickle
import weakref
from typing import Any

import pytest

from penstock import Connectable, Connection, OverflowedError, RunCancelledError, Slow, Stream
from penstock.testing import Form, ManualPublisher, Tracked, check_source, subscribed
from tests.operators.subjects import each_form


class Begun:
    """Be a publisher that begins a run as soon as somebody has subscribed."""

    def __init__(self, published: Connectable[Any], connections: list[Connection]) -> None:
        self.published = published
        self.connections = connections

    def subscribe(self, subscriber: Any, /) -> None:
        self.published.subscribe(subscriber)
        self.connections.append(self.published.connect())


@each_form
@pytest.mark.parametrize("slow", Slow)
def test_laws(form: Form, slow: Slow) -> None:
    items = Tracked(range(5))
    connections: list[Connection] = []

    def begun() -> Begun:
        return Begun(form.over(items).publish(size=3, slow=slow), connections)

    check_source(lambda: Stream.defer(begun), list(range(5)), examples=3)
    for connection in connections:
        connection.cancel()
    items.wait_until_closed()


def published(size: int = 256, slow: Slow = Slow.ERROR) -> tuple[ManualPublisher[int], Connectable[int]]:
    upstream: ManualPublisher[int] = ManualPublisher()
    return upstream, Stream.from_publisher(upstream).publish(size=size, slow=slow)


def test_nothing_runs_before_it_is_connected() -> None:
    upstream, stream = published()
    probes = [subscribed(stream, 9), subscribed(stream, 9)]
    assert upstream.subscribers == 0
    connection = stream.connect()
    assert upstream.subscribers == 1
    assert not connection.over
    upstream.next(1)
    upstream.complete()
    assert [probe.elements for probe in probes] == [[1], [1]]
    assert [probe.completed for probe in probes] == [True, True]
    assert connection.over


def test_connecting_again_is_the_same_run() -> None:
    upstream, stream = published()
    first, second = stream.connect(), stream.connect()
    assert upstream.subscribers == 1
    second.cancel()
    assert upstream.cancelled
    assert first.over


def test_while_nobody_is_there_nothing_is_read() -> None:
    upstream, stream = published()
    stream.connect()
    assert upstream.requests == []
    probe = subscribed(stream, 2)
    assert upstream.requests == [2]
    upstream.next(1)
    probe.cancel()
    assert not upstream.cancelled
    late = subscribed(stream, 1)
    upstream.next(2)
    assert late.elements == [2]


def test_the_one_who_connects_ends_it() -> None:
    upstream, stream = published()
    probes = [subscribed(stream, 9), subscribed(stream)]
    with stream.connect() as connection:
        upstream.next(1)
    assert upstream.cancelled
    assert connection.over
    assert probes[0].elements == [1]
    assert repr(probes[0].error) == "RunCancelledError('publish: the connection was cancelled')"
    probes[1].request(1)
    assert probes[1].elements == [1]
    assert type(probes[1].error) is RunCancelledError


def test_a_run_that_has_ended_is_begun_anew() -> None:
    upstream, stream = published()
    subscribed(stream)
    stream.connect()
    upstream.complete()
    late = subscribed(stream, 1)
    assert upstream.subscribers == 1
    assert late.signals == []
    stream.connect()
    assert upstream.subscribers == 2
    upstream.next(5)
    assert late.elements == [5]


def test_a_run_that_was_cancelled_is_begun_anew() -> None:
    upstream, stream = published()
    stream.connect().cancel()
    assert stream.connect().over is False
    assert upstream.subscribers == 2


def test_cancelling_twice_or_after_the_end_changes_nothing() -> None:
    upstream, stream = published()
    probe = subscribed(stream, 1)
    connection = stream.connect()
    upstream.complete()
    connection.cancel()
    connection.cancel()
    assert probe.completed


def test_all_see_the_failure() -> None:
    upstream, stream = published()
    probes = [subscribed(stream), subscribed(stream)]
    stream.connect()
    upstream.fail(ValueError("lost"))
    assert [repr(probe.error) for probe in probes] == ["ValueError('lost')"] * 2


def test_a_slow_subscriber_fails_and_the_others_go_on() -> None:
    upstream, stream = published(size=2)
    fast, slow = subscribed(stream, 9), subscribed(stream)
    stream.connect()
    upstream.next(1, 2)
    upstream.next(3)
    assert fast.elements == [1, 2, 3]
    slow.request(9)
    assert slow.elements == [1, 2]
    assert type(slow.error) is OverflowedError
    assert str(slow.error) == "publish: this subscriber is 2 elements behind the fastest one"


def test_steps_may_follow_before_and_after() -> None:
    stream = Stream.range(3).publish()
    probes = [subscribed(stream.map(lambda n: n * 10), 9), subscribed(stream.filter(lambda n: n), 9)]
    stream.connect()
    assert [probe.elements for probe in probes] == [[0, 10, 20], [1, 2]]


def test_a_copy_has_a_run_of_its_own() -> None:
    stream = Stream.range(3).publish()
    stream.connect()
    copy = pickle.loads(pickle.dumps(stream))
    assert copy == stream
    probe = subscribed(copy, 9)
    assert probe.signals == []
    copy.connect()
    assert probe.elements == [0, 1, 2]


def test_refuses_a_size_below_one() -> None:
    with pytest.raises(ValueError, match=r"^publish: size must be >= 1, got 0$"):
        Stream.range(3).publish(size=0)


def test_refuses_what_is_no_policy() -> None:
    with pytest.raises(TypeError, match=r"^publish: slow must be a Slow, got 'wait'$"):
        Stream.range(3).publish(slow="wait")  # type: ignore[arg-type]


def test_a_connection_lets_go_of_the_stream_and_of_who_has_left() -> None:
    items = Tracked(range(99))
    stream = Stream.from_iterable(items).publish()
    probe = subscribed(stream, 2)
    connection = stream.connect()
    dead = weakref.ref(probe)
    probe.cancel()
    del probe
    gc.collect()
    assert dead() is None
    assert items.open_runs == 1
    connection.cancel()
    assert items.open_runs == 0
