"""kafka: what is left when a consumer or the broker is killed, or the broker's disk is full."""

from __future__ import annotations

import asyncio
import os
import resource
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from penstock import Sink, Stream
from penstock.connectors import kafka
from penstock.connectors.kafka.delivery import OpenTopic
from penstock.connectors.kafka.intake import KafkaIntake
from penstock.connectors.kafka.link import BrokerLink
from tests.connectors.kafka.killed_consumer import WINDOW
from tests.connectors.kafka.server import OLD, OPTIONS, PARTITIONS, Broker, die_with_parent, until

KILLS = 10


def lines(path: Path) -> list[tuple[int, int]]:
    if not path.exists():
        return []
    whole, _, _ = path.read_bytes().rpartition(b"\n")
    return [(int(part), int(value)) for part, value in (line.split() for line in whole.splitlines())]


@contextmanager
def killed_at_the_end(command: list[str]) -> Iterator[None]:
    with subprocess.Popen(command, env=os.environ, preexec_fn=die_with_parent) as process:
        try:
            yield
        finally:
            process.kill()


@pytest.mark.slow
@pytest.mark.proves("kafka.source", "kill -9 of the consumer, ten times", "nothing lost; at most the window again")
def test_a_consumer_that_is_killed_ten_times_loses_nothing(broker: Broker, topic: str, tmp_path: Path) -> None:
    count = 40_000
    broker.produce(topic, (b"%d" % n for n in range(count)))
    path = tmp_path / "read"
    command = [sys.executable, "-m", "tests.connectors.kafka.killed_consumer"]
    command += [broker.servers, topic, f"{topic}-g", str(path)]
    for _ in range(KILLS):
        before = path.stat().st_size if path.exists() else 0
        with killed_at_the_end(command):
            until(lambda: path.exists() and path.stat().st_size > before + 4_000, "nothing is read")  # noqa: B023
    with killed_at_the_end(command):
        until(lambda: sum(broker.committed(topic, f"{topic}-g")) == count, "not all is committed")
    found = lines(path)
    assert {value for _, value in found} == set(range(count))
    again = len(found) - count
    assert again <= KILLS * WINDOW
    for number in range(PARTITIONS):  # in order, but for what came again
        own = [value for part, value in found if part == number]
        steps_back = sum(1 for before, after in pairwise(own) if after <= before)
        assert steps_back <= KILLS


@pytest.mark.slow
@pytest.mark.proves(
    "kafka.source",
    "kill -9 of the broker, once",
    "it goes on when the broker is back; nothing lost, at most the window again for each loss of its membership",
)
@pytest.mark.proves(
    "kafka.sink", "kill -9 of the broker, once", "nothing lost; a batch without an answer may be there twice"
)
def test_runs_go_on_when_the_broker_was_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broker = Broker(tmp_path)
    losses = []
    give_up = KafkaIntake._give_up

    def given_up(intake: KafkaIntake, places: list[Any]) -> None:
        losses.append(places)
        give_up(intake, places)

    monkeypatch.setattr(KafkaIntake, "_give_up", given_up)
    try:
        broker.start()
        broker.create("in")
        broker.create("out")
        count = 30_000
        broker.produce("in", (b"%d" % n for n in range(count)))
        passed = threading.Semaphore(0)
        gone_on = threading.Event()
        seen = 0

        def look(record: kafka.Record) -> kafka.Record:
            nonlocal seen
            seen += 1
            if seen == count // 3:
                passed.release()
                gone_on.wait()
            return record

        window, size = 2000, 500
        source = kafka.source("in", servers=broker.servers, group="g", window=window, options=OPTIONS)
        sink = kafka.sink("out", servers=broker.servers, idempotent=False, size=size, options=OLD)
        run = (source.map(look) | sink).run()
        assert passed.acquire(timeout=60)
        broker.kill()
        gone_on.set()
        broker.start()
        until(lambda: sum(broker.committed("in", "g")) == count, "not all is committed")
        lost = len(losses)
        run.cancel()
        values = Counter(int(value) for part in broker.values("out") for value in part)
        assert set(values) == set(range(count))
        again = sum(values.values()) - count
        assert again <= lost * window + size  # of a batch it may be that the answer was lost, and not the records
    finally:
        broker.stop()


@pytest.mark.slow
@pytest.mark.proves(
    "kafka.sink",
    "a full disk (a limit on file sizes)",
    "a clear error; what was confirmed is there when the disk has room again",
)
def test_a_full_disk_of_the_broker_loses_nothing_that_was_confirmed(tmp_path: Path) -> None:
    def small_files() -> None:
        die_with_parent()
        resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, resource.RLIM_INFINITY))

    broker = Broker(tmp_path, **{"log.index.size.max.bytes": 100_000})
    try:
        broker.start(before=small_files)
        broker.create("out")
        confirmed = 0

        def count(values: list[Any]) -> None:
            nonlocal confirmed
            confirmed += len(values)

        async def written() -> None:
            link = BrokerLink(broker.servers, tuple(OLD.items()))
            writer = await OpenTopic(link, "out", None, idempotent=False, timeout=3.0, size=1000)()
            batch: list[Any] = [b"x" * 1000] * 1000
            try:
                for _ in range(100):
                    await writer.write(batch)
                    count(batch)
            finally:
                await writer.close(None)

        with pytest.raises(Exception, match=r"records were not confirmed") as caught:
            asyncio.run(written())
        assert isinstance(caught.value, ConnectionError) or caught.value.__notes__
        assert 0 < confirmed < 100_000
        broker.kill()
        broker.start()
        assert sum(broker.ends("out")) >= confirmed
    finally:
        broker.stop()


@pytest.mark.slow
@pytest.mark.proves(
    "kafka.source", "a million records, a slow consumer", "flat memory; the broker holds the rest, as its lag shows"
)
def test_a_million_records_and_a_slow_consumer(broker: Broker, topic: str) -> None:
    count = 1_000_000
    broker.produce(topic, (b"%d" % n for n in range(count)))
    group = f"{topic}-slow"
    tenth = threading.Event()
    go_on = threading.Event()
    total = seen = 0

    def add(record: kafka.Record) -> None:
        nonlocal total, seen
        seen += 1
        total += int(record.value or b"")
        if seen == count // 10:
            tenth.set()
            go_on.wait()

    source = kafka.source(topic, servers=broker.servers, group=group, live=False, options=OPTIONS)
    run = (source | Sink.for_each(add)).run()
    assert tenth.wait(60)
    held = resident()
    lag = count - sum(max(0, offset) for offset in broker.committed(topic, group))
    assert lag >= count - count // 10 - 10_000  # the consumer stands still, and the rest is where it was
    go_on.set()
    assert run.wait() == count
    assert total == count * (count - 1) // 2
    assert broker.committed(topic, group) == [count // PARTITIONS] * PARTITIONS
    assert resident() - held < 100_000_000


def resident() -> int:
    """Return how many bytes of memory this process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


@pytest.mark.slow
@pytest.mark.proves("kafka.sink", "a million records", "all of them confirmed and there, once")
def test_a_million_records_are_written(broker: Broker, topic: str) -> None:
    count = 1_000_000
    values = Stream.range(count).map(lambda n: b"%d" % n)
    sink = kafka.sink(topic, servers=broker.servers, idempotent=False, options=OLD)
    assert (values | sink).run().wait() == count
    assert sum(broker.ends(topic)) == count
    assert sum(int(value) for part in broker.values(topic) for value in part) == count * (count - 1) // 2
