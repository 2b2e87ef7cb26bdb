"""nats: what is done with a message that cannot be worked on: in the chain, or by the count of its deliveries."""

from __future__ import annotations

import asyncio

import pytest

from penstock import Sink, Stream
from penstock.connectors.nats import Message, from_jetstream, to_jetstream
from tests.connectors.nats.server import NatsServer
from tests.connectors.nats.test_source import numbers, opener


@pytest.fixture
def graves(nats_server: NatsServer, stream: str) -> str:
    """Return a subject for dead letters, in a stream of the same name."""
    nats_server.make(f"{stream}DEAD")
    return f"{stream}DEAD.letters"


@pytest.mark.proves("nats.source", "a poison message", "after `deliveries` times in the dead letters; nothing lost")
def test_a_message_that_ends_every_run_is_given_up_in_the_end(
    nats_server: NatsServer, stream: str, graves: str
) -> None:
    nats_server.fill(stream, [b"1", b"poison", b"3"])
    done: list[bytes] = []

    async def work() -> bool:
        """Work on one message at a time; return whether the run survived."""
        reader = await opener(nats_server, stream, durable="d", dead_letters=graves, deliveries=3)(None)
        try:
            while len(done) < 2:
                for position, message in await reader.fetch(1):
                    if message.data == b"poison":
                        return False
                    done.append(message.data)
                    await reader.commit(position)
            return True
        finally:
            await reader.close()

    survived = [asyncio.run(work()) for _ in range(4)]
    assert survived == [False, False, False, True]
    assert done == [b"1", b"3"]
    [dead] = from_jetstream(f"{stream}DEAD", servers=nats_server.url).take(1).to_list().get()
    assert dead.data == b"poison"
    assert {name: value for name, value in dead.headers.items() if name.startswith("Penstock")} == {
        "Penstock-Stream": stream,
        "Penstock-Subject": f"{stream}.all",
        "Penstock-Sequence": "2",
        "Penstock-Deliveries": "3",
    }
    assert nats_server.consumer(stream, "d").num_ack_pending == 0


def test_a_message_is_given_up_only_when_its_dead_letter_is_confirmed(nats_server: NatsServer, stream: str) -> None:
    nats_server.fill(stream, numbers(1))

    async def fail() -> list[Message]:
        reader = await opener(nats_server, stream, durable="d", dead_letters="grave.x", deliveries=1)(None)
        try:
            return [message for _, message in await reader.fetch(3)]
        finally:
            await reader.close()

    assert [message.deliveries for message in asyncio.run(fail())] == [1]
    for _ in range(2):
        with pytest.raises(LookupError) as caught:
            asyncio.run(fail())
        assert str(caught.value) == (
            f"nats: no stream on 127.0.0.1:{nats_server.port} takes subject 'grave.x' of dead letters; make one with"
            f" this subject; message 1 of stream '{stream}' stays where it is"
        )


def test_a_chain_sends_what_it_cannot_read_to_the_dead_letters(
    nats_server: NatsServer, stream: str, graves: str
) -> None:
    nats_server.fill(stream, [b"1", b"two", b"3", b"4"])

    def read(message: Message) -> int | Message:
        try:
            return int(message.data)
        except ValueError:
            return message

    found = list(from_jetstream(stream, servers=nats_server.url).take(4).map(read))
    good = [number for number in found if isinstance(number, int)]
    bad = [message for message in found if isinstance(message, Message)]
    sink: Sink[Message, int] = to_jetstream(
        graves,
        data=lambda message: message.data,
        message_id=lambda message: str(message.sequence),
        servers=nats_server.url,
    )
    assert (Stream.from_iterable(bad) | sink).run().wait() == 1
    assert good == [1, 3, 4]
    assert nats_server.everything(f"{stream}DEAD") == [b"two"]
