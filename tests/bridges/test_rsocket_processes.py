"""RSocket between two processes: elements, demand, windows, and what one does when the other is killed or still."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from typing import Any, Literal, get_args

import pytest

from penstock import Dropped, Stream
from penstock.bridges.rsocket import ConnectionLostError, Liveness, channel, remote, serve
from penstock.testing import Probe, Tracked
from tests.bridges.rsocket_peers import PATIENCE, Peer, python_peer
from tests.engine.watch import dropped, no_thread_is_left

__all__ = ["dropped", "no_thread_is_left"]

pytestmark = pytest.mark.slow
Transport = Literal["tcp", "websocket"]
each_transport = pytest.mark.parametrize("transport", get_args(Transport))
SHORT = Liveness(interval=0.2, lifetime=2.0)


@pytest.fixture(params=get_args(Transport))
def server(request: pytest.FixtureRequest) -> Iterator[Peer]:
    with python_peer("serve", request.param, "20", "90") as peer:
        peer.wait_for("token")
        yield peer


def numbers_of(peer: Peer, **options: Any) -> Stream[Any]:
    return remote(peer.all("address")[0], "numbers", token=peer.all("token")[0], **options)


def taken(peer: Peer) -> int:
    """Return how many elements the process has taken from its source by now."""
    count = len(peer.all("taken"))
    peer.say("report")
    return int(peer.wait_for("taken", count + 1)[-1])


def test_a_stream_crosses_to_another_process(server: Peer) -> None:
    address, token = server.all("address")[0], server.all("token")[0]
    assert list(remote(address, "words", token=token)) == ["a", "b", "c"]
    assert list(Stream.range(300) | channel(address, "double", token=token)) == [2 * n for n in range(300)]


def test_the_other_process_takes_only_what_is_asked_for(server: Peer) -> None:
    probe: Probe[Any] = Probe(patience=PATIENCE)
    numbers_of(server).subscribe(probe)
    asked = 0
    for count in (1, 2, 1000):
        asked += count
        probe.request(count)
        assert probe.wait_for(asked) == list(range(1, asked + 1))
        assert taken(server) == asked
    probe.cancel()
    server.wait_for("closed")
    assert taken(server) == asked
    assert probe.breaches == []


def test_at_most_a_window_is_on_its_way_to_a_consumer_that_asks_for_all_and_takes_its_time(server: Peer) -> None:
    window, turn = 16, threading.Semaphore(0)
    probe: Probe[Any] = Probe(patience=PATIENCE, on_signal=lambda _: turn.acquire())
    numbers_of(server, window=window).subscribe(probe)
    probe.request()
    seen = set()
    for finished in range(100):
        probe.wait_for(finished + 1)
        ahead = taken(server) - finished
        assert ahead <= window
        seen.add(ahead)
        turn.release()
    assert len(seen) > 1 or window in seen  # it runs ahead, within the window
    probe.cancel()
    turn.release(1000)
    server.wait_for("closed")


def test_a_server_that_is_killed_fails_its_consumer(server: Peer) -> None:
    probe: Probe[Any] = Probe(2, patience=PATIENCE)
    numbers_of(server).subscribe(probe)
    probe.wait_for(2)
    server.kill()
    probe.wait_for_end()
    assert isinstance(probe.error, ConnectionLostError)
    assert probe.elements == [1, 2]


def test_a_server_that_is_silent_fails_its_consumer_within_the_lifetime(server: Peer) -> None:
    probe: Probe[Any] = Probe(2, patience=PATIENCE)
    numbers_of(server, keep_alive=SHORT).subscribe(probe)
    probe.wait_for(2)
    server.process.send_signal(signal.SIGSTOP)
    probe.wait_for_end()
    assert isinstance(probe.error, ConnectionLostError)
    assert "has been silent for 2.0 seconds, the lifetime of its keep-alive" in str(probe.error)


def test_a_server_that_is_silent_from_the_start_fails_its_consumer(server: Peer) -> None:
    server.process.send_signal(signal.SIGSTOP)
    probe: Probe[Any] = Probe(2, patience=PATIENCE)
    numbers_of(server, keep_alive=SHORT).subscribe(probe)
    probe.wait_for_end()
    assert isinstance(probe.error, ConnectionLostError)


def test_a_server_that_is_silent_fails_a_channel_and_cancels_what_stands_before_it(server: Peer) -> None:
    upstream = Tracked(range(1000), patience=PATIENCE)
    probe: Probe[Any] = Probe(2, patience=PATIENCE)
    double = channel(server.all("address")[0], "double", token=server.all("token")[0], keep_alive=SHORT)
    (Stream.from_iterable(upstream) | double).subscribe(probe)
    probe.wait_for(2)
    server.process.send_signal(signal.SIGSTOP)
    probe.wait_for_end()
    assert isinstance(probe.error, ConnectionLostError)
    upstream.wait_until_closed()


def test_a_server_that_is_closed_fails_its_consumer_and_cancels_its_source(server: Peer) -> None:
    probe: Probe[Any] = Probe(2, patience=PATIENCE)
    numbers_of(server).subscribe(probe)
    probe.wait_for(2)
    server.say("close")
    probe.wait_for_end()
    assert isinstance(probe.error, ConnectionLostError)
    assert str(probe.error).endswith("closed the connection: the server was closed")
    server.wait_for("shut")
    server.wait_for("closed")
    assert server.all("dropped") == []


@each_transport
@pytest.mark.parametrize("way", [signal.SIGKILL, signal.SIGSTOP])
def test_a_consumer_that_is_killed_or_silent_cancels_its_run(
    transport: Transport, way: signal.Signals, dropped: list[Dropped]
) -> None:
    numbers = Tracked(range(1, 1000), patience=PATIENCE)
    with (
        serve({"numbers": Stream.from_iterable(numbers)}, transport=transport, keep_alive=SHORT) as server,
        python_peer("consume", server.address, server.token, "0.2", "2.0") as consumer,
    ):
        consumer.say(3)
        consumer.wait_for("next", 3)
        consumer.process.send_signal(way)
        numbers.wait_until_closed()
    [lost] = dropped
    dropped.clear()
    assert numbers.taken == 3
    assert lost.what == "rsocket: the consumer of 'numbers' was lost"
    assert isinstance(lost.error, ConnectionLostError)
    assert ("has been silent for 2.0 seconds" in str(lost.error)) == (way is signal.SIGSTOP)


@each_transport
def test_a_consumer_a_thousand_times_slower_is_never_more_than_the_window_behind(transport: Transport) -> None:
    """Each side does its work in units; the source looks, with every element it gives, how far ahead it is."""
    window, count, done, ahead = 32, 300, 0, []

    def work(units: int) -> None:
        sum(range(units * 20))

    def source() -> Iterator[int]:
        for number in range(count):
            work(1)
            ahead.append(number + 1 - done)
            yield number

    def consume(_: Any) -> None:
        nonlocal done
        work(1000)
        done += 1

    probe: Probe[Any] = Probe(patience=PATIENCE, on_signal=consume)
    served = {"numbers": lambda: Stream.from_iterable(source())}
    with serve(served, transport=transport, window=window) as server:
        remote(server.address, "numbers", token=server.token, window=window).subscribe(probe)
        probe.request()
        probe.wait_for_end()
    assert probe.elements == list(range(count))
    assert 1 < max(ahead) <= window
