"""kafka.sink: a transaction is there whole or not at all, and an older producer of a name is fenced off.

The broker is a model that keeps Kafka's rules of transactions, see `model`; the mock cluster of librdkafka keeps none.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from penstock import Stream
from penstock.connectors import kafka
from penstock.connectors.kafka.delivery import OpenTopic
from penstock.connectors.kafka.link import BrokerLink
from tests.connectors.kafka.killed_writer import COUNT, NAME
from tests.connectors.kafka.model import ModelBroker
from tests.connectors.kafka.server import die_with_parent, until

QUIET = {"log_level": 0}


def opening(model: ModelBroker, topic: str, name: str) -> OpenTopic:
    link = BrokerLink(model.servers, tuple(QUIET.items()))
    return OpenTopic(link, topic, name, idempotent=True, timeout=20.0, size=100)


def seen(model: ModelBroker, topic: str, **how: Any) -> list[bytes | None]:
    """Return the records that a reader sees."""
    how = {"live": False, "options": QUIET, **how}
    return sorted(record.value or b"" for record in kafka.source(topic, servers=model.servers, **how))


def uncommitted(model: ModelBroker, topic: str) -> list[bytes | None]:
    """Return the records that a reader sees who asks for those of open and aborted transactions, too."""
    return seen(model, topic, options={**QUIET, "isolation.level": "read_uncommitted"})


class Batch(list[Any]):
    """A batch in whose middle, when its records have come to the broker, something happens."""

    def __init__(self, values: list[bytes], then: Callable[[], object], rest: list[Any]) -> None:
        super().__init__([*values, *rest])
        self._given, self._then, self._rest = values, then, rest

    def __iter__(self) -> Iterator[Any]:
        yield from self._given
        self._then()
        yield from self._rest


def threads() -> list[str]:
    return [one.name for one in threading.enumerate() if one.name.startswith("penstock-kafka")]


@pytest.mark.proves("kafka.sink", "an aborted transaction (a model broker)", "readers of committed records see none")
def test_what_is_aborted_is_not_seen(model: ModelBroker, topic_of_model: str) -> None:
    topic = topic_of_model

    def sent() -> None:
        until(lambda: model.held(topic) == 33, "the records do not come to the broker")
        assert seen(model, topic) == [b"before"] * 3

    async def go() -> None:
        writer = await opening(model, topic, topic)()
        await writer.write([b"before"] * 3)
        with pytest.raises(TypeError, match="records or bytes are written"):
            await writer.write(Batch([b"aborted"] * 30, sent, ["no bytes"]))
        await writer.close(TypeError())
        again = await opening(model, topic, topic)()
        await again.write([b"behind"] * 3)
        await again.close(None)

    asyncio.run(go())
    assert model.ended[-3:] == [(topic, True), (topic, False), (topic, True)]
    assert uncommitted(model, topic).count(b"aborted") == 30
    assert seen(model, topic) == [b"before"] * 3 + [b"behind"] * 3
    until(lambda: not threads(), "a thread stays")


def test_a_transaction_is_seen_when_it_is_committed(model: ModelBroker, topic_of_model: str) -> None:
    topic = topic_of_model

    def sent() -> None:
        until(lambda: model.held(topic) == 20, "the records do not come to the broker")
        assert seen(model, topic) == []
        assert uncommitted(model, topic) == [b"a"] * 20

    async def go() -> None:
        writer = await opening(model, topic, topic)()
        await writer.write(Batch([b"a"] * 20, sent, [b"b"] * 5))
        await writer.close(None)

    asyncio.run(go())
    assert seen(model, topic) == [b"a"] * 20 + [b"b"] * 5


@pytest.mark.proves(
    "kafka.sink",
    "a second producer with the same transactional_id (a model broker)",
    "the older one fails with a clear error, and nothing of its open transaction is seen",
)
def test_an_older_producer_of_the_same_name_is_fenced(model: ModelBroker, topic_of_model: str) -> None:
    topic = topic_of_model

    async def go() -> None:
        older = await opening(model, topic, topic)()
        await older.write([b"older"])
        newer: list[Any] = []
        loop = asyncio.get_running_loop()

        async def begin() -> None:
            newer.append(await opening(model, topic, topic)())

        def taken_over() -> None:
            until(lambda: model.held(topic) == 3, "the records do not come to the broker")
            asyncio.run_coroutine_threadsafe(begin(), loop).result(30)

        words = (
            r"another producer with this transactional_id has begun, or .*; give each sink that runs a different name$"
        )
        with pytest.raises(ConnectionAbortedError, match=words):
            await older.write(Batch([b"fenced"] * 2, taken_over, [b"late"] * 2))
        await newer[0].write([b"newer"])
        with pytest.raises(ConnectionAbortedError, match=words):
            await older.write([b"later"])
        await older.close(ConnectionAbortedError())
        await newer[0].write([b"newer"])
        await newer[0].close(None)

    asyncio.run(go())
    assert seen(model, topic) == [b"newer", b"newer", b"older"]
    until(lambda: not threads(), "a thread stays")


@pytest.mark.proves(
    "kafka.sink",
    "kill -9 in the middle of a transaction (a model broker)",
    "nothing of it is seen, and the name can be used again",
)
@pytest.mark.parametrize("heir", [True, False], ids=["taken over", "timed out"])
def test_what_was_open_when_the_producer_was_killed_is_not_seen(
    model: ModelBroker, topic_of_model: str, heir: bool
) -> None:
    topic = topic_of_model
    command = [sys.executable, "-m", "tests.connectors.kafka.killed_writer", model.servers, topic]
    command.append("30" if heir else "3")
    with subprocess.Popen(command, env=os.environ, preexec_fn=die_with_parent) as process:
        until(lambda: model.held(topic) == 2 * COUNT, "nothing is written")
        process.kill()
    whole = sorted(b"whole %d" % n for n in range(COUNT))
    assert seen(model, topic) == whole
    if heir:
        sink = kafka.sink(topic, servers=model.servers, transactional_id=NAME, options=QUIET)
        assert (Stream.just(b"the heir's") | sink).run().wait() == 1
        whole = [b"the heir's", *whole]
    else:
        until(lambda: seen(model, topic) and model.ended[-1] == (NAME, False), "the transaction does not end")
    assert len(uncommitted(model, topic)) == 2 * COUNT + heir
    assert seen(model, topic) == whole
