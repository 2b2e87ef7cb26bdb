"""nats: what is published is confirmed, and with identifiers just once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from penstock import Stream
from penstock.connectors.nats import from_jetstream, to_jetstream
from penstock.connectors.nats.link import Address
from penstock.connectors.nats.sink import ConfirmedPublisher, OpenPublisher
from tests.connectors.nats.server import NatsServer, until


def test_publishes_and_counts(nats_server: NatsServer, stream: str) -> None:
    sink = to_jetstream(f"{stream}.x", servers=nats_server.url, size=100)
    assert (Stream.range(1234).map(lambda n: b"%d" % n) | sink).run().wait() == 1234
    assert nats_server.everything(stream) == [b"%d" % n for n in range(1234)]
    until(lambda: nats_server.connections() == 0, "no connection")


def test_subjects_data_and_headers_are_made_of_the_elements(nats_server: NatsServer, stream: str) -> None:
    sink = to_jetstream(
        lambda word: f"{stream}.{len(word)}",
        data=lambda word: word.encode(),
        headers=lambda word: {"First": word[0]},
        stream=stream,
        servers=nats_server.url,
    )
    assert (Stream.just("to", "be", "or", "not") | sink).run().wait() == 4
    found = list(from_jetstream(stream, servers=nats_server.url).take(4))
    assert [(each.subject[-1], each.data, each.headers["First"]) for each in found] == [
        ("2", b"to", "t"),
        ("2", b"be", "b"),
        ("2", b"or", "o"),
        ("3", b"not", "n"),
    ]


@pytest.mark.proves("nats.sink", "the same elements again", "kept once, by the identifiers that are given")
def test_with_identifiers_the_server_keeps_each_once(nats_server: NatsServer, stream: str) -> None:
    sink = to_jetstream(f"{stream}.x", message_id=lambda data: data.decode(), servers=nats_server.url)
    for first in (0, 50):
        assert (Stream.range(first, first + 100).map(lambda n: b"%d" % n) | sink).run().wait() == 100
    assert nats_server.everything(stream) == [b"%d" % n for n in range(150)]


@pytest.mark.proves("nats.sink", "cancel", "the connection is closed")
def test_a_cancel_lets_go_of_the_connection(nats_server: NatsServer, stream: str) -> None:
    sink = to_jetstream(f"{stream}.x", servers=nats_server.url, size=10)
    run = (Stream.just(b"x").repeat() | sink).run()
    until(lambda: nats_server.stream(stream).state.messages > 100, "messages")
    run.cancel()
    until(lambda: nats_server.connections() == 0, "no connection")


@pytest.mark.proves("nats.sink", "a dropped stream", "a clear error")
def test_fails_if_no_stream_takes_the_subject(nats_server: NatsServer, stream: str) -> None:
    sink = to_jetstream("elsewhere.x", servers=nats_server.url)
    with pytest.raises(LookupError) as caught:
        (Stream.just(b"x") | sink).run().wait()
    assert str(caught.value) == (
        f"nats: no stream on 127.0.0.1:{nats_server.port} takes subject 'elsewhere.x'; make one with this subject, or"
        " publish to another"
    )
    until(lambda: nats_server.connections() == 0, "no connection")


def test_fails_if_another_stream_takes_the_subject(nats_server: NatsServer, stream: str) -> None:
    sink = to_jetstream(f"{stream}.x", stream="OTHER", servers=nats_server.url)
    with pytest.raises(RuntimeError) as caught:
        (Stream.just(b"x") | sink).run().wait()
    assert str(caught.value) == (
        f"nats: the server refused a message: expected stream does not match (subject '{stream}.x')"
    )


def test_fails_if_the_stream_is_full(nats_server: NatsServer, stream: str) -> None:
    nats_server.ask(lambda js: js.update_stream(name=stream, subjects=[f"{stream}.>"], max_msgs=25, discard="new"))
    sink = to_jetstream(f"{stream}.x", servers=nats_server.url, size=10)
    with pytest.raises(RuntimeError) as caught:
        (Stream.range(100).map(lambda n: b"%d" % n) | sink).run().wait()
    assert str(caught.value) == (
        f"nats: the server refused a message: maximum messages exceeded (subject '{stream}.x')"
    )
    assert nats_server.everything(stream) == [b"%d" % n for n in range(25)]


def test_fails_at_a_message_that_is_too_large(nats_server: NatsServer, stream: str) -> None:
    sink = to_jetstream(f"{stream}.x", servers=nats_server.url)
    with pytest.raises(ValueError) as caught:
        (Stream.just(b"small", bytes(2_000_000)) | sink).run().wait()
    assert str(caught.value) == (
        f"nats: a message of 2000000 bytes for '{stream}.x' is above the server's limit of 1048576 bytes"
    )
    until(lambda: nats_server.connections() == 0, "no connection")


REFUSED: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"subject": "a.*"}, ValueError, r"subject must be a subject without spaces and wildcards, got 'a\.\*'"),
    ({"subject": ""}, ValueError, "subject must be a subject without spaces and wildcards, got ''"),
    ({"subject": 1}, TypeError, "subject must be callable, got 1"),
    ({"data": 1}, TypeError, "data must be callable, got 1"),
    ({"message_id": 1}, TypeError, "message_id must be callable, got 1"),
    ({"headers": 1}, TypeError, "headers must be callable, got 1"),
]


@pytest.mark.parametrize(("options", "error", "words"), REFUSED)
def test_refuses(options: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=f"^nats: {words}$"):
        to_jetstream(**{"subject": "a", **options})


def test_an_element_that_is_not_bytes_fails_the_run(nats_server: NatsServer, stream: str) -> None:
    with pytest.raises(TypeError) as caught:
        (Stream.just("text") | to_jetstream(f"{stream}.x", servers=nats_server.url)).run().wait()
    assert str(caught.value) == (
        "nats: a message must be bytes, got 'text'; give data=, a function that makes bytes of one"
    )


def test_a_stream_may_be_called_error(nats_server: NatsServer) -> None:
    nats_server.make("error")
    try:
        assert (Stream.just(b"x") | to_jetstream("error.x", servers=nats_server.url)).run().wait() == 1
    finally:
        nats_server.ask(lambda js: js.delete_stream("error"))


@pytest.mark.proves("nats.sink", "cancel", "the connection is closed")
def test_a_cancel_before_the_first_batch_lets_go_of_the_connection(
    nats_server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def cancelled() -> None:
        begun = asyncio.Event()

        async def begin(_: ConfirmedPublisher[bytes]) -> None:
            begun.set()
            await asyncio.Event().wait()

        monkeypatch.setattr(ConfirmedPublisher, "begin", begin)
        opens: OpenPublisher[bytes] = OpenPublisher(Address((nats_server.url,)), "a.b")
        opening = asyncio.ensure_future(opens())
        await begun.wait()
        opening.cancel()
        await asyncio.wait([opening])
        assert opening.cancelled()

    asyncio.run(cancelled())
    until(lambda: nats_server.connections() == 0, "no connection")


def test_a_login_in_an_address_is_not_shown() -> None:
    assert "hidden" not in repr(Address(("nats://ann:hidden@127.0.0.1:4222",)))
    with pytest.raises(ValueError, match=r"^nats: servers must be addresses such as ") as caught:
        from_jetstream("S", servers="nats://ann:hid/den@127.0.0.1:4222")
    assert "hid" not in str(caught.value)
