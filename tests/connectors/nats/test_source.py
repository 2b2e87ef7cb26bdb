"""nats: what a stream of JetStream gives, under demand, and where it goes on."""

from __future__ import annotations

import asyncio
import logging
import pickle
from datetime import UTC, datetime
from typing import Any

import pytest
from nats.js.api import AckPolicy, ConsumerConfig

from penstock import Sink, Stream
from penstock.connectors.nats import Message, from_jetstream
from penstock.connectors.nats.source import OpenJetStream
from penstock.run.resumption import Resumption
from penstock.testing import check_resumable, subscribed
from tests.connectors.nats.server import NatsServer, until


def numbers(count: int, first: int = 0) -> list[bytes]:
    return [b"%d" % number for number in range(first, first + count)]


def opener(server: NatsServer, stream: str, **options: Any) -> OpenJetStream:
    """Return what opens the readers of such a stream."""
    made = from_jetstream(stream, servers=server.url, **options)
    source: Any = made._chain.source
    found: OpenJetStream = source.open_from.open
    return found


def consumers(server: NatsServer, stream: str) -> int:
    return len(server.ask(lambda js: js.consumers_info(stream)))


@pytest.fixture
def filled(nats_server: NatsServer, stream: str) -> str:
    """Return a stream with a hundred messages."""
    nats_server.fill(stream, numbers(100))
    return stream


def test_emits_the_messages_in_order(nats_server: NatsServer, filled: str) -> None:
    found = list(from_jetstream(filled, servers=nats_server.url).take(100))
    assert [message.data for message in found] == numbers(100)
    assert [message.sequence for message in found] == list(range(1, 101))
    assert {message.subject for message in found} == {f"{filled}.all"}
    assert {message.deliveries for message in found} == {1}
    assert abs((found[0].time - datetime.now(UTC)).total_seconds()) < 3600


def test_emits_the_messages_to_a_loop_of_asyncio(nats_server: NatsServer, filled: str) -> None:
    async def read() -> list[bytes]:
        return [message.data async for message in from_jetstream(filled, servers=nats_server.url).take(100)]

    assert asyncio.run(read()) == numbers(100)


def test_a_consumer_with_pauses_of_its_own_is_told_of_progress_within_the_shortest(
    nats_server: NatsServer, filled: str
) -> None:
    config = ConsumerConfig(durable_name="d", backoff=[0.3, 5.0], max_deliver=5)
    nats_server.ask(lambda js: js.add_consumer(filled, config))

    async def opened() -> float:
        reader = await opener(nats_server, filled, durable="d", window=1000)(None)
        await reader.close()
        return float(reader._ack_wait)

    assert asyncio.run(opened()) == 0.3


def test_emits_the_messages_of_one_subject(nats_server: NatsServer, filled: str) -> None:
    nats_server.fill(filled, [b"other"], subject="other")
    found = from_jetstream(filled, subject=f"{filled}.other", servers=nats_server.url).first().get()
    assert (found.data, found.sequence) == (b"other", 101)


def test_gives_headers(nats_server: NatsServer, stream: str) -> None:
    nats_server.ask(lambda js: js.publish(f"{stream}.x", b"", headers={"Kind": "empty"}))
    found = from_jetstream(stream, servers=nats_server.url).first().get()
    assert (found.data, dict(found.headers)) == (b"", {"Kind": "empty"})


def test_waits_for_messages_to_come(nats_server: NatsServer, stream: str) -> None:
    probe = subscribed(from_jetstream(stream, servers=nats_server.url), 2)
    until(lambda: consumers(nats_server, stream) == 1, "a consumer")
    nats_server.fill(stream, numbers(3))
    probe.wait_for(2)
    probe.cancel()
    assert [message.data for message in probe.elements] == numbers(2)


@pytest.mark.parametrize("durable", [None, "reader"])
@pytest.mark.proves("nats.source", "demand", "the server sends as many messages as are asked for, and holds the rest")
def test_the_server_sends_no_more_than_is_asked_for(nats_server: NatsServer, filled: str, durable: str | None) -> None:
    probe = subscribed(from_jetstream(filled, durable=durable, servers=nats_server.url))
    for asked, altogether in [(3, 3), (1, 4), (40, 44)]:
        probe.request(asked)
        probe.wait_for(altogether)
        info = nats_server.ask(lambda js: js.consumers_info(filled))[0]
        assert (info.delivered.stream_seq, info.num_pending) == (altogether, 100 - altogether)
    probe.cancel()


@pytest.mark.parametrize("durable", [None, "reader"])
@pytest.mark.proves("nats.source", "restart from every position", "gives the rest, in order")
def test_goes_on_behind_every_position(nats_server: NatsServer, filled: str, durable: str | None) -> None:
    check_resumable(lambda: from_jetstream(filled, durable=durable, servers=nats_server.url), most=12)


