"""RSocket between penstock and rsocket-core in JavaScript: both directions, over TCP and websockets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args

import pytest

from penstock import Dropped, Stream
from penstock.bridges.rsocket import FrameError, RemoteError, channel, remote, serve
from penstock.errors import ProtocolError
from penstock.testing import Probe, Tracked
from tests.bridges.rsocket_peers import Peer, javascript, node_peer
from tests.engine.watch import dropped, no_thread_is_left

__all__ = ["dropped", "no_thread_is_left"]

Transport = Literal["tcp", "websocket"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]  # the packages may have to be installed
each_transport = pytest.mark.parametrize("transport", get_args(Transport))


@pytest.fixture(scope="module")
def folder(request: pytest.FixtureRequest) -> Path:
    return javascript(request.config)


@pytest.fixture(params=get_args(Transport))
def producer(folder: Path, request: pytest.FixtureRequest) -> Iterator[tuple[Peer, str]]:
    with node_peer(folder, "producer.cjs", request.param) as peer:
        scheme = "ws" if request.param == "websocket" else "tcp"
        yield peer, f"{scheme}://127.0.0.1:{peer.wait_for('port')[0]}"


# JavaScript consumes.


@each_transport
def test_a_consumer_in_javascript_gets_what_it_asks_for_and_no_more_is_taken(
    folder: Path, transport: Transport
) -> None:
    numbers = Tracked(range(1, 100))
    with (
        serve({"numbers": Stream.from_iterable(numbers)}, transport=transport) as server,
        node_peer(folder, "consumer.cjs", server.address, server.token, "stream", "numbers") as consumer,
    ):
        consumer.wait_for("subscribed")
        asked = 0
        for count in (1, 3, 10):
            asked += count
            consumer.say({"request": count})
            assert consumer.wait_for("next", asked) == list(range(1, asked + 1))
            assert numbers.taken == asked
        consumer.say({"cancel": True})
        numbers.wait_until_closed()
        assert numbers.taken == asked


@each_transport
def test_a_consumer_in_javascript_sees_the_end(folder: Path, transport: Transport) -> None:
    with (
        serve({"letters": Stream.just("ä", "b")}, transport=transport) as server,
        node_peer(folder, "consumer.cjs", server.address, server.token, "stream", "letters") as consumer,
    ):
        consumer.wait_for("subscribed")
        consumer.say({"request": 10})
        consumer.wait_for("complete")
        assert consumer.all("next") == ["ä", "b"]


@each_transport
def test_a_consumer_in_javascript_sees_the_error(folder: Path, transport: Transport) -> None:
    numbers = Tracked([1, 2], ValueError("no such pipe"))
    with (
        serve({"numbers": Stream.from_iterable(numbers)}, transport=transport) as server,
        node_peer(folder, "consumer.cjs", server.address, server.token, "stream", "numbers") as consumer,
    ):
        consumer.wait_for("subscribed")
        consumer.say({"request": 10})
        assert consumer.wait_for("error") == ["ValueError: no such pipe"]
        assert consumer.all("next") == [1, 2]


@each_transport
def test_a_consumer_in_javascript_that_is_killed_cancels(
    folder: Path, transport: Transport, dropped: list[Dropped]
) -> None:
    numbers = Tracked(range(1, 100))
    with (
        serve({"numbers": Stream.from_iterable(numbers)}, transport=transport) as server,
        node_peer(folder, "consumer.cjs", server.address, server.token, "stream", "numbers") as consumer,
    ):
        consumer.wait_for("subscribed")
        consumer.say({"request": 2})
        consumer.wait_for("next", 2)
        consumer.kill()
        numbers.wait_until_closed()
    assert [each.what for each in dropped] == ["rsocket: the consumer of 'numbers' was lost"]
    dropped.clear()


def test_a_consumer_in_javascript_with_a_wrong_token_is_refused(folder: Path, dropped: list[Dropped]) -> None:
    numbers = Tracked(range(1, 100))
    with (
        serve({"numbers": Stream.from_iterable(numbers)}) as server,
        node_peer(folder, "consumer.cjs", server.address, "guessed", "stream", "numbers") as consumer,
    ):
        consumer.wait_for("subscribed")
        consumer.say({"request": 2})
        assert "the token is wrong" in consumer.wait_for("error")[0]
    assert numbers.opened == 0
    assert [each.what.split(" 127")[0] for each in dropped] == ["rsocket: refused"]
    dropped.clear()


@each_transport
def test_a_channel_opened_in_javascript_has_demand_both_ways(folder: Path, transport: Transport) -> None:
    with (
        serve(channels={"tenfold": lambda numbers: numbers.map(lambda n: n * 10)}, transport=transport) as server,
        node_peer(folder, "consumer.cjs", server.address, server.token, "channel", "tenfold") as consumer,
    ):
        consumer.wait_for("subscribed")
        consumer.say({"request": 2})
        assert consumer.wait_for("next", 2) == [10, 20]
        assert sum(consumer.all("asked")) <= 2
        consumer.say({"request": 10})
        consumer.wait_for("complete")
        assert consumer.all("next") == [10, 20, 30, 40, 50]


# JavaScript serves.


def test_a_stream_of_javascript_is_asked_for_what_is_asked_for_here(producer: tuple[Peer, str]) -> None:
    peer, address = producer
    probe: Probe[Any] = Probe()
    remote(address, "endless", token="its token", window=8).subscribe(probe)
    for count in (1, 2, 100):
        wanted = len(probe.elements) + count
        probe.request(count)
        assert probe.wait_for(wanted) == list(range(1, wanted + 1))
        assert sum(peer.wait_for("asked")) <= wanted
    assert max(peer.all("asked")) <= 8
    probe.cancel()
    peer.wait_for("cancelled")
    assert probe.breaches == []
    assert peer.all("token") == ["its token"]


def test_a_stream_of_javascript_ends(producer: tuple[Peer, str]) -> None:
    assert list(remote(producer[1], "few", token="t")) == [1, 2, 3, 4, 5]


def test_a_stream_of_javascript_fails(producer: tuple[Peer, str]) -> None:
    found: list[int] = []
    with pytest.raises(ValueError, match=r"^no such pipe$"):
        found.extend(remote(producer[1], "failing", token="t").tap(found.append).ignore_elements())
    assert found == [1, 2]
    with pytest.raises(RemoteError, match=r"^the valve is stuck$"):
        list(remote(producer[1], "strange", token="t"))


def test_a_stream_of_javascript_that_floods_fails_by_rule(producer: tuple[Peer, str]) -> None:
    probe: Probe[Any] = Probe(3)
    remote(producer[1], "flood", token="t").subscribe(probe)
    probe.wait_for_end()
    assert isinstance(probe.error, ProtocolError)
    assert probe.error.rule == "1.1"
    assert probe.elements == [1, 2, 3]
    assert probe.breaches == []


def test_a_stream_of_javascript_that_is_not_json_fails(producer: tuple[Peer, str]) -> None:
    with pytest.raises(FrameError, match=r"^rsocket: the other side sent an element that is not application/json: "):
        list(remote(producer[1], "garbage", token="t"))


def test_a_large_element_of_javascript_arrives_or_fails_clearly(producer: tuple[Peer, str]) -> None:
    assert list(remote(producer[1], "large", token="t")) == ["x" * 300_000]
    with pytest.raises(FrameError, match=r"300002|300008|message too big|exceeds limit"):
        list(remote(producer[1], "large", token="t", largest=1000))


def test_a_channel_of_javascript_has_demand_both_ways(producer: tuple[Peer, str]) -> None:
    address = producer[1]
    numbers = Tracked(range(1, 50))
    probe: Probe[Any] = Probe()
    (Stream.from_iterable(numbers) | channel(address, "any", token="t")).subscribe(probe)
    probe.request(3)
    assert probe.wait_for(3) == [2, 4, 6]
    assert numbers.taken <= 4
    probe.cancel()
    numbers.wait_until_closed()
    assert probe.breaches == []


def test_a_channel_of_javascript_ends_with_its_input(producer: tuple[Peer, str]) -> None:
    doubled = channel(producer[1], "any", token="t")
    assert list(Stream.range(1, 6) | doubled) == [2, 4, 6, 8, 10]
    assert list(Stream.empty() | doubled) == []
    with pytest.raises(LookupError, match=r"^gone$"):
        list(Stream.error(LookupError("gone")) | doubled)
