"""nats: what penstock takes beside loops over the client that read and publish the same messages.

`python -m benchmarks.connectors.nats` prints ratios of times, paired in one run, against a real server on loopback and
with the same batch size. There are two loops by hand: one with what the client offers (`fetch`, `publish_async`), and
one that speaks the protocol of JetStream over the bare messages of the client, as penstock does, and drops them.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from functools import partial
from pathlib import Path
from uuid import uuid4

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js.api import AckPolicy, ConsumerConfig

from benchmarks.connectors import pairs
from penstock import Sink, Stream
from penstock.connectors.nats import from_jetstream, to_jetstream
from tests.connectors.nats.server import NatsServer

BATCH = 1000
STREAM = "BENCH"


def read_by_hand(server: NatsServer, count: int) -> int:
    """Read and acknowledge messages in a loop over the client, asking for a batch at a time."""

    async def read() -> int:
        client = Client()
        await client.connect(server.url)
        name = uuid4().hex
        config = ConsumerConfig(durable_name=name, ack_policy=AckPolicy.EXPLICIT, max_ack_pending=10 * BATCH)
        await client.jetstream().add_consumer(STREAM, config)
        came, woken, inbox, total = list[Msg](), asyncio.Event(), client.new_inbox(), 0

        async def take(message: Msg) -> None:
            came.append(message)
            woken.set()

        await client.subscribe(inbox, cb=take)
        request = json.dumps({"batch": BATCH, "expires": 30 * 10**9}).encode()
        while total < count:
            await client.publish(f"$JS.API.CONSUMER.MSG.NEXT.{STREAM}.{name}", request, reply=inbox)
            owed = BATCH
            while owed:
                woken.clear()
                if not came:
                    await woken.wait()
                batch = came[:]
                came.clear()
                for message in batch[:-1]:
                    int(message.reply.split(".")[5])
                    await message.ack()
                await batch[-1].ack_sync(timeout=30)
                owed -= len(batch)
                total += len(batch)
        await client.close()
        return total

    return asyncio.run(read())


def read_by_fetch(server: NatsServer, count: int) -> int:
    """Read and acknowledge messages with the client's own fetch."""

    async def read() -> int:
        client = Client()
        await client.connect(server.url)
        name, total = uuid4().hex, 0
        config = ConsumerConfig(durable_name=name, ack_policy=AckPolicy.EXPLICIT, max_ack_pending=10 * BATCH)
        await client.jetstream().add_consumer(STREAM, config)
        messages = await client.jetstream().pull_subscribe_bind(name, stream=STREAM)
        while total < count:
            batch = await messages.fetch(BATCH, timeout=30)
            for message in batch[:-1]:
                await message.ack()
            await batch[-1].ack_sync(timeout=30)
            total += len(batch)
        await client.close()
        return total

    return asyncio.run(read())


def read_by_penstock(server: NatsServer, count: int) -> int:
    """Read messages through a pipeline, which acknowledges them."""
    messages = from_jetstream(STREAM, durable=uuid4().hex, servers=server.url, most=BATCH)
    return (messages.take(count) | Sink.count()).run().wait()


def read_in_order(server: NatsServer, count: int) -> int:
    """Read messages without acknowledgements, the position being kept by the run."""
    return from_jetstream(STREAM, servers=server.url, most=BATCH).take(count).count().get()


def message(number: int) -> bytes:
    return b"%d" % number


def publish_by_hand(server: NatsServer, count: int) -> int:
    """Publish messages in a loop over the client, a batch at a time; it knows which are not confirmed yet."""

    async def publish() -> int:
        client = Client()
        await client.connect(server.url)
        inbox, woken = client.new_inbox(), asyncio.Event()
        waiting: dict[str, bytes] = {}

        async def take(answer: Msg) -> None:
            assert b'"error"' not in answer.data
            del waiting[answer.subject]
            if not waiting:
                woken.set()

        await client.subscribe(f"{inbox}.*", cb=take)
        for first in range(0, count, BATCH):
            woken.clear()
            for number in range(first, first + BATCH):
                data, reply = message(number), f"{inbox}.{number}"
                waiting[reply] = data
                await client.publish(f"{STREAM}.x", data, reply=reply)
            await woken.wait()
        await client.close()
        return count

    return asyncio.run(publish())


def publish_counting(server: NatsServer, count: int) -> int:
    """Publish messages in such a loop that only counts: it does not know which of them are not confirmed."""

    async def publish() -> int:
        client = Client()
        await client.connect(server.url)
        inbox, confirmed, woken = client.new_inbox(), 0, asyncio.Event()

        async def take(answer: Msg) -> None:
            nonlocal confirmed
            assert b'"error"' not in answer.data
            confirmed += 1
            if confirmed % BATCH == 0:
                woken.set()

        await client.subscribe(inbox, cb=take)
        for first in range(0, count, BATCH):
            woken.clear()
            for number in range(first, first + BATCH):
                await client.publish(f"{STREAM}.x", message(number), reply=inbox)
            await woken.wait()
        await client.close()
        return confirmed

    return asyncio.run(publish())


def publish_by_client(server: NatsServer, count: int) -> int:
    """Publish messages with the client's own confirmations."""

    async def publish() -> int:
        client = Client()
        await client.connect(server.url)
        jetstream = client.jetstream(publish_async_max_pending=BATCH)
        for number in range(count):
            await jetstream.publish_async(f"{STREAM}.x", message(number))
        await jetstream.publish_async_completed()
        await client.close()
        return count

    return asyncio.run(publish())


def publish_by_penstock(server: NatsServer, count: int) -> int:
    """Publish messages through a sink."""
    messages = Stream.range(count).map(message)
    return (messages | to_jetstream(f"{STREAM}.x", servers=server.url, size=BATCH)).run().wait()


READING = {"the client's loop": read_by_fetch, "the bare protocol": read_by_hand}
PUBLISHING = {
    "the client's loop": publish_by_client,
    "the bare protocol": publish_by_hand,
    "the bare protocol, only counting": publish_counting,
}
PAIRS = {
    "read, acknowledged": (read_by_penstock, READING),
    "read in order": (read_in_order, READING),
    "publish": (publish_by_penstock, PUBLISHING),
}


def main(count: int = 50_000, rounds: int = 5) -> None:
    """Print the ratios."""
    with tempfile.TemporaryDirectory() as folder, NatsServer(Path(folder)) as server:
        server.make(STREAM)
        server.fill(STREAM, (b"%d" % number for number in range(count)))
        for name, (ours, loops) in PAIRS.items():
            for loop, by_hand in loops.items():
                print(f"{name}, {loop}:", pairs(partial(by_hand, server, count), partial(ours, server, count), rounds))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