def test_goes_on_behind_a_position_of_a_filtered_stream(nats_server: NatsServer, filled: str) -> None:
    nats_server.fill(filled, [b"a", b"b", b"c"], subject="other")
    found = Resumption.of(from_jetstream(filled, subject=f"{filled}.other", servers=nats_server.url))
    assert [message.data for _, message in found.open([101, 0]).take(2)] == [b"b", b"c"]


@pytest.mark.parametrize("durable", [None, "reader"])
def test_begins_behind_a_sequence(nats_server: NatsServer, filled: str, durable: str | None) -> None:
    for after in (0, 40, 10):
        messages = from_jetstream(filled, durable=durable, after=after, servers=nats_server.url)
        assert (messages.map(lambda message: message.sequence).take(1) | Sink.first()).run().wait() == after + 1
    held = Resumption.of(from_jetstream(filled, durable=durable, after=40, servers=nats_server.url))
    assert [position for position, _ in held.open([70, 0]).take(1)] == [[71, 0]]  # a position says better


def test_is_a_value_that_can_be_sent_elsewhere(nats_server: NatsServer, filled: str) -> None:
    def make() -> Stream[Message]:
        return from_jetstream(filled, servers=nats_server.url, options={"user": "me", "password": "secret"})

    assert make() == make() == pickle.loads(pickle.dumps(make()))
    assert "secret" not in repr(make())
    assert pickle.loads(pickle.dumps(make())).first().get().data == b"0"


def test_a_durable_consumer_remembers_what_was_committed(nats_server: NatsServer, filled: str) -> None:
    async def read(most: int, commit: int | None) -> list[int]:
        reader = await opener(nats_server, filled, durable="d")(None)
        found: list[int] = []
        while len(found) < most:
            found += [position for position, _ in await reader.fetch(most - len(found))]
        if commit is not None:
            await reader.commit(commit)
            await reader.commit(commit)  # may be told again
        await reader.close()
        return found

    assert asyncio.run(read(10, 6)) == list(range(1, 11))
    assert nats_server.consumer(filled, "d").ack_floor.stream_seq == 6
    assert asyncio.run(read(6, 12)) == [7, 8, 9, 10, 11, 12]  # what was held comes at once, and in order
    assert asyncio.run(read(1, None)) == [13]


def test_several_runs_share_a_durable_consumer(nats_server: NatsServer, filled: str) -> None:
    async def read() -> tuple[list[int], list[int]]:
        one, other = [await opener(nats_server, filled, durable="d")(None) for _ in range(2)]
        found: tuple[list[int], list[int]] = ([], [])
        while len(found[0]) + len(found[1]) < 100:
            for reader, mine in zip((one, other), found, strict=True):
                if len(mine) < 50:
                    mine += [position for position, _ in await reader.fetch(10)]
                    await reader.commit(mine[-1])
        for reader in (one, other):
            await reader.close()
        return found

    first, second = asyncio.run(read())
    assert sorted(first + second) == list(range(1, 101))
    assert nats_server.consumer(filled, "d").num_ack_pending == 0


def test_what_a_living_run_holds_is_not_sent_again(nats_server: NatsServer, filled: str) -> None:
    async def hold() -> tuple[int, list[int]]:
        reader = await opener(nats_server, filled, durable="d", ack_wait=0.5)(None)
        found = [position for position, _ in await reader.fetch(5)]
        client = reader._link.client
        before = client.stats["out_msgs"]
        while client.stats["out_msgs"] < before + 12 * len(found):  # told twelve times: four times `ack_wait`
            await asyncio.sleep(0.01)
        again = (await reader._link.jetstream.consumer_info(filled, "d")).num_redelivered or 0
        found += [position for position, _ in await reader.fetch(5)]
        await reader.commit(found[-1])
        await reader.close()
        return again, found

    again, found = asyncio.run(hold())
    assert again == 0
    assert found == list(range(1, len(found) + 1))


