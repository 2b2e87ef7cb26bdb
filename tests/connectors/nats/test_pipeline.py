"""nats: a pipeline acknowledges what has passed its end, and no more."""

from __future__ import annotations

import asyncio

import pytest

from penstock import Sink
from penstock.connectors.nats import Message, from_jetstream, to_jetstream
from tests.connectors.nats.server import NatsServer, until
from tests.connectors.nats.test_source import numbers


def number(message: Message) -> int:
    return int(message.data)


def test_what_has_passed_the_end_is_acknowledged(nats_server: NatsServer, stream: str) -> None:
    nats_server.fill(stream, numbers(5000))
    found: list[int] = []
    messages = from_jetstream(stream, durable="d", servers=nats_server.url, window=500).take(5000)
    odd = messages.map(number).filter(lambda n: n % 2).flat_map(lambda n: [n, -n]).buffer(10)
    assert (odd | Sink.for_each(found.extend)).run().wait() == 500
    assert found == [signed for n in range(1, 5000, 2) for signed in (n, -n)]
    consumer = nats_server.consumer(stream, "d")
    assert (consumer.ack_floor.stream_seq, consumer.num_ack_pending) == (5000, 0)
    until(lambda: nats_server.connections() == 0, "no connection")


@pytest.mark.proves("nats.source", "an error in the chain", "what has not passed the end comes again in the next run")
def test_what_has_not_passed_the_end_comes_again(nats_server: NatsServer, stream: str) -> None:
    nats_server.fill(stream, numbers(100))
    found: list[int] = []

    def note(n: int) -> None:
        if n == 40:
            raise ValueError("not yet")
        found.append(n)

    messages = from_jetstream(stream, durable="d", servers=nats_server.url).map(number)
    with pytest.raises(ValueError, match=r"^not yet"):
        (messages.take(100) | Sink.for_each(note)).run().wait()
    assert nats_server.consumer(stream, "d").ack_floor.stream_seq == 40
    assert (messages.take(60) | Sink.for_each(found.append)).run().wait() == 60
    assert found == list(range(100))


@pytest.mark.proves("nats.source", "slow ends", "at most `window` messages are not acknowledged")
def test_no_more_than_the_window_is_not_acknowledged(nats_server: NatsServer, stream: str) -> None:
    nats_server.fill(stream, numbers(2000))
    most = 0

    async def slowly(n: int) -> None:
        nonlocal most
        if n % 100 == 0:
            info = await asyncio.to_thread(nats_server.consumer, stream, "d")
            most = max(most, info.num_ack_pending or 0)

    messages = from_jetstream(stream, durable="d", servers=nats_server.url, window=50).take(2000)
    assert (messages.map(number) | Sink.for_each(slowly)).run().wait() == 2000
    assert 0 < most <= 50


@pytest.mark.proves("nats.sink", "a round trip", "what comes from one stream is in the other one, and acknowledged")
def test_from_one_stream_into_another(nats_server: NatsServer, stream: str) -> None:
    nats_server.fill(stream, numbers(20_000))
    nats_server.make(f"{stream}COPY")
    messages = from_jetstream(stream, durable="d", servers=nats_server.url).take(20_000)
    sink = to_jetstream(
        f"{stream}COPY.x",
        data=lambda message: message.data,
        message_id=lambda message: str(message.sequence),
        servers=nats_server.url,
    )
    assert (messages | sink).run().wait() == 20_000
    assert nats_server.consumer(stream, "d").ack_floor.stream_seq == 20_000
    copies = from_jetstream(f"{stream}COPY", servers=nats_server.url).take(20_000)
    assert [message.data for message in copies] == numbers(20_000)
