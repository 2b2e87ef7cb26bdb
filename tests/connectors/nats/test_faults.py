"""nats: logins that are refused, servers that are away or killed, streams that are gone, disks that are full."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock import Sink, Stream
from penstock.connectors.nats import Message, from_jetstream, to_jetstream
from penstock.testing import subscribed
from tests.connectors.nats.server import NatsServer, free_port, until
from tests.connectors.nats.test_source import numbers, opener


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[NatsServer]:
    """Return a server that may be killed."""
    with NatsServer(tmp_path / "nats") as server:
        yield server


@pytest.mark.proves("nats.source", "bad credentials", "a clear error")
@pytest.mark.proves("nats.sink", "bad credentials", "a clear error")
def test_a_login_that_is_refused_is_a_clear_error(tmp_path: Path) -> None:
    with NatsServer(tmp_path / "nats", login=("me", "right")) as server:
        server.make("A")
        server.ask(lambda js: js.publish("A.x", b"here"))
        right = {"user": "me", "password": "right"}
        assert from_jetstream("A", servers=server.url, options=right).first().get().data == b"here"
        words = (
            f"nats: 127.0.0.1:{server.port} refused the login; give the right user and password, token or credentials"
            " in options, as nats.connect takes them"
        )
        for options in ({"user": "me", "password": "wrong"}, None):
            with pytest.raises(PermissionError) as caught:
                from_jetstream("A", servers=server.url, options=options).first().get()
            assert str(caught.value) == words
            with pytest.raises(PermissionError) as caught:
                (Stream.just(b"x") | to_jetstream("A.x", servers=server.url, options=options)).run().wait()
            assert str(caught.value) == words
        until(lambda: server.connections() == 0, "no connection")


def test_a_server_that_is_not_there_is_a_clear_error() -> None:
    port = free_port()
    url = f"nats://name:secret@127.0.0.1:{port}"
    for run in (
        lambda: from_jetstream("A", servers=url).first().get(),
        lambda: (Stream.just(b"x") | to_jetstream("A.x", servers=url)).run().wait(),
    ):
        with pytest.raises(ConnectionError, match=rf"^nats: no connection to 127\.0\.0\.1:{port}: ") as caught:
            run()
        assert "secret" not in str(caught.value)


def test_a_stream_that_is_not_there_is_a_clear_error(nats_server: NatsServer) -> None:
    for durable in (None, "d"):
        with pytest.raises(LookupError) as caught:
            from_jetstream("NONE", durable=durable, servers=nats_server.url).first().get()
        assert str(caught.value) == (
            f"nats: stream 'NONE' is not there on 127.0.0.1:{nats_server.port}; make it first, with"
            " jetstream.add_stream(...) or `nats stream add`"
        )
    until(lambda: nats_server.connections() == 0, "no connection")


@pytest.mark.parametrize("durable", [None, "d"])
@pytest.mark.proves("nats.source", "a dropped stream", "what came before, then a clear error")
def test_a_stream_that_is_deleted_ends_the_run(nats_server: NatsServer, stream: str, durable: str | None) -> None:
    nats_server.fill(stream, numbers(5))
    probe = subscribed(from_jetstream(stream, durable=durable, servers=nats_server.url), 10)
    probe.wait_for(5)
    nats_server.ask(lambda js: js.delete_stream(stream))
    probe.wait_until(lambda: probe.ended, "the end")
    assert isinstance(probe.error, LookupError)
    assert str(probe.error) == f"nats: stream '{stream}' is not there any more: Consumer Deleted"
    until(lambda: nats_server.connections() == 0, "no connection")


def test_a_durable_consumer_that_is_deleted_ends_the_run(nats_server: NatsServer, stream: str) -> None:
    nats_server.fill(stream, numbers(5))

    async def read() -> tuple[str, str]:
        reader = await opener(nats_server, stream, durable="d")(None)
        given: list[int] = []
        while len(given) < 5:
            given += [position for position, _ in await reader.fetch(5)]
        waiting = asyncio.create_task(reader.fetch(5))
        until_asked = reader._link.jetstream
        while not (await until_asked.consumer_info(stream, "d")).num_waiting:
            await asyncio.sleep(0.01)
        await until_asked.delete_consumer(stream, "d")
        said = []
        for work in (waiting, reader.commit(5)):
            with pytest.raises(LookupError) as caught:
                await work
            said.append(str(caught.value))
        await reader.close()
        return said[0], said[1]

    fetched, committed = asyncio.run(read())
    gone = f"nats: consumer 'd' of stream '{stream}' is not there any more"
    assert fetched == f"{gone}: Consumer Deleted"
    assert committed == f"{gone}; message 5 is not acknowledged"


def test_a_consumer_that_the_server_forgot_is_made_anew(nats_server: NatsServer, stream: str) -> None:
    nats_server.fill(stream, numbers(5))
    probe = subscribed(from_jetstream(stream, servers=nats_server.url), 5)
    probe.wait_for(5)
    [consumer] = nats_server.ask(lambda js: js.consumers_info(stream))
    nats_server.ask(lambda js: js.delete_consumer(stream, consumer.name))
    nats_server.fill(stream, numbers(5, 5))
    probe.request(5)
    assert [message.data for message in probe.wait_for(10)] == numbers(10)
    probe.cancel()


@pytest.mark.parametrize("durable", [None, "d"])
@pytest.mark.proves(
    "nats.source", "kill -9 of the server", "the run goes on when it is back; nothing lost, nothing twice in it"
)
def test_the_server_is_killed_in_the_middle(own_server: NatsServer, durable: str | None) -> None:
    own_server.make("A")
    own_server.fill("A", numbers(30_000))
    middle, back = threading.Event(), threading.Event()

    async def read() -> list[int]:
        reader = await opener(own_server, "A", durable=durable, ack_wait=2)(None)
        found: list[int] = []
        while len(found) < 30_000:
            found += [position for position, _ in await reader.fetch(500)]
            await reader.commit(found[-1])
            if len(found) >= 10_000 and not middle.is_set():
                middle.set()
        await reader.close()
        return found

    def restart() -> None:
        middle.wait()
        own_server.kill()
        own_server.start()
        back.set()

    thread = threading.Thread(target=restart)
    thread.start()
    found = asyncio.run(read())
    thread.join()
    assert back.is_set()
    assert sorted(found) == list(range(1, 30_001))
    if durable is None:
        assert found == sorted(found)


@pytest.mark.proves("nats.sink", "kill -9 of the server", "the run goes on when it is back; nothing lost, and with identifiers nothing twice")  # fmt: skip  # noqa: E501
def test_the_server_is_killed_while_a_sink_publishes(own_server: NatsServer) -> None:
    own_server.make("A")
    middle = threading.Event()

    def numbered(number: int) -> bytes:
        if number == 10_000:
            middle.set()
        return b"%d" % number

    def restart() -> None:
        middle.wait()
        own_server.kill()
        own_server.start()

    thread = threading.Thread(target=restart)
    thread.start()
    sink = to_jetstream("A.x", message_id=lambda data: data.decode(), servers=own_server.url, size=500)
    assert (Stream.range(20_000).map(numbered) | sink).run().wait() == 20_000
    thread.join()
    found = from_jetstream("A", servers=own_server.url).take(20_000) | Sink.to_list()
    assert [message.data for message in found.run().wait()] == numbers(20_000)
    assert own_server.stream("A").state.messages == 20_000


def test_the_server_is_killed_under_a_pipeline(own_server: NatsServer) -> None:
    own_server.make("A")
    own_server.fill("A", numbers(20_000))
    found: list[int] = []
    middle = threading.Event()

    def note(message: Message) -> None:
        found.append(message.sequence)
        if len(found) == 5000:
            middle.set()

    def restart() -> None:
        middle.wait()
        own_server.kill()
        own_server.start()

    thread = threading.Thread(target=restart)
    thread.start()
    messages = from_jetstream("A", durable="d", servers=own_server.url, ack_wait=2, window=2000).take(20_000)
    assert (messages | Sink.for_each(note)).run().wait() == 20_000
    thread.join()
    assert sorted(found) == list(range(1, 20_001))


def test_a_server_that_stays_away_fails_the_run(own_server: NatsServer) -> None:
    own_server.make("A")
    own_server.fill("A", numbers(3))
    probe = subscribed(from_jetstream("A", servers=own_server.url, patience=0.5), 5)
    probe.wait_for(3)
    own_server.kill()
    probe.wait_until(lambda: probe.ended, "the end")
    assert isinstance(probe.error, ConnectionError)
    assert str(probe.error).startswith(f"nats: no connection to 127.0.0.1:{own_server.port}: ")


@pytest.mark.proves("nats.sink", "a full disk", "a clear error; what was confirmed is kept")
def test_a_full_store_fails_the_run(tmp_path: Path) -> None:
    with NatsServer(tmp_path / "nats", bytes_on_disk=1_000_000) as server:
        server.make("A")
        sink = to_jetstream("A.x", servers=server.url, size=10)
        with pytest.raises(RuntimeError) as caught:
            (Stream.range(10_000).map(lambda n: b"%05d" % n + bytes(1000)) | sink).run().wait()
        assert str(caught.value) == ("nats: the server refused a message: insufficient resources (subject 'A.x')")
        kept = server.everything("A")
        assert [data[:5] for data in kept] == [b"%05d" % n for n in range(len(kept))]
        assert 0 < len(kept) < 1000