def test_the_server_holds_messages_back_while_too_many_are_not_acknowledged(
    nats_server: NatsServer, filled: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def read() -> list[int]:
        reader = await opener(nats_server, filled, durable="d", window=10)(None)
        found: list[int] = []
        while len(found) < 10:
            found += [position for position, _ in await reader.fetch(30)]
        waiting = asyncio.create_task(reader.fetch(30))
        info = await reader._link.jetstream.consumer_info(filled, "d")
        assert (info.num_ack_pending, info.num_pending) == (10, 90)
        await reader.commit(4)
        found += [position for position, _ in await waiting]
        await reader.close()
        return found

    with caplog.at_level(logging.WARNING, "penstock.connectors.nats"):
        found = asyncio.run(read())
    assert found == list(range(1, len(found) + 1))
    assert 10 < len(found) <= 14
    [said] = caplog.messages
    assert said == (
        f"nats: d of stream {filled} has sent 10 messages, as many as it may before the first one is acknowledged;"
        " run it as a pipeline, which acknowledges what has passed the end, or leave durable out"
    )


@pytest.mark.proves("nats.source", "cancel", "the connection is closed, and what was held comes again at once")
@pytest.mark.parametrize("durable", [None, "reader"])
def test_a_cancel_lets_go_of_the_connection_and_of_the_messages(
    nats_server: NatsServer, filled: str, durable: str | None
) -> None:
    for asked, expected in [(5, 5), (200, 100)]:  # among messages, and while it waits for one
        probe = subscribed(from_jetstream(filled, durable=durable, servers=nats_server.url), asked)
        probe.wait_for(expected)
        probe.cancel()
        assert [message.sequence for message in probe.elements] == list(range(1, expected + 1))
        until(lambda: nats_server.connections() == 0, "no connection")
    if durable is None:
        until(lambda: consumers(nats_server, filled) == 0, "no consumer")


NAME = r"must be a name without spaces and any of '\.\*>/\\', got"
REFUSED: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"stream": "a.b"}, ValueError, rf"stream {NAME} 'a\.b'"),
    ({"durable": ""}, ValueError, rf"durable {NAME} ''"),
    ({"ack_wait": 0}, ValueError, "ack_wait must be > 0 seconds, got 0"),
    ({"after": -1}, ValueError, "after must be >= 0, got -1"),
    ({"window": 0}, ValueError, "window must be >= 1, got 0"),
    ({"deliveries": 0}, ValueError, "deliveries must be >= 1, got 0"),
    ({"patience": 0}, ValueError, "patience must be > 0 seconds, got 0"),
    ({"servers": []}, ValueError, "servers must name at least one server, got none"),
    ({"servers": 7}, TypeError, r"servers must be addresses such as 'nats://127\.0\.0\.1:4222', got 7"),
    ({"patience": "1"}, ValueError, "patience must be > 0 seconds, got '1'"),
    ({"ack_wait": "1"}, ValueError, "ack_wait must be > 0 seconds, got '1'"),
    ({"servers": [7]}, TypeError, r"servers must be addresses such as 'nats://127\.0\.0\.1:4222', got 7"),
    ({"dead_letters": "x"}, ValueError, "dead_letters needs durable, whose deliveries the server counts"),
]


@pytest.mark.parametrize(("options", "error", "words"), REFUSED, ids=[next(iter(each[0])) for each in REFUSED])
def test_refuses(options: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=f"^nats: {words}$"):
        from_jetstream(**{"stream": "A", **options})


def test_refuses_consumers_that_it_cannot_use(nats_server: NatsServer, filled: str) -> None:
    def made(**options: Any) -> None:
        nats_server.ask(lambda js: js.add_consumer(filled, ConsumerConfig(**options)))

    made(durable_name="push", deliver_subject="somewhere")
    made(durable_name="all", ack_policy=AckPolicy.ALL)
    made(durable_name="few", max_ack_pending=10)
    made(durable_name="part", filter_subject=f"{filled}.part")
    words = {
        "push": "nats: consumer 'push' is a push consumer, which knows no demand; name another durable",
        "all": "nats: consumer 'all' acknowledges by 'all'; it must be 'explicit', so that a message that is sent again"
        " and not done is not acknowledged with a later one",
        "few": "nats: consumer 'few' lets 10 messages be unacknowledged, and window is 10000; a step that waits for"
        " more would wait forever: give window=10",
        "part": f"nats: consumer 'part' filters '{filled}.part', and subject is None; name another durable or give the"
        " same subject",
    }
    for name, expected in words.items():
        with pytest.raises(ValueError) as caught:
            from_jetstream(filled, durable=name, servers=nats_server.url).first().get()
        assert str(caught.value) == expected


def test_a_stream_that_wants_acknowledgements_needs_a_durable_consumer(nats_server: NatsServer, stream: str) -> None:
    nats_server.ask(lambda js: js.delete_stream(stream))
    nats_server.make(stream, retention="workqueue")
    nats_server.fill(stream, numbers(3))
    with pytest.raises(ValueError, match=rf"^nats: the server refused a consumer of '{stream}': "):
        from_jetstream(stream, servers=nats_server.url).first().get()

    async def work() -> None:
        reader = await opener(nats_server, stream, durable="d")(None)
        await reader.fetch(2)
        await reader.commit(2)
        await reader.close()

    asyncio.run(work())
    assert nats_server.stream(stream).state.messages == 1  # what is done is removed


def test_refuses_a_position_behind_the_end(nats_server: NatsServer, filled: str) -> None:
    found = Resumption.of(from_jetstream(filled, servers=nats_server.url))
    with pytest.raises(LookupError) as caught:
        list(found.open([101, 0]).take(1))
    assert str(caught.value) == (
        f"nats: position 101 is behind the end of stream '{filled}', whose last message is 100: the stream was made"
        " anew since"
    )
