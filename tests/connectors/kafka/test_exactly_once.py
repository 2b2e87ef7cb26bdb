"""kafka: from topic to topic, what is made of a record and that it was read are there together, or neither is.

The broker is a model that keeps Kafka's rules of transactions and groups, see `model`.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from penstock import NotCarriedError, Sink, Stream
from penstock.connectors import kafka
from penstock.connectors.kafka.intake import KafkaIntake
from penstock.connectors.reading import reading
from penstock.errors import PenstockError
from tests.connectors.kafka.killed_transformer import made_of
from tests.connectors.kafka.model import PARTITIONS, ModelBroker
from tests.connectors.kafka.server import SECONDS, SOON, die_with_parent, until

QUIET = {"log_level": 0}
KILLS = 10


def produce(model: ModelBroker, topic: str, first: int, end: int) -> None:
    producer = Producer({"bootstrap.servers": model.servers, **QUIET})
    for n in range(first, end):
        producer.produce(topic, b"%d" % n, partition=n % PARTITIONS)
    assert producer.flush(30) == 0
    producer.close()


def seen(model: ModelBroker, topic: str) -> Counter[bytes]:
    """Return what readers of committed records see, and how often."""
    stream = kafka.source(topic, servers=model.servers, live=False, options=QUIET)
    return Counter([record.value or b"" for record in stream])


def killed_in_transaction(model: ModelBroker, process: subprocess.Popen[bytes], due: Callable[[], bool]) -> None:
    """Kill a process when it is due, while what it has written last is in no transaction that has ended."""
    killed = threading.Event()

    def look() -> None:
        if due():
            process.kill()
            killed.set()

    model.on_produce = look
    assert killed.wait(SECONDS), "nothing is written"
    model.on_produce = bool


def source(model: ModelBroker, topic: str, **how: Any) -> Stream[kafka.Record]:
    return kafka.source(topic, servers=model.servers, **{"group": f"{topic}-g", "options": SOON, **how})


def sink(model: ModelBroker, topic: str, **how: Any) -> Sink[kafka.Record | bytes, int]:
    how = {"size": 50, "seconds": 0.1, "timeout": 20, "options": QUIET, **how}
    return kafka.sink(topic, servers=model.servers, transactional_id=f"{topic}-id", with_offsets=True, **how)


def numbered(record: kafka.Record) -> int:
    return int(record.value or b"")


def threads() -> list[str]:
    return [one.name for one in threading.enumerate() if one.name.startswith("penstock-kafka")]


def test_offsets_are_committed_by_the_transactions(model: ModelBroker, topic_of_model: str) -> None:
    topic, out = topic_of_model, f"{topic_of_model}-out"
    produce(model, topic, 0, 400)
    values = source(model, topic, live=False).map(numbered).flat_map(made_of)
    assert (values | sink(model, out)).run().wait() == sum(len(made_of(n)) for n in range(400))
    assert seen(model, out) == Counter(one for n in range(400) for one in made_of(n))
    assert model.committed(topic, f"{topic}-g") == [100] * PARTITIONS
    assert all(committed for name, committed in model.ended if name == f"{out}-id")
    until(lambda: not threads(), "a thread stays")


def test_what_is_left_out_is_committed_while_nothing_is_written(model: ModelBroker, topic_of_model: str) -> None:
    topic, out = topic_of_model, f"{topic_of_model}-out"
    produce(model, topic, 0, 1)
    run = (source(model, topic).filter(lambda record: numbered(record) == 0) | sink(model, out)).run()
    until(lambda: model.committed(topic, f"{topic}-g") == [1, 0, 0, 0], "the first record is not committed")
    produce(model, topic, 1, 401)
    until(lambda: sum(model.committed(topic, f"{topic}-g")) == 401, "what was left out is not committed")
    run.cancel()
    assert seen(model, out) == Counter({b"0": 1})
    until(lambda: not threads(), "a thread stays")


@pytest.mark.proves(
    "kafka.sink",
    "offsets in the transaction, a failure (a model broker)",
    "neither the records nor the offsets of the open transaction are there; another run writes each once",
)
def test_a_run_that_fails_leaves_whole_transactions(model: ModelBroker, topic_of_model: str) -> None:
    topic, out = topic_of_model, f"{topic_of_model}-out"
    produce(model, topic, 0, 400)
    poison = [333]

    def checked(record: kafka.Record) -> bytes:
        if numbered(record) in poison:
            raise ValueError("poison")
        return record.value or b""

    values = source(model, topic, live=False, window=100).map(checked)
    with pytest.raises(ValueError, match="poison"):
        (values | sink(model, out, size=7)).run().wait()
    found = seen(model, out)
    offsets = model.committed(topic, f"{topic}-g")
    assert found == Counter(b"%d" % (PARTITIONS * n + part) for part in range(PARTITIONS) for n in range(offsets[part]))
    poison.clear()
    (values | sink(model, out, size=7)).run().wait()
    assert seen(model, out) == Counter(b"%d" % n for n in range(400))
    until(lambda: not threads(), "a thread stays")


@pytest.mark.slow
@pytest.mark.proves(
    "kafka.sink",
    "offsets in the transaction, kill -9 ten times (a model broker)",
    "each record is worked on in effect once: nothing lost, nothing twice",
)
def test_killed_ten_times_each_record_is_there_once(model: ModelBroker, topic_of_model: str) -> None:
    topic, out, group = topic_of_model, f"{topic_of_model}-out", f"{topic_of_model}-g"
    count = 10_000
    model.create(out)
    produce(model, topic, 0, count)
    command = [sys.executable, "-m", "tests.connectors.kafka.killed_transformer", model.servers, topic, out, group]
    for _ in range(KILLS):
        before = model.held(out)
        with subprocess.Popen(command, env=os.environ, preexec_fn=die_with_parent) as process:
            killed_in_transaction(model, process, lambda: model.held(out) > before + 500)  # noqa: B023
        model.give_up(group)
    assert sum(model.committed(topic, group)) < count, "all was done before the last kill"
    with subprocess.Popen(command, env=os.environ, preexec_fn=die_with_parent) as process:
        until(lambda: sum(model.committed(topic, group)) == count, "not all is committed")
        process.kill()
    assert any(not committed for name, committed in model.ended if name == group), "no transaction was open at a kill"
    assert seen(model, out) == Counter(one for n in range(count) for one in made_of(n))


@pytest.mark.proves(
    "kafka.sink",
    "offsets in the transaction, a partition goes while records are under way (a model broker)",
    "the run fails with a clear error; what was under way is in no transaction",
)
def test_a_partition_that_goes_while_records_are_under_way_ends_the_run(
    model: ModelBroker, topic_of_model: str
) -> None:
    topic, out, group = topic_of_model, f"{topic_of_model}-out", f"{topic_of_model}-g"
    produce(model, topic, 0, 40)
    held, going = threading.Event(), threading.Event()

    async def wait(record: kafka.Record) -> bytes:
        if numbered(record) == 30:
            held.set()
            while not going.is_set():
                await asyncio.sleep(0.01)
        return record.value or b""

    first = (source(model, topic).map_async(wait) | sink(model, out, size=5)).run()
    assert held.wait(60)
    seen_by_second: list[int] = []
    second = source(model, topic) | Sink.for_each(lambda record: seen_by_second.append(numbered(record)))
    other = second.run()
    until(lambda: seen_by_second, "the second member gets nothing")
    going.set()
    words = rf"^kafka: .* went to another member of the group '{group}' while records were under way, .* again$"
    with pytest.raises(ConnectionAbortedError, match=words):
        first.wait()
    until(lambda: sum(model.committed(topic, group)) == 40, "the second member does not read all")
    other.cancel()
    assert set(seen_by_second) | {int(one) for one in seen(model, out)} == set(range(40))
    assert not set(seen_by_second) & {int(one) for one in seen(model, out)}
    until(lambda: not threads(), "a thread stays")


def test_what_is_under_way_before_the_first_transaction_holds_a_partition(
    model: ModelBroker, topic_of_model: str
) -> None:
    topic, out, group = topic_of_model, f"{topic_of_model}-out", f"{topic_of_model}-g"
    produce(model, topic, 0, 40)
    first_came, going = threading.Event(), threading.Event()
    on_revoke = KafkaIntake._on_revoke

    async def wait(record: kafka.Record) -> bytes:
        first_came.set()
        while not going.is_set():
            await asyncio.sleep(0.01)
        return record.value or b""

    def revoked(intake: KafkaIntake, consumer: Any, partitions: Any) -> None:
        going.set()
        on_revoke(intake, consumer, partitions)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(KafkaIntake, "_on_revoke", revoked)
        runs = [(source(model, topic).map_async(wait) | sink(model, out, size=5)).run()]
        assert first_came.wait(60)
        other = kafka.sink(
            out, servers=model.servers, transactional_id=f"{out}-2", with_offsets=True, seconds=0.1, options=QUIET
        )
        runs.append((source(model, topic).map(lambda record: record.value or b"") | other).run())
        until(lambda: sum(model.committed(topic, group)) == 40, "not all is committed")
        for run in runs:
            assert not run.done
            run.cancel()
    assert going.is_set()
    assert seen(model, out) == Counter(b"%d" % n for n in range(40))
    until(lambda: not threads(), "a thread stays")


def test_what_cannot_be_exact_is_refused(model: ModelBroker, topic_of_model: str, tmp_path: Path) -> None:
    topic, out = topic_of_model, f"{topic_of_model}-out"
    model.create(out)
    produce(model, topic, 0, 4)
    with pytest.raises(ValueError, match=r"^kafka: with_offsets needs a transactional_id, and seconds$"):
        kafka.sink(out, servers=model.servers, with_offsets=True)
    with pytest.raises(RuntimeError, match=r"^telling: each batch is written with the position of its source, and no "):
        (Stream.just(b"a") | sink(model, out)).run().wait()
    ends = source(model, topic, live=False)
    with pytest.raises(NotCarriedError, match=r"^run: a sink that tells .* several sources or ends; give it one of "):
        (ends.merge(source(model, out, live=False)) | sink(model, out)).run()
    with pytest.raises(NotCarriedError, match=r"^run: a sink that tells .*: retry opens the source again while "):
        (ends.retry(3) | sink(model, out)).run()
    with pytest.raises(PenstockError, match=r"^run: a sink that tells .* keeps the position; leave out checkpoint$"):
        (ends | sink(model, out)).run(checkpoint=tmp_path / "positions")
    without_group = kafka.source(topic, servers=model.servers, live=False, options=QUIET)
    with pytest.raises(TypeError, match=r"^kafka: with_offsets is for a kafka\.source or .* with a group, got another"):
        (without_group | sink(model, out)).run().wait()
    elsewhere = kafka.sink(
        out, servers=f"localhost:{model.servers[10:]}", transactional_id="x", with_offsets=True, options=QUIET
    )
    with pytest.raises(
        ValueError, match=r"^kafka: a transaction holds offsets of the same brokers: .* the same servers$"
    ):
        (ends | elsewhere).run().wait()
    assert seen(model, out) == Counter()
    until(lambda: not threads(), "a thread stays")


def test_a_source_of_another_kind_is_refused(model: ModelBroker, topic_of_model: str) -> None:
    class Numbers:
        def __init__(self) -> None:
            self.left = [(1, b"1")]

        async def fetch(self, _: int) -> list[tuple[int, bytes]] | None:
            given, self.left = self.left, []
            return given or None

        async def commit(self, _: int) -> None:
            raise AssertionError

        async def close(self) -> None:
            pass

    async def numbers(_: int | None) -> Numbers:
        return Numbers()

    with pytest.raises(TypeError, match=r", got another source$"):
        (reading(numbers) | sink(model, topic_of_model)).run().wait()
    assert seen(model, topic_of_model) == Counter()
